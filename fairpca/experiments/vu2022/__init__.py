"""Experiments of Vu et al. (2022); each exhibit is a module of this package."""
