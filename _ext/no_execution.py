"""With BOOK_NO_EXECUTE=1 the book shows what papermill has run and executes nothing itself."""

from __future__ import annotations

import os
from typing import Any

from myst_nb.core.execute import cache
from sphinx.errors import ExtensionError


def _refuse(*arguments: Any, **options: Any) -> None:
    raise ExtensionError("a chapter is not in the cache of executed chapters: run `make notebooks`, then `make book`")


def _forbid_execution(app: Any, config: Any) -> None:
    if not hasattr(cache, "single_nb_execution"):
        raise ExtensionError("this version of myst-nb executes chapters in another way; adapt _ext/no_execution.py")
    cache.single_nb_execution = _refuse


def _show_profile(app: Any, docname: str, source: list[str]) -> None:
    profile = os.environ.get("BOOK_PROFILE", "smoke")
    if profile != "smoke":
        source[0] = source[0].replace('\nprofile = "smoke"', f'\nprofile = "{profile}"', 1)


def setup(app: Any) -> dict[str, bool]:
    if os.environ.get("BOOK_NO_EXECUTE") == "1":
        app.connect("config-inited", _forbid_execution)
        app.connect("source-read", _show_profile)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
