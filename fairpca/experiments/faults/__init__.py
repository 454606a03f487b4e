"""Faults made on purpose around runs: kills, interrupts, full disks, damaged files, clusters that go away."""

from fairpca.experiments.faults import table

__all__ = ["table"]
