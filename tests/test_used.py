"""Every function and class is used: by the package, the scripts or the book; what only tests call is dead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from chapter_code import cells

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("fairpca", "scripts", "_ext", "data")
# What other people's code calls by its name, and whose.
CALLED_FROM_OUTSIDE = {
    "_n_features_out": "scikit-learn, for the names of the columns",
    "handle_starttag": "html.parser",
    "_repr_html_": "IPython",
    "setup": "Sphinx",
    "hostile_moments": "searches for hard cases",
    "prices": "the comparison's pages",
    "dominance": "the comparison's pages",
    "remarks": "the comparison's pages",
}


@cache
def sources() -> dict[Path, ast.Module]:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path: ast.parse(path.read_text(encoding="utf8")) for path in paths}


@cache
def read() -> frozenset[str]:
    """Return what package, scripts and book read."""
    chapters = sorted((ROOT / "chapters").rglob("*.md"))
    trees = [*sources().values(), *(tree for chapter in chapters for tree in cells(chapter))]
    return frozenset(name for tree in trees for name in names(tree))


def names(tree: ast.AST) -> Iterator[str]:
    """Yield what a source reads, also by its name in quotation marks; being imported, exported or defined is no use."""
    exported = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in exported:
            yield node.value
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def for_users() -> Iterator[str]:
    """Yield what people call on their own rows: public methods of the classes, and what the parts for them export."""
    paths = [*(ROOT / "fairpca").glob("*.py")]
    paths += [path for folder in ("report", "tables", "scale") for path in (ROOT / "fairpca" / folder).rglob("*.py")]
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                methods = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
                yield from (name for name in methods if not name.startswith("_"))
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                yield from ast.literal_eval(node.value)


def test_nothing_is_there_for_tests_alone():
    used = read() | set(CALLED_FROM_OUTSIDE) | set(for_users())
    dead = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, tree in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and node.name not in used and not re.match(r"__\w+__$", node.name)
    ]  # fmt: skip
    assert not dead, "use them in the package or in the book, or delete them"


def test_constants_are_read():
    dead = [
        f"{path.relative_to(ROOT)}:{node.lineno} {target.id}"
        for path, tree in sources().items()
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and not target.id.startswith("__") and target.id not in read()
    ]
    assert not dead
