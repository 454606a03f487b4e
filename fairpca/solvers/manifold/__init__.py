"""Optimisation on manifolds: limited-memory BFGS with a weak Wolfe search."""
