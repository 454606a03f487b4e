"""What a family of problems yields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

__all__ = ["Family", "Finding"]


class Finding(NamedTuple):
    """One check: how far something is from what it must be, and how far it may be."""

    what: str
    gap: float
    allowed: float

    @property
    def wrong(self) -> bool:
        """Whether the gap exceeds what is allowed, or is no number."""
        return not self.gap <= self.allowed


Family = Callable[[np.random.Generator], Iterator[Finding]]
