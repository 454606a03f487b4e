"""``fairpca selfcheck``: attack the solvers for a while, and say what was tried and what did not hold."""

from __future__ import annotations

import argparse
import secrets
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairpca.selfcheck import Tally

__all__ = ["add_arguments"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``fairpca selfcheck``."""
    parser.add_argument("--minutes", type=float, default=1.0, metavar="M", help="how long (default 1)")
    parser.add_argument("--seed", type=int, metavar="S", help="of the problems; default: a fresh one, which is printed")
    parser.add_argument("--family", action="append", metavar="NAME", help="only this family; may be given again")
    parser.add_argument("--case", type=int, metavar="N", help="only case N of the one --family, with all its checks")
    parser.set_defaults(func=_selfcheck)


def _selfcheck(options: argparse.Namespace) -> int:
    if not options.minutes > 0:
        raise ValueError(f"--minutes {options.minutes:g} is no time; give a number larger than 0.")
    if options.seed is not None and options.seed < 0:
        raise ValueError(f"--seed {options.seed} is negative; give 0 or more.")
    if options.case is not None and (options.seed is None or len(options.family or ()) != 1 or options.case < 0):
        raise ValueError("--case needs a number from 0 on, the --seed of the run and one --family.")
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return _one_case(options) if options.case is not None else _attack(options)


def _attack(options: argparse.Namespace) -> int:
    from fairpca.selfcheck import run

    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    tallies = run(60.0 * options.minutes, seed, options.family, _shown if sys.stderr.isatty() else None)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    rows = [("family", "cases", "checks", "worst gap", "longest", "violations")]
    for one in tallies:
        counts = (str(one.cases), str(one.checks), f"{one.worst:.1e}", f"{one.longest:.1f} s", str(len(one.violations)))
        rows.append((one.family, *counts))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]))
    for one in tallies:
        for number, texts in one.violations.items():
            print(f"violation: fairpca selfcheck --seed {seed} --family {one.family!r} --case {number}")
            for text in dict.fromkeys(texts):
                print(f"  {text}")
    return 1 if any(one.violations for one in tallies) else 0


def _shown(tallies: list[Tally]) -> None:
    cases, wrong = sum(one.cases for one in tallies), sum(len(one.violations) for one in tallies)
    print(f"\r{cases} cases, {wrong} with a violation", end="", file=sys.stderr, flush=True)


def _one_case(options: argparse.Namespace) -> int:
    from fairpca.selfcheck import check_case, families

    known, (name,) = families(), options.family
    if name not in known:
        raise ValueError(f"there is no family {name!r}; known are {', '.join(known)}.")
    findings = check_case(name, known[name], options.seed, options.case)
    for finding in findings:
        mark = "VIOLATION " if finding.wrong else ""
        print(f"{mark}{finding.what}: {finding.gap:.3g}, allowed {finding.allowed:.3g}")
    return 1 if any(finding.wrong for finding in findings) else 0
