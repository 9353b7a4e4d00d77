"""The right side of every page: one run, whatever its kind, and the list of all runs."""
