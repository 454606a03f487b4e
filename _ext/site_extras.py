"""What the finished site needs beside its pages: MathJax, links to notebooks and the version in the footer."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import files
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[1]
# The installed package brings every variant of MathJax; pages need one of them, its fonts and the TeX extensions that
# MathJax loads when a formula uses them.
MATHJAX_PARTS = ("tex-chtml.js", "input/tex/extensions", "output/chtml/fonts/woff-v2", "a11y/assistive-mml.js")


def _mathjax_source() -> Path:
    for file in files("sphinx-mathjax-offline") or []:
        if file.name == "tex-chtml.js":
            return Path(str(file.locate())).parent
    raise ExtensionError("MathJax is not installed; run `make setup`")


def _copy_mathjax(target: Path) -> None:
    source = _mathjax_source()
    for part in MATHJAX_PARTS:
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part, dirs_exist_ok=True)
        else:
            (target / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / part, target / part)


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

    options = config.html_theme_options
    options["extra_footer"] = options.get("extra_footer", "").replace("{version}", __version__)


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", _write_version, priority=100)
    app.connect("html-page-context", _offer_notebook)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
