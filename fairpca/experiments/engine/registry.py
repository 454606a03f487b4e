"""Experiments by name."""

from __future__ import annotations

import hashlib
import importlib
import json
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairpca.experiments.engine.frames import canonical_columns
from fairpca.experiments.engine.inputs import InputError, check_input_names, input_digest, reading
from fairpca.experiments.engine.origin import loaded_code_hash
from fairpca.experiments.engine.store import canonical_json

Profile = Literal["smoke", "paper"]
PROFILES: tuple[Profile, ...] = ("smoke", "paper")
Records = Mapping[str, Any] | list[dict[str, Any]]
Function = Callable[..., Records]


class Cell(Mapping[str, Any]):
    """One unit of work: a frozen key of plain values (text, numbers, booleans, None, lists of those).

    Parameters
    ----------
    **key
        For instance ``dataset="compas", split=3, method="fpca", setting="", d=2``.
    """

    __slots__ = ("_json", "_key")

    def __init__(self, **key: Any) -> None:
        text = canonical_json(key)
        if "__npy__" in text:
            raise TypeError(f"The key of a cell holds plain values only, no arrays; got {key!r}.")
        self._json = text
        self._key: dict[str, Any] = json.loads(text)

    @property
    def json(self) -> str:
        """The key as canonical JSON."""
        return self._json

    def __getitem__(self, name: str) -> Any:
        return self._key[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._key)

    def __len__(self) -> int:
        return len(self._key)

    def __hash__(self) -> int:
        return hash(self._json)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cell) and other._json == self._json

    def __repr__(self) -> str:
        return f"Cell({', '.join(f'{name}={value!r}' for name, value in self._key.items())})"


def cell_seed(experiment: str, cell: Mapping[str, Any]) -> int:
    """Seed of a cell: a function of the experiment's name and the cell's key alone."""
    digest = hashlib.sha256(f"{experiment}\0{canonical_json(dict(cell))}".encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").astype(np.uint32)
    return int(np.random.SeedSequence(words.tolist()).generate_state(1, dtype=np.uint32)[0])


@dataclass(frozen=True)
class Experiment:
    """A grid of cells and the table made from them.

    Attributes
    ----------
    name : str
        ``"<paper>/<exhibit>"``.
    title : str
        One line for `fairpca list`.
    cells : callable
        ``cells(profile)`` returns the cells (`Cell` or dict) of ``"smoke"`` or ``"paper"``.
    functions : mapping of str to callable
        What computes a cell, by the cell's ``method``; a single entry ``""`` computes all of them.
    tabulate : callable
        ``tabulate(frame)`` turns the cells' frame into the tidy table.
    inputs : tuple of str
        Stored results and published tables that cells or table are made from.
    """

    name: str
    title: str
    cells: Callable[[Profile], Iterable[Mapping[str, Any]]]
    functions: Mapping[str, Function]
    tabulate: Callable[[pd.DataFrame], pd.DataFrame]
    inputs: tuple[str, ...] = ()

    def grid(self, profile: Profile) -> list[Cell]:
        """Cells of a profile, checked."""
        if profile not in PROFILES:
            raise ValueError(f"Unknown profile {profile!r}; allowed are {', '.join(map(repr, PROFILES))}.")
        grid = [cell if isinstance(cell, Cell) else Cell(**cell) for cell in self.cells(profile)]
        if not grid:
            raise ValueError(f"Experiment {self.name!r} has no cells in the profile {profile!r}.")
        if len(set(grid)) != len(grid):
            twice = next(cell for cell in grid if grid.count(cell) > 1)
            raise ValueError(f"Experiment {self.name!r} has a cell twice: {twice!r}.")
        return grid

    def label(self, cell: Mapping[str, Any]) -> str:
        """Which of `functions` computes a cell."""
        if "" in self.functions:
            return ""
        method = cell.get("method")
        if method not in self.functions:
            raise ValueError(
                f"Experiment {self.name!r} has no function for method {method!r}; it has {sorted(self.functions)}."
            )
        return str(method)

    def hashes(self) -> dict[str, str]:
        """Code hash of each of `functions` (computed once a process)."""
        return {label: loaded_code_hash(function) for label, function in self.functions.items()}

    def digests(self) -> dict[str, str]:
        """Digest of each of `inputs`; one that is not there is an error that says how to make it."""
        found = {name: input_digest(name) for name in self.inputs}
        for name, digest in found.items():
            if digest:
                continue
            if name.startswith("published/"):
                raise InputError(f"{self.name!r} reads data/{name}.csv, which is not there.")
            raise InputError(
                f"{self.name!r} reads the stored results of {name!r}, which are not there. "
                f"Make them first: fairpca run {name} --profile paper --save."
            )
        return found

    def keys(self, digests: Mapping[str, str]) -> dict[str, str]:
        """What identifies, in a store, the results of each of `functions`: its code and what it reads."""
        if not digests:
            return self.hashes()
        read = canonical_json(dict(digests))
        return {
            label: hashlib.sha256(f"{code}\0{read}".encode()).hexdigest()[:32] for label, code in self.hashes().items()
        }

    def table(self, cells: pd.DataFrame) -> pd.DataFrame:
        """The tidy table of a frame of cells, its columns in the order that all tables have."""
        with reading(self.name, self.digests()):
            return canonical_columns(self.tabulate(cells))


_REGISTRY: dict[str, Experiment] = {}


def register(
    name: str,
    *,
    cells: Callable[[Profile], Iterable[Mapping[str, Any]]],
    run_cell: Function | Mapping[str, Function],
    tabulate: Callable[[pd.DataFrame], pd.DataFrame],
    title: str = "",
    inputs: Iterable[str] = (),
) -> Experiment:
    """Make an experiment known under ``"<paper>/<exhibit>"``.

    Parameters
    ----------
    name : str
        ``"<paper>/<exhibit>"``.
    cells : callable
        ``cells(profile)`` returns the cells, as `Cell` or dict. Cheap: it is called often.
    run_cell : callable or mapping of str to callable
        Called with the cell's key as keyword arguments, and with ``cell_seed`` if it has an argument of that name.
        Returns a dict of metric to value (one record) or a list of records. A mapping by the cell's ``method`` keeps
        the code of one method from making the results of the others stale.
    tabulate : callable
        From the frame of cells (key columns, then returned columns) to the tidy table.
    title : str
        One line that says what it reproduces.
    inputs : iterable of str
        What the cells or the table read besides data sets: stored results, ``"<paper>/<exhibit>"``, and published
        tables, ``"published/<paper>/<table>"``. When one changes, what was computed from it is computed again; to read
        one that is not declared is an error.

    Returns
    -------
    Experiment
        The registered experiment.
    """
    if name.count("/") != 1:
        raise ValueError(f"The name of an experiment is '<paper>/<exhibit>'; got {name!r}.")
    functions = dict(run_cell) if isinstance(run_cell, Mapping) else {"": run_cell}
    declared = tuple(inputs)
    check_input_names(name, declared)
    experiment = Experiment(name, title, cells, functions, tabulate, declared)
    _REGISTRY[name] = experiment
    return experiment


def _package() -> ModuleType:
    # By name, on use: that package imports this module first.
    return importlib.import_module("fairpca.experiments")


def _papers() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(_package().__path__) if module.ispkg)


