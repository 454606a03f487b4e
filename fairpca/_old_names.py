"""Names of version 0.1 that were changed since: they work until 0.3, and warn with the name to use."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

__all__ = ["accept_old_bound", "accept_old_names", "accept_old_path", "known_old_names"]

Kind = TypeVar("Kind", bound=type)


@dataclass(frozen=True)
class Old:
    """What became of one parameter: `new` is its name (in ``options`` if `rare`), `values` are words that changed."""

    new: str
    values: Mapping[Any, Any] = field(default_factory=dict)
    rare: bool = False

    def value(self, given: Any) -> Any:
        """Return what is said today for a value of 0.1; what was wrong then is left for the check of today."""
        try:
            return self.values.get(given, given)
        except TypeError:  # a list, say, which no word is
            return given


def _rare(*names: str) -> dict[str, Old]:
    return {name: Old(name, rare=True) for name in names}


_PRINTED = {"variant": Old("variant", {"paper": "printed"})}
_OLD: dict[str, dict[str, Old]] = {
    "FPCA": {
        **_PRINTED,
        "center": Old("centering", {True: "overall", False: "none"}),
        **_rare("standardise", "scale", "shift", "trace", "rounding", "tie_tol", "backend", "form"),
    },
    "MBFPCA": {
        "schedule": Old("solver", {"paper": "repms"}),
        "paper_variant": Old("variant", {"code": "lee2022_code"}),
        "paper_options": Old("repms", rare=True),
        **_rare("positive_label", "approximation", "approximation_size", "memory_limit", "tol", "max_iter", "verbose"),
    },
    "MinMaxFairPCA": {**_PRINTED, **_rare("rounding", "eta")},
    "RFPCA": _rare("n_starts", "retraction", "keep", "tol"),
}
# RFPCA had two switches for what is one word now.
_ROBUST = {
    ("exact", False): "corrected",
    ("printed", False): "printed",
    ("printed", True): "vu2022_code",
}


def known_old_names(kind: str) -> set[str]:
    """Return the names of parameters that the estimator called `kind` had in 0.1 only."""
    pair = {"robust_value", "reset_lam"} if kind == "RFPCA" else set()
    return {name for name, old in _OLD.get(kind, {}).items() if old.rare or old.new != name} | pair


def accept_old_names(kind: Kind) -> Kind:
    """Let the constructor and ``set_params`` of an estimator take the names and words of 0.1."""
    construct, change = kind.__init__, kind.set_params  # type: ignore[misc, attr-defined]

    @functools.wraps(construct)
    def init(self: Any, *args: Any, **given: Any) -> None:
        construct(self, *args, **_translated(kind.__name__, given, None))

    @functools.wraps(change)
    def set_params(self: Any, **given: Any) -> Any:
        return change(self, **_translated(kind.__name__, given, self.options))

    kind.__init__ = init  # type: ignore[misc]
    kind.set_params = set_params  # type: ignore[attr-defined]
    return kind


def _translated(kind: str, given: dict[str, Any], options: Any) -> dict[str, Any]:
    """Return keyword arguments of today for those of 0.1, after one warning that names all changes."""
    kept, told = dict(given), []
    rare: dict[str, Any] = {}
    for name, old in _OLD[kind].items():
        if name not in kept or (name == old.new and not old.rare and old.value(kept[name]) is kept[name]):
            continue
        value = old.value(kept.pop(name))
        told.append(f"options={{{old.new!r}: …}}" if old.rare else f"{old.new}={value!r}")
        told[-1] = f"{name} is {told[-1]} now"
        if not old.rare and old.new in kept:
            raise TypeError(f"{kind} got {name} and {old.new}, which are the old and the new name of one parameter.")
        (rare if old.rare else kept)[old.new] = value
    if kind == "RFPCA" and {"robust_value", "reset_lam"} & set(kept):
        pair = (kept.pop("robust_value", "exact"), bool(kept.pop("reset_lam", False)))
        if pair not in _ROBUST or "variant" in kept:
            raise TypeError(f"RFPCA's robust_value={pair[0]!r} and reset_lam={pair[1]!r} are one word now, variant.")
        kept["variant"] = _ROBUST[pair]
        told.append(f"robust_value and reset_lam are variant={kept['variant']!r} now")
    if rare:
        kept["options"] = _with(kept.get("options", options), rare)
    if told:
        warnings.warn(f"{kind}: {'; '.join(told)}. The old form goes with 0.3.", FutureWarning, stacklevel=3)
    return kept


def _with(options: Any, rare: dict[str, Any]) -> Any:
    """Return options as they were given, with those that came by their old names."""
    from dataclasses import is_dataclass, replace

    if is_dataclass(options) and not isinstance(options, type):
        return replace(options, **rare)
    return {**(options or {}), **rare}


def accept_old_path(kind: Kind, convert: Callable[[Any, dict[str, Any]], tuple[Any, dict[str, Any]]]) -> Kind:
    """Let ``path`` of an estimator take the arguments of 0.1; `convert` makes y and keywords of today from them."""
    path = kind.path  # type: ignore[attr-defined]

    @functools.wraps(path)
    def both(self: Any, X: Any, y: Any = None, **given: Any) -> Any:
        y, new = convert(y, given)
        if new != given:
            names = ", ".join(f"{name}=…" for name in new if name != "sensitive_features")
            text = f"{kind.__name__}.path takes {names} now; the old form goes with 0.3."
            warnings.warn(text, FutureWarning, stacklevel=2)
        return path(self, X, y, **new)

    kind.path = both  # type: ignore[attr-defined]
    return kind


def minmax_path(y: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """``path(X, d_max, …)`` is ``path(X, n_components=range(1, d_max + 1), …)``."""
    new = dict(given)
    d_max = new.pop("d_max", y if "n_components" not in new else None)
    if isinstance(d_max, (int, np.integer)) and not isinstance(d_max, bool):
        return None, {**new, "n_components": range(1, int(d_max) + 1)}
    return y, given


def rfpca_path(y: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """``path(X, groups, lams=…, alphas=…)`` is ``path(X, sensitive_features=groups, alpha=…, lam=…)``."""
    if "lams" not in given:
        return y, given
    new = {name: value for name, value in given.items() if name not in ("lams", "alphas")}
    if y is not None and "sensitive_features" not in new:
        y, new["sensitive_features"] = None, y
    alphas = given.get("alphas")
    return y, {**new, **({} if alphas is None else {"alpha": alphas}), "lam": given["lams"]}


def accept_old_bound(kind: Kind) -> Kind:
    """Let a solver's result be made with ``lower_bound`` and ``gap``; what proves such a bound is not known."""
    construct = kind.__init__  # type: ignore[misc]

    @functools.wraps(construct)
    def init(self: Any, *args: Any, **given: Any) -> None:
        if {"lower_bound", "gap"} & set(given):
            warnings.warn(
                "SolverResult takes bound=… and certificate=… now, and gap follows from them; the old form goes with "
                "0.3.",
                FutureWarning,
                stacklevel=2,
            )
            bound = given.pop("lower_bound", float("nan"))
            given.pop("gap", None)
            given |= {"bound": bound, "certificate": "none" if bound != bound else "estimate"}
        construct(self, *args, **given)

    kind.__init__ = init  # type: ignore[misc]
    return kind
