"""``fairpca report``: one page about one table, from a template that may be changed."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from fairpca import _cli_compare, _cli_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``fairpca report``."""
    parser.add_argument("data", metavar="DATA", nargs="?", help="CSV, Parquet, Feather or Excel")
    _cli_table.add_preparing(parser, required=False)
    _cli_table.add_reading(parser)
    _cli_compare.add_comparing(parser, components=None)
    parser.add_argument("--out", metavar="FILE.html", help="the page; beside it FILE.ipynb and FILE.json are written")
    parser.add_argument(
        "--template",
        metavar="FILE.md",
        help="a changed copy of the template; its code runs on this machine, so use only one that you trust",
    )
    parser.add_argument("--template-out", metavar="FILE.md", help="write the built-in template, to be changed")
    parser.set_defaults(func=run)


def run(options: argparse.Namespace) -> int:
    """Make the report."""
    from fairpca._outputs import Outputs

    if options.template_out:
        from fairpca.report.build import template_text

        outputs = Outputs({"--template-out": options.template_out}, [options.data, options.template])
        outputs.write({"--template-out": template_text().encode()})
        print(f"wrote {options.template_out}")
        if not options.data:
            return 0
    absent = [name for name in ("data", "sensitive", "out") if not getattr(options, name)]
    if absent:
        what = {"data": "the name of a table", "sensitive": "--sensitive COLUMN", "out": "--out FILE.html"}
        raise ValueError(f"A report needs {' and '.join(what[name] for name in absent)}.")
    if options.data == "-":
        raise ValueError("A report names its table, so it cannot be standard input; give the name of a file.")
    if options.out == "-":
        raise ValueError(
            "A report is three files, so --out cannot be standard output; give a name such as report.html."
        )
    base = Path(options.out)
    files = {"--out": base, "notebook": base.with_suffix(".ipynb"), "json": base.with_suffix(".json")}
    with Outputs(files, [options.data, options.template]) as outputs:
        return _write(options, files, outputs)


def _write(options: argparse.Namespace, files: dict[str, Path], outputs: Any) -> int:
    from fairpca.own_data import read_text_file
    from fairpca.report.build import built_report, template_text

    os.environ.setdefault("MPLBACKEND", "agg")  # pictures that need no display
    text = read_text_file(options.template) if options.template else template_text()
    if options.template:
        print(
            _cli_table.printable(
                f"running the code of the template {options.template}, which may do anything that you may"
            )
        )
    prepared = _cli_table.prepare(options)  # errors are found here, before anything is computed
    settings: dict[str, Any] = {
        "components": None if options.components is None else _cli_compare.dimensions(options.components),
        "methods": _cli_table.split(options.methods, "--methods") if options.methods else None,
        "positive": options.positive,
        "parts": options.parts,
        "level": options.level,
        "seed": options.seed,
        "rules": {name: list(v) if isinstance(v, tuple) else v for name, v in vars(prepared.rules).items()},
        "reading": {**_cli_table.reading(options)},
        "missing_groups": options.missing_groups,
        "cut": _cli_table.cuts(options.cut),
        "merge_below": options.merge_groups_below,
    }
    parameters = {
        "data": options.data,
        "sensitive": list(prepared.groups.columns),
        "target": options.target,
        "settings": settings,
    }
    with _cli_compare.progress_bar("fits") as progress:
        made = built_report(text, parameters, progress)
    outputs.write({"--out": made["html"], "notebook": made["ipynb"], "json": made["json"]})
    for path in files.values():
        print(f"wrote {path}")
    return 0
