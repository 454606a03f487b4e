"""What a command writes: all of it or nothing, where it was meant to go."""

import os
import resource
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from fairpca._files import Outputs

ROOT = Path(__file__).resolve().parents[1]


def write(content=b"new", **names):
    Outputs(names).write(dict.fromkeys(names, content))


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def python(code, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", "from fairpca._files import Outputs\nimport sys\n" + code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **{"capture_output": True, **options},
    )


def test_new_files_respect_the_umask_and_others_keep_their_bits(tmp_path):
    (tmp_path / "kept").write_bytes(b"old")
    (tmp_path / "kept").chmod(0o640)
    before = os.umask(0o002)
    try:
        write(out=tmp_path / "a", other=tmp_path / "deep" / "b", kept=tmp_path / "kept")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == mode(tmp_path / "deep" / "b") == 0o664
    assert mode(tmp_path / "kept") == 0o640 and (tmp_path / "kept").read_bytes() == b"new"


def test_links_stay_and_lead_to_the_new_content(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("later")
    write(out=tmp_path / "link", other=tmp_path / "dangling")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "dangling").is_symlink()
    assert (tmp_path / "real").read_bytes() == (tmp_path / "later").read_bytes() == b"new"


def test_devices_and_fifos_are_written_through(tmp_path):
    null, fifo, got = tmp_path / "null", tmp_path / "fifo", []
    null.symlink_to(os.devnull)
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
    reader.start()
    write(b"x" * 300_000, out=os.devnull, other=null, fifo=fifo)
    reader.join(10)
    assert got == [b"x" * 300_000] and stat.S_ISFIFO(fifo.stat().st_mode)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode) and null.is_symlink()
    with pytest.raises(OSError, match="out '/dev/full' cannot be written: No space left on device"):
        write(out="/dev/full")


def test_a_full_disk_leaves_what_was_there(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    code = (
        "Outputs({'--out': sys.argv[1], '--other': sys.argv[2]}).write({'--out': b'short', '--other': b'x' * 100_000})"
    )
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))  # noqa: E731
    finished = python(code, tmp_path / "a", tmp_path / "b", preexec_fn=limit, text=True)
    assert "b' cannot be written: File too large." in finished.stderr.splitlines()[-1]
    assert {path.name for path in tmp_path.iterdir()} == {"a"} and (tmp_path / "a").read_bytes() == b"old"


@pytest.mark.parametrize("name", ["", "folder", "absent/", "data", "link", "twice", "later", "disk/x"])
def test_refused_before_anything_is_computed(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for file in ("data", "disk", "one"):
        Path(file).write_bytes(b"old")
    for link, target in (("link", "data"), ("twice", "one"), ("later", "one")):
        Path(link).symlink_to(target)
    before = sorted(Path().iterdir())
    messages = {
        "data": "is read by this command",
        "link": "is read by this command",
        "twice": "give two names",
        "later": "give two names",
        "disk/x": "--b 'disk/x' cannot be written: '.*disk' is not a folder",
    }
    with pytest.raises((ValueError, OSError), match=messages.get(name, f"--b {name!r} is a folder; give the name")):
        Outputs({"--a": "one", "--b": name}, ["absent", None, "data"])
    with pytest.raises(ValueError, match="give two names"):
        Outputs({"--a": "-", "--b": "/dev/stdout"})
    assert sorted(Path().iterdir()) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="becomes another user")
def test_unwritable_is_noticed_first_and_by_its_name():
    with tempfile.TemporaryDirectory() as name:  # folders of pytest are closed to other users
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "closed").mkdir()
        (folder / "open").mkdir()
        (folder / "open").chmod(0o777)
        (folder / "open" / "protected").write_bytes(b"")
        code = (
            "import os\nos.chdir(sys.argv[1]); os.setgid(1234); os.setuid(1234)\n"
            "for name in ('closed/a', 'closed/deep/a', 'open/protected'):\n"
            "    try: Outputs({'--out': name})\n"
            "    except OSError as error: print(error)"
        )
        lines = python(code, folder, text=True).stdout.splitlines()
        assert lines == [
            f"--out '{name}' cannot be written: Permission denied."
            for name in ("closed/a", "closed/deep/a", "open/protected")
        ]


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
@pytest.mark.parametrize("redirected", [True, False])
def test_standard_output_gets_the_content_and_nothing_else(tmp_path, name, redirected):
    code = (
        "with Outputs({'--out': sys.argv[1]}) as outputs:\n"
        "    print('computing'); outputs.write({'--out': b'content\\n'}); print('wrote')\n"
        "print('after')"
    )
    path = tmp_path / "shell"
    with path.open("wb") as file:
        streams = {"stdout": file if redirected else subprocess.PIPE, "stderr": subprocess.PIPE}
        finished = python(code, name, capture_output=False, **streams)
    got = path.read_bytes() if redirected else finished.stdout
    assert got == b"content\nafter\n" and finished.stderr == b"computing\nwrote\n"


def test_a_reader_that_leaves_does_not_cost_the_other_output(tmp_path):
    code = (
        "import os\nreader, writer = os.pipe(); os.dup2(writer, 1); os.close(writer); os.close(reader)\n"
        "try: Outputs({'--a': '-', '--b': sys.argv[1]}).write({'--a': b'x', '--b': b'y'})\n"
        "except BrokenPipeError: os._exit(0)"
    )
    finished = python(code, tmp_path / "b", text=True)
    assert finished.returncode == 0 and finished.stderr == "" and (tmp_path / "b").read_bytes() == b"y"
