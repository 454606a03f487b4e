"""Where each data set's files are, and getting those that are missing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairpca._resources import data_path
from fairpca._validation import check_choice
from fairpca.datasets._catalog import CATALOG
from fairpca.datasets._download import (
    DataError,
    Upstream,
    bundled_digest,
    bundled_names,
    cache_folder,
    faces_digest,
    fetch_upstream,
    find_upstream,
    read_bundled,
    upstream,
    upstream_keys,
    verify_bytes,
)
from fairpca.datasets._lfw import fetch_faces, find_faces, read_faces

__all__ = ["digest", "fetch", "verify", "where"]

_FACES = ("lfw", "lfw_24x24")


def _upstream_files(name: str) -> list[Upstream]:
    return [upstream(key) for key in upstream_keys() if key.split("/")[0] == name]


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
    found = [find_faces()] if name in _FACES else [find_upstream(file) for file in _upstream_files(name)]
    paths = [path for path in found if path is not None]
    if len(paths) < len(found):
        return "missing"
    return "cache" if all(path.is_relative_to(cache_folder()) for path in paths) else "mirror"


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
    pins = [bundled_digest(file) for file in bundled_names() if file.partition(".")[0] in (name, f"{name}_splits")]
    pins += [file.sha256 for file in _upstream_files(name)]
    pins += [faces_digest()] if name in _FACES else []
    return hashlib.sha256("\n".join(pins).encode()).hexdigest()


def fetch(names: str | Iterable[str] | None = None, *, progress: bool = False) -> dict[str, str]:
    """Make data sets available for work without a network.

    Parameters
    ----------
    names : str or iterable of str, optional
        Data sets; all by default.
    progress : bool, default=False
        Show progress bars.

    Returns
    -------
    dict
        Where each data set is now: ``"bundled"``, ``"cache"`` or ``"mirror"``.

    Raises
    ------
    DataError
        If one cannot be had.  Nothing half-written is left in the cache.
    """
    wanted = [names] if isinstance(names, str) else list(CATALOG if names is None else names)
    for name in wanted:
        check_choice("name", name, tuple(CATALOG))
    return {name: _fetch_one(name, progress) for name in wanted}


def _fetch_one(name: str, progress: bool) -> str:
    """Get what is missing; a bad copy in the cache is replaced, a bad one elsewhere is an error."""
    for file in _upstream_files(name):
        path = find_upstream(file)
        if path is None or path.is_relative_to(cache_folder()):
            fetch_upstream(file, name, progress=progress)
    if name in _FACES:
        path = find_faces()
        if path is None or path.is_relative_to(cache_folder()):
            fetch_faces(progress=progress)
    for _ in verify_files(name):
        continue
    return where(name)


def verify_files(name: str) -> Iterator[Path]:
    """Yield the files of a data set that are there, each after its checksum was compared."""
    if CATALOG[name].bundled or name == "synthetic2":
        for file in bundled_names():
            if file == f"{name}.csv.xz" or file == f"{name}_splits.csv.xz":
                read_bundled(file)
                yield data_path("raw") / file
    for needed in _upstream_files(name):
        path = find_upstream(needed)
        if path is not None:
            verify_bytes(path.read_bytes(), needed.sha256, str(path), f"Delete it and run: fairpca data fetch {name}")
            yield path
    faces = find_faces() if name in _FACES else None
    if faces is not None:
        read_faces(faces)
        yield faces


def verify(names: Iterable[str]) -> Iterator[tuple[str, str, DataError | None]]:
    """Compare the checksums of all files that are here.

    Parameters
    ----------
    names : iterable of str
        Data sets.

    Yields
    ------
    tuple of str, str and DataError or None
        Name, place as in :func:`where`, and the error found if any.
    """
    for name in names:
        try:
            for _ in verify_files(name):
                continue
        except DataError as error:
            yield name, where(name), error
        else:
            yield name, where(name), None
