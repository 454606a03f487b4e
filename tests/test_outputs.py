"""What a command writes: all of it or nothing, where it was meant to go, for nobody else's eyes."""

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from fairpca import _outputs
from fairpca._outputs import Outputs

ROOT = Path(__file__).resolve().parents[1]


def write(content=b"new", **names):
    outputs = Outputs(names)
    outputs.write(dict.fromkeys(names, content))


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def python(code, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", "from fairpca._outputs import Outputs\nimport sys\n" + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **options,
    )


@pytest.mark.parametrize(("umask", "expected"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_new_files_respect_the_umask(tmp_path, umask, expected):
    before = os.umask(umask)
    try:
        write(out=tmp_path / "a", other=tmp_path / "deep" / "b")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == mode(tmp_path / "deep" / "b") == expected


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o666])
def test_a_file_keeps_its_bits(tmp_path, bits):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(bits)
    write(out=path)
    assert path.read_bytes() == b"new" and mode(path) == bits


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_keeps_its_owner(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    os.chown(path, 1234, 4321)
    write(out=path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


def test_group_bits_go_when_the_group_cannot_stay(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o660)
    monkeypatch.setattr(_outputs.os, "chown", lambda *_: (_ for _ in ()).throw(PermissionError()))
    former = path.stat()
    other = os.stat_result(
        (former.st_mode, former.st_ino, former.st_dev, 1, former.st_uid, former.st_gid + 1, 3, 0, 0, 0)
    )
    temporary = tmp_path / "b"
    temporary.write_bytes(b"new")
    _outputs._inherit(temporary, path, other)
    assert mode(temporary) == 0o600


def test_links_stay_and_lead_to_the_new_content(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "chain").symlink_to("link")
    (tmp_path / "dangling").symlink_to("later")
    write(out=tmp_path / "chain", other=tmp_path / "dangling")
    assert all((tmp_path / name).is_symlink() for name in ("link", "chain", "dangling"))
    assert (tmp_path / "real").read_bytes() == (tmp_path / "later").read_bytes() == b"new"


def test_devices_are_written_through(tmp_path):
    null = tmp_path / "null"
    null.symlink_to(os.devnull)
    write(out=os.devnull, other=null)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode) and null.is_symlink()
    with pytest.raises(OSError, match="out '/dev/full' cannot be written: No space left on device"):
        write(out="/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_fifo_stays_one_and_gets_everything(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    got = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    write(b"x" * 300_000, out=path)
    reader.join(10)
    assert got == [b"x" * 300_000] and stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.parametrize(("sign", "end"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_stopped_while_waiting_for_the_reader_of_a_fifo(tmp_path, sign, end):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "a").write_bytes(b"old")
    before = signal.getsignal(signal.SIGTERM)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), sign)).start()
    with pytest.raises(end):
        write(out=tmp_path / "a", other=tmp_path / "fifo", new=tmp_path / "made" / "b")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "fifo"]
    assert signal.getsignal(signal.SIGTERM) is before


