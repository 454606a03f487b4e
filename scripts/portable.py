"""Make the notebooks that the pages offer: plain Markdown, an install cell, nothing that only this book understands.

    python scripts/portable.py _build/html

What things are called, and where they stand, is read from the built pages, so that notebook and page say the same.
`BOOK_URL` is the address of the published book; without it references are names without a link.
"""

from __future__ import annotations

import argparse
import ast
import copy
import html
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import notebooks
from notebooks import ChapterError
from plain_markdown import Place, Translator

STATEMENTS = r'id="([^"]+)">\s*<p class="admonition-title"><span class="caption-number">([^<]+?)\s*</span>'
FIGURES = (
    r'<(?:figure|table)\b[^>]*\bid="([^"]+)"(?:(?!</figure>|</tr>).)*?<span class="caption-number">([^<]+?)\s*</span>'
)
EQUATIONS = r'id="equation-([^"]+)">\s*<span class="eqno">(\([^)<]+\))'
SECTIONS = r'<section[^>]*\bid="([^"]+)">(?:\s*<span id="([^"]+)"></span>)*\s*<h[1-6]>(.*?)<a class="headerlink"'
# What chapters import beside the package, and what brings it.
BROUGHT = {"cvxpy": "sdp", "dask": "scale", "fairpca.scale": "scale", "fairpca.report": "report"}
OF_THE_PACKAGE = {"fairpca", "numpy", "scipy", "pandas", "sklearn", "pymanopt", "joblib", "matplotlib"}
OF_NOTEBOOKS = {"IPython", "myst_nb"}
GLUE = '''def glue(name, value, display=False):
    """In the book this puts a number into the running text."""
    print(f"{name}: {value}")'''
PRINTED_CITATION = re.compile(r"\{\{cite:[pt]\}\}`(\{[^}`]+\})`")  # in a formatted string


def plain_text(markup: str) -> str:
    markup = re.sub(r'<span class="section-number">.*?</span>', "", markup)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", markup))).strip()


def read_places(site: Path) -> dict[str, Place]:
    """Return, by label, what the built pages number or name; pages go by their path without suffix."""
    found: dict[str, Place] = {}
    for file in sorted(site.glob("chapters/**/*.html")):
        text = file.read_text(encoding="utf8")
        page = file.relative_to(site).as_posix()
        title = re.search(r'<h1>((?:(?!</h1>).)*)<a class="headerlink"', text, re.DOTALL)
        if title:
            found[page.removesuffix(".html")] = Place(plain_text(title[1]), page)
        for label, name in re.findall(STATEMENTS, text) + re.findall(FIGURES, text, re.DOTALL):
            found[label] = Place(plain_text(name), f"{page}#{label}")
        for label, number in re.findall(EQUATIONS, text):
            found[label] = Place(number, f"{page}#equation-{label}")
        for own, label, name in re.findall(SECTIONS, text, re.DOTALL):
            for anchor in filter(None, (own, label)):
                found.setdefault(anchor, Place(plain_text(name), f"{page}#{anchor}"))
    return found


def glued_values(notebook: Any) -> dict[str, str]:
    """Return what the cells glue."""
    found = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            name = output.get("metadata", {}).get("scrapbook", {}).get("name")
            if name:
                text = "".join(output["data"].get("application/papermill.record/text/plain", ""))
                found[name] = text[1:-1] if text[:1] in "'\"" and text[:1] == text[-1:] else text
    return found


def needs(notebook: Any) -> list[str]:
    """Return what pip has to install for the code of a chapter."""
    imported: set[str] = set()
    extras, others = {"plot", "sdp", "data"}, set()
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module)
            imported.update(f"{node.module}.{alias.name}" for alias in node.names)
    for name in imported:
        parts = name.split(".")
        brought = BROUGHT.get(parts[0]) or BROUGHT.get(".".join(parts[:2]))
        if brought:
            extras.add(brought)
        elif parts[0] not in OF_THE_PACKAGE | OF_NOTEBOOKS and parts[0] not in sys.stdlib_module_names:
            others.add(parts[0])
    if ".style" in code:
        others.add("jinja2")
    return [f"fairpca[{','.join(sorted(extras))}]", *sorted(others)]


