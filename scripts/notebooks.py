"""The chapters as notebooks: find them, execute each one once, know whether an execution is still current.

A chapter is a MyST text notebook under ``chapters/``. Its execution is kept in ``_executed/<profile>/`` together with
a stamp: a hash of everything that its outputs can depend on. While the stamp matches, the chapter is not executed
again, so ``make test`` and ``make book`` share one execution.

With the profile "paper" a chapter leaves new results in ``_build/results``; they move to ``data/results`` when it has
passed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jupytext
import nbformat
import yaml

ROOT = Path(__file__).resolve().parents[1]
PROFILES = ("smoke", "statements", "paper")
KERNEL = "python3"
CELL_TIMEOUT = 600  # seconds; the paper profile has no limit
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class ChapterError(Exception):
    """A chapter is wrong, or its execution failed; the message names chapter, cell and reason."""


@dataclass(frozen=True)
class Execution:
    """One executed chapter: where it is stored, how long it took, and whether it was reused."""

    path: Path
    seconds: float
    reused: bool


def files_of(node: Any, root: Path = ROOT) -> Iterator[Path]:
    """Yield the source files below a node of the table of contents in reading order."""
    if isinstance(node, list):
        for item in node:
            yield from files_of(item, root)
    elif isinstance(node, dict):
        yield from (root / f"{value}.md" for key, value in node.items() if key in ("root", "file"))
        yield from sorted(root.glob(f"{node['glob']}.md")) if "glob" in node else ()
        for value in node.values():
            yield from files_of(value, root)


def chapters_in_toc(root: Path = ROOT) -> list[Path]:
    """Return the source files of the book in reading order."""
    return list(files_of(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf8")), root))


def read_text(source: Path) -> str:
    """Return the source of a chapter, or say which byte is no UTF-8."""
    try:
        return source.read_text(encoding="utf8")
    except UnicodeDecodeError as error:
        raise ChapterError(f"{source}: byte {error.start} is no UTF-8; save the file with that encoding") from None


def is_notebook(source: Path) -> bool:
    """Return whether a chapter has code to execute; the others are plain pages."""
    return re.search(r"^```+\{code-cell\}", read_text(source), re.MULTILINE) is not None


def read_chapter(source: Path, name: str) -> Any:
    """Return a chapter as a notebook; its header must be YAML and name the kernel that all chapters share."""
    text = read_text(source)
    header = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    try:
        kernel = (yaml.safe_load(header[1]) or {}).get("kernelspec", {}).get("name") if header else None
    except (yaml.YAMLError, AttributeError) as error:
        raise ChapterError(f"{name}: its header is not YAML as in CONTRIBUTING's template: {error}") from None
    if kernel != KERNEL:
        raise ChapterError(f"{name}: its header names the kernel {kernel!r}; every chapter runs with {KERNEL!r}")
    return jupytext.reads(text, fmt="md:myst")


def executable_chapters(root: Path = ROOT) -> list[Path]:
    """Return the chapters that have code, in reading order."""
    return [source for source in chapters_in_toc(root) if is_notebook(source)]


def title(source: Path, root: Path = ROOT) -> str:
    """Return the short name of a chapter, such as ``start/pca``."""
    source = source.resolve()
    base = root / "chapters"
    return source.relative_to(base if base in source.parents else root).with_suffix("").as_posix()


def executed_path(source: Path, folder: str, root: Path = ROOT) -> Path:
    """Return where the execution of a chapter is kept."""
    return root / "_executed" / folder / source.resolve().relative_to(root).with_suffix(".ipynb")


def read_parameters(notebook: Any, name: str) -> dict[str, Any]:
    """Return the defaults of the single parameters cell, whose values are literals."""
    cells = [c for c in notebook.cells if c.cell_type == "code" and "parameters" in c.metadata.get("tags", [])]
    if len(cells) != 1:
        raise ChapterError(f"{name}: {len(cells)} cells are tagged `parameters`; a chapter has exactly one")
    values: dict[str, Any] = {}
    for statement in ast.parse(cells[0].source).body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, value = statement.target, statement.value
        else:
            raise ChapterError(f"{name}: the parameters cell may hold only `name = literal` lines")
        if not isinstance(target, ast.Name):
            raise ChapterError(f"{name}: the parameters cell may assign plain names only")
        try:
            values[target.id] = ast.literal_eval(value)
        except ValueError:
            raise ChapterError(
                f"{name}: parameter {target.id!r} is not a literal; papermill would leave values derived from it "
                "stale. Derive it in the next cell."
            ) from None
    return values


def check_parameters(notebook: Any, parameters: dict[str, Any], name: str) -> dict[str, Any]:
    """Refuse unknown parameters (papermill would ignore them) and return all values of the run."""
    defaults = read_parameters(notebook, name)
    unknown = sorted(set(parameters) - set(defaults))
    if unknown:
        raise ChapterError(f"{name}: unknown parameter(s) {', '.join(unknown)}; it has {', '.join(sorted(defaults))}")
    return defaults | parameters


def _hash_of_files(paths: Iterable[Path], root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(root).as_posix()}\n".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@cache
def _hash_of_inputs(root: Path) -> str:
    """Hash the package, the data, the drawing and the installed versions, on which every chapter depends."""
    folders = (root / "fairpca", root / "data" / "raw", root / "data" / "published")
    digest = hashlib.sha256(_hash_of_files((path for folder in folders for path in folder.rglob("*")), root).encode())
    digest.update(Path(__file__).with_name("book_figures.py").read_bytes())
    lock = root / "requirements.lock"
    digest.update(lock.read_bytes() if lock.exists() else b"")
    versions = sorted(f"{d.name}=={d.version}" for d in distributions() if d.name != "fairpca")
    digest.update("\n".join([sys.version, *versions]).encode())
    from fairpca import datasets

    # A chapter computes from data that are at hand, and shows stored results for those that are not.
    digest.update("\n".join(name for name in datasets.names() if datasets.where(name) != "missing").encode())
    return digest.hexdigest()


def code_cells(source: Path) -> list[Any]:
    """Return the code cells of a chapter."""
    return [cell for cell in read_chapter(source, source.stem).cells if cell.cell_type == "code"]


def reads_all_results(source: Path) -> bool:
    """Return whether a chapter may read any stored result, by verdicts on printed numbers or as the scoreboard does."""
    code = "\n".join(cell.source for cell in code_cells(source))
    return (
        re.search(r"fairpca\.companion\.published|companion import .*(?:published|compare_with_print|records)", code)
        is not None
    )


def collects_results(source: Path) -> bool:
    """Return whether a chapter shows results of all others, so that it has to come last."""
    code = "\n".join(cell.source for cell in code_cells(source))
    return re.search(r"import .*\b(?:scoreboard|records)\b|\berrata_list\b", code) is not None


def results_read(source: Path, root: Path = ROOT) -> list[Path]:
    """Return the files of the stored results that a chapter names; statements count as named by their paper."""
    folder = root / "data" / "results"
    if reads_all_results(source):
        return sorted(folder.rglob("*"))
    names = re.findall(r"[\"']([\w-]+)/([\w-]+)[\"']", "\n".join(cell.source for cell in code_cells(source)))
    files = {path for paper, name in names for path in (folder / paper).glob(f"{name}.*")}
    return sorted(files | {folder / paper / "statements.csv" for paper, _ in names})


def stamp(source: Path, parameters: dict[str, Any], root: Path = ROOT) -> str:
    """Return the hash of everything that the outputs of a chapter depend on; prose and hidden code do not count."""
    cells = [
        (cell.source, sorted(tag for tag in cell.metadata.get("tags", []) if not re.match("(hide|remove)-", tag)))
        for cell in code_cells(source)
    ]
    inputs = [_hash_of_inputs(root), _hash_of_files(results_read(source, root), root)]
    return hashlib.sha256(json.dumps([cells, parameters, inputs], sort_keys=True).encode()).hexdigest()


def discard_results(root: Path = ROOT) -> None:
    """Remove results that a chapter left without passing; those of one that has passed are moved to their place."""
    move_results(root, passed=False)
    shutil.rmtree(root / "_build" / "results", ignore_errors=True)


def move_results(root: Path = ROOT, passed: bool = True) -> None:
    """Move what a chapter has left in ``_build/results`` to ``data/results``.

    The folder is renamed first, so that a run that is killed in between is completed by the next one.
    """
    new, moving = root / "_build" / "results", root / "_build" / "results-passed"
    if passed and new.is_dir():
        new.rename(moving)
    for path in sorted(moving.glob("*/*")):
        target = root / "data" / "results" / path.relative_to(moving)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target)
    shutil.rmtree(moving, ignore_errors=True)


def stored_record(path: Path) -> dict[str, Any]:
    """Return what was written about an execution (stamp, seconds, parameters); empty if there is none that is whole."""
    try:
        done = nbformat.read(path, 4)
    except (OSError, ValueError, AttributeError, KeyError, nbformat.ValidationError):
        return {}
    record = dict(done.metadata.get("fairpca", {}))
    return record if record.get("content") == content_digest(done) else {}


def content_digest(notebook: Any) -> str:
    """Return the hash of the cells of an executed notebook, so that an altered one is noticed."""
    return hashlib.sha256(json.dumps(notebook.cells, sort_keys=True).encode()).hexdigest()


def _kernel_environment(root: Path, name: str, jobs: int) -> dict[str, str]:
    """Return what the kernel inherits: threads and processes, this checkout's package, figures inside the page."""
    wanted = dict.fromkeys(THREAD_VARIABLES, "1") | {"JOBS": str(jobs), "FAIRPCA_CHAPTER": name}
    wanted["FAIRPCA_BUILD"] = str(root / "_build")
    # This folder comes last, so that nothing in it hides a package; it holds the book's own matplotlib backend.
    paths = [str(root), os.environ.get("PYTHONPATH", ""), str(Path(__file__).resolve().parent)]
    wanted["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    if os.environ.get("FAIRPCA_MIRROR"):  # the kernel works in another folder
        wanted["FAIRPCA_MIRROR"] = str(Path(os.environ["FAIRPCA_MIRROR"]).expanduser().resolve())
    if not os.access(Path.home(), os.W_OK):  # matplotlib would complain on every page
        wanted["MPLCONFIGDIR"] = os.environ.get("MPLCONFIGDIR", str(root / "_executed" / "matplotlib"))
    return wanted | {"MPLBACKEND": "module://book_figures"}


def execute(
    source: Path,
    parameters: dict[str, Any] | None = None,
    *,
    folder: str = "smoke",
    root: Path = ROOT,
    force: bool = False,
    timeout: float | None = CELL_TIMEOUT,
    jobs: int = 1,
) -> Execution:
    """Execute one chapter with papermill, unless its stored execution is current.

    Parameters
    ----------
    source : Path
        The MyST file.
    parameters : dict, optional
        Values that replace those of the parameters cell; unknown names are refused.
    folder : str
        Subfolder of ``_executed`` that takes the result.
    root : Path
        The checkout.
    force : bool
        Execute even if nothing has changed.
    timeout : float or None
        Seconds that one cell may take.
    jobs : int
        Worker processes that the chapter may start.

    Returns
    -------
    Execution

    Raises
    ------
    ChapterError
        If a parameter is unknown, a cell fails or a cell writes to standard error. The failed notebook is then kept in
        ``_executed/failed`` to look at, and no earlier execution of the chapter survives under its name.
    """
    source, name = source.resolve(), title(source, root)
    notebook = read_chapter(source, name)
    values = check_parameters(notebook, parameters or {}, name)
    target = executed_path(source, folder, root)
    wanted, record = stamp(source, values, root), stored_record(target)
    if record.get("stamp") == wanted and not force:
        return Execution(target, record["seconds"], reused=True)

    import papermill

    writes = values.get("profile", "smoke") != "smoke"
    if writes:
        discard_results(root)
    target.unlink(missing_ok=True)
    work = root / "_executed" / "working"
    work.mkdir(parents=True, exist_ok=True)
    before, after = (work / f"{source.stem}-{uuid.uuid4().hex}-{part}.ipynb" for part in ("in", "out"))
    nbformat.write(notebook, before)
    start = time.perf_counter()
    try:
        with patch.dict(os.environ, _kernel_environment(root, name, jobs)):
            papermill.execute_notebook(
                str(before),
                str(after),
                parameters=parameters or None,
                cwd=str(source.parent),
                progress_bar=False,
                request_save_on_cell_execute=False,
                execution_timeout=timeout,
                extra_arguments=["--IPKernelApp.log_level=50"],  # the transport of a local kernel is not news
            )
        done = nbformat.read(after, 4)
        _refuse_stderr(done, name)
        if writes:
            move_results(root)
            wanted = stamp(source, values, root)  # with its own results in place
        done.metadata.pop("papermill", None)  # it holds paths of this machine
        done.metadata["fairpca"] = {
            "stamp": wanted,
            "seconds": round(time.perf_counter() - start, 1),
            "parameters": values,
            "content": content_digest(done),
        }
        nbformat.write(done, after)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(after, target)
    except papermill.exceptions.PapermillExecutionError as error:
        raise ChapterError(f"{name}: {_describe_failure(error)}{_keep_failed(after, source, root)}") from None
    except ChapterError as error:
        raise ChapterError(f"{error}{_keep_failed(after, source, root)}") from None
    except Exception as error:  # a time-out or a dead kernel; papermill has no class of its own for them
        raise ChapterError(f"{name}: {type(error).__name__}: {error}{_keep_failed(after, source, root)}") from error
    finally:
        before.unlink(missing_ok=True)
        after.unlink(missing_ok=True)
    return Execution(target, done.metadata["fairpca"]["seconds"], reused=False)


def _refuse_stderr(notebook: Any, name: str) -> None:
    """A page must not show warnings with paths of the machine that built it."""
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and output.name == "stderr":
                raise ChapterError(f"{name}: cell {number} wrote to standard error:\n{cell.source}\n\n{output.text}")


def _describe_failure(error: Any) -> str:
    frames = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
    return f"cell {error.cell_index} failed:\n{error.source}\n\n{frames}"


def _keep_failed(after: Path, source: Path, root: Path) -> str:
    if not after.exists():
        return ""
    kept = executed_path(source, "failed", root)
    kept.parent.mkdir(parents=True, exist_ok=True)
    os.replace(after, kept)
    return f"\n(the notebook is in {kept.relative_to(root)})"
