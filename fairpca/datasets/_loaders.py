"""One function for each data set; each is what :func:`fairpca.datasets.load` calls."""

from __future__ import annotations

from typing import overload

from fairpca.datasets._dataset import Dataset
from fairpca.datasets._lfw import load_lfw as _load_lfw
from fairpca.datasets._lfw import load_lfw_24x24 as _load_lfw_24x24
from fairpca.datasets._tables import (
    load_credit_table,
    load_lee,
    load_lee_split,
    load_vu,
)
from fairpca.datasets._tables import load_synthetic1 as _load_synthetic1
from fairpca.datasets._tables import load_synthetic2 as _load_synthetic2

Pair = tuple[Dataset, Dataset]

# --- Vu et al., ICLR 2022: their Table 2


def load_default_credit(*, as_frame: bool = False) -> Dataset:
    """Load Default Credit of Vu et al.: 30000 rows, 22 features, grouped by education."""
    return load_vu("default_credit", as_frame)


def load_biodeg(*, as_frame: bool = False) -> Dataset:
    """Load Biodeg of Vu et al.: 1055 rows, 40 features, grouped by readily biodegradable or not."""
    return load_vu("biodeg", as_frame)


def load_e_coli(*, as_frame: bool = False) -> Dataset:
    """Load E. Coli of Vu et al.: 333 rows, 7 features, grouped by cytoplasm or another compartment."""
    return load_vu("e_coli", as_frame)


def load_energy(*, as_frame: bool = False) -> Dataset:
    """Load Energy of Vu et al.: 768 rows, 8 features, grouped by orientation of the building."""
    return load_vu("energy", as_frame)


def load_german_credit(*, as_frame: bool = False) -> Dataset:
    """Load German Credit of Vu et al.: 1000 rows, 48 features, grouped by age below 40 or not."""
    return load_vu("german_credit", as_frame)


def load_image(*, as_frame: bool = False) -> Dataset:
    """Load Image of Vu et al.: 660 rows, 18 features, grouped by path or grass."""
    return load_vu("image", as_frame)


def load_letter(*, as_frame: bool = False) -> Dataset:
    """Load Letter of Vu et al.: 20000 rows, 16 features, grouped by vowel or consonant."""
    return load_vu("letter", as_frame)


def load_magic(*, as_frame: bool = False) -> Dataset:
    """Load Magic of Vu et al.: 19020 rows, 10 features, grouped by gamma ray or background."""
    return load_vu("magic", as_frame)


def load_parkinsons(*, as_frame: bool = False) -> Dataset:
    """Load Parkinsons of Vu et al.: 5875 rows, 20 features, grouped by sex."""
    return load_vu("parkinsons", as_frame)


def load_skillcraft(*, as_frame: bool = False) -> Dataset:
    """Load SkillCraft of Vu et al.: 3337 rows, 17 features, grouped by age over 20 or not."""
    return load_vu("skillcraft", as_frame)


def load_statlog(*, as_frame: bool = False) -> Dataset:
    """Load Statlog of Vu et al.: 3071 rows, 36 features, grouped by red or grey soil."""
    return load_vu("statlog", as_frame)


def load_steel(*, as_frame: bool = False) -> Dataset:
    """Load Steel of Vu et al.: 1941 rows, 24 features, grouped by other or known fault."""
    return load_vu("steel", as_frame)


def load_taiwan_credit(*, as_frame: bool = False) -> Dataset:
    """Load Taiwan Credit of Vu et al.: 29623 rows, 22 features, grouped by sex."""
    return load_vu("taiwan_credit", as_frame)


def load_wine_quality(*, as_frame: bool = False) -> Dataset:
    """Load Wine Quality of Vu et al.: 6497 rows, 11 features, grouped by colour."""
    return load_vu("wine_quality", as_frame)


def load_lfw_24x24(*, as_frame: bool = False, random_state: int = 0, n_per_group: int = 2000) -> Dataset:
    """Load faces at the size that Vu et al. use: 24 x 24 pixels between 0 and 1, women first.

    The 49 x 36 images are resized by Pillow (bicubic, antialiased), as floats, and divided by 255.
    Vu et al. published neither their resizing nor the faces they drew.

    Parameters
    ----------
    as_frame : bool, default=False
        Return pandas objects.
    random_state : int, default=0
        Seed of the draw: ``default_rng(random_state).choice`` first among the women, then among the men.
    n_per_group : int, default=2000
        Faces drawn of each sex, without replacement.

    Returns
    -------
    Dataset
        With ``2 * n_per_group`` rows and 576 features.
    """
    return _load_lfw_24x24(as_frame, random_state, n_per_group)


# --- Lee et al., AAAI 2022


