"""The open code of a chapter, for tests of what a reader sees."""

import ast
import multiprocessing
import os
import runpy
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import jupytext
import notebooks

from fairpca import companion
from fairpca.companion import run

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


# A process that has imported what pages need, and forks: a page then starts in no time.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["pandas", "matplotlib.pyplot", "sklearn.decomposition", "fairpca.companion", "numba"])


def run_alone(page: Path) -> tuple[int, str, str]:
    """Run a program as `python page` would, in its folder; return the exit code and what it printed."""
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
        process = SERVER.Process(target=_program, args=(page, out.name, err.name, dict(os.environ)))
        process.start()
        process.join()
        return process.exitcode or 0, *(Path(file.name).read_text(encoding="utf8") for file in (out, err))


def ends(function: Any, full: Any, smoke: Any = None, **options: Any) -> Any:
    """Run the first and the last cell of a slice; papermill runs the whole slice with the chapter."""
    chosen = list(smoke or full)
    return run(function, full, chosen if len(chosen) < 3 else [chosen[0], chosen[-1]], **options)


def _program(page: Path, out: str, err: str, environment: dict[str, str]) -> None:
    for name, number in ((out, 1), (err, 2)):
        os.dup2(os.open(name, os.O_WRONLY), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
    sys.argv = [str(page)]
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(page.parent)
    companion.run = ends
    code = 1
    try:
        runpy.run_path(str(page), run_name="__main__")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
