"""Where data files are: in the source tree or in the installed wheel."""

from __future__ import annotations

from pathlib import Path

__all__ = ["data_path"]

KINDS = ("raw", "published", "results")
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
