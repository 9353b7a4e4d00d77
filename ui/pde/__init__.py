"""The page for problems of PDE-constrained optimisation: problem and parameters on the left, equation and run right."""
