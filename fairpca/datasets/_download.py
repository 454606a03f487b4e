"""Find the files of a data set: bundled, in the user's cache, in a mirror, or downloaded; always verified."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fairpca._resources import data_path

__all__ = [
    "REGISTRY_FILE",
    "ChecksumError",
    "DataError",
    "Upstream",
    "cache_folder",
    "download",
    "fetch_upstream",
    "find_file",
    "make_folder",
    "mirror_folder",
    "read_bundled",
    "read_upstream",
    "registry",
    "upstream",
    "verify_bytes",
]

RAW_HOST = "https://raw.githubusercontent.com"


class DataError(RuntimeError):
    """A data set cannot be had; the message says what to do."""


class ChecksumError(DataError):
    """A file is not the one that was pinned."""


def cache_folder() -> Path:
    """Return the folder for downloaded data: ``FAIRPCA_CACHE``, else the platform's cache folder.

    Returns
    -------
    pathlib.Path
    """
    chosen = os.environ.get("FAIRPCA_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "fairpca"


def mirror_folder() -> Path | None:
    """Return the folder named by ``FAIRPCA_MIRROR``, if that is set.

    Returns
    -------
    pathlib.Path or None

    Raises
    ------
    DataError
        If the folder does not exist.
    """
    chosen = os.environ.get("FAIRPCA_MIRROR")
    if not chosen:
        return None
    folder = Path(chosen).expanduser().resolve()
    if not folder.is_dir():
        raise DataError(f"FAIRPCA_MIRROR={chosen!r} names {folder}, which is not a folder; correct it or unset it.")
    return folder


def verify_bytes(content: bytes, expected: str, source: str, advice: str) -> None:
    """Raise :class:`ChecksumError`, naming the file and both sums, unless `content` is the pinned one."""
    actual = hashlib.sha256(content).hexdigest()
    if actual != expected:
        raise ChecksumError(f"{source}: expected SHA-256 {expected}, got {actual}. {advice}")


def read_bundled(name: str) -> bytes:
    """Return the verified text of one table of ``data/raw``, by its key in the registry."""
    entry = registry()["bundled"][name]
    path = data_path("raw") / entry.get("file", name)
    advice = "Reinstall the package, or restore data/raw (python data/make_data.py)."
    try:
        text = lzma.decompress(path.read_bytes())[entry.get("start", 0) :][: entry.get("size")]
    except (OSError, lzma.LZMAError) as error:
        raise DataError(f"{path} cannot be read ({error}). {advice}") from error
    verify_bytes(text, entry["sha256"], f"{path}: {name}" if "file" in entry else str(path), advice)
    return text


def find_file(path: str) -> Path | None:
    """Return the copy of a file in the cache, else in the mirror, else None."""
    places = [folder / path for folder in (cache_folder(), mirror_folder()) if folder is not None]
    return next((place for place in places if place.is_file()), None)


def read_upstream(file: Upstream, name: str) -> bytes:
    """Return the verified bytes of an upstream file that the data set `name` needs."""
    path = find_file(file.mirror_path) or fetch_upstream(file, name, progress=False)
    content = path.read_bytes()
    verify_bytes(content, file.sha256, str(path), f"Delete it and run: fairpca data fetch {name}")
    return content


def fetch_upstream(file: Upstream, name: str, *, progress: bool) -> Path:
    """Download an upstream file into the cache unless a good copy is there."""
    address = f"{RAW_HOST}/{file.repository}/{file.commit}/{file.path}"
    return download(address, cache_folder() / file.mirror_path, file.sha256, name=name, progress=progress)


def download(address: str, target: Path, sha256: str | None, *, name: str, progress: bool) -> Path:
    """Transfer an address with pooch to a temporary file, which gets its name when its digest is the pinned one."""
    try:
        import pooch
    except ImportError as error:
        raise DataError(
            f"The data set {name!r} is not bundled with the package and there is no copy of it in the cache or the "
            "mirror. To download it, install the extra: pip install 'fairpca[data]'; then run: "
            f"fairpca data fetch {name}"
        ) from error
    make_folder(target.parent)
    pooch.get_logger().setLevel("WARNING")
    try:
        return Path(pooch.retrieve(address, sha256, target.name, target.parent, progressbar=progress))
    except Exception as error:  # requests, urllib3 and the socket each have their own kinds
        if isinstance(error, ValueError) and "hash" in str(error):
            raise ChecksumError(f"{address}: {error} Nothing was kept; try again.") from error
        raise DataError(
            f"The data set {name!r} is not bundled with the package, there is no copy of it in the cache or the "
            f"mirror, and downloading {address} failed: {type(error).__name__}: {error}. Nothing was kept. "
            f"With a network, run: fairpca data fetch {name}. Without one, put the file at {target}, or set "
            f"FAIRPCA_MIRROR to a folder that holds it."
        ) from error


def make_folder(folder: Path) -> None:
    """Make a folder in the cache, or raise :class:`DataError` if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(f"no permission for {folder}")
    except OSError as error:
        raise DataError(
            f"The cache folder {cache_folder()} cannot be written ({error}). "
            "Set FAIRPCA_CACHE to a folder that you can write to, or FAIRPCA_MIRROR to one that holds the files."
        ) from error


REGISTRY_FILE = Path(__file__).resolve().parent / "registry.json"


@dataclass(frozen=True)
class Upstream:
    """One file in the public repository of the authors who published it, at a fixed commit."""

    repository: str
    commit: str
    path: str
    sha256: str
    size: int

    @property
    def mirror_path(self) -> str:
        """Where a mirror folder holds the file."""
        return f"upstream/{self.repository.replace('/', '__')}/{self.path}"


@cache
def registry() -> dict[str, Any]:
    """Return the pinned files: ``bundled`` by name, ``upstream`` by key, and the ``faces``."""
    found: dict[str, Any] = json.loads(REGISTRY_FILE.read_text(encoding="utf-8"))
    return found


def upstream(key: str) -> Upstream:
    """Return the pinned upstream file `key`, for instance ``"biodeg"`` or ``"synthetic2/20/train_1"``."""
    return Upstream(**registry()["upstream"][key])
