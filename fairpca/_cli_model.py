"""``fairpca apply`` and ``fairpca inspect``: models that ``fairpca fit --model`` has written."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fairpca import _cli_table

if TYPE_CHECKING:
    from fairpca.own_data import SavedModel


def add_apply(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``fairpca apply``."""
    parser.add_argument("model", metavar="MODEL.npz", help="what fairpca fit --model has written")
    parser.add_argument(
        "data", metavar="DATA", help="new rows, with the columns of the training table; groups not needed"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="CSV file for the projections")
    parser.add_argument("--with", default="", dest="beside", metavar="COLUMN[,COLUMN]", help="columns to write as well")
    parser.add_argument(
        "--unknown-levels", default="error", choices=("error", "none"), help="refuse them, or give them no indicator"
    )
    _cli_table.add_reading(parser)
    parser.set_defaults(func=run_apply)


def add_inspect(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``fairpca inspect``."""
    parser.add_argument("model", metavar="MODEL.npz", help="what fairpca fit --model has written")
    parser.add_argument("--json", action="store_true", help="print everything, for a program")
    parser.set_defaults(func=run_inspect)


def run_apply(options: argparse.Namespace) -> int:
    """Project new rows."""
    import pandas as pd

    from fairpca._outputs import Outputs
    from fairpca.own_data import load_model
    from fairpca.own_data.writing import csv_bytes

    if options.model == options.data == "-":
        raise ValueError("Model and data cannot both be standard input; give the name of a file for one of them.")
    with Outputs({"--out": options.out}, [options.data, options.model]) as outputs:
        model = load_model(options.model)
        table = _cli_table.read(options, options.data)
        beside = _cli_table.split(options.beside, "--with")
        table.check_columns(beside)
        X, notes = model.prepare(table, unknown=options.unknown_levels)
        clash = [name for name in beside if name in model.components]
        if clash:
            raise ValueError(f"--with {clash[0]!r} has the name of a component; rename that column.")
        projected = pd.DataFrame(model.transform(X), columns=list(model.components))
        written = pd.concat([table.rows[beside].reset_index(drop=True), projected], axis=1)
        outputs.write({"--out": csv_bytes(written)})
        for note in (*table.notes, *notes):
            print(_cli_table.printable(note))
        print(f"wrote {options.out}: {len(written)} rows, {projected.shape[1]} components")
    return 0


def run_inspect(options: argparse.Namespace) -> int:
    """Say what is in a model file."""
    import json

    from fairpca.own_data import load_model

    model = load_model(options.model)
    facts = model.provenance
    if options.json:
        features = {"features": model.feature_names, "components": model.components, "variance_kept": _kept(model)}
        print(json.dumps({**facts, **features}, indent=2, ensure_ascii=True))
        return 0
    found, asked = len(model.components), facts["parameters"].get("n_components", len(model.components))
    extra = "" if found == asked else f" ({asked} asked for)"
    parameters = ", ".join(f"{name}={value}" for name, value in facts["parameters"].items())
    bound = f", bound {facts['bound']:.6g} ({facts['certificate']})" if facts["bound"] is not None else ", no bound"
    lines = [
        f"method      {facts['estimator']}({parameters})",
        f"status      {facts['status']}, objective {facts['objective']:.6g}{bound}",
        f"components  {found}{extra} of {len(model.feature_names)} features, "
        f"{100 * _kept(model):.2f} % of the variance",
        f"groups      {' / '.join(facts['sensitive'])}: "
        + ", ".join(f"{label} ({count})" for label, count in facts["groups"].items()),
        f"data        {facts['source']}, {facts['rows']} of {facts['rows_read']} rows, SHA-256 {facts['data_sha256']}",
        f"made        {facts['made']}, {', '.join(f'{name} {number}' for name, number in facts['versions'].items())}",
        *(f"column      {d['role']}: {d['column']} ({d['why']})" for d in facts["decisions"]),
        *(f"levels      {d.column}: {', '.join(d.levels)}" for d in model.columns if d.levels),
        "holds       what is listed here; of each number its median, mean, deviation and the limits of extreme values; "
        "the loadings. It holds no rows, and no level or group of fewer than five rows unless --keep asked for it.",
    ]
    print("\n".join(map(_cli_table.printable, lines)))
    return 0


def _kept(model: SavedModel) -> float:
    """Return the share of the variance that transform and inverse_transform keep.

    An affine min-max solution shrinks a direction to the length l, and so the variance of its scores to the share l².
    Back and forth it keeps the share 1 - (1 - l²)², which is 2 - l² times as much.
    """
    shares = model.provenance["explained_variance_ratio"]
    if model.provenance["estimator"] != "MinMaxFairPCA":  # the only one that shrinks directions
        return float(sum(shares))
    return float((2.0 - (model.arrays["matrix"] ** 2).sum(axis=0)) @ shares)
