"""Every function and class is used: by the package, the scripts or the book; what only tests call is dead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
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


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path, ast.parse(path.read_text(encoding="utf8"))


def of_the_book() -> set[str]:
    chapters = sorted((ROOT / "chapters").rglob("*.md"))
    return {name for chapter in chapters for tree in cells(chapter) for name in names(tree)}


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
    used = of_the_book() | set(CALLED_FROM_OUTSIDE) | set(for_users())
    defined = []
    for path, tree in sources():
        used.update(names(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                defined.append((node.name, f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"))
    special = re.compile(r"__\w+__$")
    dead = [place for name, place in defined if name not in used and not special.match(name)]
    assert not dead, "use them in the package or in the book, or delete them"


def test_constants_are_read():
    used = of_the_book()
    read = used.union(*(set(names(tree)) for _, tree in sources()))
    dead = [
        f"{path.relative_to(ROOT)}:{node.lineno} {target.id}"
        for path, tree in sources()
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and not target.id.startswith("__") and target.id not in read
    ]
    assert not dead
