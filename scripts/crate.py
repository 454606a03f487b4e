"""Describe this repository for machines (RO-Crate 1.1); scripts/address.py writes ro-crate-metadata.json."""

from __future__ import annotations

import json
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


def build(repository: str = "") -> dict[str, Any]:
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


def text(repository: str = "") -> str:
    return json.dumps(build(repository), indent=2, ensure_ascii=False) + "\n"
