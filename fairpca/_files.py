"""Write files whole: under temporary names first, then renamed; no output replaces an input of the same command."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

__all__ = ["Outputs", "file_digest"]

_Name = str | os.PathLike[str]
_STANDARD_OUTPUT = ("-", "/dev/stdout")


class Outputs:
    """The files that a command writes: checked before it computes, written together at its end.

    Files are completed and synchronised under temporary names beside their targets, and then renamed. Symbolic links
    are followed, a file that is replaced keeps its permission bits, and missing folders are made. ``-`` is standard
    output. Within ``with``, what is printed then goes to standard error. Devices and FIFOs are written through.

    Parameters
    ----------
    outputs : mapping of str to path or None
        What the messages call each output (the option, such as ``"--out"``), and its name; those without are left out.
    inputs : iterable of path or None
        The files that the command reads (``-`` is standard input); no output may be one of them.

    Raises
    ------
    ValueError
        A name is a folder, is given twice (also through links), or is a file that is read.
    OSError
        An output cannot be written.
    """

    def __init__(self, outputs: Mapping[str, _Name | None], inputs: Iterable[_Name | None] = ()) -> None:
        self._standard_output: Any = sys.stdout
        self._names = {option: os.fspath(name) for option, name in outputs.items() if name is not None}
        read = {os.path.realpath(name) for name in inputs if name is not None and name != "-"}
        seen: dict[Path | str, str] = {}
        for option, name in self._names.items():
            path = Path(os.path.realpath(name))
            if not name or name.endswith(os.sep) or path.is_dir():
                raise ValueError(f"{option} {name!r} is a folder; give the name of a file in it.")
            if str(path) in read:
                raise ValueError(f"{option} {name!r} is read by this command, and would be lost; give another name.")
            first = seen.setdefault("-" if name in _STANDARD_OUTPUT else path, option)
            if first != option and not _is_stream(path):
                raise ValueError(
                    f"{first} and {option} are the same file, or both standard output ({name!r}); give two names."
                )
            folder = next(parent for parent in path.parents if parent.exists())
            needed = [path] if _is_stream(path) else [folder, *([path] if path.exists() else [])]
            if not folder.is_dir():
                raise OSError(f"{option} {name!r} cannot be written: {str(folder)!r} is not a folder.")
            if name not in _STANDARD_OUTPUT and not all(os.access(place, os.W_OK) for place in needed):
                raise OSError(f"{option} {name!r} cannot be written: Permission denied.")

    def __enter__(self) -> Self:
        self._redirected = contextlib.ExitStack()
        if set(self._names.values()) & set(_STANDARD_OUTPUT):
            self._redirected.enter_context(contextlib.redirect_stdout(sys.stderr))
        return self

    def __exit__(self, *_: object) -> None:
        self._redirected.close()

    def write(self, contents: Mapping[str, bytes]) -> None:
        """Write all outputs; nothing half-written is left.

        Parameters
        ----------
        contents : mapping of str to bytes
            What to write, under the same keys as in the constructor; keys of outputs that nobody asked for are ignored.
        """
        ready: list[tuple[str, Path, Path]] = []
        option = ""
        try:
            for option, name in self._names.items():
                path = Path(os.path.realpath(name))
                if name not in _STANDARD_OUTPUT and not _is_stream(path):
                    ready.append((option, path.parent / f".fairpca-{secrets.token_hex(8)}", path))
                    _complete(*ready[-1][1:], contents[option])
            for option, temporary, path in ready:  # noqa: B007  (the message names it)
                os.replace(temporary, path)
            for option in self._names.keys() - {option for option, *_ in ready}:
                self._pass_on(self._names[option], contents[option])
        except BrokenPipeError:
            raise  # a reader such as `head` has what it wanted
        except OSError as error:
            reason = error.strerror or error
            raise OSError(f"{option} {self._names[option]!r} cannot be written: {reason}.") from error
        finally:
            for _, temporary, _ in ready:
                temporary.unlink(missing_ok=True)

    def _pass_on(self, name: str, content: bytes) -> None:
        if name not in _STANDARD_OUTPUT:
            Path(name).write_bytes(content)
            return
        self._standard_output.flush()
        stream = getattr(self._standard_output, "buffer", None)
        if stream is None:  # a notebook has put something else there
            self._standard_output.write(content.decode())
        else:
            stream.write(content)
        self._standard_output.flush()


def file_digest(path: _Name) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_stream(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _complete(temporary: Path, path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    bits = 0o600 if path.exists() else 0o666  # nobody may read it meanwhile who could not read the former file
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, bits), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        shutil.copymode(path, temporary)