def get(name: str) -> Experiment:
    """Return the experiment of that name; an unknown one is an error that lists what there is.

    Parameters
    ----------
    name : str
        ``<paper>/<exhibit>``.

    Returns
    -------
    Experiment
    """
    paper = name.partition("/")[0]
    if name not in _REGISTRY and paper in _papers():
        importlib.import_module(f"fairpca.experiments.{paper}")
    if name not in _REGISTRY:
        raise ValueError(f"Unknown experiment {name!r}; known are {', '.join(names()) or 'none'}.")
    return _REGISTRY[name]


def names() -> list[str]:
    """Return the names of all experiments.

    Returns
    -------
    list of str
        Sorted.
    """
    for paper in _papers():
        importlib.import_module(f"fairpca.experiments.{paper}")
    return sorted(_REGISTRY)


def in_steps(chosen: Iterable[str]) -> list[list[str]]:
    """Sort names of experiments into steps: those of one read results of earlier ones only, otherwise as given."""
    wanted = list(dict.fromkeys(chosen))
    graph: dict[str, list[str]] = {}
    pending = list(wanted)
    while pending:
        name = pending.pop()
        if name not in graph:
            graph[name] = sorted(read for read in get(name).inputs if not read.startswith("published/"))
            pending += graph[name]
    place = {name: number for number, name in enumerate(wanted)}
    sorter, steps = TopologicalSorter(graph), []
    try:
        sorter.prepare()
    except CycleError as error:
        raise ValueError(f"Experiments read each other's results in a circle: {' -> '.join(error.args[1])}.") from error
    while sorter.is_active():
        ready = sorter.get_ready()
        steps.append(sorted((name for name in ready if name in place), key=place.__getitem__))
        sorter.done(*ready)
    return [step for step in steps if step]


def in_order(chosen: Iterable[str]) -> list[str]:
    """Sort names of experiments so that each comes after those whose results it reads, otherwise as given."""
    return [name for step in in_steps(chosen) for name in step]
