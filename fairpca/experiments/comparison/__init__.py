"""Every method on every table: what each keeps, whom it costs, what it still tells about the group."""

from fairpca.experiments.comparison import methods, tables

__all__ = ["methods", "tables"]
