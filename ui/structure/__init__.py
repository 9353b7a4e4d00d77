"""The page for parts: what is asked on the left, the problem, the run and the history on the right."""
