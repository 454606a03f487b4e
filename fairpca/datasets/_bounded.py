"""Downloads that end: no more bytes than were pinned, no longer than is reasonable, no archive that swells.

A transfer whose checksum is wrong is refused anyway; this is about what it may cost until then.
"""

from __future__ import annotations

import io
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fairpca.datasets import _files, _lfw
from fairpca.datasets._files import DataError
from fairpca.datasets._registry import Upstream, faces_source

__all__ = ["check_archive", "fetch_faces", "fetch_table", "transfer"]

# The source archive of the faces is some ten megabytes of text in thirteen thousand files; nobody pinned its size.
ARCHIVE_BYTES = 1_000_000_000
ARCHIVE_SECONDS = 3600.0
MEMBER_BYTES = 2_000_000
CONTENT_BYTES = 2_000_000_000
SLOWEST = 20_000  # bytes a second, after a minute's grace
_CHUNK = 65536
_DAMAGED = (RuntimeError, NotImplementedError, EOFError, zlib.error, zipfile.BadZipFile, OverflowError, MemoryError)


def fetch_table(file: Upstream, name: str, *, progress: bool) -> Path:
    """Download an upstream file into the cache unless a good copy is there; never more than its pinned size."""
    address = f"{_files.RAW_HOST}/{file.repository}/{file.commit}/{file.path}"
    target = _files.cache_folder() / file.mirror_path
    advice = "Nothing was kept; try again, the transfer may have been cut."

    def good(path: Path) -> bool:
        try:
            _files.verify_bytes(path.read_bytes(), file.sha256, address, advice)
        except DataError:
            return False
        return True

    def make(path: Path) -> None:
        seconds = 60 + file.size / SLOWEST
        transfer(address, path, most=file.size, seconds=seconds, name=name, wanted=target, progress=progress)

    return _files.store(
        target, good, make, lambda path: _files.verify_bytes(path.read_bytes(), file.sha256, address, advice)
    )


def fetch_faces(*, progress: bool) -> Path:
    """Download and convert the archive with the faces unless a good copy is there."""
    repository, commit = faces_source()
    address = f"{_lfw.ARCHIVE_HOST}/{repository}/zip/{commit}"
    target = _files.cache_folder() / _lfw.FACES_FILE

    def good(path: Path) -> bool:
        try:
            _lfw.read_faces(path)
        except DataError:
            return False
        return True

    def make(path: Path) -> None:
        with tempfile.TemporaryDirectory(prefix=_files.partial_prefix(target), dir=path.parent) as folder:
            archive = Path(folder) / "source.zip"
            most, seconds = ARCHIVE_BYTES, ARCHIVE_SECONDS
            transfer(address, archive, most=most, seconds=seconds, name="lfw", wanted=target, progress=progress)
            images, thirds, sex = _converted(archive, lambda path: _lfw.convert_archive(path, progress=progress))
        buffer = io.BytesIO()
        shape = np.array(_lfw.IMAGE_SHAPE)
        np.savez_compressed(buffer, images=images, thirds=thirds, sex=sex, image_shape=shape)
        path.write_bytes(buffer.getvalue())

    def verify(path: Path) -> None:
        _lfw.read_faces(path)

    return _files.store(target, good, make, verify)


def _converted(archive: Path, convert: Callable[[Path], tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """Return what `convert` makes of an archive that was checked; whatever is wrong with it is a :class:`DataError`."""
    try:
        check_archive(archive)
        return convert(archive)
    except DataError:
        raise
    except _DAMAGED as error:
        raise DataError(
            f"The archive with the faces is not the expected one ({type(error).__name__}: {error}). Nothing was kept; "
            "try again, the transfer may have been cut."
        ) from error


def check_archive(path: Path) -> None:
    """Raise for an archive with encrypted members, with other methods than deflate, or that would swell."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    for member in members:
        if member.flag_bits & 0x1:
            raise zipfile.BadZipFile(f"{member.filename!r} is encrypted")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise zipfile.BadZipFile(f"{member.filename!r} has compression method {member.compress_type}")
    # zipfile reads no more of a member than its declared size.
    read = [member.file_size for member in members if "/data/images/" in member.filename]
    if max(read, default=0) > MEMBER_BYTES or sum(read) > CONTENT_BYTES:
        raise zipfile.BadZipFile(f"its members would take {sum(read)} bytes, the largest {max(read)}")


def transfer(address: str, path: Path, *, most: int, seconds: float, name: str, wanted: Path, progress: bool) -> None:
    """Transfer one address into `path`; more than `most` bytes or `seconds` are a :class:`DataError`."""
    try:
        import requests
        from tqdm import tqdm
    except ImportError:  # the other way says which extra to install
        _files.download(address, path, name=name, wanted=wanted, progress=progress)
        return
    end = time.monotonic() + seconds
    try:
        # What a server compresses could swell here, so it is asked not to, and taken as it comes.
        headers = {"Accept-Encoding": "identity"}
        with requests.get(address, stream=True, timeout=_files.TIMEOUT_SECONDS, headers=headers) as response:
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
            f"Downloading {address} for the data set {name!r} failed: {type(error).__name__}: {error}. Nothing was "
            f"kept. With a network, run: fairpca data fetch {name}. Without one, put the file at {wanted}, or set "
            "FAIRPCA_MIRROR to a folder that holds it."
        ) from error
