"""Resolve everything that the book and the tests need and write requirements.lock, with the digest of every file.

Run it by ``make lock``, which puts uv into an environment of its own; versions that may stay stay, unless
``--upgrade`` is given.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from fairpca._outputs import Outputs

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
HEADER = """\
# Everything that `make book` and `make test` install, with exact versions; Python 3.11 to 3.13, all systems.
# The digests are those of all files of a version: pip refuses any other (--require-hashes).
# Written by scripts/lock.py from pyproject.toml; do not edit by hand.
"""


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


def main(uv: str, *options: str) -> int:
    kept = LOCK.read_text(encoding="utf8") if LOCK.exists() else ""
    text = resolve(uv, declared(), kept, list(options))
    Outputs({"lock": LOCK}).write({"lock": (HEADER + text).encode()})
    print(len(requirements(text)), "packages pinned")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
