"""Reading single members of zip archives without ever unpacking them."""

from __future__ import annotations

import zipfile
from pathlib import PurePosixPath, PureWindowsPath

__all__ = ["check_member", "read_member"]


def check_member(name: str) -> str:
    """Return `name` if it stays inside the archive, else raise ``ValueError``."""
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    if not name or posix.is_absolute() or windows.is_absolute() or windows.drive or ".." in windows.parts:
        raise ValueError(f"The archive member {name!r} points outside its archive; refusing to read it.")
    return name


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of one named member."""
    return archive.read(check_member(name))
