"""Write what READMEs and the report's metadata repeat from declarations, papers' and data sets'.

python scripts/readme.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import bibliography

from fairpca.companion.published import Exhibit, papers
from fairpca.datasets._catalog import CATALOG, Entry
from fairpca.datasets._download import REGISTRY_FILE

ROOT = Path(__file__).resolve().parents[1]
README, DATA = ROOT / "README.md", ROOT / "data" / "README.md"
METADATA = ROOT / "report" / "metadata.yaml"


def table(header: str, rows: list[list[object]]) -> str:
    """Return a Markdown table; the columns' names are separated by bars."""
    lines = [header, "---|" * (header.count("|") - 1)]
    lines[1] = f"|{lines[1]}"
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def sets() -> str:
    """Every data set in one line."""
    rows: list[list[object]] = []
    for name, entry in CATALOG.items():
        sizes, words = (" / ".join(map(str, pair)) for pair in (entry.group_sizes, entry.group_names))
        where = "bundled" if entry.bundled else "fetched"
        rows.append([f"`{name}`", entry.n_samples, entry.n_features, sizes, words, entry.group, entry.label or "none",
                     entry.paper, where])  # fmt: skip
    return table("| name | N | d | n(0) / n(1) | groups 0 / 1 | group column | label | paper | where |", rows)


def rank() -> str:
    """The sets whose centred features depend on each other."""
    dependent = [(name, entry) for name, entry in CATALOG.items() if entry.rank and entry.rank < entry.n_features]
    listed = ", ".join(f"`{name}` (rank {entry.rank} of {entry.n_features})" for name, entry in dependent)
    return f"The centred features are linearly dependent in {listed}."


def concerns() -> str:
    """Source, licence and concerns of every set."""

    def part(name: str, entry: Entry) -> str:
        lines = [f"**`{name}`** — {entry.title}, {entry.paper}.", f"Source: {entry.source.rstrip('.')}."]
        return "\n".join([*lines, f"Licence: {entry.licence}.", *(f"* {concern}" for concern in entry.concerns)])

    return "\n\n".join(part(name, entry) for name, entry in CATALOG.items())


def raw() -> str:
    """The bundled files."""
    files = json.loads(REGISTRY_FILE.read_text(encoding="utf8"))["bundled"]
    rows: list[list[object]] = [
        [f"`{name}`", facts["rows"], facts["columns"], f"`{facts['sha256']}`"] for name, facts in sorted(files.items())
    ]
    return table("| file | rows | columns | SHA-256 of the text inside |", rows)


def replication() -> str:
    """The works that are replicated, in the report's metadata."""
    works = bibliography.works()
    # A paper in a checkout of its own stands in another bibliography.
    cited = [works[paper.cite] for paper in papers() if paper.cite in works]
    return "\n".join(f"  - doi: {work.doi}" if work.doi else f"  - url: {work.url}" for work in cited)


def exhibit_titles(exhibits: list[Exhibit]) -> str:
    """Titles in one line, runs of numbers joined: ``"Table 1, Figures 8–10, 12"``."""
    numbers: dict[str, list[int]] = {}
    others = []
    for exhibit in exhibits:
        word, _, number = exhibit.title.rpartition(" ")
        if word in ("Figure", "Table") and number.isdecimal():
            numbers.setdefault(word, []).append(int(number))
        else:
            others.append(exhibit.title)
    for word, found in numbers.items():
        starts = [n for n in found if n - 1 not in found]
        ends = [n for n in found if n + 1 not in found]
        runs = [str(a) if a == b else f"{a}–{b}" for a, b in zip(sorted(starts), sorted(ends), strict=True)]
        others.append(f"{word}{'s' if len(found) > 1 else ''} {', '.join(runs)}")
    return ", ".join(others)


def papers_table() -> str:
    """The papers in Markdown, with what groups should share by each."""
    lines = ["| paper | what the groups should share |", "| --- | --- |"]
    lines += [f"| {p.short}, *{p.title}*, {p.venue} | {p.shares} |" for p in papers()]
    return "\n".join(lines)


def exhibits_table() -> str:
    """Which chapters show what of which paper, in Markdown."""
    lines = ["| exhibit | chapter |", "| --- | --- |"]
    for paper in papers():
        shown: dict[tuple[str, ...], list[Exhibit]] = {}
        for exhibit in paper.exhibits.values():
            if exhibit.chapters and not exhibit.stored:
                shown.setdefault(exhibit.chapters, []).append(exhibit)
        for chapters, exhibits in shown.items():
            files = ", ".join(f"`chapters/{chapter}.md`" for chapter in chapters)
            lines.append(f"| {paper.short}, {exhibit_titles(exhibits)} | {files} |")
    return "\n".join(lines)


def with_parts(text: str, parts: Mapping[str, str]) -> str:
    """Put each part between its marks."""
    for name, part in parts.items():
        pattern = rf"(<!-- {name} -->\n).*?([^\n]*<!-- end -->)"  # in YAML the marks stand in comments
        text, found = re.subn(pattern, lambda match, part=part: f"{match[1]}{part}\n{match[2]}", text, flags=re.DOTALL)
        if found != 1:
            raise ValueError(f"there must be one part between <!-- {name} --> and <!-- end -->; there are {found}.")
    return text


def texts() -> dict[Path, str]:
    """Return what each file ought to say."""
    parts = {README: {"papers": papers_table(), "exhibits": exhibits_table()}}
    parts[DATA] = {"sets": sets(), "rank": rank(), "concerns": concerns(), "raw": raw()}
    parts[METADATA] = {"replication": replication()}
    return {path: with_parts(path.read_text(encoding="utf8"), parts[path]) for path in parts}


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text, encoding="utf8")
