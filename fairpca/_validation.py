"""Checks of what the user hands over; every message says what was given, what is allowed, what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

__all__ = [
    "Groups",
    "check_choice",
    "check_components",
    "check_given",
    "check_mask",
    "check_number",
    "check_rows",
    "check_rows_match",
    "check_weights",
    "encode_groups",
    "label_kinds",
    "sorted_labels",
]

_ROWS_SHOWN = 10
_MOST_GROUPS = 50  # more are names of rows, or numbers


@dataclass(frozen=True)
class Groups:
    """Sensitive features as integer codes.

    Attributes
    ----------
    labels : tuple
        Group names in a deterministic order; a tuple of values for each when several columns were given.
    codes : ndarray of int of shape (n_samples,)
        Position in `labels` of each row's group.
    """

    labels: tuple[Any, ...]
    codes: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """Rows in each group."""
        return np.bincount(self.codes, minlength=len(self.labels))

    def rows(self, index: int) -> np.ndarray:
        """Row numbers of group `index`."""
        return np.flatnonzero(self.codes == index)

    def of_rows(self, chosen: np.ndarray) -> Groups:
        """Groups of the rows that a mask chooses; those without rows are left out."""
        present, codes = np.unique(self.codes[chosen], return_inverse=True)
        return Groups(tuple(self.labels[g] for g in present), codes.astype(np.int64))


def _listed(items: Iterable[Any], limit: int = _ROWS_SHOWN) -> str:
    items = list(items)
    shown = ", ".join(str(i) for i in items[:limit])
    return shown + (f", … ({len(items)} in all)" if len(items) > limit else "")


def check_choice(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Raise ``ValueError`` unless `value` is one of the `allowed` strings."""
    if not (isinstance(value, str) and value in allowed):
        raise ValueError(f"{name}={value!r} is not known; choose one of {', '.join(map(repr, allowed))}.")


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    integer: bool = False,
    low_open: bool = False,
    high_open: bool = False,
) -> None:
    """Raise ``TypeError`` or ``ValueError`` unless `value` is a finite number in the interval."""
    kind = Integral if integer else Real
    if not isinstance(value, kind) or isinstance(value, (bool, np.bool_)):
        word = "an integer" if integer else "a number"
        raise TypeError(f"{name} must be {word}; got {value!r} of type {type(value).__name__}.")
    number = float(value)  # type: ignore[arg-type]
    if np.isnan(number):
        raise ValueError(f"{name}={value!r} is not a number (NaN); give one.")
    below = number <= low if low_open else number < low
    above = number >= high if high_open else number > high
    if not np.isfinite(number) or below or above:
        left, right = "(" if low_open else "[", ")" if high_open else "]"
        raise ValueError(
            f"{name}={value!r} is out of range; it must lie in "
            f"{'(' if low == -np.inf else left}{low:g}, {high:g}{')' if high == np.inf else right}."
        )


def check_components(n_components: Any, n_features: int, *, high: int | None = None, why: str = "") -> int:
    """Return `n_components` as an int, or raise with the range that is possible for ``n_features``."""
    if not isinstance(n_components, Integral) or isinstance(n_components, (bool, np.bool_)):
        raise TypeError(f"n_components must be an integer; got {n_components!r} of type {type(n_components).__name__}.")
    top = n_features if high is None else high
    wanted = int(n_components)
    if not 1 <= wanted <= top:
        reason = f" {why}" if why else ""
        raise ValueError(
            f"n_components={wanted} is out of range: with n_features={n_features} it must lie between 1 and "
            f"{top}.{reason} Choose a smaller n_components or give more features."
        )
    return wanted


