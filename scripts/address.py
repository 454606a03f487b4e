"""Write the repository's address into README.md, CITATION.cff, codemeta.json and ro-crate-metadata.json.

The address comes from REPOSITORY_URL, for instance ``make address REPOSITORY_URL=https://example.org/group/fairpca``.
Without it the four files name no address. The book's buttons (``_ext/site_extras.py``) and the package's metadata
(``hatch_build.py``) read the same variable while they are built.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import bibliography
import yaml

from fairpca.companion.published import papers

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "ro-crate-metadata.json"
CODE, TEXT = "https://spdx.org/licenses/BSD-3-Clause", "https://creativecommons.org/licenses/by/4.0/"
FOLDERS = {
    "chapters/": "The book: MyST text notebooks, one folder a part.",
    "data/raw/": "Bundled data sets, pinned by checksum; each keeps the terms of its source.",
    "data/published/": "Numbers, statements and settings of the papers, as printed or published.",
    "report/": "The replication report; its numbers come from the stored results.",
    "tests/": "The tests of package, chapters and scripts.",
}
FILES = {
    "CITATION.cff": ("How to cite the software and the book.", "text/yaml"),
    "codemeta.json": ("Metadata of the software.", "application/json"),
    "requirements.lock": ("Exact versions of everything that is installed.", "text/plain"),
    "LICENSE": ("Licence of the code.", "text/plain"),
    "README.md": ("What this is and how to start.", "text/markdown"),
}


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


def crate(repository: str = "") -> dict[str, Any]:
    """Return the crate; `repository` is the address of the code, if there is one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf8"))
    works = bibliography.works()
    author = {"@id": "#authors", "@type": "Organization", "name": citation["authors"][0]["name"]}
    software = {
        "@id": "fairpca/",
        "@type": ["Dataset", "SoftwareSourceCode"],
        "name": project["name"],
        "description": project["description"],
        "version": project["version"],
        "license": {"@id": CODE},
        "programmingLanguage": "Python",
        "author": {"@id": "#authors"},
    }
    folders = [{"@id": name, "@type": "Dataset", "name": name, "description": told} for name, told in FOLDERS.items()]
    replicated = [
        {"@id": work.address, "@type": "ScholarlyArticle", "name": work.title, "datePublished": work.year}
        for work in (works[paper.cite] for paper in papers())
    ]
    results = {
        "@id": "data/results/",
        "@type": "Dataset",
        "name": "data/results/",
        "description": "Our numbers for what the papers print and state, with a file of provenance beside each.",
        "isBasedOn": [{"@id": article["@id"]} for article in replicated],
    }
    files = [
        {"@id": name, "@type": "File", "name": name, "description": told, "encodingFormat": kind}
        for name, (told, kind) in FILES.items()
    ]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": citation["preferred-citation"]["title"],
        "description": project["description"],
        "version": project["version"],
        "datePublished": str(citation["date-released"]),
        "license": {"@id": TEXT},
        "author": {"@id": "#authors"},
        "keywords": project["keywords"],
        "hasPart": [{"@id": part["@id"]} for part in [software, *folders, results, *files]],
        "citation": [{"@id": article["@id"]} for article in replicated],
        **({"url": repository} if repository else {}),
    }
    licences = [
        {"@id": CODE, "@type": "CreativeWork", "name": "BSD-3-Clause, for code"},
        {"@id": TEXT, "@type": "CreativeWork", "name": "CC BY 4.0, for text and figures"},
    ]
    descriptor = {
        "@id": FILE.name,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
    }
    graph = [descriptor, root, software, *folders, results, *files, *replicated, author, *licences]
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}


def fill(root: Path, repository: str, book: str) -> None:
    """Rewrite the four files below `root`."""
    repository, book = repository.rstrip("/"), book.rstrip("/")
    readme = (root / "README.md").read_text(encoding="utf8")
    marked = re.compile(r"(<!-- badges -->\n).*?(<!-- end of badges -->)", re.DOTALL)
    texts = {
        "README.md": marked.sub(lambda found: found[1] + badges(repository, book) + found[2], readme),
        "CITATION.cff": citation((root / "CITATION.cff").read_text(encoding="utf8"), repository, book),
        "codemeta.json": codemeta((root / "codemeta.json").read_text(encoding="utf8"), repository),
        "ro-crate-metadata.json": json.dumps(crate(repository), indent=2, ensure_ascii=False) + "\n",
    }
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf8")


if __name__ == "__main__":
    fill(ROOT, os.environ.get("REPOSITORY_URL", ""), os.environ.get("BOOK_URL", ""))
