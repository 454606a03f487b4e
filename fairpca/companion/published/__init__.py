"""The papers' printed numbers and statements, and what became of them here.

Every number that a paper prints is one row of the scoreboard, with a verdict that is computed: ``equal`` to the printed
digits, ``close`` within a stated tolerance, ``differs`` (with the reason), or ``not yet``. What a paper says in
words is a claim: it ``holds``, ``fails``, ``holds in part``, or is ``not yet`` checked; a theorem is ``proved``,
``refuted``, or ``not refuted`` in a stated number of attempts. A statement that is wrong as printed and right in the
errata is ``corrected``. How experiments were run is a *setting*: the published
program runs them ``as stated`` or ``otherwise``. Numbers such as times, of which nobody claims that they
repeat, are ``not judged``.
"""

from __future__ import annotations

from fairpca.companion.published.board import VERDICTS, scoreboard, unanswered
from fairpca.companion.published.comparison import compare
from fairpca.companion.published.declarations import (
    Answer,
    Exhibit,
    Paper,
    StandIn,
    Tolerance,
    exhibits,
    load,
    load_claims,
    load_errata,
    load_loadings,
    load_places,
    load_reasons,
    load_settings,
    load_tolerances,
    paper,
    papers,
)

__all__ = [
    "VERDICTS",
    "Answer",
    "Exhibit",
    "Paper",
    "StandIn",
    "Tolerance",
    "compare",
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
    "scoreboard",
    "unanswered",
]
