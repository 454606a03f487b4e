"""Clip extreme outliers, such as 999999 used as a code, and report them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["Winsorizer", "column_limits", "unusual_numbers"]

SENTINELS = (-9.0, -99.0, -999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0, 999999.0)
FAR = 15.0  # standard deviations
_SAID = 5  # columns that are named
UNITS = 20.0  # for normal values this is 33 standard deviations, for lognormal ones (σ = 1) one in 200 000


def column_limits(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits beyond which values of each column are clipped; missing ones do not count.

    They are the median plus and minus 20 times the larger distance to the 5 % and the 95 % quantile.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        The rows that decide.

    Returns
    -------
    tuple of ndarray of shape (n_features,)
        Lower and upper limits; infinite where a column does not vary between its twentieths, or has no value.
    """
    quantile = np.nanquantile if np.isnan(values).any() else np.quantile
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN", RuntimeWarning)
        low, middle, high = np.nan_to_num(quantile(values, [0.05, 0.5, 0.95], axis=0))
    unit = np.maximum(high - middle, middle - low)
    far = np.where(unit > 0, UNITS * unit, np.inf)
    return middle - far, middle + far


def unusual_numbers(frame: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Point out codes such as -999 among numbers, and single rows far from all others; nothing is changed."""
    found = []
    for name in (name for name in columns if frame[name].dtype.kind in "iuf"):
        values = frame[name].to_numpy(dtype=float)
        for code in SENTINELS:
            same = values == code
            others = values[~same & ~np.isnan(values)]
            if (
                same.sum() >= 2
                and len(others)
                and not 2 * others.min() - others.max() <= code <= 2 * others.max() - (others.min())
            ):
                found.append(
                    f"{name!r} is {code:g} in {int(same.sum())} rows and far from that in all others, as if it meant a "
                    f"missing value; --missing-marks {code:g} reads it so."
                )
                values = np.where(same, np.nan, values)
        spread = np.nanstd(values)
        far = np.abs(values - np.nanmean(values)) > FAR * max(spread, 1e-300)
        if 0 < far.sum() <= 2:
            place = f"{frame.index.name or 'row'} {frame.index[far][0]}"
            away = np.nanmax(np.abs(values - np.nanmean(values))) / spread
            found.append(
                f"{name!r} has a value {away:.0f} standard deviations from the mean ({place}); such a row may turn a "
                "component towards itself, so look at it."
            )
    more = len(found) - _SAID
    return found[:_SAID] + ([f"such codes and rows are in {more} more columns."] if more > 0 else [])


class Winsorizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Clip values at limits that are learned from the training rows; missing ones stay missing.

    One such value would otherwise carry the variance of its column, and the projection of the new row that has one.

    Attributes
    ----------
    low_, high_ : ndarray of shape (n_features,)
        The limits.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca.tables import Winsorizer
    >>> rows = np.arange(100.0)[:, None]
    >>> float(Winsorizer().fit(rows).transform([[999999.0]])[0, 0])
    940.5
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the limits."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self.low_, self.high_ = column_limits(X)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Clip."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return np.clip(X, self.low_, self.high_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
