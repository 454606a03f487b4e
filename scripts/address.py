"""Write the repository's address into README.md, CITATION.cff, codemeta.json and ro-crate-metadata.json.

The address comes from REPOSITORY_URL, for instance ``make address REPOSITORY_URL=https://example.org/group/fairpca``.
Without it the four files name no address. The book's buttons (``_ext/site_extras.py``) and the package's metadata
(``hatch_build.py``) read the same variable while they are built.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import crate

ROOT = Path(__file__).resolve().parents[1]


def badges(repository: str, book: str) -> str:
    """Return the badges of the README: state of the checks, the book, the licence."""
    if not repository:
        return ""
    marks = [f"[![checks]({repository}/actions/workflows/checks.yml/badge.svg)]({repository}/actions)"]
    if book:
        marks.append(f"[![book](https://img.shields.io/badge/book-online-blue)]({book})")
    marks.append(
        f"[![licence](https://img.shields.io/badge/licence-BSD--3--Clause-blue)]({repository}/blob/main/LICENSE)"
    )
    return "\n".join(marks) + "\n"


def citation(text: str, repository: str, book: str) -> str:
    """Return CITATION.cff with its two addresses."""
    text = re.sub(r"^(repository-code|url): .*\n", "", text, flags=re.MULTILINE)
    lines = [f"repository-code: {repository}\n"] * bool(repository) + [f"url: {book or repository}\n"] * bool(
        repository
    )
    return text.replace("license: BSD-3-Clause\n", "license: BSD-3-Clause\n" + "".join(lines), 1)


def codemeta(text: str, repository: str) -> str:
    """Return codemeta.json with the addresses of code, issues, README and checks."""
    data = json.loads(text)
    pages = {
        "codeRepository": repository,
        "issueTracker": f"{repository}/issues",
        "readme": f"{repository}/blob/main/README.md",
        "continuousIntegration": f"{repository}/actions",
    }
    data = {key: value for key, value in data.items() if key not in pages} | (pages if repository else {})
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def fill(root: Path, repository: str, book: str) -> None:
    """Rewrite the four files below `root`."""
    repository, book = repository.rstrip("/"), book.rstrip("/")
    readme = (root / "README.md").read_text(encoding="utf8")
    marked = re.compile(r"(<!-- badges -->\n).*?(<!-- end of badges -->)", re.DOTALL)
    texts = {
        "README.md": marked.sub(lambda found: found[1] + badges(repository, book) + found[2], readme),
        "CITATION.cff": citation((root / "CITATION.cff").read_text(encoding="utf8"), repository, book),
        "codemeta.json": codemeta((root / "codemeta.json").read_text(encoding="utf8"), repository),
        "ro-crate-metadata.json": crate.text(repository),
    }
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf8")


if __name__ == "__main__":
    fill(ROOT, os.environ.get("REPOSITORY_URL", ""), os.environ.get("BOOK_URL", ""))
