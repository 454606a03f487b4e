"""Files of plain arrays with a header and a checksum: ``.npz`` without pickle, the same bytes for the same content."""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["archive_bytes", "parse_archive"]

_VERSION = 1
LARGEST = 2**28  # bytes that a file may hold whatever its size
_RATIO = 100  # and how many times its size beyond
_DATE = (1980, 1, 1, 0, 0, 0)  # the same for all files, so that equal content has equal bytes


def archive_bytes(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the content of a file with this header (JSON) and these arrays (no objects)."""
    parts = {name: _npy(array) for name, array in arrays.items()}
    described = {**header, "version": _VERSION}
    described["checksum"] = _checksum(described, parts)
    text = json.dumps(described, ensure_ascii=False, allow_nan=False).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {"header": _npy(np.frombuffer(text, dtype=np.uint8)), **parts}.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _DATE), content, zipfile.ZIP_DEFLATED, 1)
    return buffer.getvalue()


def parse_archive(
    content: bytes, kind: str, names: Sequence[str], where: str
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and arrays of the content of a file, which messages call `where`."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.getinfo(f"{name}.npy") for name in ("header", *names)}
            if sum(member.file_size for member in members.values()) > max(LARGEST, _RATIO * len(content)):
                raise ValueError("it declares more than a file of this size can hold")
            parts = {name: archive.read(member) for name, member in members.items()}
        header = json.loads(bytes(_array(parts.pop("header"))))
        found, version = header["kind"], header["version"]
        checksum = header.pop("checksum")
    except _DAMAGED as error:
        raise ValueError(f"{where!r} holds no {kind}, or is damaged; make it again.") from error
    if found != kind:
        raise ValueError(f"{where!r} holds {found!r}, not {kind!r}.")
    if version != _VERSION:
        raise ValueError(f"{where!r} was written by another version of fairpca (format {version}, here {_VERSION}).")
    if checksum != _checksum(header, parts):
        raise ValueError(f"{where!r} is damaged: its content does not agree with its checksum; make it again.")
    try:
        return header, {name: _array(part) for name, part in parts.items()}
    except _DAMAGED as error:
        raise ValueError(f"{where!r} holds no {kind}, or is damaged; make it again.") from error


_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    ValueError,
    TypeError,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
)


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def _array(content: bytes) -> np.ndarray:
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise ValueError("an array has an unknown format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ValueError("an array declares another shape than it has")
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def _checksum(header: Mapping[str, Any], parts: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True, ensure_ascii=False).encode())
    for name, content in sorted(parts.items()):
        digest.update(f"\0{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
