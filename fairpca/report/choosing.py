"""Which method for whom: questions, the method that the answers lead to, and how to set its parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["QUESTIONS", "Advice", "Question", "advise"]

MANY_ROWS = 3000  # from here on the exact kernel takes minutes


@dataclass(frozen=True)
class Question:
    """One question and its possible answers.

    Attributes
    ----------
    key : str
        Under which the answer goes to :func:`advise`.
    text : str
        What is asked.
    answers : dict of str to str
        Each answer with what it means.
    """

    key: str
    text: str
    answers: Mapping[str, str]


QUESTIONS: tuple[Question, ...] = (
    Question(
        "aim",
        "What should be alike?",
        {
            "quality": "how well the rows of each group are described",
            "secrecy": "nobody should find the group in the projection",
            "both": "hide the group, and see that no group is described much worse",
        },
    ),
    Question("groups", "How many groups are there?", {"two": "two", "more": "three or more"}),
    Question(
        "rows",
        "How many rows are there to learn from?",
        {"few": f"fewer than {MANY_ROWS}", "many": f"{MANY_ROWS} or more"},
    ),
    Question(
        "axes",
        "Do the components have to be orthogonal axes of the data, to be read as loadings?",
        {"yes": "yes", "no": "no, any linear map will do"},
    ),
)


@dataclass(frozen=True)
class Advice:
    """A method and how to set it.

    Attributes
    ----------
    method : str
        As ``fairpca fit`` calls it.
    settings : dict of str to str
        For ``--set``.
    why : str
        What it optimises.
    dimension : str
        How to choose the number of components on held-out rows.
    parameter : str
        How to set its parameter on held-out rows; empty where it has none.
    compared : str
        Its name in ``fairpca compare --methods``, beside ``pca``.
    """

    method: str
    settings: Mapping[str, str]
    why: str
    dimension: str
    parameter: str
    compared: str

    def commands(self, data: str = "DATA", sensitive: str = "COLUMN") -> list[str]:
        """Return the commands: first compare on held-out rows, then fit."""
        import shlex

        table = f"{shlex.quote(data)} --sensitive {shlex.quote(sensitive)}"
        chosen = "".join(f" --set {name}={value}" for name, value in self.settings.items())
        return [
            f"fairpca compare {table} --methods pca,{self.compared} --components 2,5,10",
            f"fairpca fit {self.method} {table} --components D{chosen} --model m.npz --out projected.csv",
        ]


_BY_ERROR = (
    "Take the smallest D from which the worst group's held-out error falls by less than the width of its interval; "
    "fairpca compare prints both."
)
_BY_RECOVERY = (
    "Take the largest D whose held-out recovery of the group (AUC) has 0.5 in its interval; every further component "
    "can only tell more about the group."
)


def advise(answers: Mapping[str, str]) -> Advice:
    """Return the method that the answers lead to.

    Whether the group is known when new rows are projected does not matter here: all methods of this package project
    without it. Methods that need it stand in the comparison of methods.

    Parameters
    ----------
    answers : mapping of str to str
        One answer for each of :data:`QUESTIONS`.

    Returns
    -------
    Advice
    """
    for question in QUESTIONS:
        if answers.get(question.key) not in question.answers:
            raise ValueError(
                f"{question.key}={answers.get(question.key)!r} is no answer to {question.text!r}; choose one of "
                f"{', '.join(map(repr, question.answers))}."
            )
    if answers["aim"] == "quality":
        return Advice(
            "minmax",
            {},
            "No group loses more, against its own best subspace, than it must; solved exactly, with a certificate.",
            _BY_ERROR,
            "objective=loss compares each group with what is possible for it; objective=error compares the groups with "
            "each other. Take the one whose held-out gap (loss gap or error gap) matters to you.",
            "minmax_loss,minmax_error,rfpca",
        )
    if answers["aim"] == "secrecy" and answers["rows"] == "few" and answers["axes"] == "yes":
        return Advice(
            "mbfpca",
            {"tau": "0.01"},
            "As much variance as possible while the groups' whole distributions are alike (MMD² at most τ).",
            _BY_RECOVERY,
            "Lower τ until the held-out MMD² is below its value by chance; a smaller τ only costs "
            "variance: one far below what chance gives between groups of these sizes says nothing about new rows.",
            "mbfpca_1e2,mbfpca_1e3,mean_orthogonal",
        )
    projection = "orthogonal" if answers["axes"] == "yes" else "oblique"
    both = answers["aim"] == "both"
    return Advice(
        "mean",
        {"projection": projection},
        "As much variance as possible while the groups' means are equal, so that no linear classifier finds the group"
        + ("; then look at the worst group's loss." if both else "."),
        _BY_ERROR if both else _BY_RECOVERY,
        "match=mean+covariance hides more from kernels and costs variance: take it if the held-out kernel recovery "
        "stays above 0.5.",
        f"mean_{projection},mean_covariance" + (",minmax_loss" if both else ""),
    )
