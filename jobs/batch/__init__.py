"""Many jobs: a queue on disk, a scheduler that owns it, workers that may die, sweeps, tables and Pareto fronts.

`queue` puts jobs in, `scheduler` works them off with an `executor` (`local`, `cluster`), `table` reads what came out.
"""
