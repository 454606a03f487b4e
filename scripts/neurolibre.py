"""Lay the repository out as NeuroLibre asks: `content/` with the book, `binder/` with the environment.

python scripts/neurolibre.py _build/neurolibre
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What the book's build reads beside the package and the data; it moves into content/.
BOOK = ("_config.yml", "_toc.yml", "references.bib", "chapters/", "_ext/", "_static/", "_templates/", "CITATION.cff")
# Read by the chapter of changes, from its own place two folders up.
READ_BY_BOOK = ("CHANGELOG.md",)
PACKAGE = ("fairpca/", "data/", "binder/", "pyproject.toml", "requirements.lock", "README.md", "LICENSE")


def layout(files: list[str]) -> dict[str, str]:
    """Return, by place in the new layout, which file of the repository stands there."""
    placed = {f"content/{name}": name for name in files if name.startswith((*BOOK, *READ_BY_BOOK))}
    return placed | {name: name for name in files if name.startswith(PACKAGE)}


def listed(root: Path = ROOT) -> list[str]:
    done = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="is emptied first")
    folder = parser.parse_args().folder
    shutil.rmtree(folder, ignore_errors=True)
    placed = layout(listed())
    for target, source in placed.items():
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / source, folder / target)
    print(f"{len(placed)} files are in {folder}; `jupyter-book build {folder / 'content'}` builds the book there")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
