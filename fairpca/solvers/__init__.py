"""Pure solvers: arrays in, :class:`SolverResult` out; no data frames, no estimators."""
