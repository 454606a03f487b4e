"""Lay the repository out as NeuroLibre asks: `content/` with the book, `binder/` with the environment, and a paper.

The paper is a summary with the bibliography; `repo2data` is what NeuroLibre itself needs in the environment. A file
that says where data are to be downloaded is not needed: what the book reads is in the repository.

python scripts/neurolibre.py _build/neurolibre
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
# What the book's build reads beside the package and the data; it moves into content/.
BOOK = ("_config.yml", "_toc.yml", "references.bib", "chapters/", "_ext/", "_static/", "_templates/", "CITATION.cff")
# Read by the chapter of changes, from its own place two folders up.
READ_BY_BOOK = ("CHANGELOG.md",)
BIBLIOGRAPHY = {"paper.bib": "references.bib"}
SERVICE = "python -m pip install 'repo2data>=2.6.0'\n"  # by itself: the lock knows no digest of it
PACKAGE = ("fairpca/", "data/", "binder/", "pyproject.toml", "requirements.lock", "README.md", "LICENSE")


def layout(files: list[str]) -> dict[str, str]:
    """Return, by place in the new layout, which file of the repository stands there."""
    placed = {f"content/{name}": name for name in files if name.startswith((*BOOK, *READ_BY_BOOK))}
    return placed | {name: name for name in files if name.startswith(PACKAGE)} | BIBLIOGRAPHY


def listed(root: Path = ROOT) -> list[str]:
    done = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def paper() -> str:
    """Return the summary that goes with the book, from the report's metadata."""
    told = yaml.safe_load((ROOT / "report/metadata.yaml").read_text(encoding="utf8"))
    head = {
        "title": told["title"],
        "tags": [word.strip() for word in told["keywords"].split(",")],
        "authors": [{"name": author["name"], "affiliation": "1"} for author in told["authors"]],
        "affiliations": [{"name": "see the repository", "index": 1}],
        "bibliography": "paper.bib",
    }
    front = yaml.safe_dump(head, sort_keys=False, allow_unicode=True)
    return f"---\n{front}---\n\n# Summary\n\n{told['abstract']}\n\n# References\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="is emptied first")
    folder = parser.parse_args().folder
    shutil.rmtree(folder, ignore_errors=True)
    placed = layout(listed())
    for target, source in placed.items():
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / source, folder / target)
    (folder / "paper.md").write_text(paper(), encoding="utf8")
    with (folder / "binder/postBuild").open("a", encoding="utf8") as script:
        script.write(SERVICE)
    print(f"{len(placed)} files are in {folder}; `jupyter-book build {folder / 'content'}` builds the book there")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
