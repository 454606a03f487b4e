"""From a table to a page: the cells of a notebook run once, and what they show is HTML that needs nothing else."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from fairpca.report.page import Html, join, page

__all__ = ["built_report"]


def built_report(parameters: Mapping[str, Any], progress: Callable[[int, int], None] | None = None) -> dict[str, bytes]:
    """Run the cells of ``template.md`` in this process, and return what belongs to the report.

    Parameters
    ----------
    parameters : mapping
        Values of `data`, `sensitive`, `target` and `settings`, which the cell tagged ``parameters`` sets.
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
    template = files("fairpca.report").joinpath("template.md").read_text(encoding="utf8")
    notebook, words = jupytext.reads(template, fmt="md:myst"), MarkdownIt("commonmark").enable("table")
    names: dict[str, Any] = {**parameters, "settings": {**parameters["settings"], "progress": progress}}
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(Html(words.render(cell.source)))
        elif "parameters" in cell.metadata.get("tags", []):
            cell.source = "\n".join(f"{name} = {value!r}" for name, value in parameters.items())
        else:
            shown = _run(cell.source, names)
            if shown is not None:
                data = {"text/plain": type(shown).__name__, "text/html": str(shown)}
                cell.outputs = [nbformat.v4.new_output("display_data", data=data)]
                parts.append(shown)
    numbers = json.dumps(names["study"].as_dict(), indent=1, ensure_ascii=False) + "\n"
    title = f"Report on {Path(str(parameters['data'])).name}"
    made = {"html": page(title, join(parts)), "json": numbers, "ipynb": nbformat.writes(notebook)}
    return {name: text.encode() for name, text in made.items()}


def _run(source: str, names: dict[str, Any]) -> Html | None:
    """Run a cell, and return the value of its last line."""
    tree = ast.parse(source)
    last: Any = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<report>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<report>", "eval"), names)
