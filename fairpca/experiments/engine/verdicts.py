"""Verdicts on what a paper states: each follows from conditions that were computed, none is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from fairpca.experiments.engine.runner import Cell, Profile, register

__all__ = ["Verdict", "as_records", "decide", "judge", "judge_theorem", "register_claims", "verdict"]


class Verdict(NamedTuple):
    """One statement: its id in ``claims.csv``, what was computed, and what follows."""

    id: str
    ours: str
    verdict: str
    reason: str

    def findings(self) -> dict[str, str]:
        """All but the id, for an experiment whose cells are the statements."""
        return {name: value for name, value in self._asdict().items() if name != "id"}


def verdict(*parts: bool) -> str:
    """Return "holds" if all parts of a statement hold, "holds in part" if some do, "fails" if none does.

    Parameters
    ----------
    *parts : bool
        The conditions, one at least.

    Returns
    -------
    str
    """
    if not parts:
        raise ValueError("A verdict needs at least one computed condition.")
    return "holds" if all(parts) else "holds in part" if any(parts) else "fails"


def judge(id: str, ours: str, *parts: bool, reason: str = "", note: str = "") -> Verdict:
    """Judge a statement by the parts that it consists of.

    Parameters
    ----------
    id : str
        As in ``data/published/<paper>/claims.csv``.
    ours : str
        What was computed, in words and numbers.
    *parts : bool
        The conditions.
    reason : str
        Why not all of them are true; left out where they are.
    note : str
        What a reader should know whatever the verdict is.

    Returns
    -------
    Verdict
    """
    outcome = verdict(*map(bool, parts))
    return Verdict(id, ours, outcome, " ".join(filter(None, ("" if outcome == "holds" else reason, note))))


def judge_theorem(
    id: str,
    ours: str,
    *,
    violations: int,
    attempts: int,
    kind: str,
    proof: str = "",
    reason: str = "",
    left_open: str = "",
    note: str = "",
) -> Verdict:
    """Judge a theorem, lemma or formula: one counterexample refutes it, and no number of runs proves it.

    Parameters
    ----------
    id : str
        As in ``data/published/<paper>/claims.csv``.
    ours : str
        What was computed, in words and numbers.
    violations : int
        Attempts in which the statement is false.
    attempts : int
        How many attempts to violate it were made.
    kind : str
        What was tried, for instance ``"random pairs, then a search for the largest ratio"``.
    proof : str
        The chapter with a proof of the statement as printed; without one it is at best not refuted.
    reason : str
        Why it is false; needed if it is, and left out otherwise.
    left_open : str
        What of the statement the proof does not cover; the statement then holds in part.
    note : str
        What a reader should know whatever the verdict is.
    """
    if attempts < 1 or not 0 <= violations <= attempts:
        raise ValueError(f"{id}: {violations} violations in {attempts} attempts; at least one attempt is needed.")
    if violations and not reason:
        raise ValueError(f"{id} is violated in {violations} attempts; say why.")
    proved = "holds in part" if left_open else "proved"
    outcome = "refuted" if violations else proved if proof else "not refuted"
    text = f"{outcome} in {attempts} attempts ({kind}): {ours}" if outcome == "not refuted" else ours
    because = reason if violations else f"Proof in chapter `{proof}`. {left_open}".strip() if proof else ""
    return Verdict(id, text, outcome, " ".join(filter(None, (because, note))))


def decide(id: str, good: bool, ours: str, reason: str = "", otherwise: str = "fails") -> Verdict:
    """Judge a statement by one condition.

    Parameters
    ----------
    id : str
        As in ``data/published/<paper>/claims.csv``.
    good : bool
        The condition.
    ours : str
        What was computed, in words and numbers.
    reason : str
        Why it is not true; left out where it is.
    otherwise : str, default="fails"
        The verdict where it is not true, computed like `good`.

    Returns
    -------
    Verdict
    """
    return Verdict(id, ours, "holds" if good else otherwise, "" if good else reason)


def as_records(*groups: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Return the records of an experiment's cell: the verdicts of all groups, in order.

    Parameters
    ----------
    *groups : iterable of Verdict
        What a function that judges yields.

    Returns
    -------
    list of dict
    """
    return [verdict._asdict() for group in groups for verdict in group]


def register_claims(
    name: str,
    run_claims: Callable[..., Any],
    title: str,
    *,
    cells: Callable[[Profile], Iterable[Mapping[str, Any]]] = lambda profile: [Cell(method="claims")],
    inputs: Iterable[str] = (),
) -> None:
    """Make an experiment of verdicts known.

    Parameters
    ----------
    name : str
        ``<paper>/<exhibit>``.
    run_claims : callable
        Takes the key of a cell and returns its records, as :func:`as_records` makes them.
    title : str
        What lists call it.
    cells : callable, optional
        Takes a profile and returns the cells; by default there is one for all verdicts.
    inputs : iterable of str
        As in :func:`register`: the results and the statements that it judges.
    """
    register(name, cells=cells, run_cell=run_claims, tabulate=_tabulate, title=title, inputs=inputs)


def _tabulate(cells: pd.DataFrame) -> pd.DataFrame:
    return cells[list(Verdict._fields)].fillna("").reset_index(drop=True)
