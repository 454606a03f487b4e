"""Columns of mean zero and deviation one, by the rows that are learnt from."""

from __future__ import annotations

import numpy as np

__all__ = ["standardise"]


def standardise(train: np.ndarray, *others: np.ndarray, ddof: int = 0, scale: bool = True) -> list[np.ndarray]:
    """Standardise rows with the mean and the standard deviation of `train`.

    A column that is constant in `train` is only centred. It is recognised by its range: its standard deviation is zero
    but for rounding, which depends on the order of summation, and what is left of other rows would blow up by it.

    Parameters
    ----------
    train : ndarray of shape (n, p)
        Rows whose statistics are used.
    *others : ndarray of shape (m, p)
        Further rows, for instance a test part.
    ddof : int, default=0
        What the number of rows is reduced by in the variance: 0 (Vu et al., Lee et al.) or 1 (Samadi et al.).
    scale : bool, default=True
        Whether columns are divided by their deviation, or only centred, as pixels are.

    Returns
    -------
    list of ndarray
        `train` and the others, standardised.

    Examples
    --------
    >>> import numpy as np
    >>> from fairpca.datasets import standardise
    >>> train, test = standardise(np.array([[1.0, 7.0], [3.0, 7.0]]), np.array([[4.0, 8.0]]))
    >>> test.tolist()
    [[2.0, 1.0]]
    """
    mean = train.mean(axis=0)
    deviation = np.where(np.ptp(train, axis=0) > 0, train.std(axis=0, ddof=ddof), 1.0) if scale else 1.0
    return [(X - mean) / deviation for X in (train, *others)]
