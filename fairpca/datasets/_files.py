"""Finding the files of a data set: bundled, in the user's cache, in a mirror, or downloaded; always verified."""

from __future__ import annotations

import hashlib
import lzma
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fairpca._resources import data_path
from fairpca.datasets._registry import Upstream, bundled_digest

__all__ = [
    "ChecksumError",
    "DataError",
    "cache_folder",
    "download",
    "fetch_upstream",
    "find_upstream",
    "mirror_folder",
    "read_bundled",
    "read_upstream",
    "verify_bytes",
]

RAW_HOST = "https://raw.githubusercontent.com"
TIMEOUT_SECONDS = 30
SLOWEST = 20_000  # bytes a second, after a minute's grace
_CHUNK = 65536


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
    """Return the folder named by ``FAIRPCA_MIRROR``, if that is set; one that is not there is an error."""
    chosen = os.environ.get("FAIRPCA_MIRROR")
    if not chosen:
        return None
    folder = Path(chosen).expanduser().resolve()
    if not folder.is_dir():
        raise DataError(f"FAIRPCA_MIRROR={chosen!r} names {folder}, which is no folder; correct it or unset it.")
    return folder


def verify_bytes(content: bytes, expected: str, source: str, advice: str) -> None:
    """Raise :class:`ChecksumError`, naming the file and both sums, unless `content` is the pinned one."""
    actual = hashlib.sha256(content).hexdigest()
    if actual != expected:
        raise ChecksumError(f"{source}: expected SHA-256 {expected}, got {actual}. {advice}")


def read_bundled(name: str) -> bytes:
    """Return the verified text of one file of ``data/raw``."""
    path = data_path("raw") / name
    advice = "Reinstall the package, or restore data/raw (python data/make_data.py)."
    try:
        text = lzma.decompress(path.read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise DataError(f"{path} cannot be read ({error}). {advice}") from error
    verify_bytes(text, bundled_digest(name), str(path), advice)
    return text


def find_upstream(file: Upstream) -> Path | None:
    """Return the copy of an upstream file in the cache, else in the mirror, else None."""
    places = [cache_folder() / file.mirror_path]
    mirror = mirror_folder()
    if mirror is not None:
        places.append(mirror / file.mirror_path)
    return next((place for place in places if place.is_file()), None)


def read_upstream(file: Upstream, name: str) -> bytes:
    """Return the verified bytes of an upstream file that the data set `name` needs."""
    path = find_upstream(file)
    if path is None:
        path = fetch_upstream(file, name, progress=False)
    content = path.read_bytes()
    verify_bytes(content, file.sha256, str(path), f"Delete it and run: fairpca data fetch {name}")
    return content


def fetch_upstream(file: Upstream, name: str, *, progress: bool) -> Path:
    """Download an upstream file into the cache unless a good copy is there."""
    target = cache_folder() / file.mirror_path
    address = f"{RAW_HOST}/{file.repository}/{file.commit}/{file.path}"

    def verify(path: Path) -> None:
        verify_bytes(
            path.read_bytes(), file.sha256, address, "Nothing was kept; try again, the transfer may have been cut."
        )

    def good(path: Path) -> bool:
        return hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256

    def make(path: Path) -> None:
        seconds = 60 + file.size / SLOWEST
        download(address, path, most=file.size, seconds=seconds, name=name, wanted=target, progress=progress)

    return store(target, good, make, verify)


def store(
    target: Path, good: Callable[[Path], bool], make: Callable[[Path], None], verify: Callable[[Path], None]
) -> Path:
    """Make a file in the cache so that nobody ever sees a part of it.

    One process at a time makes it (the others wait, then find it), under a temporary name in the same folder;
    it gets its name by one rename, after `verify` has passed.  Whatever fails, nothing is left behind.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target.with_name(target.name + ".lock")):
            if target.is_file() and good(target):
                return target
            for stale in target.parent.glob(f"{partial_prefix(target)}*"):  # of a process that was killed
                shutil.rmtree(stale) if stale.is_dir() else stale.unlink()
            handle, temporary = tempfile.mkstemp(prefix=partial_prefix(target), dir=target.parent)
            os.close(handle)
            try:
                make(Path(temporary))
                verify(Path(temporary))
                os.replace(temporary, target)
            finally:
                Path(temporary).unlink(missing_ok=True)
    except OSError as error:
        raise DataError(
            f"The cache folder {cache_folder()} cannot be written ({error}). "
            "Set FAIRPCA_CACHE to a folder that you can write to, or FAIRPCA_MIRROR to one that holds the files."
        ) from error
    return target


def partial_prefix(target: Path) -> str:
    """How the temporary files beside `target` are called until they are complete."""
    return f".part-{target.name}-"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file; it is freed by the system even when the process is killed."""
    with path.open("a+b") as handle:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def download(address: str, path: Path, *, most: int, seconds: float, name: str, wanted: Path, progress: bool) -> None:
    """Transfer one address into `path`; more than `most` bytes or `seconds` are a :class:`DataError`.

    A transfer whose checksum is wrong is refused anyway; this is about what it may cost until then.
    """
    try:
        import requests
        from tqdm import tqdm
    except ImportError as error:
        raise DataError(
            f"The data set {name!r} is not bundled with the package and there is no copy of it in the cache or the "
            "mirror. To download it, install the extra: pip install 'fairpca[data]'; then run: "
            f"fairpca data fetch {name}"
        ) from error
    end = time.monotonic() + seconds
    try:
        # What a server compresses could swell here, so it is asked not to, and taken as it comes.
        headers = {"Accept-Encoding": "identity"}
        with requests.get(address, stream=True, timeout=TIMEOUT_SECONDS, headers=headers) as response:
            response.raise_for_status()
            announced = response.headers.get("Content-Length", "")
            if announced.isdecimal() and int(announced) > most:
                raise OSError(f"the server announces {announced} bytes, and {most} are expected at most")
            arrived = 0
            bar = tqdm(total=most, desc=f"{name}: {wanted.name}", unit="B", unit_scale=True, disable=not progress)
            with path.open("wb") as out, bar:
                while chunk := response.raw.read1(_CHUNK, decode_content=False):
                    arrived += len(chunk)
                    if arrived > most:
                        raise OSError(f"more than the {most} bytes that are expected came")
                    if time.monotonic() > end:
                        raise OSError(f"it was not complete after {seconds:.0f} seconds")
                    out.write(chunk)
                    bar.update(len(chunk))
    except Exception as error:  # requests, urllib3 and the socket each have their own kinds
        raise DataError(
            f"The data set {name!r} is not bundled with the package, there is no copy of it in the cache or the "
            f"mirror, and downloading {address} failed: {type(error).__name__}: {error}. Nothing was kept. "
            f"With a network, run: fairpca data fetch {name}. Without one, put the file at {wanted}, or set "
            f"FAIRPCA_MIRROR to a folder that holds it."
        ) from error
