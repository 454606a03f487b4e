"""The commands on experiments: run, list, status, scoreboard."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from fairpca._files import Outputs

if TYPE_CHECKING:
    import pandas as pd

    from fairpca.experiments.engine.runner import InputError, Outcome, RunFailed, Store


def add_parsers(commands: Any) -> None:
    """Add the four commands."""
    run = commands.add_parser("run", help="compute the cells of an experiment that are not stored yet")
    run.add_argument("names", nargs="+", metavar="NAME", help="'<paper>/<exhibit>', '<paper>', or 'all'; see list")
    run.add_argument("--profile", default="smoke", help="smoke (seconds, the default) or paper (everything)")
    run.add_argument("--jobs", type=int, default=1, help="number of processes; -1 takes all processors (default 1)")
    run.add_argument("--cluster", metavar="ADDRESS", help="Dask scheduler, for instance tcp://10.0.0.1:8786")
    run.add_argument("--save", action="store_true", help="write the finished results to data/results")
    run.add_argument("--out", metavar="FOLDER", help="with --save: write them to this folder instead")
    run.add_argument(
        "--drop-damaged", action="store_true", help="first take damaged cells out of the store, to compute them again"
    )
    run.add_argument("--quiet", action="store_true", help="no progress bar and no table")
    _add_store(run)
    run.set_defaults(func=_run)

    listing = commands.add_parser("list", help="list the experiments")
    listing.set_defaults(func=_list)

    state = commands.add_parser("status", help="how many cells are finished, which saved results are stale")
    state.add_argument("names", nargs="*", default=["all"], metavar="NAME", help="as for run; default all")
    state.add_argument("--profile", default="paper", help="smoke or paper (the default)")
    _add_store(state)
    state.set_defaults(func=_status)

    board = commands.add_parser("scoreboard", help="every published number beside ours, with a verdict")
    board.add_argument("--paper", help="only this paper")
    board.add_argument("--verdict", help="show the rows with this verdict, for instance 'differs' or 'not yet'")
    board.add_argument("--csv", metavar="FILE", help="write all rows to a CSV file")
    board.set_defaults(func=_scoreboard)


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store", metavar="FILE", help="SQLite file with finished cells (default: $FAIRPCA_STORE, else the user cache)"
    )


def _chosen(names: Sequence[str]) -> list[str]:
    """Experiments meant by names, papers or 'all', without repeats, each after those whose results it reads."""
    from fairpca.experiments.engine import runner

    chosen: dict[str, None] = {}
    for name in names:
        if "/" in name:
            chosen[runner.get(name).name] = None
            continue
        known = runner.names()
        matching = [full for full in known if name in ("all", full.partition("/")[0])]
        if not matching and name != "all":
            papers = sorted({full.partition("/")[0] for full in known})
            raise ValueError(
                f"Unknown experiment or paper {name!r}; papers are {', '.join(papers) or 'none'}, "
                f"experiments are {', '.join(known) or 'none'}."
            )
        chosen.update(dict.fromkeys(matching))
    return runner.in_order(chosen)


def _run(options: argparse.Namespace) -> int:
    from fairpca.experiments.engine import runner

    if options.save and options.profile != "paper" and options.out is None:
        raise ValueError("Only results of --profile paper are saved to data/results; for others give --out FOLDER.")
    from fairpca.experiments.engine.plan import Plan

    chosen = _chosen(options.names)
    store = runner.Store(options.store)
    if options.drop_damaged:
        for name in chosen:
            print(f"{name}: {runner.drop_damaged(name, store)} damaged cells taken out")
    places: dict[str, Any] = {"jobs": options.jobs, "isolated": True, "store": store, "cluster": options.cluster}
    failed = False
    with Plan(chosen, options.profile, store, options.jobs, hidden=options.quiet) as plan:
        for step in runner.in_steps(chosen):
            with closing(runner.run_each(step, options.profile, **places, progress=plan.advance)) as computed:
                for outcome in computed:
                    failed |= _show_outcome(outcome, options, store)
                    plan.ended(outcome.name, outcome.seconds)
    if len(chosen) > 1 and not options.quiet:
        print()
        _print_columns(plan.times())
    return 1 if failed else 0


def _show_outcome(outcome: Outcome, options: argparse.Namespace, store: Store) -> bool:
    """Save and print what became of an experiment; True if it failed, and the others still get their turn."""
    from fairpca.experiments.engine import runner

    name, table = outcome.name, outcome.result
    saved = []
    if options.save and not isinstance(table, Exception):
        try:
            saved = runner.save_results(name, options.profile, store=store, folder=options.out, table=table)
        except runner.InputError as error:
            table = error
    if isinstance(table, Exception):
        print(f"fairpca: error: {_explained(table)}", file=sys.stderr)
        for cell in getattr(table, "failures", ()):
            print(f"  failed: {cell!r}", file=sys.stderr)
        return True
    if not options.quiet:
        print(f"\n{name} ({options.profile})")
        _print_table(table)
    for path in saved:
        print(f"wrote {path}")
    return False


def _explained(error: RunFailed | InputError) -> str:
    """Message of a failed run; where only data are missing, what to do about that stands there without a traceback."""
    failures: dict[Any, str] = getattr(error, "failures", {})
    reasons = {text.strip().rpartition("\n")[2] for text in failures.values()}
    kind = "fairpca.datasets._download.DataError: "
    if not reasons or not all(reason.startswith(kind) for reason in reasons):
        return str(error)
    summary = str(error).partition(" The first was ")[0]
    return "\n".join([summary, *sorted(reason.removeprefix(kind) for reason in reasons)])


def _list(options: argparse.Namespace) -> int:
    from fairpca.experiments.engine import runner

    rows = []
    for name in runner.names():
        experiment = runner.get(name)
        rows.append((name, *(str(len(experiment.grid(profile))) for profile in runner.PROFILES), experiment.title))
    _print_columns([("experiment", *(f"{profile} cells" for profile in runner.PROFILES), "reproduces"), *rows])
    return 0


def _status(options: argparse.Namespace) -> int:
    from fairpca.experiments.engine import runner

    store = runner.Store(options.store)
    rows = [("experiment", "cells", "done", "failed", "saved results")]
    for name in _chosen(options.names):
        found = runner.status(name, options.profile, store=store)
        rows.append((name, str(found.total), str(found.done), str(found.failed), found.saved))
    print(f"store {store.path}, profile {options.profile}")
    _print_columns(rows)
    return 0


def _scoreboard(options: argparse.Namespace) -> int:
    with Outputs({"--csv": options.csv}) as outputs:
        return _show_scoreboard(options, outputs)


def _show_scoreboard(options: argparse.Namespace, outputs: Outputs) -> int:
    from fairpca import published
    from fairpca.published.pages import gaps

    board = published.scoreboard()
    if options.paper is not None:
        papers = sorted(board["paper"].unique())
        if options.paper not in papers:
            raise ValueError(f"Unknown paper {options.paper!r}; known are {', '.join(papers)}.")
        board = board[board["paper"] == options.paper]
    print(gaps(board))
    for name in published.undeclared():
        print(f"{name} has results, but no data/published/{name}/paper.json declares it, so it is not shown here.")
    if options.verdict is not None:
        if options.verdict not in published.VERDICTS:
            raise ValueError(f"Unknown verdict {options.verdict!r}; known are {', '.join(published.VERDICTS)}.")
        rows = board[board["verdict"] == options.verdict]
        _print_table(rows.dropna(axis=1, how="all"))
    _print_table(published.counts(board).reset_index())
    _write_csv(board, options.csv, outputs)
    return 0


def _print_table(table: pd.DataFrame) -> None:
    print(table.to_string(index=False, max_colwidth=60))


def _print_columns(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def _write_csv(table: pd.DataFrame, path: str | None, outputs: Outputs) -> None:
    from fairpca.experiments.engine.results import table_text

    if path is not None:
        outputs.write({"--csv": table_text(table).encode()})
        print(f"wrote {path}")
