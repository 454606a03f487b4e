"""The replication report: no number is typed, every count is that of the results; and metadata that others can read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import address
import bibliography
import jsonschema
import pandas as pd
import pytest
import yaml

import report
from fairpca.companion import records
from fairpca.companion.published import papers

ROOT = Path(__file__).resolve().parents[2]
MINUTES = 150  # what all results may take on two processors


def outside_of_braces(text: str) -> str:
    return re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", "", text, flags=re.DOTALL)


def test_the_text_types_no_number() -> None:
    text = (report.SOURCE / "article.md").read_text(encoding="utf8")
    assert not re.search(r"\d", outside_of_braces(text))
    assert "{{ answer }}" in text
    assert re.search(r"\d", outside_of_braces(text + "\nIn 7 cases {{ answer }}")), "the check must be able to fail"


def test_every_count_is_that_of_the_results(board: pd.DataFrame) -> None:
    words = re.sub(r"<[^>]+>", " ", report.render(board))
    printed = board[board["kind"] == "number"]
    for verdict in ("equal", "differs"):
        assert f"{(printed['verdict'] == verdict).sum():,} " in words
    table = report.by_exhibit(board)
    assert table["numbers"].sum() == len(printed)
    assert table["equal"].sum() == (printed["verdict"] == "equal").sum()
    for paper in papers():
        if paper.cite:
            assert f"{bibliography.works()[paper.cite].names} ({bibliography.works()[paper.cite].year})" in words
    # Other results, another report: what differs is gone.
    fewer = board[~((board["kind"] == "number") & (board["verdict"] == "differs"))]
    other = re.sub(r"<[^>]+>", " ", report.render(fewer))
    first, second = (re.search(r"Of the +([\d,]+) numbers printed", text)[1] for text in (words, other))
    assert int(first.replace(",", "")) - int(second.replace(",", "")) == (printed["verdict"] == "differs").sum()


def test_reasons_are_counted_by_what_they_have_in_common() -> None:
    rows = pd.DataFrame(
        {
            "exhibit": "t",
            "reason": [
                "Ties: 3 times the noise.",
                "Ties. 0.5 times the noise.",
                "Ties. Measured: 0.1; the print lies 9 % away.",
                "See `a/b`.",
            ],
        }
    )
    found = report.by_reason(rows, {"t": "Table T"})
    assert "<td>Table T</td><td>Ties</td><td class=number>3</td>" in found
    assert "<code>a/b</code>" in found
    assert report.by_reason(rows[:0], {}) == ""


def test_metadata_of_the_replication() -> None:
    told = yaml.safe_load((report.SOURCE / "metadata.yaml").read_text(encoding="utf8"))
    asked = {
        "title",
        "authors",
        "affiliations",
        "keywords",
        "code",
        "data",
        "replication",
        "contact",
        "review",
        "dates",
    }
    assert asked | {"article", "journal", "type", "language", "domain", "bibliography", "abstract"} == set(told)
    assert told["title"].startswith(("[Re]", "[¬Re]")) and told["type"] == "Replication"
    assert not re.search(r"\d", told["abstract"]), "results stand in the article"
    works = bibliography.works()
    replicated = [works[paper.cite] for paper in papers()]
    assert told["replication"] == [{"doi": work.doi} if work.doi else {"url": work.url} for work in replicated]
    assert (report.SOURCE / told["bibliography"]).is_file()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf8"))
    assert [author["name"] for author in told["authors"]] == [author["name"] for author in citation["authors"]]


CRATE = {
    "type": "object",
    "required": ["@context", "@graph"],
    "properties": {
        "@context": {"const": "https://w3id.org/ro/crate/1.1/context"},
        "@graph": {
            "type": "array",
            "items": {"type": "object", "required": ["@id", "@type"]},
            "contains": {
                "required": ["about", "conformsTo"],
                "properties": {
                    "@id": {"const": "ro-crate-metadata.json"},
                    "@type": {"const": "CreativeWork"},
                    "about": {"const": {"@id": "./"}},
                    "conformsTo": {"const": {"@id": "https://w3id.org/ro/crate/1.1"}},
                },
            },
        },
    },
}


def references(value: object) -> set[str]:
    """Return what an entity refers to."""
    if isinstance(value, dict):
        return {value["@id"]} if set(value) == {"@id"} else set().union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


def test_crate_is_current_and_valid() -> None:
    told = address.crate()
    assert json.loads(address.FILE.read_text(encoding="utf8")) == told, "run: make address"
    jsonschema.validate(told, CRATE)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**told, "@graph": told["@graph"][1:]}, CRATE)
    entities = {entity["@id"]: entity for entity in told["@graph"]}
    assert len(entities) == len(told["@graph"])
    external = {"https://w3id.org/ro/crate/1.1"}
    assert set().union(*map(references, told["@graph"])) <= set(entities) | external
    root = entities["./"]
    assert {"name", "description", "datePublished", "license", "hasPart"} <= set(root)
    for part in root["hasPart"]:
        place = ROOT / part["@id"]
        assert place.is_dir() if part["@id"].endswith("/") else place.is_file(), part


def test_all_results_can_be_computed_in_an_afternoon() -> None:
    """The recorded processor seconds of all stored results, on two processors."""
    seconds = sum(record["cpu_seconds"] for record in records().values())
    assert seconds / 2 < MINUTES * 60


def test_every_line_of_the_artifact_checklist_names_a_test_that_exists() -> None:
    text = (ROOT / "chapters/appendix/reproduce.md").read_text(encoding="utf8")
    section = text[text.index("## For those who review this as an artifact") :]
    rows = re.findall(r"^\| (?!---|criterion)(.*) \|$", section, re.MULTILINE)
    assert len(rows) >= 8
    for row in rows:
        named = re.findall(r"`(tests/[\w/.]+\.py)(?:::(\w+))?`", row)
        assert named or "nothing yet" in row, row
        for file, name in named:
            assert (ROOT / file).is_file(), file
            assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf8"), f"{file} has no {name}"
