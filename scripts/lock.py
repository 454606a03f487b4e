"""Resolve what the book and the tests need; write requirements.lock and requirements-test.lock with all digests.

The first holds what the book needs, the second what the tests need in addition. Run it by ``make lock``, which puts uv
into an environment of its own. Versions stay as they are where that is possible, unless ``--upgrade`` is given.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = {"book": ROOT / "requirements.lock", "test": ROOT / "requirements-test.lock"}
HEADER = """\
# {what}, with exact versions; Python 3.11 to 3.13, all systems.
# The digests are those of all files of a version: pip refuses any other (--require-hashes).
# Written by scripts/lock.py from pyproject.toml; do not edit by hand.
"""
CONTENT = {"book": "Everything that `make book` installs", "test": "What `make test` installs in addition"}


def declared(extras: tuple[str, ...] = ("book", "test")) -> list[str]:
    """Return the direct requirements: core, the extras with their references resolved, and what builds the package."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))
    project = pyproject["project"]
    wanted: dict[str, None] = dict.fromkeys(project["dependencies"])
    queue, seen = list(extras), set(extras)
    while queue:
        for requirement in project["optional-dependencies"][queue.pop(0)]:
            own = re.fullmatch(r"fairpca\[(.+)\]", requirement)
            if not own:
                wanted[requirement] = None
                continue
            for extra in (name.strip() for name in own[1].split(",")):
                if extra not in seen:
                    seen.add(extra)
                    queue.append(extra)
    # An editable install without network needs the build back end in the environment.
    return [*wanted, *pyproject["build-system"]["requires"], "editables"]


def requirements(text: str) -> list[str]:
    """Return the requirements of a lock, one string each, without comments and digests."""
    joined = text.replace("\\\n", " ")
    lines = (re.sub(r"\s--hash=\S+", "", line).strip() for line in joined.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def resolve(uv: str, wanted: list[str], kept: str, options: list[str]) -> str:
    """Return the text of a lock for all systems, with versions of the lock `kept` where they are possible.

    pip evaluates the conditions of requirements for the machine that it runs on, so what only macOS needs would have
    neither a version nor a digest; uv resolves for all systems at once.
    """
    with tempfile.TemporaryDirectory() as folder:
        asked, written = Path(folder, "asked.in"), Path(folder, "written.txt")
        asked.write_text("\n".join(wanted) + "\n", encoding="utf8")
        written.write_text(kept, encoding="utf8")
        settings = ["--universal", "--python-version=3.11", "--fork-strategy=fewest", "--generate-hashes"]
        quiet = ["--no-annotate", "--no-header", "--no-config", "--quiet"]
        command = [uv, "pip", "compile", str(asked), "--output-file", str(written), *settings, *quiet, *options]
        subprocess.run(command, check=True)
        return written.read_text(encoding="utf8")


def entries(text: str) -> list[str]:
    """Return the entries of a lock, each with the lines of its digests."""
    return re.findall(r"^[\w.-]+.*\n(?:    --hash.*\n)*", text, re.MULTILINE)


def pins(found: list[str]) -> set[str]:
    """Return name and version of entries; the condition may be wider where more packages ask for one."""
    return {entry.split()[0] for entry in found}


def main(uv: str, *options: str) -> int:
    kept = "".join(lock.read_text(encoding="utf8") for lock in LOCKS.values() if lock.exists())
    everything = resolve(uv, declared(), kept, list(options))
    book = resolve(uv, declared(("book",)), everything, [])
    first = pins(entries(book))
    found = {"book": entries(book), "test": [entry for entry in entries(everything) if entry.split()[0] not in first]}
    if first - pins(entries(everything)):
        raise ValueError("The book alone resolves to other versions than book and tests together; run it again.")
    for name, lock in LOCKS.items():
        lock.write_text(HEADER.format(what=CONTENT[name]) + "".join(found[name]), encoding="utf8")
        print(lock.name, len(found[name]), "packages pinned")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
