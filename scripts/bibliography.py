"""The works in references.bib: what a text calls them, and one line with authors, title and address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pybtex.database import parse_file

FILE = Path(__file__).resolve().parents[1] / "references.bib"


@dataclass(frozen=True)
class Work:
    """One entry of the bibliography."""

    key: str
    authors: tuple[str, ...]
    title: str
    venue: str
    year: str
    doi: str
    url: str

    @property
    def names(self) -> str:
        """The authors as a sentence calls them."""
        if len(self.authors) > 2:
            return f"{self.authors[0]} et al."
        return " and ".join(self.authors)

    @property
    def address(self) -> str:
        return f"https://doi.org/{self.doi}" if self.doi else self.url

    def markdown(self) -> str:
        venue = f" {self.venue}." if self.venue else ""
        return f"{', '.join(self.authors)} ({self.year}). *{self.title}*.{venue} <{self.address}>"


def _plain(text: str) -> str:
    return re.sub(r"[{}]", "", text.replace("\\&", "&").replace("--", "–"))


def _last_name(person: Any) -> str:
    from pybtex.richtext import Text

    return str(Text.from_latex(" ".join([*person.prelast_names, *person.last_names])))


@cache
def works(file: Path = FILE) -> dict[str, Work]:
    """Return the entries of a bibliography by their keys."""
    found = {}
    for key, entry in parse_file(str(file)).entries.items():
        fields = entry.fields
        authors = [name for name in map(_last_name, entry.persons["author"]) if name != "others"]
        if len(authors) < len(entry.persons["author"]):
            authors.append("and others")
        venue = next(
            (fields[name] for name in ("journal", "booktitle", "publisher", "howpublished") if name in fields), ""
        )
        found[key] = Work(
            key, tuple(authors), _plain(fields["title"]), _plain(venue), fields["year"],
            fields.get("doi", ""), fields.get("url", ""),
        )  # fmt: skip
    return found
