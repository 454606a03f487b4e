"""The data sets of the papers and of the comparison of methods, by name, verified by checksum.

Most are bundled with the package; the others come from the user's cache, from the folder named by the environment
variable ``FAIRPCA_MIRROR``, or from their pinned upstream address on first use, in this order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, overload

from fairpca._validation import check_choice
from fairpca.datasets._catalog import CATALOG, Entry
from fairpca.datasets._dataset import Dataset, standardise
from fairpca.datasets._download import ChecksumError, DataError, cache_folder, mirror_folder
from fairpca.datasets._fetch import digest, fetch, verify, where
from fairpca.datasets._lfw import load_lfw, load_lfw_24x24
from fairpca.datasets._tables import example, load_credit, load_synthetic1, load_synthetic2, load_table

__all__ = [
    "ChecksumError",
    "DataError",
    "Dataset",
    "Entry",
    "cache_folder",
    "describe",
    "digest",
    "example",
    "facts",
    "fetch",
    "load",
    "mirror_folder",
    "names",
    "standardise",
    "verify",
    "where",
]

# Data sets with options of their own; the others are plain tables.
_LOADERS: dict[str, Callable[..., Any]] = {
    "credit": load_credit,
    "lfw": load_lfw,
    "lfw_24x24": load_lfw_24x24,
    "synthetic1": load_synthetic1,
    "synthetic2": load_synthetic2,
}


def names() -> tuple[str, ...]:
    """Names of all data sets, as :func:`load` takes them.

    Returns
    -------
    tuple of str
        In the order of the catalog, paper by paper.
    """
    return tuple(CATALOG)


def facts(name: str) -> Entry:
    """Return what is known of a data set (sizes, groups, source, licence, shape of images), without loading it.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    Entry
    """
    check_choice("name", name, names())
    return CATALOG[name]


def describe(name: str) -> str:
    """Return source, sizes, group, label, licence and known concerns of a data set, without loading it.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    str
        Text of several lines, the ``description`` of :func:`facts`.
    """
    return facts(name).description


@overload
def load(name: str, *, as_frame: bool = ..., split: None = ..., **options: Any) -> Dataset: ...
@overload
def load(name: str, *, as_frame: bool = ..., split: int, **options: Any) -> tuple[Dataset, Dataset]: ...
def load(
    name: str, *, as_frame: bool = False, split: int | None = None, **options: Any
) -> Dataset | tuple[Dataset, Dataset]:
    """Load a data set of the papers or of the comparison of methods.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    as_frame : bool, default=False
        Return `X` as DataFrame, `y` as Series and the sensitive features as categorical Series.
    split : int, optional
        0 to 9, for the data sets of Lee et al. with published splits (compas, german, adult, synthetic2): returns
        the pair (train, test), standardised as the authors' files are.
    **options
        What the data set's own function takes besides: `p` (synthetic2), `keep_pay_amt6` (credit), `dtype` (lfw),
        `random_state` and `n_per_group` (lfw_24x24).

    Returns
    -------
    Dataset, or (Dataset, Dataset)
        Values as published.

    Raises
    ------
    DataError
        If the data set is not bundled, not in the cache or the mirror, and cannot be downloaded.

    Examples
    --------
    >>> from fairpca.datasets import load
    >>> load("wine_quality")
    Dataset('wine_quality', X 6497 x 11, groups {red: 1599, white: 4898})
    >>> train, test = load("compas", split=0)
    >>> train.X.shape, test.X.shape
    ((1727, 11), (741, 11))
    """
    check_choice("name", name, names())
    if split is not None:
        with_splits = sorted(key for key, entry in CATALOG.items() if entry.train_rows is not None)
        if name not in with_splits:
            raise ValueError(f"{name!r} has no published splits; only {', '.join(with_splits)} have. Leave split out.")
        options["split"] = split
    loader = _LOADERS.get(name) or partial(load_table, name)
    return loader(as_frame=as_frame, **options)
