"""``fairpca compare``: methods and dimensions on somebody's own table."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairpca import _cli_table

if TYPE_CHECKING:
    from fairpca.own_data import Prepared
    from fairpca.report import Comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``fairpca compare``."""
    parser.add_argument("data", metavar="DATA", help="CSV, Parquet, Feather or Excel; '-': standard input")
    _cli_table.add_preparing(parser)
    _cli_table.add_reading(parser)
    add_comparing(parser)
    parser.add_argument("--out", metavar="FILE.csv", help="all estimates with their intervals")
    parser.add_argument("--json", metavar="FILE.json", help="the same for programs, with statuses and versions")
    parser.add_argument("--html", metavar="FILE.html", help="one self-contained page")
    parser.set_defaults(func=run)


def add_comparing(parser: argparse.ArgumentParser, components: str | None = "2") -> None:
    """Declare what is compared."""
    group = parser.add_argument_group("comparing")
    shown = components or "two, and as many as keep half of the variance"
    group.add_argument("--components", default=components, metavar="D[,D]", help=f"dimensions (default {shown})")
    group.add_argument(
        "--methods", metavar="NAME[,NAME]", help="names, or all; default those that take seconds on any table"
    )
    group.add_argument("--positive", metavar="VALUE", help="of the target: a positive decision (default: the later)")
    group.add_argument("--parts", type=int, default=5, help="of the cross-fitting (default 5)")
    group.add_argument("--level", type=float, default=0.95, help="of the intervals (default 0.95)")
    group.add_argument("--seed", type=int, default=0, help="of everything random (default 0)")


def run(options: argparse.Namespace) -> int:
    """Compare, print, write."""
    import json

    from fairpca._outputs import Outputs
    from fairpca.own_data import csv_bytes
    from fairpca.report import comparison_page

    wanted = {"--out": options.out, "--json": options.json, "--html": options.html}
    dimensions(options.components)
    with Outputs(wanted, [options.data]) as outputs:
        prepared = _cli_table.prepare(options)
        found = comparison_of(prepared, options)
        contents = {
            "--out": csv_bytes(found.frame),
            "--json": (json.dumps(found.as_dict(), indent=1, ensure_ascii=False) + "\n").encode(),
        }
        if options.html:
            contents["--html"] = comparison_page(found, f"Comparison on {prepared.source}").encode()
        show(found)
        if any(wanted.values()):
            outputs.write(contents)
        for name in filter(None, wanted.values()):
            print(f"wrote {name}")
    return 0


def comparison_of(prepared: Prepared, options: argparse.Namespace) -> Comparison:
    """Compare as the options say, with a progress bar."""
    from fairpca.own_data import words_of
    from fairpca.report import compare

    methods = _cli_table.split(options.methods, "--methods") if options.methods else None
    target = None if prepared.target is None else words_of(prepared.target)
    with warnings.catch_warnings(), progress_bar("fits") as progress:
        warnings.showwarning = _cli_table.show_warning
        return compare(
            prepared.frame,
            prepared.labels,
            target,
            positive=options.positive,
            n_components=dimensions(options.components),
            methods=methods,
            preparation=prepared.transformer(),
            n_parts=options.parts,
            level=options.level,
            random_state=options.seed,
            progress=progress,
        )


@contextmanager
def progress_bar(unit: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar with the time left, on a terminal only; yield the function that takes (done, total)."""
    from tqdm import tqdm

    with tqdm(unit=f" {unit}", disable=not sys.stderr.isatty(), leave=False, file=sys.stderr) as bar:

        def update(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield update


def dimensions(text: str) -> list[int]:
    """Read ``2,5,10``."""
    try:
        found = list(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise ValueError(f"--components {text!r} is no list of dimensions; give whole numbers from 1, as in 2,5,10.")
    return found


def show(found: Comparison) -> None:
    """Print what most people look at."""
    wanted = ["variance", "worst_error", "error_gap", "loss_gap", "mmd2", "linear_auc", "kernel_auc"]
    decided = ["accuracy:logistic", "base_selection_gap:logistic", "base_tpr_gap:logistic"]
    about = f", decisions{found.about_positive()}" if found.positive is not None else ""
    for dimension in sorted(set(found.frame["n_components"])):
        print(_cli_table.printable(f"\n{dimension} components, new rows{about}:"))
        table = found.table(dimension, [*wanted, *(decided if about else [])])
        print(_heads(table).to_string(float_format=lambda value: f"{value:.3g}"))
    _show_intervals(found, "error_gap", "the gap between the groups' errors on new rows, % of the variance")
    if about:
        what = f"the gap between the groups' selection rates when as many are selected as are positive{about}"
        _show_intervals(found, "base_selection_gap:logistic", what)
    for line in (*found.notes, *(f"{name} left out: {reason}" for name, reason in found.skipped.items())):
        print(_cli_table.printable(line))


def _show_intervals(found: Comparison, metric: str, what: str) -> None:
    rows = found.frame[(found.frame["metric"] == metric) & found.frame["low"].notna()]
    print(_cli_table.printable(f"\n{found.level:.0%} intervals for {what}:"))
    row: Any
    for row in rows.itertuples():
        chance = "" if row.chance != row.chance else f"; random groups stay below {row.chance:.3g} in 95 % of cases"
        estimate = f"{row.estimate:.3g} [{row.low:.3g}, {row.high:.3g}]"
        print(f"  {row.method}, {row.n_components} components: {estimate}{chance}")


def _heads(table: Any) -> Any:
    from fairpca.report import get_measure

    return table.rename(columns={name: get_measure(name).title for name in table.columns}).rename_axis(columns=None)
