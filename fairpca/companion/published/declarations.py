"""What a paper's folder declares: ``data/published/<paper>/paper.json`` and the tables beside it.

A paper prints numbers and makes statements, which results of ours answer. It is known because its folder is there;
nothing else names it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from fairpca._resources import data_path, read_table

__all__ = [
    "Answer",
    "Exhibit",
    "Paper",
    "StandIn",
    "Tolerance",
    "exhibits",
    "load",
    "load_claims",
    "load_errata",
    "load_loadings",
    "load_places",
    "load_reasons",
    "load_settings",
    "load_tolerances",
    "paper",
    "papers",
]

ERRATUM_KINDS = ("print", "code", "note")
CLAIM_COLUMNS = ("id", "exhibit", "statement", "value", "unit", "where")
REASON_COLUMNS = ("exhibit", "dataset", "method", "setting", "d", "metric", "statistic", "reason")
LOADING_COLUMNS = ("dataset", "method", "setting", "d", "split", "feature", "first", "second")
PLACE_COLUMNS = ("item", "chapter", "label")
ERRATA_COLUMNS = ("id", "kind", "where", "printed", "found", "evidence")
# Files of a paper's folder that are not published tables.
NOT_TABLES = ("claims", "errata", "loadings", "places", "reasons", "settings", "tolerances")

Declared = TypeVar("Declared")


@dataclass(frozen=True)
class Answer:
    """A result that answers a published table, or a part of it.

    Attributes
    ----------
    result : str
        ``"<paper>/<result>"``, a stored result.
    where : mapping of str to str
        Only these rows of it, by column.
    """

    result: str
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StandIn:
    """Rows of another protocol that stand, not judged, beside printed numbers whose own protocol is unpublished.

    Attributes
    ----------
    where : mapping of str to str
        Which rows, by column; rows of ours that follow the printed protocol go first.
    protocol : str
        The protocol of the rows that stand in.
    why : str
        What is unpublished.
    """

    where: Mapping[str, str]
    protocol: str
    why: str


@dataclass(frozen=True)
class Exhibit:
    """A table, a figure or another part of a paper.

    Attributes
    ----------
    name : str
        As in file names and in the column ``exhibit``.
    title : str
        As readers call it.
    chapters : tuple of str
        Chapters of the book that show it, ``"<part>/<chapter>"``.
    about : str
        What the published table holds.
    stored : bool
        Whether its numbers are not printed but stand in files that the authors published.
    answered_by : tuple of Answer
        Results that answer the published table; without them the result of its own name.
    stand_ins : tuple of StandIn
        Where the printed protocol is unpublished.
    inferred : mapping of str to str
        Methods with a setting that neither paper nor program states, and how it was inferred: what comes out equal
        with it is counted by itself.
    not_judged : mapping of str to str
        Metrics that stand beside ours without a verdict, for instance times, and why.
    """

    name: str
    title: str
    chapters: tuple[str, ...] = ()
    about: str = ""
    stored: bool = False
    answered_by: tuple[Answer, ...] = ()
    stand_ins: tuple[StandIn, ...] = ()
    inferred: Mapping[str, str] = field(default_factory=dict)
    not_judged: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Paper:
    """A paper, as its folder declares it.

    Attributes
    ----------
    name : str
        The short name, which is the name of its folders.
    folder : Path
        ``data/published/<name>``.
    short, title : str
        As it is called in running text, and in full.
    order : int
        Place among the others.
    venue, cite, shares, note : str
        Where it appeared, its key in the bibliography, what groups should share by it, a remark for the scoreboard.
    exhibits : mapping of str to Exhibit
        Its parts by name, in the order in which the scoreboard shows tables.
    text_columns : tuple of str
        Columns of its published tables that hold words, besides the usual ones.
    open : tuple of mapping
        Numbers and claims that no result answers yet: patterns by column of the scoreboard, and a ``reason``.
    """

    name: str
    folder: Path
    short: str
    title: str
    order: int
    venue: str
    cite: str
    shares: str
    note: str = ""
    exhibits: Mapping[str, Exhibit] = field(default_factory=dict)
    text_columns: tuple[str, ...] = ()
    open: tuple[Mapping[str, str], ...] = ()

    @property
    def tables(self) -> list[Exhibit]:
        """Exhibits with a published table."""
        return [exhibit for exhibit in self.exhibits.values() if (self.folder / f"{exhibit.name}.csv").is_file()]


@dataclass(frozen=True)
class Tolerance:
    """How far ours may be from print and still be called close; no length in it is typed.

    Allowed is ``units`` of the last printed digit, plus ``grains`` and ``noises`` times what was measured for this very
    number and stands in the result `derived_from`.

    Attributes
    ----------
    exhibit, dataset, method, metric, statistic : str
        Where it applies; ``*`` is a wildcard. The first match counts; what matches none has no tolerance.
    units : float
        Units of the last printed digit.
    grains : float
        Times the result's ``grain``, the smallest step by which the number can change, such as one row of a test part.
    noises : float
        Times the result's ``noise``, the standard deviation of the difference between two computations of the number.
    why : str
        Why not less.
    derived_from : str
        The result with ``grain`` and ``noise``, if they count.
    """

    exhibit: str
    dataset: str
    method: str
    metric: str
    statistic: str
    units: float
    grains: float
    noises: float
    why: str
    derived_from: str = ""


# --------------------------------------------------------------------------------------------------------------------
# Reading paper.json


def _declared(kind: type[Declared], given: Any, place: str, **known: Any) -> Declared:
    """Build a declaration from JSON; what it does not know, or misses, is an error that lists the names."""
    allowed = {f.name: f for f in fields(kind) if f.name not in known}  # type: ignore[arg-type]
    needed = {name for name, f in allowed.items() if f.default is MISSING and f.default_factory is MISSING}
    names = set(given) if isinstance(given, dict) else set()
    wrong, missing = sorted(names - set(allowed)), sorted(needed - names)
    if wrong or missing:
        raise ValueError(
            f"{place}: unknown {', '.join(wrong) or 'nothing'}, missing {', '.join(missing) or 'nothing'}; "
            f"it may have {', '.join(allowed)} and must have {', '.join(sorted(needed)) or 'nothing'}."
        )
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    return kind(**known, **values)


def _exhibit(owner: str, name: str, given: dict[str, Any], place: str) -> Exhibit:
    answers = given.get("answered_by", [{"result": f"{owner}/{name}"}])
    parts = {
        "answered_by": [_declared(Answer, part, f"{place}, answered_by of {name}") for part in answers],
        "stand_ins": [_declared(StandIn, part, f"{place}, stand_ins of {name}") for part in given.get("stand_ins", [])],
    }
    return _declared(Exhibit, {**given, **parts}, f"{place}, exhibit {name}", name=name)


def _read(path: Path) -> Paper:
    name, place = path.parent.name, f"{path.parent.name}/{path.name}"
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{place} is not valid JSON: {error}.") from error
    parts = {key: _exhibit(name, key, value, place) for key, value in given.get("exhibits", {}).items()}
    found = _declared(Paper, {**given, "exhibits": parts}, place, name=name, folder=path.parent)
    files = sorted(file.stem for file in path.parent.glob("*.csv"))
    undeclared = sorted(set(files) - set(NOT_TABLES) - set(parts))
    if undeclared:
        raise ValueError(f"{place} does not declare the tables beside it: {', '.join(undeclared)}; add to exhibits.")
    return found


def papers() -> list[Paper]:
    """List the papers in their order.

    Returns
    -------
    list of Paper
        By their `order`, then by name.
    """
    found = [_read(path) for path in data_path("published").glob("*/paper.json")]
    return sorted(found, key=lambda entry: (entry.order, entry.name))


def paper(name: str) -> Paper:
    """Return the paper of that name; an unknown one is an error that lists what there is.

    Parameters
    ----------
    name : str
        Short name, the name of its folder.

    Returns
    -------
    Paper
    """
    known = {entry.name: entry for entry in papers()}
    if name not in known:
        raise ValueError(f"Unknown paper {name!r}; known are {', '.join(known)}.")
    return known[name]


# --------------------------------------------------------------------------------------------------------------------
# Reading what stands beside it


def exhibits() -> list[str]:
    """List the published tables as ``"<paper>/<exhibit>"``.

    Returns
    -------
    list of str
    """
    return [f"{entry.name}/{exhibit.name}" for entry in papers() for exhibit in entry.tables]


# For functions with a parameter of the same name.
_paper = paper


def load(paper: str, exhibit: str) -> pd.DataFrame:
    """Read a published table.

    Parameters
    ----------
    paper : str
        Which paper, by its short name.
    exhibit : str
        For instance ``"table1"``.

    Returns
    -------
    DataFrame
        Key columns (those of ``dataset, p, method, setting, d, metric, protocol`` that apply), the statistics as
        printed, ``decimals`` (digits after the point), ``text`` where words stand instead of a number.
    """
    entry = _paper(paper)
    if exhibit not in {table.name for table in entry.tables}:
        raise ValueError(
            f"There is no published table '{paper}/{exhibit}'; there are {', '.join(exhibits()) or 'none'}."
        )
    return read_table(entry.folder / f"{exhibit}.csv", entry.text_columns)


def _words(paper: str, file: str, columns: tuple[str, ...]) -> pd.DataFrame:
    """A table of words beside ``paper.json``; a paper without it has an empty one."""
    path = _paper(paper).folder / f"{file}.csv"
    if not path.is_file():
        return pd.DataFrame(columns=list(columns), dtype=str)
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise ValueError(f"{path.name} of {paper} lacks the columns {', '.join(missing)}.")
    if "id" in columns and table["id"].duplicated().any():
        raise ValueError(f"{path.name} of {paper} has an id twice: {table['id'][table['id'].duplicated()].iloc[0]!r}.")
    return table


def load_claims(paper: str) -> pd.DataFrame:
    """Read what a paper states in words: ``id, exhibit, statement, value, unit, where``.

    Parameters
    ----------
    paper : str
        Which paper, by its short name.

    Returns
    -------
    DataFrame
        All columns hold text, also `value`, with its `unit`, and `where` it is said. Without rows where the paper
        has no such file.
    """
    return _words(paper, "claims", CLAIM_COLUMNS)


def load_settings(paper: str) -> pd.DataFrame:
    """Read what a paper states about how its experiments were run, in the columns of `load_claims`.

    Parameters
    ----------
    paper : str
        Which paper, by its short name.

    Returns
    -------
    DataFrame
        All columns hold text. Without rows where the paper has no such file.
    """
    return _words(paper, "settings", CLAIM_COLUMNS)


def load_errata(paper: str) -> pd.DataFrame:
    """Read where print, code and what we find differ: ``id, kind, where, printed, found, evidence``.

    The kind is ``"print"`` (what stands in the paper), ``"code"`` (what the published program does otherwise, or
    without the paper saying so) or ``"note"`` (true as it stands, with something to know).

    Parameters
    ----------
    paper : str
        Which paper, by its short name.

    Returns
    -------
    DataFrame
        All columns hold text; `where` is the place, `evidence` how it was found. Without rows where the paper has
        no such file.
    """
    errata = _words(paper, "errata", ERRATA_COLUMNS)
    wrong = sorted(set(errata["kind"]) - set(ERRATUM_KINDS))
    if wrong:
        raise ValueError(f"errata.csv of {paper} has kinds {wrong}; allowed are {', '.join(ERRATUM_KINDS)}.")
    return errata


def load_places(paper: str) -> pd.DataFrame:
    """Read where the book shows what a paper numbers: ``item`` ("Figure 3", "Lemma 4.7"), ``chapter, label``.

    Parameters
    ----------
    paper : str
        Which paper, by its short name.

    Returns
    -------
    DataFrame
        All columns hold text; `label` is that of the figure, theorem or equation there. Without rows where the
        paper has no such file.
    """
    return _words(paper, "places", PLACE_COLUMNS)


def load_reasons(paper: str) -> pd.DataFrame:
    """Read why numbers differ: patterns ``exhibit, dataset, method, setting, d, metric, statistic`` and ``reason``.

    Parameters
    ----------
    paper : str
        Which paper, by its short name.

    Returns
    -------
    DataFrame
        All columns hold text; ``*`` in a pattern stands for anything. Without rows where the paper has no such
        file.
    """
    return _words(paper, "reasons", REASON_COLUMNS)


def load_loadings(paper: str, dataset: str, method: str, setting: str = "") -> Any:
    """Read a plane that the authors stored, from the paper's ``loadings.csv``: an orthonormal p × 2 array.

    A subspace has no numbers of its own to compare: results compare it with ours by principal angles.

    Parameters
    ----------
    paper : str
        Which paper, by its short name.
    dataset, method : str
        As in the columns of these names.
    setting : str, default=""
        The same; empty for a method without settings.

    Returns
    -------
    ndarray of shape (n_features, 2)
        Rows in the order of the features.
    """
    table = _words(paper, "loadings", LOADING_COLUMNS)
    rows = table[(table["dataset"] == dataset) & (table["method"] == method) & (table["setting"] == setting)]
    if rows.empty:
        stored = sorted({" ".join(key).strip() for key in zip(table["dataset"], table["method"], strict=True)})
        raise ValueError(
            f"{paper} stores no plane of {method!r} on {dataset!r} with setting {setting!r}; "
            f"there are {', '.join(stored) or 'none'}."
        )
    ordered = rows.astype({"feature": int}).sort_values("feature")
    return ordered[["first", "second"]].to_numpy(dtype=float)


def load_tolerances(paper: str) -> list[Tolerance]:
    """Read what counts as close in a paper's tables, from its ``tolerances.csv``; the first match counts.

    Parameters
    ----------
    paper : str
        Which paper, by its short name.

    Returns
    -------
    list of Tolerance
        In the order of the file; empty where the paper has none.
    """
    table = _words(paper, "tolerances", tuple(f.name for f in fields(Tolerance)))
    table = table.astype(dict.fromkeys(("units", "grains", "noises"), float))
    return [Tolerance(**{str(name): value for name, value in row.items()}) for row in table.to_dict("records")]
