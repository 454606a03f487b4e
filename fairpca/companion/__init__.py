"""Compute an exhibit on its page: a grid of cells, kept on disk, stored with provenance, and compared."""

from fairpca.companion._frames import tidy
from fairpca.companion._grid import grid, run, seed
from fairpca.companion._statements import compare_with_print, statement
from fairpca.companion._store import Results, records, stored

__all__ = ["Results", "compare_with_print", "grid", "records", "run", "seed", "statement", "stored", "tidy"]
