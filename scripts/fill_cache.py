"""Put the executed chapters into the cache that the book's build reads, so that the build executes nothing.

The cache of Jupyter Book knows a chapter by its code cells and their metadata only; a change in the package or in the
data would pass unnoticed. So the cache is emptied first, and an execution that is not current is refused.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

import nbformat
import notebooks
from book_figures import PHONE
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from notebooks import ChapterError

# Only what decides where a code cell starts and ends matters here.
MARKDOWN = MdParserConfig(enable_extensions={"colon_fence", "dollarmath", "amsmath", "deflist"})


def with_profile(text: str, profile: str) -> str:
    """Return a chapter's source as it was run, so that page and results name the same profile."""
    return text if profile == "smoke" else text.replace('\nprofile = "smoke"', f'\nprofile = "{profile}"', 1)


def book_notebook(source: Path, profile: str, root: Path) -> Any:
    """Return a chapter as the book's build sees it, with the outputs of its execution."""
    name = notebooks.title(source, root)
    path = notebooks.executed_path(source, profile, root)
    if not path.exists():
        raise ChapterError(f"{name}: has not been executed; run `make notebooks` first")
    record = notebooks.stored_record(path)
    if not record:
        raise ChapterError(f"{name}: {path} is damaged or was altered; run `make notebooks`, which executes it again")
    done = nbformat.read(path, 4)
    if record["stamp"] != notebooks.stamp(source, record["parameters"], root):
        raise ChapterError(f"{name}: the chapter, the package or the data have changed; run `make notebooks` first")
    if record["parameters"].get("profile", profile) != profile:
        raise ChapterError(f"{name}: was executed with profile {record['parameters']['profile']!r}, not {profile!r}")

    text = with_profile(source.read_text(encoding="utf8"), profile)
    notebook = read_myst_markdown_notebook(
        text, config=MARKDOWN, code_directive="{code-cell}", raw_directive="{raw-cell}", path=source
    )
    wanted = [cell for cell in notebook.cells if cell.cell_type == "code"]
    executed = [
        cell
        for cell in done.cells
        if cell.cell_type == "code" and "injected-parameters" not in cell.metadata.get("tags", [])
    ]
    if len(wanted) != len(executed):
        raise ChapterError(
            f"{name}: the book sees {len(wanted)} code cells and papermill {len(executed)}; code cells must stand at "
            "the top level, not inside another directive"
        )
    for cell, run in zip(wanted, executed, strict=True):
        cell.outputs, cell.execution_count = run.outputs, run.execution_count
        for output in cell.outputs:
            output.get("data", {}).pop(PHONE, None)  # `_ext/phone_figures.py` takes it from the execution
    notebook.metadata["language_info"] = done.metadata.get("language_info", {})
    return notebook


def fill(profile: str, root: Path = notebooks.ROOT) -> int:
    """Rebuild the cache from the executed chapters and return how many there are."""
    folder = root / "_build" / ".jupyter_cache"
    filled = [(source, book_notebook(source, profile, root)) for source in notebooks.executable_chapters(root)]
    shutil.rmtree(folder, ignore_errors=True)
    cache = get_cache(str(folder))
    for source, notebook in filled:
        bundle = CacheBundleIn(nb=notebook, uri=str(source))
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    return len(filled)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=notebooks.PROFILES, default="smoke")
    profile = parser.parse_args().profile
    try:
        count = fill(profile)
    except ChapterError as error:
        print(error)
        return 1
    print(f"{count} executed chapters are in the book's cache")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
