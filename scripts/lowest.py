"""Print the lowest versions that pyproject.toml allows, one requirement a line, for an environment to test them in.

Packages that only run the tests keep their locked versions: what a user may have is under test, not what tests it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("sdp", "plot", "data")
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "fairlearn")


def lowest(pyproject: dict, lock: str) -> list[str]:
    """Return ``name==version`` for what the package needs, and the locked versions of the tools that test it."""
    project = pyproject["project"]
    wanted = [*project["dependencies"], *(r for extra in EXTRAS for r in project["optional-dependencies"][extra])]
    pins = []
    for requirement in wanted:
        match = re.fullmatch(r"([\w.-]+)>=([\w.]+)(?:,<\w+)?", requirement)
        if match is None:
            raise ValueError(f"{requirement!r} in pyproject.toml names no lowest version; write name>=version.")
        pins.append(f"{match[1]}=={match[2]}")
    locked = dict(re.findall(r"^([\w.-]+)==([\w.]+)", lock, re.MULTILINE))
    return [*pins, *(f"{name}=={locked[name]}" for name in TOOLS), *pyproject["build-system"]["requires"], "editables"]


if __name__ == "__main__":
    text = (ROOT / "pyproject.toml").read_text(encoding="utf8")
    locks = "".join((ROOT / f"requirements{end}.lock").read_text(encoding="utf8") for end in ("", "-test"))
    found = lowest(tomllib.loads(text), locks)
    sys.stdout.write("\n".join(found) + "\n")
