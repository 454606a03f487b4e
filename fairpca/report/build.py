"""From a template to a page: executed once by papermill, then written as HTML that needs nothing else."""

from __future__ import annotations

import gc
import html
import logging
import os
import re
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any

from fairpca._interrupts import terminable
from fairpca.report.page import page

__all__ = ["built_report", "template_text"]


def template_text() -> str:
    """Return the template, to be copied and changed."""
    return files("fairpca.report").joinpath("template.md").read_text(encoding="utf8")


def built_report(
    template: str, parameters: Mapping[str, Any], progress: Callable[[int, int], None] | None = None
) -> dict[str, bytes]:
    """Execute a template and return what belongs to the report.

    Parameters
    ----------
    template : str
        A notebook in MyST Markdown whose cell tagged ``parameters`` sets `data`, `sensitive`, `target`, `settings` and
        `json_out`.
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
        import papermill
    except ImportError as error:
        raise ImportError(
            f"A report needs {error.name}, which is not installed; get it with pip install 'fairpca[report]'."
        ) from error
    notebook = jupytext.reads(template, fmt="md:myst")
    if not any("parameters" in cell.metadata.get("tags", []) for cell in notebook.cells):
        raise ValueError(
            "The template has no cell tagged `parameters`, so nobody could tell it the table; begin with a copy of the "
            "built-in one (--template-out)."
        )
    with terminable(), tempfile.TemporaryDirectory() as folder, _Stoppable() as stoppable:
        before, after, numbers, told = (Path(folder, name) for name in ("in.ipynb", "out.ipynb", "n.json", "told"))
        settings = {**parameters.get("settings", {}), "progress": str(told)}
        nbformat.write(notebook, before)
        with _Watch(told, progress), _environment():
            try:
                papermill.execute_notebook(
                    str(before),
                    str(after),
                    parameters={**parameters, "settings": settings, "json_out": str(numbers)},
                    kernel_name="python3",
                    progress_bar=False,
                    extra_arguments=["--IPKernelApp.log_level=40"],  # its advice on transport is nothing for readers
                    cwd=os.getcwd(),
                    kernel_manager_class=stoppable.kernel_class(Path(folder, "kernel.json")),
                    shutdown_kernel="immediate",  # a polite end would let an interrupted cell write its traceback
                )
            except papermill.exceptions.PapermillExecutionError as error:
                raise ValueError(
                    f"Cell {error.exec_count} of the template failed: {error.ename}: {error.evalue}. Mend the "
                    "template, or use the built-in one."
                ) from None
        done = nbformat.read(after, as_version=4)
        if not numbers.exists():
            raise ValueError("The template wrote no numbers; keep its last cell, study.save_json(json_out).")
        json_text = numbers.read_bytes()
    _without_traces(done, parameters)
    return {"html": _as_html(done).encode(), "json": json_text, "ipynb": nbformat.writes(done).encode()}


def _without_traces(notebook: Any, parameters: Mapping[str, Any]) -> None:
    """Take out what only this execution knew: its temporary files, its times."""
    notebook.metadata.pop("papermill", None)
    for cell in notebook.cells:
        cell.metadata.pop("papermill", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            given = {**parameters, "json_out": None}
            cell.source = "\n".join(f"{name} = {value!r}" for name, value in given.items())


def _as_html(notebook: Any) -> str:
    """Return the page: the words of the template and what its cells show; the code stays in the notebook."""
    from markdown_it import MarkdownIt

    words = MarkdownIt("commonmark").enable("table")
    title, parts = "Report", []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(words.render(cell.source))
            heading = re.match(r"# (.+)", cell.source)
            title = heading[1] if heading else title
            continue
        for output in cell.get("outputs", []):
            shown = output.get("data", {})
            if "text/html" in shown:
                parts.append("".join(shown["text/html"]))
            elif "image/png" in shown:
                source = "".join(shown["image/png"]).strip()
                parts.append(
                    f'<figure><img src="data:image/png;base64,{source}" alt="Figure of the template"></figure>'
                )
            elif "text/plain" in shown:
                parts.append(f"<pre>{html.escape(''.join(shown['text/plain']))}</pre>")
            elif output.output_type == "stream" and output.name == "stdout":
                parts.append(f"<pre>{html.escape(output.text)}</pre>")
    return page(title, "\n".join(parts))


class _Watch:
    """Pass on what the kernel writes about its progress."""

    def __init__(self, path: Path, progress: Callable[[int, int], None] | None) -> None:
        self._path, self._progress, self._done = path, progress, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        if self._progress is not None:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.3):
            try:
                done, total = map(int, self._path.read_text().split())
            except (OSError, ValueError):
                continue
            if self._progress is not None:
                self._progress(done, total)
            if done == total:
                time.sleep(0.1)


class _Stoppable:
    """What is stopped ends at once, the kernel too, and nobody reports what was cut off."""

    def __init__(self) -> None:
        self._kernels: list[Any] = []
        self._log = logging.getLogger("papermill")  # what it says of a cell is also raised

    def kernel_class(self, file: Path) -> Any:
        """Return the class of a kernel that is remembered, and whose connection file is the given one."""
        from jupyter_client.manager import AsyncKernelManager

        kernels = self._kernels

        class Remembered(AsyncKernelManager):
            def __init__(self, **options: Any) -> None:
                super().__init__(**options, connection_file=str(file))
                kernels.append(self)

        return Remembered

    def __enter__(self) -> _Stoppable:
        self._disabled, self._log.disabled = self._log.disabled, True
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, trace: TracebackType | None) -> None:
        self._log.disabled = self._disabled
        if kind is not None and not issubclass(kind, Exception):
            self._end(trace)

    def _end(self, trace: TracebackType | None) -> None:
        from jupyter_core.utils import ensure_event_loop

        loop = ensure_event_loop()
        loop.set_exception_handler(lambda loop, context: None)  # of tasks whose results nobody will ask for
        for kernel in self._kernels:
            if kernel.has_kernel:  # it was just starting
                loop.run_until_complete(kernel.shutdown_kernel(now=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of coroutines that did not begin
            traceback.clear_frames(trace)
            gc.collect()


class _environment:
    """What the kernel inherits: this package, and pictures that need no display."""

    def __enter__(self) -> None:
        root = str(Path(__file__).resolve().parents[2])
        wanted = {"PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))}
        wanted["MPLBACKEND"] = "agg"
        self._before = {name: os.environ.get(name) for name in wanted}
        os.environ.update(wanted)

    def __exit__(self, *_: object) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
