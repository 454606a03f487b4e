"""Translate a chapter's MyST into Markdown that any notebook program shows.

Statements, exercises, citations, references, glued numbers and captions become plain text; the book's own names in
formulas are written out.
"""

from __future__ import annotations

import inspect
import os
import pydoc
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bibliography
import notebooks
import yaml
from notebooks import ChapterError

FENCE = re.compile(r"^(`{3,}|:{3,})(?:\{([\w:-]+)\})?[ \t]*(.*)$")
ROLE = re.compile(r"\{([a-z:]+)\}`([^`]+)`")
OPTION = re.compile(r"^:[\w-]+:.*$")
NUMBER = re.compile(r"⟦([^|⟧]*)\|([^⟧]*)⟧")  # the name of a computed number, and its value in the book


@dataclass(frozen=True)
class Place:
    """What the book calls something, and where it stands."""

    text: str
    address: str


def macros() -> dict[str, tuple[str, int]]:
    """Return the book's own names in formulas, which other programs do not know."""
    config = yaml.safe_load((notebooks.ROOT / "_config.yml").read_text(encoding="utf8"))
    listed = config["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"]
    return {name: (value, 0) if isinstance(value, str) else (value[0], value[1]) for name, value in listed.items()}


def argument(text: str, start: int) -> tuple[str, int]:
    """Return the argument of a macro that begins at `start`, and where the text goes on."""
    if text[start : start + 1] != "{":
        return text[start : start + 1], start + 1
    depth = 0
    for end in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0) if text[end - 1] != "\\" else 0
        if depth == 0:
            return text[start + 1 : end], end + 1
    raise ChapterError(f"a brace is not closed in {text[start : start + 60]!r}")


def expanded(text: str, known: Mapping[str, tuple[str, int]]) -> str:
    """Return formulas with the book's own names written out."""
    pattern = re.compile(r"\\(" + "|".join(sorted(known, key=len, reverse=True)) + r")(?![A-Za-z])")
    while found := pattern.search(text):
        body, count = known[found[1]]
        end = found.end()
        for number in range(1, count + 1):
            given, end = argument(text, end)
            body = body.replace(f"#{number}", given)
        gap = " " if count == 0 and text[end : end + 1].isalpha() else ""
        text = text[: found.start()] + body + gap + text[end:]
    return text


