"""Parameters with a fixed set of words, and the rare switches of an estimator: declared once, by their types."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

from fairpca._validation import check_choice

__all__ = ["MMDEstimator", "Options", "Protocol", "check_choices", "choices"]

# Words that several parts of the package share.
MMDEstimator = Literal["biased", "unbiased"]
Protocol = Literal["printed", "stated"]


@cache
def choices(kind: type) -> dict[str, tuple[tuple[str, ...], tuple[type, ...]]]:
    """Words and other types that each parameter of a class may take, from the annotations of its constructor.

    Parameters
    ----------
    kind : type
        An estimator or a dataclass.

    Returns
    -------
    dict
        For each parameter whose annotation has a ``Literal``: its words, and what else is allowed (``NoneType``,
        ``float``).
    """
    found = {}
    # Fields that a dataclass inherits are annotated with names of the module that declares them.
    annotated = kind if is_dataclass(kind) else kind.__init__  # type: ignore[misc]
    for name, hint in get_type_hints(annotated).items():
        parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
        words = tuple(word for part in parts if get_origin(part) is Literal for word in get_args(part))
        if words:
            found[name] = (words, tuple(part for part in parts if get_origin(part) is not Literal))
    return found


def check_choices(owner: Any) -> None:
    """Raise ``ValueError`` for a parameter of `owner` that is none of the words its annotation lists."""
    for name, (words, others) in choices(type(owner)).items():  # type: ignore[arg-type]
        value = getattr(owner, name)
        if value is None and types.NoneType in others:
            continue
        if isinstance(value, str) or all(other is types.NoneType for other in others):
            check_choice(name, value, words)


@dataclass(frozen=True)
class Options:
    """Rare switches of one estimator. Unknown names and words are errors that list what there is.

    A subclass is a frozen dataclass with a default for every field; :meth:`check` is for its numbers.
    """

    def __post_init__(self) -> None:
        check_choices(self)
        self.check()

    def check(self) -> None:
        """Raise for values out of range."""

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return the options for what a user gave as ``options``: None, a mapping by name, or the object itself."""
        if given is None:
            return cls()
        if isinstance(given, cls):
            return given
        names = [field.name for field in fields(cls)]
        if not isinstance(given, Mapping):
            raise TypeError(
                f"options={given!r} is of type {type(given).__name__}; give a mapping with some of the names "
                f"{', '.join(names)}, or {cls.__name__}(…)."
            )
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(
                f"options has no {', '.join(map(repr, unknown))}; {cls.__name__} knows {', '.join(names)}."
            )
        return cls(**given)
