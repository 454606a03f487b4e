"""What holds on rows that a method has not seen: coverage of intervals, and how far a balance lasts."""

from fairpca.experiments.unseen_rows import coverage, lasting

__all__ = ["coverage", "lasting"]
