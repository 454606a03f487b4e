"""The header of a chapter, and its code cells as syntax trees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

# What every chapter begins with.
HEADER = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

"""


def cells(chapter: Path) -> Iterator[ast.Module]:
    for cell in re.findall(r"```\{code-cell\}.*?\n(.*?)```", chapter.read_text(encoding="utf8"), re.DOTALL):
        yield ast.parse(re.sub(r"\A(?:---\n.*?---\n|(?::[^\n]*\n)+)", "", cell.lstrip("\n"), flags=re.DOTALL))
