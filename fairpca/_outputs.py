"""The files that a command writes: checked before it computes, and at its end all of them are there or none.

* A name is followed through symbolic links: the file behind them is replaced, the links stay.
* A file that is there keeps its owner, group, permission bits and extended attributes; a new one gets what the umask
  leaves of 0666. Missing folders are made. A file with several hard links is replaced under the name given only.
* Devices and FIFOs are written through, never replaced. A FIFO is opened at the end, not before, and waits there for
  its reader, as it does in a shell; Ctrl-C and SIGTERM end the waiting and leave nothing behind.
* ``-`` is standard output, as are other names of it such as ``/dev/stdout``; all messages then go to standard error.
  A reader of it that leaves early (``head``) has what it wanted.
* Files are completed and synchronised under temporary names beside their targets, then the streams are fed, then the
  files are renamed. A rename that fails restores the files renamed before. What a stream has got cannot be taken back.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import stat
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from fairpca._interrupts import terminable

_Name = str | os.PathLike[str]


@dataclass(frozen=True)
class _Target:
    """One output: what the user calls it, and where it goes."""

    option: str
    given: str
    path: Path
    kind: Literal["file", "stream", "standard output"]
    status: os.stat_result | None

    def error(self, reason: object) -> OSError:
        """Say why it cannot be written, by the name that the user gave."""
        if isinstance(reason, OSError):
            reason = reason.strerror or str(reason)
        return OSError(f"{self.option} {self.given!r} cannot be written: {reason}.")


class Outputs:
    """Everything that a command writes.

    Within ``with``, what is printed goes to standard error if one of the outputs is standard output.

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
        self._targets = [_target(option, os.fspath(name)) for option, name in outputs.items() if name is not None]
        _check_different(self._targets)
        for name in inputs:
            if name is not None:
                _check_apart(self._targets, os.fspath(name))
        for target in self._targets:
            _check_writable(target)

    def __enter__(self) -> Self:
        self._redirected = contextlib.ExitStack()
        if any(target.kind == "standard output" for target in self._targets):
            self._redirected.enter_context(contextlib.redirect_stdout(sys.stderr))
        return self

    def __exit__(self, *_: object) -> None:
        self._redirected.close()

    @terminable()
    def write(self, contents: Mapping[str, bytes]) -> None:
        """Write all outputs, or leave all files as they were.

        Parameters
        ----------
        contents : mapping of str to bytes
            What to write, under the same keys as in the constructor; keys of outputs that nobody asked for are ignored.
        """
        files = [target for target in self._targets if target.kind == "file"]
        temporaries = {target.path: _beside(target.path.parent) for target in files}
        made = [folder for target in files for folder in [target.path.parent, *target.path.parent.parents]]
        made = [folder for folder in made if not folder.exists()]
        try:
            for target in files:
                with _named(target):
                    _fill(temporaries[target.path], target.path, contents[target.option])
            for target in self._targets:
                if target.kind != "file":
                    with _named(target):
                        self._pass_on(target, contents[target.option])
            with _uninterrupted():
                _rename(files, temporaries)
        finally:
            with _uninterrupted(), contextlib.suppress(OSError):
                for temporary in temporaries.values():
                    temporary.unlink(missing_ok=True)
                for folder in made:  # only those that nothing was written to
                    with contextlib.suppress(OSError):
                        folder.rmdir()

    def _pass_on(self, target: _Target, content: bytes) -> None:
        if target.kind == "stream":
            # A log that is standard error is continued; devices and FIFOs know no position.
            handle = os.open(target.path, os.O_WRONLY | os.O_APPEND)
            try:
                _write_all(handle, content)
            finally:
                os.close(handle)
            return
        stream = self._standard_output
        stream.flush()
        number = _descriptor(stream)
        if number is None:  # a notebook has put something else there
            stream.write(content.decode())
            stream.flush()
            return
        try:
            _write_all(number, content)
        except BrokenPipeError:
            # Nothing more may be written there, not even at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)


# --------------------------------------------------------------------------------------------------------------------
# Before computing


def _target(option: str, name: str) -> _Target:
    """Find out what a name stands for."""
    if name == "-":
        if sys.stdout is None:
            raise OSError(f"{option} '-' is standard output, which is closed; give the name of a file.")
        return _Target(option, name, Path(name), "standard output", _status(_descriptor(sys.stdout)))
    folder = ValueError(f"{option} {name!r} is a folder; give the name of a file in it.")
    try:
        status = os.stat(name)
    except FileNotFoundError:
        if not name or name.endswith(os.sep):
            raise folder from None
        return _Target(option, name, Path(os.path.realpath(name)), "file", None)
    except (OSError, ValueError) as error:
        raise _Target(option, name, Path(), "file", None).error(error) from error
    if stat.S_ISDIR(status.st_mode):
        raise folder
    if not os.path.samestat(status, os.stat(os.devnull)):
        for stream, kind in ((sys.stdout, "standard output"), (sys.stderr, "stream")):
            found = _status(_descriptor(stream))
            if found is not None and os.path.samestat(found, status):
                return _Target(option, name, Path(name), kind, status)  # type: ignore[arg-type]
    real = Path(os.path.realpath(name))
    if stat.S_ISREG(status.st_mode) and real.exists() and os.path.samestat(status, real.stat()):
        return _Target(option, name, real, "file", status)
    if stat.S_ISBLK(status.st_mode) or stat.S_ISSOCK(status.st_mode):
        raise ValueError(f"{option} {name!r} is a disk or a socket; give the name of a file.")
    # A device, a FIFO, or a file that has only a descriptor left (/dev/fd/3).
    return _Target(option, name, Path(name), "stream", status)


