"""From a template to a page: its cells run once, and what they show is written as HTML that needs nothing else."""

from __future__ import annotations

import ast
import io
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fairpca.report.page import Html, join, page, tag

__all__ = ["built_report", "template_text"]


def template_text() -> str:
    """Return the template, to be copied and changed."""
    return files("fairpca.report").joinpath("template.md").read_text(encoding="utf8")


def built_report(
    template: str, parameters: Mapping[str, Any], progress: Callable[[int, int], None] | None = None
) -> dict[str, bytes]:
    """Run the cells of a template in this process, and return what belongs to the report.

    Parameters
    ----------
    template : str
        A notebook in MyST Markdown whose cell tagged ``parameters`` sets `data`, `sensitive`, `target`, `settings` and
        `json_out`. Its cells are Python, without magics; the value of a cell's last line is shown.
    parameters : mapping
        Values of these; `json_out` is set here.
    progress : callable, optional
        ``progress(done, total)`` while fits are made.

    Returns
    -------
    dict of str to bytes
        ``html``, ``json`` and ``ipynb``.
    """
    try:
        import jupytext
        import nbformat
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise ImportError(
            f"A report needs {error.name}, which is not installed; get it with pip install 'fairpca[report]'."
        ) from error
    notebook = jupytext.reads(template, fmt="md:myst")
    if not any("parameters" in cell.metadata.get("tags", []) for cell in notebook.cells):
        raise ValueError(
            "The template has no cell tagged `parameters`, so it cannot be told the table; begin with a copy of the "
            "built-in one (--template-out)."
        )
    words = MarkdownIt("commonmark").enable("table")
    parts: list[Any] = []
    with TemporaryDirectory() as folder:
        numbers = Path(folder, "numbers.json")
        settings = {**parameters.get("settings", {}), "progress": progress}
        names: dict[str, Any] = {"__name__": "__main__"}
        for number, cell in enumerate(notebook.cells, 1):
            if cell.cell_type == "markdown":
                parts.append(Html(words.render(cell.source)))
                continue
            cell.outputs, shown = _run(cell.source, names, number)
            parts += shown
            if "parameters" in cell.metadata.get("tags", []):
                names |= {**parameters, "settings": settings, "json_out": str(numbers)}
                given = {**parameters, "json_out": None}
                cell.source = "\n".join(f"{name} = {value!r}" for name, value in given.items())
        if not numbers.exists():
            raise ValueError("The template wrote no numbers; keep its last cell, study.save_json(json_out).")
        text = numbers.read_bytes()
    title = f"Report on {Path(str(parameters['data'])).name}"
    made = {"html": page(title, join(parts)).encode(), "json": text}
    return made | {"ipynb": nbformat.writes(notebook).encode()}


def _run(source: str, names: dict[str, Any], number: int) -> tuple[list[Any], list[Html]]:
    """Run a cell; return its outputs for the notebook, and what they look like on the page."""
    from nbformat.v4 import new_output

    printed, value = io.StringIO(), None
    try:
        tree = ast.parse(source)
        last: Any = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with redirect_stdout(printed):
            exec(compile(tree, f"<cell {number}>", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), f"<cell {number}>", "eval"), names)
    except Exception as error:
        raise ValueError(
            f"Cell {number} of the template failed: {type(error).__name__}: {error}. Fix the template, or use the "
            "built-in one."
        ) from error
    outputs, shown = [], []
    if printed.getvalue():
        outputs.append(new_output("stream", name="stdout", text=printed.getvalue()))
        shown.append(tag("pre", printed.getvalue()))
    if value is not None:
        rich = getattr(value, "_repr_html_", None)
        html = rich() if rich is not None else None
        plain = repr(value) if html is None else type(value).__name__
        outputs.append(new_output("display_data", data={"text/plain": plain, "text/html": html or tag("pre", plain)}))
        shown.append(tag("pre", plain) if html is None else Html(html))
    return outputs, shown
