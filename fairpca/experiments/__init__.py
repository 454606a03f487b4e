"""Experiments that reproduce the papers' exhibits: `run` one, or `load_results` that stand in ``data/results``.

A module with experiments needs no more than this package: it says its cells (`Cell`), computes them, makes a table of
them (`tidy`) and makes all that known (`register`; `register_claims` for verdicts on what a paper states,
`register_settings` for what it states about its settings).
"""

from fairpca.experiments.engine.registry import Cell, Experiment, Profile, register
from fairpca.experiments.engine.results import StoredResults, load_results, recompute, save_results, stored_names
from fairpca.experiments.engine.runner import collect, get, names, run, status, tidy
from fairpca.experiments.engine.statements import register_settings
from fairpca.experiments.engine.verdicts import Verdict, as_records, decide, judge, register_claims, verdict

__all__ = [
    "Cell",
    "Experiment",
    "Profile",
    "StoredResults",
    "Verdict",
    "as_records",
    "collect",
    "decide",
    "get",
    "judge",
    "load_results",
    "names",
    "recompute",
    "register",
    "register_claims",
    "register_settings",
    "run",
    "save_results",
    "status",
    "stored_names",
    "tidy",
    "verdict",
]
