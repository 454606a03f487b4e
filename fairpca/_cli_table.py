"""Options that all commands on somebody's own table share: how to read it, and how to prepare it."""

from __future__ import annotations

import argparse
import csv
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairpca.own_data import Prepared, Table


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Declare how a table is read."""
    group = parser.add_argument_group("reading")
    group.add_argument("--separator", default="auto", metavar="CHARACTER", help="between values (default: found)")
    group.add_argument("--encoding", default="auto", help="of a text (default: found, UTF-8 first)")
    group.add_argument("--decimal", default="auto", choices=("auto", ".", ","), help="before decimals (default: found)")
    group.add_argument(
        "--header", default="auto", choices=("auto", "yes", "no"), help="whether the first line holds names"
    )
    group.add_argument("--header-row", type=int, default=1, metavar="N", help="line with the names (default 1)")
    group.add_argument(
        "--missing-marks", metavar="WORD[,WORD]", help="words that mean a missing value (default: NA, None, ? and such)"
    )
    group.add_argument("--date-format", metavar="FORM", help="of dates, as %%d.%%m.%%Y (2012-07-04 is known without)")
    group.add_argument("--sheet", metavar="NAME", help="sheet of an Excel file (default: the first)")


def add_preparing(parser: argparse.ArgumentParser, required: bool = True) -> None:
    """Declare what is a group, what is a feature, and how columns become numbers."""
    parser.add_argument(
        "--sensitive",
        required=required,
        metavar="COLUMN[,COLUMN]",
        help="column(s) with the groups; several are combined",
    )
    parser.add_argument("--target", metavar="COLUMN", help="column that is to be predicted; it is not a feature")
    group = parser.add_argument_group("preparing", "names with a comma stand in quotation marks: --drop '\"a,b\"'")
    group.add_argument("--drop", default="", metavar="COLUMN[,COLUMN]", help="columns that are not features")
    group.add_argument("--keep", default="", metavar="COLUMN[,COLUMN]", help="columns that would be left out by a rule")
    group.add_argument("--category", default="", metavar="COLUMN[,COLUMN]", help="numbers that stand for categories")
    group.add_argument("--number", default="", metavar="COLUMN[,COLUMN]", help="columns that must be numbers")
    group.add_argument(
        "--scale", default="standardise", choices=("standardise", "none"), help="of numbers (default standardise)"
    )
    group.add_argument(
        "--missing", default="impute", choices=("impute", "drop", "error"), help="values of features (default impute)"
    )
    group.add_argument(
        "--missing-groups",
        default="error",
        choices=("error", "own", "drop"),
        help="rows without a group (default error)",
    )
    group.add_argument(
        "--far",
        default="draw-in",
        choices=("draw-in", "keep"),
        help="pull values far from all others in to 20 times the usual range, changing your data (default draw-in)",
    )
    group.add_argument(
        "--min-different", type=int, default=10, help="leave out columns where fewer rows differ (default 10)"
    )
    group.add_argument("--max-levels", type=int, default=20, help="indicators of one category (default 20)")
    group.add_argument(
        "--max-missing",
        type=float,
        default=0.5,
        metavar="SHARE",
        help="leave out columns with more missing (default 0.5)",
    )
    group.add_argument(
        "--merge-groups-below", type=int, default=0, metavar="N", help="groups of fewer rows become one (default: none)"
    )
    group.add_argument(
        "--cut", action="append", default=[], metavar="COLUMN=EDGE[,EDGE]", help="cut a sensitive column of numbers"
    )


def read(options: argparse.Namespace, path: str) -> Table:
    """Read the table that the options name."""
    from fairpca.own_data import read_table

    return read_table(path, **reading(options))


def reading(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the reader by name."""
    return {
        "separator": {"\\t": "\t", "tab": "\t"}.get(options.separator, options.separator),
        "encoding": options.encoding,
        "decimal": options.decimal,
        "header": options.header,
        "sheet": options.sheet,
        "date_format": options.date_format,
        "header_row": options.header_row,
        "missing_marks": None if options.missing_marks is None else split(options.missing_marks, "--missing-marks"),
    }


def prepare(options: argparse.Namespace) -> Prepared:
    """Read and prepare the table, and print what was decided."""
    from fairpca.own_data import Rules
    from fairpca.own_data import prepare as prepare_table

    rules = Rules(
        scale=options.scale,
        missing=options.missing,
        max_levels=options.max_levels,
        max_missing=options.max_missing,
        min_different=options.min_different,
        far=options.far.replace("-", " "),
        numbers=tuple(split(options.number, "--number")),
        categories=tuple(split(options.category, "--category")),
        drop=tuple(split(options.drop, "--drop")),
        keep=tuple(split(options.keep, "--keep")),
    )
    sensitive = split(options.sensitive, "--sensitive")
    found = prepare_table(
        read(options, options.data),
        sensitive,
        options.target,
        rules,
        missing_groups=options.missing_groups,
        cut=cuts(options.cut),
        merge_below=options.merge_groups_below,
    )
    for line in found.summary():
        print(printable(line))
    for line in found.warnings:
        warn(line)
    return found


def warn(message: object) -> None:
    """Say what a user should look at."""
    print(f"fairpca: warning: {printable(message)}", file=sys.stderr)


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """In place of ``warnings.showwarning``: a user of the command line has no use for the place in the source."""
    warn(message)


def printable(text: object) -> str:
    """Show what would steer a terminal instead of sending it there, and of a very long word its ends."""
    text = re.sub(r"\S{300,}", lambda word: f"{word[0][:120]}…{word[0][-40:]}", str(text))
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in str(text))


def split(text: str, option: str) -> list[str]:
    """Split names at commas; a name that contains one stands in quotation marks."""
    try:
        (names,) = list(csv.reader([text], skipinitialspace=True, strict=True)) or [[]]
    except (csv.Error, ValueError):
        raise ValueError(
            f"{option} {text!r} cannot be split into names; give them with commas between, and a name with a comma in "
            "quotation marks."
        ) from None
    # Names are compared as the reader makes them, with single blanks.
    return list(dict.fromkeys(" ".join(name.split()) for name in names if name.strip()))


def cuts(given: list[str]) -> dict[str, list[float]]:
    """Read the edges that cut sensitive columns."""
    found = {}
    for text in given:
        name, equals, edges = text.rpartition("=")
        try:
            numbers = [float(edge) for edge in edges.split(",")]
        except ValueError:
            numbers = []
        if not equals or not numbers or any(number != number or abs(number) == float("inf") for number in numbers):
            raise ValueError(f"--cut {text!r} is not COLUMN=EDGE[,EDGE]; give for instance --cut age=30,60.")
        found[name.strip()] = numbers
    return found
