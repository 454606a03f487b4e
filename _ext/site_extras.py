"""What the finished site needs beside its pages: MathJax, links to notebooks and the version in the footer."""

from __future__ import annotations

import json
import os
import shutil
from importlib.metadata import files
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[1]
# The installed package brings every variant of MathJax; pages need its fonts and the TeX extensions that MathJax loads
# when a formula uses them.
MATHJAX_FOLDERS = ("input/tex/extensions", "output/chtml/fonts/woff-v2")
# What MathJax's own tex-chtml.js consists of, in one file as there, but without the menu: a third of it, for choices
# such as another renderer, which a book without a network cannot offer.
MATHJAX_PARTS = ("core", "input/tex", "output/chtml", "output/chtml/fonts/tex", "a11y/assistive-mml")
MATHJAX = "tex-chtml.js"


def _mathjax_source() -> Path:
    for file in files("sphinx-mathjax-offline") or []:
        if file.name == "tex-chtml.js":
            return Path(str(file.locate())).parent
    raise ExtensionError("MathJax is not installed; run `make setup`")


def _copy_mathjax(target: Path) -> None:
    source = _mathjax_source()
    for part in MATHJAX_FOLDERS:
        shutil.copytree(source / part, target / part, dirs_exist_ok=True)
    (target / MATHJAX).write_text(mathjax(source), encoding="utf8")


def mathjax(source: Path) -> str:
    """Return one script with the parts of MathJax: first what loads parts, which is told that they are there."""
    texts = [(source / f"{part}.js").read_text(encoding="utf8") for part in ("startup", *MATHJAX_PARTS)]
    texts.insert(1, f"MathJax.loader.preLoad({', '.join(map(json.dumps, MATHJAX_PARTS))})")
    return "\n;\n".join(texts)


def executed(docname: str) -> Path:
    """Return where the execution of a chapter lies."""
    return ROOT / "_executed" / os.environ.get("BOOK_PROFILE", "smoke") / f"{docname}.ipynb"


def _offer_notebook(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    # The theme links `_sources/<ipynb_source>` in its download menu; scripts/portable.py writes what is there.
    if executed(pagename).exists():
        context["ipynb_source"] = f"{pagename}.ipynb"


def _finish(app: Any, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    _copy_mathjax(Path(app.outdir) / "mathjax")


def _write_version(app: Any, config: Any) -> None:
    from fairpca import __version__

    config.project, config.version, config.release = "fairpca", __version__, __version__  # of objects.inv
    options = config.html_theme_options
    options["extra_footer"] = options.get("extra_footer", "").replace("{version}", __version__)


def _link_repository(app: Any, config: Any) -> None:
    """Switch on the buttons for repository, issues, edit and launch if REPOSITORY_URL names the repository."""
    repository = os.environ.get("REPOSITORY_URL", "").rstrip("/")
    if repository:
        config.html_theme_options |= {
            "repository_url": repository,
            "repository_branch": "main",
            "path_to_docs": "",
            "use_repository_button": True,
            "use_issues_button": True,
            "use_edit_page_button": True,
            "launch_buttons": {"binderhub_url": "https://mybinder.org", "notebook_interface": "jupyterlab"},
        }


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", _write_version, priority=100)
    app.connect("config-inited", _link_repository, priority=100)
    app.connect("html-page-context", _offer_notebook)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