class Translator:
    """Turns one chapter's MyST into Markdown that any notebook program shows."""

    def __init__(self, page: str, places: Mapping[str, Place], glued: Mapping[str, str], address: str = "") -> None:
        self.page, self.places, self.glued = page, places, glued
        self.address = address.rstrip("/")
        self.macros = macros()
        self.works = bibliography.works()
        self.cited: dict[str, None] = {}

    def link(self, label: str, text: str = "") -> str:
        place = self.places.get(label)
        if place is None:
            raise ChapterError(f"{self.page}: nothing on the built pages is called {label!r}")
        text = text.replace("%s", place.text) or place.text
        return f"[{text}]({self.address}/{place.address})" if self.address else text

    def document(self, target: str) -> str:
        folder = Path(self.page).parent
        return target.lstrip("/") if target.startswith("/") else os.path.normpath(folder / target)

    def role(self, found: re.Match[str]) -> str:
        role, content = found[1], found[2]
        named = re.fullmatch(r"(.*?)\s*<([^<>]+)>", content)
        text, target = (named[1], named[2]) if named else ("", content)
        if role.startswith("cite"):
            keys = [key.strip() for key in content.split(",")]
            self.cited.update(dict.fromkeys(keys))
            if role == "cite:t":
                return ", ".join(f"{self.works[key].names} ({self.works[key].year})" for key in keys)
            return "(" + "; ".join(f"{self.works[key].names}, {self.works[key].year}" for key in keys) + ")"
        if role == "glue:text" and content in self.glued:
            return f"⟦{content}|{self.glued[content]}⟧"
        if role in ("func", "class", "meth", "mod", "attr"):
            return f"`{content.lstrip('~')}`"
        if role == "doc":
            link = self.link(self.document(target), text)
            return link if self.address or text else f"“{link}”"
        if role in ("prf:ref", "numref", "eq", "ref"):
            return self.link(target, text)
        wrong = "no cell glues" if role == "glue:text" else f"scripts/portable.py does not know the role {role!r} of"
        raise ChapterError(f"{self.page}: {wrong} {content!r}")

    def markdown(self, text: str) -> str:
        """Translate a piece of MyST."""
        out: list[str] = []
        lines = text.splitlines()
        position = 0
        while position < len(lines):
            line = lines[position]
            fence = FENCE.match(line)
            if fence is None:
                if not re.fullmatch(r"\([\w-]+\)=", line):
                    out.append(self.inline(line))
                position += 1
                continue
            closing = re.compile(rf"^{re.escape(fence[1][0])}{{{len(fence[1])},}}\s*$")
            end = next((n for n in range(position + 1, len(lines)) if closing.match(lines[n])), len(lines))
            body = lines[position + 1 : end]
            out += self.directive(fence[2], fence[3], body) if fence[2] else lines[position : end + 1]
            position = end + 1
        return re.sub(r"\n{3,}", "\n\n", "\n".join(out))

    def inline(self, line: str) -> str:
        numbered = re.fullmatch(r"\$\$ \(([\w-]+)\)", line)
        if numbered:
            place = self.places.get(numbered[1])
            return f"\\tag{{{place.text.strip('()')}}}\n$$" if place else "$$"
        return expanded(ROLE.sub(self.role, line), self.macros)

    def directive(self, name: str, title: str, lines: list[str]) -> list[str]:
        options = [line for line in lines if OPTION.match(line)]
        label = next((line.split(":", 2)[2].strip() for line in options if re.match(r":(?:label|name):", line)), "")
        first = next((n for n, line in enumerate(lines) if line.strip() and not OPTION.match(line)), len(lines))
        body = self.markdown("\n".join(lines[first:])).strip("\n")
        place = self.places.get(title if name == "solution-start" else label)
        title = self.inline(title)
        called = f"{place.text if place else name.partition(':')[2].capitalize() or 'Exercise'}"
        named = f"**{called}{f' ({title})' if title else ''}.**"
        if name == "literalinclude":
            return ["```python", *self.included(title, options), "```"]
        if name == "list-table":
            return list_table(title, body)
        if name in ("live", "tableofcontents", "bibliography"):
            return []  # made by the pages themselves
        plain = {
            **dict.fromkeys(("div", "grid"), body),
            "grid-item-card": f"**{title}.** {body}",
            "prf:proof": f"*Proof.* {body}\n\n∎",
            "exercise-start": f"---\n\n{named}",
            "solution-start": f"---\n\n**Solution of {called}.**",
            **dict.fromkeys(("exercise-end", "solution-end"), "---"),
            **dict.fromkeys(("admonition", "dropdown"), f"---\n\n**{title}.** {body}\n\n---"),
            **dict.fromkeys(("note", "tip", "warning"), f"---\n\n**{name.capitalize()}.** {body}\n\n---"),
        }
        if name in plain:
            return [plain[name]]
        if name.startswith("prf:"):
            return ["---", "", f"{named} {body}", "", "---"]
        raise ChapterError(f"{self.page}: scripts/portable.py does not know the directive {name!r}")

    def included(self, file: str, options: list[str]) -> list[str]:
        """Return the lines of a function that a page shows by `literalinclude`."""
        shown = next(line.split(":", 2)[2].strip() for line in options if line.startswith(":pyobject:"))
        thing = pydoc.locate(f"{self.document(file).removesuffix('.py').replace('/', '.')}.{shown}")
        if thing is None:
            raise ChapterError(f"{self.page}: {file} has no function {shown!r}")
        return inspect.getsource(thing).splitlines()

    def output(self, output: Any) -> Any:
        """Return an output without what only the book's pages can show or reach."""
        data = output.get("data", {})
        for kind in [kind for kind in data if kind.startswith("application/vnd.fairpca")]:
            del data[kind]  # such as the picture for a phone
        if "text/markdown" in data:
            data["text/markdown"] = with_numbers(self.markdown("".join(data["text/markdown"])))
        if "text/html" in data:
            data["text/html"] = re.sub(r'<a\b[^>]*?\bhref="([^"#:]*\.html)?(#[^"]*)?"[^>]*>(.*?)</a>', self.anchor,
                                       "".join(data["text/html"]), flags=re.DOTALL)  # fmt: skip
        return output

    def anchor(self, found: re.Match[str]) -> str:
        if not self.address:
            return found[3]
        page = os.path.normpath(Path(self.page).parent / found[1]) if found[1] else f"{self.page}.html"
        return f'<a href="{self.address}/{page}{found[2] or ""}">{found[3]}</a>'


def with_numbers(text: str, remark: str = "") -> str:
    """Put in the numbers as the book has them, each with a remark."""
    return NUMBER.sub(lambda found: found[2] + remark, text)


def list_table(title: str, body: str) -> list[str]:
    """Return a table of nested lists as Markdown knows tables."""
    rows: list[list[str]] = []
    for line in body.splitlines():
        row, cell = re.match(r"^\* - (.*)$", line), re.match(r"^  - (.*)$", line)
        if row:
            rows.append([row[1]])
        elif cell or re.match(r"^  -\s*$", line):
            rows[-1].append(cell[1] if cell else "")
        elif line.strip() and rows:
            rows[-1][-1] += " " + line.strip()
    lines = [f"**{title}**", ""] if title else []
    lines += ["| " + " | ".join(row) + " |" for row in rows[:1]] + ["|" + " --- |" * len(rows[0])]
    return lines + ["| " + " | ".join(row) + " |" for row in rows[1:]]
