"""Make the notebooks that the pages offer: plain Markdown, an install cell, nothing that only this book understands.

    python scripts/portable.py _build/html

What things are called, and where they stand, is read from the built pages, so that notebook and page say the same.
`BOOK_URL` is the address of the published book; without it references are names without a link.
"""

from __future__ import annotations

import argparse
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
from plain_markdown import NUMBER, Place, Translator, with_numbers

from fairpca import __version__

STATEMENTS = r'id="([^"]+)">\s*<p class="admonition-title"><span class="caption-number">([^<]+?)\s*</span>'
FIGURES = (
    r'<(?:figure|table)\b[^>]*\bid="([^"]+)"(?:(?!</figure>|</tr>).)*?<span class="caption-number">([^<]+?)\s*</span>'
)
EQUATIONS = r'id="equation-([^"]+)">\s*<span class="eqno">(\([^)<]+\))'
SECTIONS = r'<section[^>]*\bid="([^"]+)">(?:\s*<span id="([^"]+)"></span>)*\s*<h[1-6]>(.*?)<a class="headerlink"'
# What chapters import beside the package, and the extra that brings it.
BROUGHT = {"cvxpy": "sdp", "dask.dataframe": "scale", "fairpca.scale": "scale", "fairpca.report": "report"}
KNOWN = {"fairpca", "numpy", "scipy", "pandas", "sklearn", "pymanopt", "joblib", "matplotlib", "seaborn", "IPython"}
KNOWN |= {"myst_nb", "cvxpy", "dask"}
# Text with computed numbers is made again when its cell runs, so that it never contradicts the outputs.
HELPERS = '''import re

from IPython.display import Markdown

numbers = {}


def glue(name, value, display=False):
    """Keep a number for the text."""
    numbers[name] = value


def told(text):
    """Show text with the numbers that were computed above; those that only the book has are marked."""

    def number(found):
        return str(numbers[found[1]]) if found[1] in numbers else f"{found[2]} (in the book)"

    return Markdown(re.sub(r"⟦([^|⟧]*)\\|([^⟧]*)⟧", number, text))'''
WHEEL = f"fairpca-{__version__}-py3-none-any.whl"  # `make site` puts it beside the pages
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
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    imported = set(re.findall(r"^ *(?:from|import) ([\w.]+)", code, re.MULTILINE))
    imported |= {f"fairpca.{name}" for line in re.findall(r"^ *from fairpca import (.*)", code, re.MULTILINE)
                 for name in line.split(", ")}  # fmt: skip
    extras = {"plot", "sdp", "data"} | {extra for name, extra in BROUGHT.items() if name in imported}
    others = {name.partition(".")[0] for name in imported} - KNOWN - set(sys.stdlib_module_names)
    if ".style" in code:
        others.add("jinja2")
    return [f"fairpca[{','.join(sorted(extras))}]", *sorted(others)]


def portable(
    notebook: Any, page: str, places: Mapping[str, Place], address: str = "", glued: Mapping[str, str] | None = None
) -> Any:
    """Return an executed chapter as a notebook that reads and runs anywhere."""
    made = nbformat.v4.new_notebook(metadata=copy.deepcopy({"kernelspec": notebook.metadata["kernelspec"]}))
    translator = Translator(page, places, glued_values(notebook) if glued is None else glued, address)
    install = nbformat.v4.new_code_cell(install_lines(needs(notebook), address), metadata={"tags": ["install"]})
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text = translator.markdown(cell.source).strip()
            if text and made.cells:
                made.cells.append(text_cell(text))
            elif text:  # before anything is computed
                made.cells.append(nbformat.v4.new_markdown_cell(with_numbers(text, " (in the book)")))
        elif cell.cell_type == "code":
            made.cells += code_cells(cell, translator)
    helpers = nbformat.v4.new_code_cell(HELPERS, metadata={"jupyter": {"source_hidden": True}})
    made.cells[1:1] = [nbformat.v4.new_markdown_cell(translator.markdown(about(page, address))), install, helpers]
    if translator.cited:
        listed = "\n".join(f"* {translator.works[key].markdown()}" for key in sorted(translator.cited))
        made.cells.append(nbformat.v4.new_markdown_cell(f"## References\n\n{listed}"))
    for number, cell in enumerate(made.cells):
        cell.id = f"cell-{number}"
    return made


def install_lines(wanted: list[str], address: str) -> str:
    """Return what installs the package from the wheel beside the pages."""
    own, *others = wanted
    source, remark = f"{own} @ {address.rstrip('/')}/{WHEEL}", "Once; afterwards restart the kernel."
    if not address:
        source = own.replace("fairpca", WHEEL, 1)
        remark += f"\n# The file {WHEEL} is beside the pages of the book; put it into this folder first."
    listed = " ".join(f'"{need}"' for need in (source, *others))
    return (
        f"# {remark}\nfrom importlib.util import find_spec\n\n"
        f'if find_spec("fairpca") is None:\n    %pip install --quiet {listed}'
    )


def text_cell(text: str) -> Any:
    """Return a cell with text; one with computed numbers is a code cell whose source is hidden."""
    if not NUMBER.search(text):
        return nbformat.v4.new_markdown_cell(text)
    quoted = f'r"""{text}"""' if '"""' not in text and text[-1] not in '"\\' else repr(text)
    cell = nbformat.v4.new_code_cell(f"told({quoted})", metadata={"jupyter": {"source_hidden": True}, "tags": ["text"]})
    shown = {"text/markdown": with_numbers(text), "text/plain": "<IPython.core.display.Markdown object>"}
    cell.outputs = [nbformat.v4.new_output("display_data", shown)]
    return cell


def about(page: str, address: str) -> str:
    place = f"{address.rstrip('/')}/{page}.html" if address else f"page `{page}.html`"
    return (
        f"*A chapter of “Fair PCA, reproduced” ({place}) as a notebook; text and figures under CC BY 4.0, code under "
        "BSD-3-Clause.*\n\nThe package brings the tables and the stored results that the chapter reads, so it runs in "
        "an empty folder. Data that may not be passed on are fetched by `fairpca data fetch`; without them the chapter "
        "says what it leaves out. Numbers in the text are those that this notebook computes; the others are marked."
    )


def code_cells(cell: Any, translator: Translator) -> list[Any]:
    """Return a code cell, and its caption as text below it."""
    source = re.sub(r"\n?from myst_nb import glue", "", cell.source)
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
    return [made, text_cell(f"**{place.text if place else 'Figure'}.** {caption}")]


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
