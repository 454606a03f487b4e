"""From a name to text: standard input, compressed files, encodings."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
# The mark of UTF-32 begins with that of UTF-16, so it is looked for first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Bytes that are decompressed at most: 100 times the size of the file, within these.
SMALLEST_LIMIT, LARGEST = 2**28, 2**32
_WINDOWS = "windows-1252"


def read_bytes(path: str) -> bytes:
    """Return what a file holds, decompressed; ``-`` is standard input."""
    try:
        return _decompressed(path)
    except FileNotFoundError:
        if re.match(r"[a-z][a-z0-9+.-]+://", path, re.IGNORECASE):
            raise FileNotFoundError(f"{path!r} is an address; download the file and give its name.") from None
        raise FileNotFoundError(
            f"There is no file {path!r} in {Path.cwd()}; a table to try: fairpca data export german_credit."
        ) from None
    except IsADirectoryError:
        raise ValueError(f"{path!r} is a folder; give the file with the table itself.") from None
    except (
        OSError,
        ValueError,
        EOFError,
        RuntimeError,
        lzma.LZMAError,
        zipfile.BadZipFile,
        zlib.error,
        MemoryError,
    ) as error:
        if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile) and error.errno is not None:
            raise OSError(f"{path!r} cannot be read: {error.strerror}; give another file.") from error
        if isinstance(error, ValueError):
            raise ValueError(f"{_shown(path)} cannot be read: {error}") from error
        raise ValueError(
            f"{path!r} cannot be decompressed ({error}), although its name says that it is compressed; "
            "give the file itself, uncompressed."
        ) from error


def plain_name(path: str) -> str:
    """Return the name of a file without the ending of its compression, in lower case."""
    name = Path(path).name.lower()
    return name.rpartition(".")[0] if name.endswith((*_OPENERS, ".zip")) else name


def _shown(path: str) -> str:
    return repr(path if len(path) < 200 else path[:200] + "…")


def _decompressed(path: str) -> bytes:
    if path == "-":
        if sys.stdin is None:
            raise ValueError("'-' is standard input, which is closed; give the name of a file.")
        stream = getattr(sys.stdin, "buffer", None)
        return stream.read() if stream is not None else sys.stdin.read().encode()
    ending = Path(path).suffix.lower()
    most = min(LARGEST, max(SMALLEST_LIMIT, 100 * Path(path).stat().st_size))
    if ending == ".zip":
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) != 1:
                raise ValueError(f"it holds {len(names)} files; give an archive of a single one.")
            with archive.open(names[0]) as file:
                return _bounded(file, most)
    if ending in _OPENERS:
        with _OPENERS[ending](path, "rb") as file:
            return _bounded(file, most)
    return Path(path).read_bytes()


def _bounded(file: Any, most: int) -> bytes:
    """Read what is decompressed, but not much more than a table of that size can have."""
    content: bytes = file.read(most + 1)
    if len(content) > most:
        raise ValueError(
            f"it inflates to more than {most / 2**20:,.0f} MB; decompress it by another program, and give the result."
        )
    return content


def as_utf8(content: bytes, path: str, encoding: str = "auto") -> tuple[bytes, str]:
    """Return the text in UTF-8 without a byte order mark, and the encoding it had.

    With ``"auto"`` that is what a mark says, else UTF-8, else UTF-16 if every other byte is zero, else Windows-1252.
    """
    if encoding != "auto":
        found = encoding
        try:
            codecs.lookup(encoding)
            text = content.decode(encoding)
        except (LookupError, ValueError) as error:
            raise ValueError(
                f"{path!r} cannot be read in the encoding {encoding!r} ({error}); give another one, or leave the "
                "option out."
            ) from error
    else:
        found = next((name for mark, name in _MARKS if content.startswith(mark)), _guessed(content))
        try:
            text = content.decode(found)
        except ValueError as error:
            raise ValueError(
                f"{path!r} is not text that can be read ({error}); save the table as CSV in UTF-8, or say its encoding "
                "with --encoding."
            ) from error
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        raise ValueError(
            f"{path!r} has zero bytes, so it is not a table in text; export it as CSV, or name it .parquet, .feather "
            "or .xlsx if it is one."
        )
    return text.encode("utf-8", "replace"), found


def _guessed(content: bytes) -> str:
    if content.isascii() and b"\0" not in content:
        return "utf-8"
    start = content[:2000]
    if len(start) > 3 and start.count(0) > len(start) // 3:
        return "utf-16-le" if start[1::2].count(0) > start[::2].count(0) else "utf-16-be"
    try:
        content.decode()
    except UnicodeDecodeError:
        return _WINDOWS
    return "utf-8"
