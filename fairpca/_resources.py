"""Where data files are: in the source tree or the installed wheel, and in other checkouts that add papers."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["added_roots", "data_path", "data_paths", "paper_path"]

KINDS = ("raw", "published", "results")
# Folders laid out like this repository (data/published, data/results, fairpca/experiments), separated as in PATH.
VARIABLE = "FAIRPCA_PAPERS"
_PACKAGE = Path(__file__).resolve().parent


def data_path(kind: str) -> Path:
    """Return the folder of bundled data of one kind.

    Parameters
    ----------
    kind : {"raw", "published", "results"}
        The data sets, the papers' printed numbers, or our stored results.

    Returns
    -------
    pathlib.Path
        ``fairpca/_data/<kind>`` of an installed wheel, else ``data/<kind>`` beside the package in the source tree.

    Raises
    ------
    ValueError
        If `kind` is not one of the three.
    FileNotFoundError
        If neither folder exists.
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not known; choose one of {', '.join(map(repr, KINDS))}.")
    places = (_PACKAGE / "_data" / kind, _PACKAGE.parent / "data" / kind)
    for place in places:
        if place.is_dir():
            return place
    raise FileNotFoundError(
        f"The folder with the package's {kind} data is in neither place where it belongs: "
        f"{' nor '.join(map(str, places))}. Install the package from its wheel, or run from a complete source tree."
    )


def added_roots() -> list[Path]:
    """Return the folders named by ``FAIRPCA_PAPERS``: other checkouts whose papers are run and judged like ours."""
    roots = [Path(part).resolve() for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part]
    for root in roots:
        if not (root / "data" / "published").is_dir():
            raise FileNotFoundError(
                f"{VARIABLE} names {root}, which has no folder data/published. Name folders laid out like the "
                "repository of fairpca: data/published/<paper>, data/results/<paper>, fairpca/experiments/<paper>."
            )
    return roots


def data_paths(kind: str) -> list[Path]:
    """Return all folders of one kind of data: the package's own (see `data_path`), then those of added checkouts."""
    added = [root / "data" / kind for root in added_roots()]
    return [data_path(kind), *(folder for folder in added if folder.is_dir())]


def paper_path(kind: str, paper: str) -> Path:
    """Return the folder with one kind of data of one paper, which lies in the checkout that declares the paper."""
    for root in added_roots():
        if (root / "data" / "published" / paper).is_dir():
            return root / "data" / kind / paper
    return data_path(kind) / paper
