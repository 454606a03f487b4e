"""The code cells of a chapter, as syntax trees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path


def cells(chapter: Path) -> Iterator[ast.Module]:
    for cell in re.findall(r"```\{code-cell\}.*?\n(.*?)```", chapter.read_text(encoding="utf8"), re.DOTALL):
        yield ast.parse(re.sub(r"\A(?:---\n.*?---\n|(?::[^\n]*\n)+)", "", cell.lstrip("\n"), flags=re.DOTALL))