def check_mask(name: str, values: Any) -> None:
    """Raise for a masked array that hides something; numpy would take the hidden numbers for values."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        hidden = int(np.ma.getmaskarray(values).sum())
        raise ValueError(
            f"{name} is a masked array with {hidden} hidden value(s); drop these rows or fill them, for instance with "
            f"{name}.filled(...)."
        )


def check_given(X: Any, **per_row: Any) -> None:
    """Raise for what numpy would pass over in silence: hidden values, and rows that pandas has in another order."""
    check_mask("X", X)
    for name, values in per_row.items():
        check_mask(name, values)
        if not (
            isinstance(X, pd.DataFrame) and isinstance(values, (pd.DataFrame, pd.Series)) and len(X) == len(values)
        ):
            continue
        if X.index.equals(values.index) or not X.index.is_unique or not values.index.is_unique:
            continue
        if X.index.isin(values.index).all():
            raise ValueError(
                f"{name} has the index of X in another order, and rows are matched by position; pass "
                f"{name}.loc[X.index], or both without their index."
            )


def check_rows(X: Any, name: str = "X") -> np.ndarray:
    """Return `X` as a finite float64 matrix, or raise."""
    check_mask(name, X)
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] == 0:
        raise ValueError(f"{name} has shape {rows.shape}; it must have two dimensions and at least one row.")
    if not np.all(np.isfinite(rows)):
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        raise ValueError(f"{name} contains NaN or infinite values in row(s) {bad[:10].tolist()}; clean the data first.")
    return rows


def check_rows_match(name: str, n_given: int, n_samples: int) -> None:
    """Raise unless a per-row argument has as many rows as the data."""
    if n_given != n_samples:
        raise ValueError(f"{name} has {n_given} rows but X has {n_samples}; give one value for each row of X.")


def check_weights(sample_weight: Any, n_samples: int) -> np.ndarray | None:
    """Return the weights of the rows as float64, or raise; None stays None."""
    if sample_weight is None:
        return None
    check_mask("sample_weight", sample_weight)
    weights = np.asarray(sample_weight)
    if weights.ndim != 1:
        raise ValueError(f"sample_weight has shape {weights.shape}; it must be one number for each row of X.")
    check_rows_match("sample_weight", len(weights), n_samples)
    if weights.dtype.kind not in "biuf":
        raise TypeError(f"sample_weight has dtype {weights.dtype}; give numbers.")
    weights = weights.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise ValueError(
            f"sample_weight must be finite and not negative; it is not in row(s) {_listed(bad)} (the first is "
            f"{weights[bad[0]]}). A row of weight 0 is left out."
        )
    if not np.any(weights):
        raise ValueError("sample_weight is zero for every row; at least one must be above zero.")
    return weights


def counting_weights(sample_weight: Any, n_samples: int) -> np.ndarray | None:
    """Return the weights of all rows so that their sum is a number of rows; None stays None.

    A row of weight 2 is as good as two rows. Weights that sum to less than the rows that have one cannot count rows,
    so only their ratios matter, and their mean becomes one.
    """
    weights = check_weights(sample_weight, n_samples)
    return None if weights is None else weights * max(np.count_nonzero(weights) / weights.sum(), 1.0)


def _list_depth(values: list[Any]) -> int:
    if not values or np.isscalar(values[0]) or values[0] is None:
        return 1
    return 1 + int(np.ndim(np.asarray(values[0], dtype=object)))


def few_groups(sensitive_features: Any, n_samples: int, *, whole: bool = True) -> Groups:
    """Return the groups of the rows of a fit, or raise where numbers or names of rows were given instead of groups.

    At most 50 groups, and at most ten or one for every twenty rows (of a table that is `whole`, not a batch). Whoever
    means more says so with categoricals of pandas (or with ``GroupMoments``), which have no limit.
    """
    if isinstance(sensitive_features, Groups):
        return encode_groups(sensitive_features, n_samples)
    frame = _as_frame(sensitive_features)
    groups = encode_groups(frame, n_samples)
    counted = [j for j, dtype in enumerate(frame.dtypes) if not isinstance(dtype, pd.CategoricalDtype)]
    if not counted:
        return groups
    advice = (
        "Cut numbers into groups with pandas.cut, or take them as numbers with MeanFairPCA or LinearEraser and "
        'sensitive="numeric"; if these are groups, convert the column(s) to the pandas dtype "category".'
    )
    for j in counted:
        values = sorted_labels({label[j] if frame.shape[1] > 1 else label for label in groups.labels})
        if any(isinstance(value, float) and not value.is_integer() for value in values):
            raise ValueError(
                f"sensitive_features has numbers that are not integers ({shown_labels(values)}), which do not name "
                f"groups. {advice}"
            )
    limit = min(_MOST_GROUPS, max(10, n_samples // 20)) if whole else _MOST_GROUPS
    if len(groups.labels) > limit:
        raise ValueError(
            f"sensitive_features has {len(groups.labels)} groups in {n_samples} rows ({shown_labels(groups.labels)}), "
            f"and at most {limit} are expected. {advice}"
        )
    return groups


def shown_labels(labels: Iterable[Any]) -> str:
    """Return the first five groups for a message, and how many more there are."""
    labels = [label.item() if isinstance(label, np.generic) else label for label in labels]
    more = f" … and {len(labels) - 5} more" if len(labels) > 5 else ""
    return ", ".join(map(repr, labels[:5])) + more


def label_kinds(labels: Iterable[Any]) -> set[str]:
    """Return what kinds of values name groups; 1 and 1.0 are one group, 1, True and "1" are three."""
    kinds = set()
    for label in labels:
        parts = label if isinstance(label, tuple) else (label,)
        kinds.add(" and ".join(_kind(part) for part in parts))
    return kinds


def _kind(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "booleans"
    if isinstance(value, Real):
        return "numbers"
    return "text" if isinstance(value, str) else type(value).__name__


def sorted_labels(values: Iterable[Any]) -> list[Any]:
    """Sort names of groups; a mixture of types, which has no order of its own, by type and text."""
    values = list(values)
    try:
        return sorted(values)
    except TypeError:  # mixed types have no order of their own
        return sorted(values, key=lambda v: (type(v).__name__, repr(v)))


def _encode_column(column: pd.Series, name: str) -> tuple[list[Any], np.ndarray]:
    categories = isinstance(column.dtype, pd.CategoricalDtype)
    codes, uniques = (column.cat.codes.to_numpy(), column.cat.categories) if categories else pd.factorize(column)
    missing = np.flatnonzero(codes < 0)
    if missing.size:
        raise ValueError(
            f"{name} has missing values in {missing.size} row(s): {_listed(missing)}. "
            "Every row needs a group: drop these rows or give the missing values a group of their own."
        )
    if categories:
        present = np.flatnonzero(np.bincount(codes, minlength=len(uniques)))
        labels = [uniques.tolist()[i] for i in present]
        return labels, np.searchsorted(present, codes)
    values = [v.item() if isinstance(v, np.generic) else v for v in uniques]
    order = sorted_labels(values)
    position = {v: i for i, v in enumerate(order)}
    return order, np.array([position[v] for v in values], dtype=np.int64)[codes]


def _as_frame(values: Any) -> pd.DataFrame:
    """Return the columns that name groups as a pandas frame, whatever holds them."""
    if isinstance(values, pd.DataFrame):
        return values
    if isinstance(values, (pd.Series, pd.Index, pd.Categorical)):
        return pd.Series(values).to_frame()
    if values is None or np.isscalar(values):
        raise ValueError(
            f"sensitive_features must hold one value for each row; got {values!r}. "
            "Pass the column itself, for instance frame['sex']."
        )
    for to_columns in ("to_pydict", "to_dict"):  # tables and batches of pyarrow, frames of Polars
        if hasattr(values, to_columns):
            columns = getattr(values, to_columns)()
            return _of_lists({name: list(column) for name, column in columns.items()})
    if isinstance(values, Mapping):
        return _of_lists({name: list(column) for name, column in values.items()})
    if hasattr(values, "to_pylist"):  # arrays of pyarrow, whose elements are no Python objects
        values = values.to_pylist()
    if isinstance(values, Set) or not isinstance(values, Iterable) or hasattr(values, "collect"):
        raise TypeError(
            f"sensitive_features is of type {type(values).__name__}, which has no rows in order; pass a column (a "
            "list, an array, a Series) or a frame of columns; collect a lazy frame first."
        )
    if not isinstance(values, np.ndarray):
        values = list(values)
    dimensions = np.ndim(values) if isinstance(values, np.ndarray) else _list_depth(values)
    if dimensions not in (1, 2):
        raise ValueError(
            f"sensitive_features has {dimensions} dimensions; it must have one row for each row of X and one or "
            "more columns."
        )
    if not isinstance(values, np.ndarray):
        return _of_lists(values)
    if values.dtype.kind == "U" and values.ndim == 1:
        values = _few_texts(values)
    if values.dtype == object and pd.api.types.infer_dtype(values, skipna=False) == "string":
        return pd.DataFrame(values, dtype=object)  # hashed as it is: pandas would convert each text
    return pd.DataFrame(values).infer_objects()


def _few_texts(values: np.ndarray) -> np.ndarray:
    """Return fixed-width text as objects, one for each distinct text, found by a hash of the characters."""
    letters = np.ascontiguousarray(values).view(np.uint32).reshape(len(values), -1)
    hashes = np.zeros(len(values), dtype=np.uint64)
    for column in letters.T:
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + column
    codes, uniques = pd.factorize(hashes)
    first = np.empty(len(uniques), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(values))[::-1]
    texts = values[first]
    same = bool(np.all(texts[codes] == values))  # two texts may have one hash
    return texts.astype(object)[codes] if same else values.astype(object)


def _of_lists(values: Any) -> pd.DataFrame:
    """Return a frame of lists by way of objects, so that numpy does not turn [1, 'a'] into strings."""
    return pd.DataFrame(values, dtype=object).infer_objects()


def encode_groups(sensitive_features: Any, n_samples: int | None = None) -> Groups:
    """Turn sensitive features of any dtype into integer codes.

    Parameters
    ----------
    sensitive_features : array-like, Series or DataFrame of shape (n_samples,) or (n_samples, n_columns)
        Integers, booleans, strings, categoricals, floats, of pandas, Polars, pyarrow, numpy or in lists. With several
        columns the groups are the combinations that occur.
    n_samples : int, optional
        Rows of the data, to check against.

    Returns
    -------
    Groups
        Labels sorted (categoricals: in category order), and a code for each row.

    Raises
    ------
    ValueError
        If a value is missing (the message names the rows) or the number of rows differs.
    """
    if isinstance(sensitive_features, Groups):
        groups = sensitive_features
        if n_samples is not None:
            check_rows_match("sensitive_features", groups.codes.size, n_samples)
        return groups
    frame = _as_frame(sensitive_features)
    if frame.shape[1] == 0:
        raise ValueError("sensitive_features has no columns; give at least one.")
    if n_samples is not None:
        check_rows_match("sensitive_features", len(frame), n_samples)
    if len(frame) == 0:
        raise ValueError("sensitive_features is empty; give one value for each row of X.")
    if frame.shape[1] == 1:
        labels, codes = _encode_column(frame.iloc[:, 0], "sensitive_features")
        return Groups(tuple(labels), codes)
    columns = [
        _encode_column(frame.iloc[:, j], f"sensitive_features column {frame.columns[j]!r}")
        for j in range(frame.shape[1])
    ]
    shape = tuple(len(labels) for labels, _ in columns)
    flat = np.ravel_multi_index(tuple(codes for _, codes in columns), shape)
    present, codes = np.unique(flat, return_inverse=True)
    where = np.unravel_index(present, shape)
    combined = tuple(tuple(columns[j][0][where[j][i]] for j in range(len(columns))) for i in range(present.size))
    return Groups(combined, codes.astype(np.int64))
