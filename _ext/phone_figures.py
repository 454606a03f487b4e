"""A figure has two pictures: the one for a narrow screen is shown there, and only that one is loaded."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from site_extras import executed

PHONE = "application/vnd.fairpca.phone+svg"  # what scripts/book_figures.py displays beside the wide picture
NARROW = "(max-width: 600px)"
IMAGE = re.compile(r'<img\b[^>]*\bsrc="((?:[^"]*/)?_images/)([0-9a-f]{64})\.svg"[^>]*>')


def narrow_pictures(notebook: Path) -> Iterator[tuple[str, str]]:
    """Yield for each figure of an executed chapter the name of its wide picture, and the narrow one."""
    for cell in nbformat.read(notebook, 4).cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if PHONE in data:
                # MyST-NB names a picture by what is in it.
                wide = os.linesep.join(data["image/svg+xml"].splitlines()).encode()
                yield hashlib.sha256(wide).hexdigest(), data[PHONE]


def with_choice(text: str, names: set[str]) -> str:
    """Return a page whose figures let the browser choose; thumbnails and other pictures stay as they are."""

    def choice(match: re.Match[str]) -> str:
        folder, name = match.groups()
        if name not in names or "loading=" in match[0]:
            return match[0]
        return f'<picture><source media="{NARROW}" srcset="{folder}{name}-phone.svg">{match[0]}</picture>'

    return IMAGE.sub(choice, text)


def _finish(app: Any, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for docname in app.env.found_docs:
        page = out / f"{docname}.html"
        if not executed(docname).exists() or not page.exists():
            continue
        pictures = dict(narrow_pictures(executed(docname)))
        for name, picture in pictures.items():
            (out / "_images" / f"{name}-phone.svg").write_text(picture, encoding="utf8")
        page.write_text(with_choice(page.read_text(encoding="utf8"), set(pictures)), encoding="utf8")


def setup(app: Any) -> dict[str, bool]:
    # After the thumbnails, before what makes pages lean.
    app.connect("build-finished", _finish, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