def _check_different(targets: list[_Target]) -> None:
    seen: dict[object, _Target] = {}
    for target in targets:
        if target.path == Path(os.devnull):
            continue  # where everything may go
        identity = target.path if target.status is None else (target.status.st_dev, target.status.st_ino)
        first = seen.setdefault(identity, target)
        if first is not target:
            names = repr(first.given) if first.given == target.given else f"{first.given!r} and {target.given!r}"
            raise ValueError(
                f"{first.option} and {target.option} are the same file, or both standard output ({names}); "
                "give two names."
            )


def _check_apart(targets: list[_Target], name: str) -> None:
    try:
        source = os.stat(name) if name != "-" else _status(_descriptor(sys.stdin))
    except (OSError, ValueError):
        return  # whoever reads it will say so
    for target in targets:
        if source is None or target.status is None or not stat.S_ISREG(source.st_mode):
            continue
        if os.path.samestat(source, target.status):
            raise ValueError(
                f"{target.option} {target.given!r} is read by this command, and would be lost; give another name."
            )


def _check_writable(target: _Target) -> None:
    """Notice before the work what would fail after it."""
    if target.kind == "stream" and not os.access(target.path, os.W_OK):
        raise target.error("Permission denied")
    if target.kind != "file":
        return
    with _named(target):
        folder = next(parent for parent in target.path.parents if parent.exists())
        if target.status is not None:
            os.close(os.open(target.path, os.O_WRONLY))
            _check_sticky(target.status, folder.stat())
    probe = _beside(folder)
    try:
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        probe.unlink()
    except OSError as error:
        raise target.error(f"no file can be made in the folder {str(folder)!r} ({error.strerror})") from error


def _check_sticky(file: os.stat_result, folder: os.stat_result) -> None:
    """In folders such as /tmp, only its owner may replace a file, even if others may write to it."""
    if hasattr(os, "geteuid") and folder.st_mode & stat.S_ISVTX and os.geteuid() not in (0, file.st_uid, folder.st_uid):
        raise OSError("it belongs to another user, in a folder where only owners replace files")


# --------------------------------------------------------------------------------------------------------------------
# Writing


def _fill(temporary: Path, path: Path, content: bytes) -> None:
    """Complete a file beside the one it will replace."""
    path.parent.mkdir(parents=True, exist_ok=True)
    former = path.stat() if path.exists() else None
    if former is not None and not stat.S_ISREG(former.st_mode):
        raise OSError("it is no regular file any more")
    # Private until it has the bits of the former file; a new one gets what the umask and the folder say.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if former is None else 0o600)
    try:
        _write_all(handle, content)
        os.fsync(handle)
    finally:
        os.close(handle)
    if former is not None:
        _inherit(temporary, path, former)


def _inherit(temporary: Path, path: Path, former: os.stat_result) -> None:
    """Give a file the owner and the permissions of another; nobody may read it who could not read the other."""
    if hasattr(os, "chown"):
        for owner in ((-1, former.st_gid), (former.st_uid, -1)):
            with contextlib.suppress(PermissionError):
                os.chown(temporary, *owner)
    shutil.copystat(path, temporary)
    os.utime(temporary)
    now = temporary.stat()
    if now.st_gid != former.st_gid:
        temporary.chmod(stat.S_IMODE(now.st_mode) & ~0o070)


def _rename(files: list[_Target], temporaries: Mapping[Path, Path]) -> None:
    """Put all files in place; if one fails, put back what was there."""
    replaced: list[tuple[Path, Path | None]] = []
    kept: list[Path] = []
    try:
        for target in files:
            with _named(target):
                # The last one needs no way back.
                former = _keep(target.path, kept) if target is not files[-1] else None
                os.replace(temporaries[target.path], target.path)
            replaced.append((target.path, former))
    except OSError as error:
        lost = [path for path, former in reversed(replaced) if not _restored(path, former)]
        rescued = [f" What was in {str(path)!r} is now in {str(dict(replaced)[path])!r}." for path in lost]
        kept = [former for former in kept if former not in [dict(replaced)[path] for path in lost]]
        raise OSError(f"{error}{''.join(rescued)}") from error
    finally:
        for former in kept:
            with contextlib.suppress(OSError):
                former.unlink(missing_ok=True)
    for folder in {target.path.parent for target in files}:
        with contextlib.suppress(OSError):  # not every file system can; the names are there anyway
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _keep(path: Path, kept: list[Path]) -> Path | None:
    """Give what is at `path` a second name, or a copy where the file system has no hard links."""
    if not path.exists():
        return None
    former = _beside(path.parent)
    kept.append(former)
    try:
        os.link(path, former)
    except OSError:
        _fill(former, path, path.read_bytes())
    return former


def _restored(path: Path, former: Path | None) -> bool:
    try:
        if former is None:
            path.unlink()
        else:
            os.replace(former, path)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM for the moment that the renames take."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread only
        return
    arrived: list[int] = []
    former = {
        number: signal.signal(number, lambda number, _: arrived.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
    if arrived:
        signal.raise_signal(arrived[0])


@contextlib.contextmanager
def _named(target: _Target) -> Iterator[None]:
    """Errors name what the user gave, not a temporary file."""
    try:
        yield
    except OSError as error:
        raise target.error(error) from error


def _write_all(handle: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _beside(folder: Path) -> Path:
    """Return a new name in a folder, short enough for every file system."""
    return folder / f".fairpca-{secrets.token_hex(8)}"


def _descriptor(stream: Any) -> int | None:
    """Number of the open file behind a stream, if there is one."""
    try:
        return int(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return None


def _status(descriptor: int | None) -> os.stat_result | None:
    return None if descriptor is None else os.fstat(descriptor)
