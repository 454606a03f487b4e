"""The open code of a chapter, for tests of what a reader sees."""

import ast
from pathlib import Path
from typing import Any

import jupytext
import notebooks

FOLDED = {"hide-input", "parameters"}


def visible_code(source: Path) -> str:
    """Return what is open, after the folded cell of imports."""
    cells = [cell for cell in jupytext.read(source).cells if cell.cell_type == "code"]
    imports = next(cell for cell in cells if "from fairpca" in cell.source)
    shown = [cell for cell in cells if cell is imports or not FOLDED & set(cell.metadata.get("tags", []))]
    return "\n\n\n".join(cell.source for cell in shown)


def functions(chapter: str) -> dict[str, Any]:
    """Return the namespace of a chapter's imports, functions and tuples of constants, without running its cells."""
    tree = ast.parse(visible_code(notebooks.ROOT / "chapters" / f"{chapter}.md"))
    kept = [
        node
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef)
        or (isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and _constant(node.value))
    ]
    space: dict[str, Any] = {"__name__": chapter}
    exec(compile(ast.Module(kept, []), chapter, "exec"), space)
    return space


def _constant(value: ast.expr) -> bool:
    return all(isinstance(node, ast.Tuple | ast.Constant | ast.Load) for node in ast.walk(value))