def test_ctrl_c_during_the_renames_waits(tmp_path, monkeypatch):
    replace = os.replace

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        replace(*arguments)

    monkeypatch.setattr(_outputs.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(out=tmp_path / "a", other=tmp_path / "b")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"new", "b": b"new"}


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_failed_rename_restores_everything(tmp_path, monkeypatch, failing, links):
    (tmp_path / "a").write_bytes(b"old a")
    (tmp_path / "a").chmod(0o640)
    (tmp_path / "c").write_bytes(b"old c")
    replace, wanted = os.replace, [str(tmp_path / name) for name in "abc"]

    def fail(source, target):
        if str(target) == wanted[failing] and Path(source).read_bytes() == b"new":
            raise OSError(errno.EIO, "Input/output error", str(source))
        replace(source, target)

    def no_links(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(_outputs.os, "replace", fail)
    if not links:
        monkeypatch.setattr(_outputs.os, "link", no_links)
    with pytest.raises(OSError, match="cannot be written: Input/output error") as caught:
        write(**{f"--{name}": tmp_path / name for name in "abc"})
    assert wanted[failing] in str(caught.value) and ".fairpca-" not in str(caught.value)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old a", "c": b"old c"}
    assert mode(tmp_path / "a") == 0o640


def test_what_cannot_be_restored_is_not_lost(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"old")
    replace, calls = os.replace, []

    def once(source, target):
        calls.append(target)
        if len(calls) > 1:
            raise OSError(errno.EIO, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(_outputs.os, "replace", once)
    with pytest.raises(OSError, match=r"What was in '.*a' is now in") as caught:
        write(out=tmp_path / "a", other=tmp_path / "b")
    rescued = Path(str(caught.value).rpartition(" is now in '")[2].rstrip("'."))
    assert rescued.read_bytes() == b"old"


def test_a_full_disk_leaves_what_was_there(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    code = (
        "Outputs({'--out': sys.argv[1], '--other': sys.argv[2]}).write({'--out': b'short', '--other': b'x' * 100_000})"
    )
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))  # noqa: E731
    finished = python(code, tmp_path / "a", tmp_path / "new" / "b", preexec_fn=limit)
    assert "b' cannot be written: File too large." in finished.stderr.splitlines()[-1]
    assert {path.name for path in tmp_path.iterdir()} == {"a"} and (tmp_path / "a").read_bytes() == b"old"


@pytest.mark.parametrize("name", ["", "folder", "absent/", "data", "link", "twice", "hard", "disk/x", "loop"])
def test_refused_before_anything_is_computed(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("data").write_bytes(b"old")
    Path("link").symlink_to("data")
    Path("disk").write_bytes(b"")
    Path("loop").symlink_to("loop")
    Path("one").write_bytes(b"1")
    os.link("one", "hard")
    Path("twice").symlink_to("one")
    before = sorted(Path().iterdir())
    messages = {
        "data": "is read by this command",
        "link": "is read by this command",
        "twice": "give two names",
        "hard": "give two names",
        "disk/x": "--b 'disk/x' cannot be written: Not a directory",
        "loop": "--b 'loop' cannot be written: Too many levels",
    }
    with pytest.raises((ValueError, OSError), match=messages.get(name, f"--b {name!r} is a folder; give the name")):
        Outputs({"--a": "one", "--b": name}, ["absent", None, "data"])
    assert sorted(Path().iterdir()) == before


def test_new_files_are_compared_by_where_they_lead(tmp_path):
    (tmp_path / "link").symlink_to("later")
    for first, second in ((tmp_path / "later", tmp_path / "link"), ("-", "-")):
        with pytest.raises(ValueError, match="give two names"):
            Outputs({"--a": first, "--b": second})


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="becomes another user")
def test_unwritable_is_noticed_first_and_by_its_name():
    # Folders of pytest are closed to other users.
    with tempfile.TemporaryDirectory() as folder:
        _check_unwritable(Path(folder))


def _check_unwritable(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "closed").mkdir()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "open" / "protected").write_bytes(b"")
    (tmp_path / "sticky").mkdir()
    (tmp_path / "sticky").chmod(0o1777)
    (tmp_path / "sticky" / "theirs").write_bytes(b"")
    (tmp_path / "sticky" / "theirs").chmod(0o666)
    code = (
        "import os\nos.chdir(sys.argv[1]); os.setgid(1234); os.setuid(1234)\n"
        "for name in ('closed/a', 'closed/deep/a', 'open/protected', 'sticky/theirs'):\n"
        "    try: Outputs({'--out': name})\n"
        "    except OSError as error: print(error)"
    )
    lines = python(code, tmp_path).stdout.splitlines()
    assert len(lines) == 4 and not any(".fairpca-" in line for line in lines)
    assert lines[0].startswith("--out 'closed/a' cannot be written: no file can be made in the folder")
    assert lines[1].startswith("--out 'closed/deep/a' cannot be written") and "another user" in lines[3]
    assert lines[2] == "--out 'open/protected' cannot be written: Permission denied."


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
@pytest.mark.parametrize("redirected", [True, False])
def test_standard_output_gets_the_content_and_nothing_else(tmp_path, name, redirected):
    code = (
        "with Outputs({'--out': sys.argv[1]}) as outputs:\n"
        "    print('computing'); outputs.write({'--out': b'content\\n'}); print('wrote')\n"
        "print('after')"
    )
    command = [sys.executable, "-c", "from fairpca._outputs import Outputs\nimport sys\n" + code, name]
    path = tmp_path / "shell"
    with path.open("wb") as file:
        finished = subprocess.run(
            command,
            stdout=file if redirected else subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    got = path.read_bytes() if redirected else finished.stdout
    assert got == b"content\nafter\n" and finished.stderr == b"computing\nwrote\n"


def test_a_reader_that_leaves_does_not_cost_the_other_output(tmp_path):
    code = (
        "import os\nreader, writer = os.pipe(); os.dup2(writer, 1); os.close(writer); os.close(reader)\n"
        "Outputs({'--a': '-', '--b': sys.argv[1]}).write({'--a': b'x', '--b': b'y'})"
    )
    finished = python(code, tmp_path / "b")
    assert finished.returncode == 0 and finished.stderr == "" and (tmp_path / "b").read_bytes() == b"y"