def portable(
    notebook: Any, page: str, places: Mapping[str, Place], address: str = "", glued: Mapping[str, str] | None = None
) -> Any:
    """Return an executed chapter as a notebook that reads and runs anywhere."""
    made = nbformat.v4.new_notebook(metadata=copy.deepcopy({"kernelspec": notebook.metadata["kernelspec"]}))
    translator = Translator(page, places, glued_values(notebook) if glued is None else glued, address)
    install = nbformat.v4.new_code_cell(
        "%pip install --quiet " + " ".join(f'"{need}"' for need in needs(notebook)), metadata={"tags": ["install"]}
    )
    install.source = "# Once; afterwards restart the kernel.\n" + install.source
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text = translator.markdown(cell.source).strip()
            if text:
                made.cells.append(nbformat.v4.new_markdown_cell(text))
        elif cell.cell_type == "code":
            made.cells += code_cells(cell, translator)
    made.cells[1:1] = [nbformat.v4.new_markdown_cell(translator.markdown(about(page, address))), install]
    if translator.cited:
        listed = "\n".join(f"* {translator.works[key].markdown()}" for key in sorted(translator.cited))
        made.cells.append(nbformat.v4.new_markdown_cell(f"## References\n\n{listed}"))
    for number, cell in enumerate(made.cells):
        cell.id = f"cell-{number}"
    return made


def about(page: str, address: str) -> str:
    place = f"{address.rstrip('/')}/{page}.html" if address else f"page `{page}.html`"
    return (
        f"*A chapter of “Fair PCA, reproduced” ({place}) as a notebook; text and figures under CC BY 4.0, code under "
        "BSD-3-Clause.*\n\nThe package brings the tables and the stored results that the chapter reads, so it runs in "
        "an empty folder. Data that may not be passed on are fetched by `fairpca data fetch`; without them the chapter "
        "says what it leaves out."
    )


def code_cells(cell: Any, translator: Translator) -> list[Any]:
    """Return a code cell, and its caption as text below it."""
    source = cell.source.replace("from myst_nb import glue", GLUE)
    for fence in ('":::{note}\\n', '":::{{note}}\\n'):
        source = source.replace(fence, '"**Note.** ')
    source = source.replace('\\n:::"', '"')
    source = PRINTED_CITATION.sub(r"\1", source)  # what is computed again names a work by its key
    tags = [tag for tag in cell.metadata.get("tags", []) if tag in ("parameters", "injected-parameters")]
    made = nbformat.v4.new_code_cell(source, metadata={"tags": tags} if tags else {})
    made.execution_count = cell.get("execution_count")
    kept = [output for output in cell.get("outputs", []) if "scrapbook" not in output.get("metadata", {})]
    made.outputs = [translator.output(copy.deepcopy(output)) for output in kept]
    settings = cell.metadata.get("mystnb", {}).get("figure")
    if not settings:
        return [made]
    place = translator.places.get(settings.get("name", ""))
    caption = translator.markdown(settings.get("caption", "")).strip()
    return [made, nbformat.v4.new_markdown_cell(f"**{place.text if place else 'Figure'}.** {caption}")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="the built pages")
    parser.add_argument("--profile", choices=notebooks.PROFILES, default="smoke")
    options = parser.parse_args()
    places = read_places(options.site)
    count = 0
    try:
        for source in notebooks.executable_chapters():
            page = source.relative_to(notebooks.ROOT).with_suffix("").as_posix()
            done = nbformat.read(notebooks.executed_path(source, options.profile), 4)
            made = portable(done, page, places, os.environ.get("BOOK_URL", ""))
            target = options.site / "_sources" / f"{page}.ipynb"
            target.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(made, target)
            count += 1
    except ChapterError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{count} notebooks to download")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
