"""Verdicts on what a paper states and prints, given where the page discusses it."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterable

import pandas as pd

from fairpca.companion._grid import show
from fairpca.companion._store import build, place, put
from fairpca.companion.published import compare, load, load_claims, load_errata, load_reasons, load_settings

COLUMNS = ["id", "ours", "verdict", "reason"]


def statement(
    id: str,
    *,
    holds: bool | Iterable[bool] | None,
    evidence: str,
    reason: str = "",
    note: str = "",
    proof: str = "",
    attempts: str = "",
    erratum: str = "",
) -> None:
    """Judge a statement of a paper by conditions that the page computed, and show the verdict.

    With the profiles "paper" and "statements" the verdict is stored for the scoreboard; otherwise it must be the
    stored one.

    Parameters
    ----------
    id : str
        ``"<paper>/<id>"`` with an id of ``claims.csv`` or ``settings.csv`` in ``data/published/<paper>``.
    holds : bool or iterable of bool or None
        The conditions. If some of several are true, the statement holds in part. None if it is not judged.
    evidence : str
        What was computed, in numbers and words.
    reason : str
        Why not all conditions are true; left out where they are.
    note : str
        What a reader should know in any case.
    proof : str
        The chapter that proves a theorem: it is then proved or refuted.
    attempts : str
        For a theorem without proof, how it was attacked: it is then refuted or not refuted.
    erratum : str
        The id in ``errata.csv`` of the correction, if the statement does not hold as printed.
    """
    paper, name = id.split("/")
    claims, settings = load_claims(paper).set_index("id"), load_settings(paper).set_index("id")
    if name not in claims.index and name not in settings.index:
        raise KeyError(f"{paper} has no statement {name!r}; add it to claims.csv in data/published/{paper}.")
    if erratum and erratum not in set(load_errata(paper)["id"]):
        raise KeyError(f"{paper} has no erratum {erratum!r}; add it to errata.csv in data/published/{paper}.")
    parts = [bool(part) for part in (holds if isinstance(holds, Iterable) else [holds])]
    whole, some = all(parts), any(parts)
    if not parts or not (whole or reason):
        raise ValueError(f"{id} needs at least one condition, and a reason if one of them is not true.")
    if holds is None:
        verdict = "not judged"
    elif name in settings.index:
        verdict = "as stated" if whole else "otherwise"
    elif erratum and not whole:
        verdict = "corrected"
    elif proof or attempts:
        verdict = "refuted" if not whole else "proved" if proof else "not refuted"
    else:
        verdict = "holds" if whole else "holds in part" if some else "fails"
    because = f"Proof in chapter `{proof}`." if proof and whole else "" if whole else reason
    because = " ".join(filter(None, (because, note)))
    ours = f"not refuted in {attempts}: {evidence}" if verdict == "not refuted" else evidence
    now = dict(zip(COLUMNS, (name, ours, verdict, because), strict=True))
    _store(paper, now, write=sys._getframe(1).f_globals.get("profile") in ("paper", "statements"))
    text = str((claims if name in claims.index else settings).loc[name, "statement"]).rstrip(".")
    shown = f"The paper: {text}. Verdict: {verdict}. Computed: {ours}. {because}".rstrip()
    markup = html.escape(shown, quote=False).replace(f"Verdict: {verdict}.", f"<strong>Verdict: {verdict}.</strong>")
    markup = re.sub(r"`([\w-]+/[\w-]+)`", r'<a href="../\1.html">\1</a>', markup)
    show(shown, "verdict" if holds is None else f"verdict {'good' if whole else 'bad'}", markup)


def _store(paper: str, row: dict[str, str], write: bool) -> None:
    """Store a verdict for the runner to move, or compare it with the stored one."""
    path = place(paper, "statements.csv", staged=write)
    table = pd.read_csv(path, dtype=str, keep_default_na=False) if path.exists() else pd.DataFrame(columns=COLUMNS)
    before = table.loc[table["id"] == row["id"], "verdict"].tolist()
    if write:
        table = pd.concat([table[table["id"] != row["id"]], pd.DataFrame([row])]).sort_values("id")
        put(build() / "results" / paper / path.name, table.to_csv(index=False, lineterminator="\n").encode())
    elif before not in ([], [row["verdict"]]):
        raise AssertionError(
            f"{paper}/{row['id']} is stored as {before[0]!r}; here it is {row['verdict']!r}: {row['ours']}"
        )


def compare_with_print(exhibit: str, table: pd.DataFrame) -> pd.DataFrame:
    """Put a table next to the printed one and judge each number.

    Parameters
    ----------
    exhibit : str
        ``"<paper>/<exhibit>"`` with printed numbers in ``data/published``.
    table : DataFrame
        Our tidy table, with the key columns of the printed one.

    Returns
    -------
    DataFrame
        Keys, ``statistic, printed, ours, difference, tolerance, verdict, reason``, in the order of the paper.
    """
    paper, name = exhibit.split("/")
    return compare(table, load(paper, name), exhibit=exhibit, reasons=load_reasons(paper))
