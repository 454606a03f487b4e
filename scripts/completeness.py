"""List the numbers that a paper's text prints and that no row of ``data/published`` covers.

    python scripts/completeness.py FOLDER [--rules]

FOLDER has the texts that ``data/published/<paper>/text.json`` names. A number of a table is covered by a published
table with the same number, each row once. A number in a caption or in prose is covered by a claim or a setting whose
value or words have the same number, and whose ``where`` names the place: the section or one that contains it, or the
figure, table or theorem at the head of whose paragraph it stands. Two numbers that are equal at one place are not told
apart.

Numbers that are no results are left out by rules, each with what they are instead: those of this script hold for every
paper (numbers of sections, figures and citations, parts of formulas), those of ``text.json`` for one. ``--rules``
counts what every rule leaves out.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairpca.companion import published
from fairpca.companion.published.comparison import STATISTICS
from fairpca.companion.published.declarations import paper as declared

_POWER = r"10\s*(?:\^\{?|<sup>)\s*[-−]?\d+\}?(?:</sup>)?"
NUMBER = re.compile(rf"(?<![\w.]){_POWER}|(?<![\w.])[-−]?\d+(?:,\d{{3}}(?!\d))*(?:\.\d+|\.(?=[,}}]))?(?:e[-−]?\d+)?")
HEADING = re.compile(r"^(?:#+ )?(?P<label>(?:[A-Z]|\d)(?:\.\s?\d+)*)\s+(?=[A-Z][\w-])")
_NAMES = "figure|table|theorem|lemma|proposition|corollary|remark|definition|assumption|algorithm|equation"
NAMED = re.compile(rf"^\W*(?P<kind>{_NAMES})\s+(?P<label>[A-Z]?\.?\d+(?:\.\d+)*)", re.IGNORECASE)
PLACE = re.compile(rf"(section|supplement|appendix|{_NAMES})s?\s+([A-Z\d][\d., and]*)", re.IGNORECASE)
WORDS_OF_SECTIONS = {"abstract": "0", "introduction": "1"}

# Searched in the line with the number marked: …«1.5»…
_REFERENCE = (
    rf"(?:{_NAMES}|fig\.|section|corollar\w+|alg\.|eqs?\.|appendix|line|step|case|fact|def\.|sdp|lp|constraint|problem|"
    r"experiment|example)s?"
)
GENERAL = {
    "year": r"«(?:19|20)\d\d»(?!\s*(?:faces|images|samples|points|rows|iterations))",
    "number of a section, figure, theorem, equation or step": (
        rf"\b{_REFERENCE}[\s~]*\(?(?:[A-Z]?\.?\d[\d.]*[a-z)]*(?:\s*(?:,|and|or|to|–|-|through)\s*)*\(?)*[A-Z]?\.?«"
    ),
    "number of an equation": r"(?:\(|\\tag\{)«\d+»[a-f]?[)}]",
    "footnote or mark of an affiliation": r"<sup>[\d,]*«\d+»|^\s*«\d»\s+(?:https?:|It is |The code )|\)«\d»[,\s]",
    "page number": r"^\s*«\d+»\s*$",
    "heading or number of an item": (
        r"^(?:#+ )?\s*(?:[A-Z]\.)?(?:\d\.)*\s?«\d{1,2}(?:\.\s?\d+)*»[.:)]?\s+\*{0,2}[A-Z]|^\s*-\s*«\d+»\s|"
        r"^\s*«\d+»:|\W«\d»\)\s"
    ),
    "scale of a drawn axis": r"^(?=(?:[«»\d.,]+\s+){3,}[«»\d.,]+\s*$)",
    "address or identifier": r"(?:https?:|arxiv:|www\.)\S*«|\w-«\d+»|«\d+»-\w*\d",
}


@dataclass(frozen=True)
class Found:
    """A number in a text: where it stands, and the line with the number marked."""

    file: str
    line: int
    places: frozenset[str]
    number: str
    marked: str
    table: str = ""
    display: bool = False


@dataclass(frozen=True)
class Text:
    """What ``text.json`` of a paper says about its text.

    Attributes
    ----------
    files : sequence of str
        Names of the files, in order.
    skip : mapping of str to str
        Passages without results: pattern of the first line, and of the line where the text goes on.
    headings : mapping of str to str
        Section labels of headings that have no number in the file.
    tables : mapping of str to sequence
        Patterns of the first and last line of each published table, by its name.
    rules : sequence of mapping
        ``why`` a number is no result, the ``pattern`` of its surroundings, and the ``sections`` where that holds.
    """

    files: Sequence[str]
    skip: Mapping[str, str]
    headings: Mapping[str, str]
    tables: Mapping[str, Sequence[str]]
    rules: Sequence[Mapping[str, Any]]


def read_text(paper: str) -> Text:
    """Read a paper's ``text.json``."""
    return Text(**json.loads((declared(paper).folder / "text.json").read_text(encoding="utf-8")))


def _value(number: str) -> float:
    power = re.fullmatch(r"10\s*(?:\^\{?|<sup>)\s*([-−]?\d+)\}?(?:</sup>)?", number)
    return float((f"1e{power[1]}" if power else number).replace(",", "").replace("−", "-"))


def _places(where: str) -> set[str]:
    """Places that a claim names: ``"§8.3"``, ``"table 1"``."""
    found = {f"§{label}" for word, label in WORDS_OF_SECTIONS.items() if word in where.lower()}
    for kind, labels in PLACE.findall(where):
        kind = "§" if kind.lower() in ("section", "supplement", "appendix") else f"{kind.lower()} "
        found |= {kind + label.strip(". ") for label in re.split(r",|and", labels) if label.strip(". ")}
    return found


