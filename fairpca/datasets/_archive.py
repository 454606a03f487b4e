"""Reading single members of zip archives without ever unpacking them."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath, PureWindowsPath

__all__ = ["check_archive", "check_member", "read_member"]

MEMBER_BYTES = 2_000_000
CONTENT_BYTES = 2_000_000_000


def check_member(name: str) -> str:
    """Return `name` if it stays inside the archive, else raise ``ValueError``."""
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    if not name or posix.is_absolute() or windows.is_absolute() or windows.drive or ".." in windows.parts:
        raise ValueError(f"The archive member {name!r} points outside its archive; refusing to read it.")
    return name


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of one named member."""
    return archive.read(check_member(name))


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
