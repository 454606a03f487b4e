"""What rows, columns, groups and workers cost, and how exact the moments of many rows are."""

from fairpca.experiments.scale import cost, mmd

__all__ = ["cost", "mmd"]
