"""Where each data set's files are, and getting those that are missing."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fairpca._validation import check_choice
from fairpca.datasets._catalog import CATALOG
from fairpca.datasets._download import (
    Upstream,
    cache_folder,
    fetch_upstream,
    find_file,
    read_bundled,
    registry,
    upstream,
    verify_bytes,
)
from fairpca.datasets._lfw import FACES_FILE, fetch_faces, read_faces

__all__ = ["digest", "fetch", "verify", "where"]

_FACES = ("lfw", "lfw_24x24")


def _upstream_files(name: str) -> list[Upstream]:
    return [upstream(key) for key in sorted(registry()["upstream"]) if key.split("/")[0] == name]


def _bundled_files(name: str) -> list[str]:
    return [file for file in registry()["bundled"] if file in (f"{name}.csv.xz", f"{name}_splits.csv.xz")]


def _needed(name: str) -> list[tuple[Upstream | None, Path | None]]:
    """Return each file that is not bundled (None: the faces) and its copy (None: missing)."""
    if name in _FACES:
        return [(None, find_file(FACES_FILE))]
    return [(file, find_file(file.mirror_path)) for file in _upstream_files(name)]


def where(name: str) -> str:
    """Tell where a data set would be read from: ``"bundled"``, ``"cache"``, ``"mirror"`` or ``"missing"``.

    Parameters
    ----------
    name : str
        One of :func:`~fairpca.datasets.names`.

    Returns
    -------
    str
        ``"bundled"``: in the package. ``"cache"``: all its files are in the cache folder. ``"mirror"``: a file
        comes from the folder that ``FAIRPCA_MIRROR`` names. ``"missing"``: a file is in neither.
    """
    check_choice("name", name, tuple(CATALOG))
    if CATALOG[name].bundled:
        return "bundled"
    paths = [path for _, path in _needed(name)]
    if None in paths:
        return "missing"
    return "cache" if all(path.is_relative_to(cache_folder()) for path in paths if path) else "mirror"


def digest(name: str) -> str:
    """Return the SHA-256 that identifies the pinned files of a data set, without reading them.

    Parameters
    ----------
    name : str
        One of :func:`~fairpca.datasets.names`.

    Returns
    -------
    str
    """
    check_choice("name", name, tuple(CATALOG))
    pins = [registry()["bundled"][file]["sha256"] for file in sorted(_bundled_files(name))]
    pins += [file.sha256 for file in _upstream_files(name)]
    pins += [registry()["faces"]["content_sha256"]] if name in _FACES else []
    return hashlib.sha256("\n".join(pins).encode()).hexdigest()


def fetch(name: str, *, progress: bool = False) -> str:
    """Make a data set available for work without a network; a bad copy in the cache is replaced.

    Parameters
    ----------
    name : str
        One of :func:`~fairpca.datasets.names`.
    progress : bool, default=False
        Show progress bars.

    Returns
    -------
    str
        Where it is now: ``"bundled"``, ``"cache"`` or ``"mirror"``.

    Raises
    ------
    DataError
        If it cannot be had.  Nothing half-written is left in the cache.
    """
    check_choice("name", name, tuple(CATALOG))
    for file, path in _needed(name):
        if path is not None and not path.is_relative_to(cache_folder()):
            continue  # a bad one in the mirror is an error below
        if file is None:
            fetch_faces(progress=progress)
        else:
            fetch_upstream(file, name, progress=progress)
    return verify(name)


def verify(name: str) -> str:
    """Compare the checksums of all files of a data set that are here.

    Parameters
    ----------
    name : str
        One of :func:`~fairpca.datasets.names`.

    Returns
    -------
    str
        Its place, as :func:`where` tells it; what is not here is not an error.

    Raises
    ------
    DataError
        If a file is not the pinned one.
    """
    check_choice("name", name, tuple(CATALOG))
    for bundled in _bundled_files(name):
        read_bundled(bundled)
    for file, path in _needed(name):
        if path is not None and file is None:
            read_faces(path)
        elif path is not None and file is not None:
            verify_bytes(path.read_bytes(), file.sha256, str(path), f"Delete it and run: fairpca data fetch {name}")
    return where(name)
