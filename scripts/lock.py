"""Resolve everything that the book and the tests need and write requirements.lock.

Run it with the oldest supported Python: `.venv/bin/python scripts/lock.py``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from fairpca._outputs import Outputs

ROOT = Path(__file__).resolve().parents[1]
HEADER = """\
# Everything that `make book` and `make test` install, with exact versions; Python 3.11 to 3.13.
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


def resolve(python: str, requirements: list[str], constraints: list[str]) -> dict[str, str]:
    """Return name → version as the pip of one interpreter would install them."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, limits, report = (Path(folder, name) for name in ("wanted.txt", "limits.txt", "report.json"))
        wanted.write_text("\n".join(requirements) + "\n", encoding="utf8")
        limits.write_text("\n".join(constraints) + "\n", encoding="utf8")
        options = ["--dry-run", "--ignore-installed", "--quiet", "--report", str(report), "--only-binary=:all:"]
        command = [python, "-m", "pip", "install", *options, "-r", str(wanted), "-c", str(limits)]
        subprocess.run(command, check=True)
        resolved = json.loads(report.read_text(encoding="utf8"))["install"]
    return {item["metadata"]["name"]: item["metadata"]["version"] for item in resolved}


def main(others: list[str]) -> int:
    lock = Outputs({"lock": ROOT / "requirements.lock"})
    pins = {name: f"{name}=={version}" for name, version in resolve(sys.executable, declared(), []).items()}
    for python in others:
        show = "import sys; print(*sys.version_info[:2], sep='.')"
        version = subprocess.run([python, "-c", show], check=True, capture_output=True, text=True).stdout.strip()
        # What another version needs in addition is pinned for it alone; all the rest must be the same everywhere.
        shared = [pin for pin in pins.values() if ";" not in pin]
        for name, number in resolve(python, declared(), shared).items():
            pins.setdefault(name, f'{name}=={number}; python_version == "{version}"')
    lines = sorted(pins.values(), key=str.lower)
    lock.write({"lock": (HEADER + "\n".join(lines) + "\n").encode()})
    print(len(lines), "packages pinned")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
