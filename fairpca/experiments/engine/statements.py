"""Numbers as they stand in a paper's statements, so that no experiment types them again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from fairpca.experiments.engine.verdicts import Verdict, as_records, register_claims
from fairpca.published import load_settings

__all__ = ["COMPARED", "Setting", "judge_settings", "lists", "numbers", "register_settings"]

_NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d*)?(?:e[-−+]?\d+)?", re.IGNORECASE)

# What is used, in words; whether it is what the paper states; and why, where it is not.
Setting = Callable[[str, float], tuple[str, bool, str]]

# What every paper has registered, for whoever asks whether a comparison could fail.
COMPARED: dict[str, dict[str, Setting]] = {}


def numbers(text: str) -> tuple[float, ...]:
    """Return the numbers in a text, for instance in the list between the braces of a statement."""
    return tuple(float(found.group().replace("−", "-")) for found in _NUMBER.finditer(text))


def lists(statement: str) -> list[tuple[float, ...]]:
    """Return the lists of numbers that stand in braces."""
    return [numbers(part) for part in re.findall(r"\{([^}]*)\}", statement)]


def judge_settings(paper: str, settings: Mapping[str, Setting]) -> Iterator[Verdict]:
    """Compare what a paper states about its settings with what its programs use, as the experiments repeat them.

    Parameters
    ----------
    paper : str
        Whose claims are judged.
    settings : mapping of str to callable
        By the id of the setting. It is called with the statement and the stated value (NaN where there is none) and
        returns what is used in words, whether it is the same, and why not.
    """
    stated = {str(row["id"]): row for row in load_settings(paper).to_dict("records")}
    for id, compare in settings.items():
        row = stated[id]
        ours, good, reason = compare(str(row["statement"]), float(row["value"] or "nan"))
        yield Verdict(id, ours, "as stated" if good else "otherwise", "" if good else reason)


def register_settings(paper: str, settings: Mapping[str, Setting], title: str, *, inputs: Iterable[str] = ()) -> None:
    """Make the experiment ``<paper>/settings`` known, which judges what a paper states about its settings.

    Parameters
    ----------
    paper : str
        Whose ``settings.csv`` is judged.
    settings : mapping of str to callable
        By the id of the setting. It is called with the statement and the stated value (NaN where there is none) and
        returns what is used in words, whether it is the same, and why not. Its code is part of the experiment's.
    title : str
        What lists call it.
    inputs : iterable of str
        What the functions read, as in :func:`register`; the paper's statements are known.
    """
    COMPARED[paper] = dict(settings)
    register_claims(
        f"{paper}/settings",
        partial(_run_settings, paper, COMPARED[paper]),
        title,
        inputs=(f"published/{paper}/settings", *inputs),
    )


def _run_settings(paper: str, settings: Mapping[str, Setting], *, method: str) -> list[dict[str, Any]]:
    return as_records(judge_settings(paper, settings))