@overload
def load_compas(*, as_frame: bool = ..., split: None = ...) -> Dataset: ...
@overload
def load_compas(*, as_frame: bool = ..., split: int) -> Pair: ...
def load_compas(*, as_frame: bool = False, split: int | None = None) -> Dataset | Pair:
    """Load COMPAS of Lee et al.: 2468 rows, 11 features, grouped by race (Caucasian or not).

    Parameters
    ----------
    as_frame : bool, default=False
        Return pandas objects.
    split : int, optional
        0 to 9: the training and the test part of one published split, standardised with the training part's mean
        and standard deviation as the authors did.  Without it the whole table as it is.

    Returns
    -------
    Dataset, or (Dataset, Dataset)
        The table, or training part and test part.
    """
    return load_lee("compas", as_frame) if split is None else load_lee_split("compas", split, as_frame)


@overload
def load_german(*, as_frame: bool = ..., split: None = ...) -> Dataset: ...
@overload
def load_german(*, as_frame: bool = ..., split: int) -> Pair: ...
def load_german(*, as_frame: bool = False, split: int | None = None) -> Dataset | Pair:
    """Load German of Lee et al.: 1000 rows, 57 features, grouped by age (from 25 or below).

    Parameters
    ----------
    as_frame : bool, default=False
        Return pandas objects.
    split : int, optional
        0 to 9: the training and the test part of one published split, standardised with the training part's mean
        and standard deviation as the authors did.  Without it the whole table as it is.

    Returns
    -------
    Dataset, or (Dataset, Dataset)
        The table, or training part and test part.
    """
    return load_lee("german", as_frame) if split is None else load_lee_split("german", split, as_frame)


@overload
def load_adult(*, as_frame: bool = ..., split: None = ...) -> Dataset: ...
@overload
def load_adult(*, as_frame: bool = ..., split: int) -> Pair: ...
def load_adult(*, as_frame: bool = False, split: int | None = None) -> Dataset | Pair:
    """Load Adult of Lee et al.: 2261 rows, 97 features, grouped by sex.

    Parameters
    ----------
    as_frame : bool, default=False
        Return pandas objects.
    split : int, optional
        0 to 9: the training and the test part of one published split, standardised with the training part's mean
        and standard deviation as the authors did.  Without it the whole table as it is.

    Returns
    -------
    Dataset, or (Dataset, Dataset)
        The table, or training part and test part.
    """
    return load_lee("adult", as_frame) if split is None else load_lee_split("adult", split, as_frame)


def load_synthetic1(*, as_frame: bool = False) -> Dataset:
    """Load the sample behind Figure 1 of Lee et al.: two groups of 5000 points in three dimensions."""
    return _load_synthetic1(as_frame)


@overload
def load_synthetic2(*, as_frame: bool = ..., p: int = ..., split: None = ...) -> Dataset: ...
@overload
def load_synthetic2(*, as_frame: bool = ..., p: int = ..., split: int) -> Pair: ...
def load_synthetic2(*, as_frame: bool = False, p: int = 100, split: int | None = None) -> Dataset | Pair:
    """Load the sample behind Figures 2 and 3 of Lee et al.: two groups of 240 points in `p` dimensions.

    Parameters
    ----------
    as_frame : bool, default=False
        Return pandas objects.
    p : {20, 30, 40, 50, 60, 70, 80, 90, 100}, default=100
        Number of features.
    split : int, optional
        0 to 9: training part (336 rows) and test part (144) of one published split.  The values are not standardised.

    Returns
    -------
    Dataset, or (Dataset, Dataset)
        The 480 rows, or training part and test part.
    """
    return _load_synthetic2(as_frame, p, split)


# --- Samadi et al., NeurIPS 2018


def load_credit(*, as_frame: bool = False, keep_pay_amt6: bool = False) -> Dataset:
    """Load Samadi et al.'s credit table: 30000 rows, 21 features SEX .. PAY_AMT5, grouped by education, unscaled.

    Parameters
    ----------
    as_frame : bool, default=False
        Return pandas objects.
    keep_pay_amt6 : bool, default=False
        Keep the 22nd attribute, which the published code leaves out.

    Returns
    -------
    Dataset
        The authors' code scales each column to unit variance (ddof 1); that is left to the caller.
    """
    return load_credit_table(as_frame, keep_pay_amt6)


def load_lfw(*, as_frame: bool = False, dtype: str = "float64") -> Dataset:
    """Load Samadi et al.'s faces: 13232 images of 49 x 36 pixels from 0 to 255, grouped by sex.

    Each row reshapes to ``(49, 36)``.  Pixels are exact multiples of 1/3; the authors' code divides by 255.

    Parameters
    ----------
    as_frame : bool, default=False
        Return pandas objects.
    dtype : {"float64", "float32"}, default="float64"
        Type of the pixels: 187 MB or 93 MB.

    Returns
    -------
    Dataset
        Without a label.
    """
    return _load_lfw(as_frame, dtype)
