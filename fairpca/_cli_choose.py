"""``fairpca choose``: asks what matters, and prints the commands that follow from it."""

from __future__ import annotations

import argparse
import sys

from fairpca import _cli_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``fairpca choose``: an answer each; what is not answered is asked."""
    from fairpca.report import QUESTIONS

    for question in QUESTIONS:
        parser.add_argument(f"--{question.key}", choices=tuple(question.answers), help=question.text)
    parser.add_argument("--data", default="DATA", metavar="FILE", help="your table, for the commands")
    parser.add_argument("--sensitive", default="COLUMN", metavar="COLUMN", help="its column with the groups")
    parser.set_defaults(func=run)


def run(options: argparse.Namespace) -> int:
    """Ask, advise."""
    from fairpca.report import QUESTIONS, advise

    answers = {}
    for question in QUESTIONS:
        answers[question.key] = getattr(options, question.key) or _asked(question)
    advice = advise(answers)
    lines = [
        "",
        f"method      {advice.method}: {advice.why}",
        f"dimension   {advice.dimension}",
        *([f"parameter   {advice.parameter}"] if advice.parameter else []),
        "",
        *advice.commands(options.data, options.sensitive),
    ]
    print("\n".join(map(_cli_table.printable, lines)))
    return 0


def _asked(question: object) -> str:
    """Ask until an answer is one of those that are offered."""
    from fairpca.report import Question

    assert isinstance(question, Question)
    print(question.text)
    for number, (answer, meaning) in enumerate(question.answers.items(), start=1):
        print(f"  {number}  {answer}: {meaning}")
    names = list(question.answers)
    while True:
        print("answer: ", end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            raise ValueError(f"There is no answer to {question.text!r}; give it as --{question.key} {'|'.join(names)}.")
        word = line.strip().lower()
        if word in names:
            return word
        if word.isdecimal() and 1 <= int(word) <= len(names):
            return names[int(word) - 1]
        print(f"Please answer with one of {', '.join(names)}, or its number.")
