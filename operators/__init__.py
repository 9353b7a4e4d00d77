"""Neural operators as surrogates of PDE solves."""