def find_numbers(text: Text, folder: Path) -> Iterator[Found]:
    """Every number of a text outside the passages to skip, with its places."""
    for name in text.files:
        section, named, until, table, display = "0", "", None, "", False
        for at, line in enumerate((folder / name).read_text(encoding="utf-8").splitlines(), 1):
            until = until or next((end for start, end in text.skip.items() if re.search(start, line)), None)
            if until:
                if not re.search(until, line):
                    continue
                until = None
            plain = line.replace("**", "").strip()
            heading = HEADING.match(plain) if len(plain) < 90 else None
            if heading or plain.lstrip("# ") in text.headings:
                label = heading["label"] if heading else text.headings[plain.lstrip("# ")]
                section, named = re.sub(r"\s", "", label), ""
            caption = NAMED.match(plain)
            named = f"{caption['kind'].lower()} {caption['label']}" if caption else named if plain else ""
            for exhibit, (start, _) in text.tables.items():
                table = exhibit if re.search(start, line) else table
            here = table.replace("table", "table ") if table else named
            parts = section.split(".")  # a section belongs to those that contain it
            above = ("§" + ".".join(parts[:n]) for n in range(1, len(parts) + 1))
            places = frozenset([*above, *([here] if here else [])])
            for match in NUMBER.finditer(line):
                marked = f"{line[: match.start()]}«{match.group()}»{line[match.end() :]}"
                inside = display ^ bool(line.count("$$", 0, match.start()) % 2)
                yield Found(name, at, places, match.group(), marked, table, inside)
            display ^= bool(line.count("$$") % 2)
            if table and re.search(text.tables[table][1], line):
                table = ""


def _formula(found: Found) -> bool:
    """Whether the number is a part of a formula: a digit in mathematics, and not the value that a letter is given."""
    marked, at = found.marked, found.marked.index("«")
    if not re.search(r"«[-−]?\d»", marked):
        return False
    if found.display:
        return True
    if marked.count("$", 0, at) % 2 == 0:
        return False
    start, end = marked.rindex("$", 0, at) + 1, marked.index("$", at) if "$" in marked[at:] else len(marked)
    inside = marked[start:end]
    number = rf"(?:{_POWER}|[\d.]+)"
    listed = rf"\s*\(?\\?\{{?\s*(?:(?:{number}|\\dots)\s*,\s*)*«[^»]*»(?:\s*,\s*(?:{number}|\\dots))*\s*\\?\}}?\)?\s*"
    given = re.search(rf"(?:=|\\in|<|\\leq?|>|\\geq?|\\pm)(?:{listed})(?:$|,\s*\\)", inside)
    alone = re.fullmatch(rf"{listed}", inside)
    digits = re.search("«([^»]*)»", inside)
    # That something is 0 or 1, or positive, or an index that begins at 1, is no result.
    return not (given or alone) or (not alone and digits is not None and digits[1] in ("0", "1"))


def rule_of(found: Found, text: Text) -> str:
    """Why a number is no result; empty if no rule says so."""
    for why, pattern in GENERAL.items():
        if re.search(pattern, found.marked, re.IGNORECASE) and not (found.table and why == "number of an equation"):
            return why
    for rule in text.rules:
        here = not rule.get("sections") or any(f"§{section}" in found.places for section in rule["sections"])
        if here and re.search(rule["pattern"], found.marked):
            return str(rule["why"])
    return "part of a formula" if _formula(found) else ""


def _table_numbers(paper: str, exhibit: str) -> Counter[str]:
    table = published.load(paper, exhibit)
    rows = (table[[name, "decimals"]].dropna() for name in STATISTICS if name in table.columns)
    return Counter(f"{value:.{int(digits)}f}" for part in rows for value, digits in part.itertuples(index=False))


def _said(paper: str) -> list[tuple[set[str], set[float]]]:
    """Places and numbers of each claim and each setting."""
    rows = [*published.load_claims(paper).to_dict("records"), *published.load_settings(paper).to_dict("records")]
    return [
        (_places(row["where"]), set(map(_value, NUMBER.findall(f"{row['statement']} {row['value']}")))) for row in rows
    ]


def uncovered(paper: str, folder: Path, used: Counter[str]) -> list[Found]:
    """Return the numbers of a paper that no rule leaves out and no published row covers; count the rules in `used`."""
    text, said, left = read_text(paper), _said(paper), []
    tables = {exhibit: _table_numbers(paper, exhibit) for exhibit in text.tables}
    for found in find_numbers(text, folder):
        plain = found.number.replace("−", "-")
        if found.table and tables[found.table][plain] > 0:
            tables[found.table][plain] -= 1
        elif why := rule_of(found, text):
            used[why] += 1
        elif not any(places & found.places and _value(found.number) in numbers for places, numbers in said):
            left.append(found)
    return left


def main() -> int:
    """List what is not covered; the exit code is 1 if there is something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with the papers' texts")
    parser.add_argument("--rules", action="store_true", help="count what each rule leaves out")
    options = parser.parse_args()
    total = 0
    for paper in published.papers():
        if not (paper.folder / "text.json").is_file():
            continue
        used: Counter[str] = Counter()
        left = uncovered(paper.name, options.folder, used)
        total += len(left)
        print(f"{paper.name}: {len(left)} numbers that no row covers")
        for found in left:
            near = found.marked[max(0, found.marked.index("«") - 50) : found.marked.index("»") + 40]
            print(f"  {found.file}:{found.line} ({', '.join(sorted(found.places))})  …{near}…")
        if options.rules:
            print("\n".join(f"  left out {count:5d}  {why}" for why, count in used.most_common()))
    return 1 if total else 0


if __name__ == "__main__":
    raise SystemExit(main())
