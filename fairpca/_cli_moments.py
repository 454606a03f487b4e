"""``fairpca moments``, and ``fairpca fit`` on moments or on more files than fit in memory."""

from __future__ import annotations

import argparse
import glob
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import fairpca
from fairpca import _cli_table

if TYPE_CHECKING:
    from fairpca import GroupMoments
    from fairpca._outputs import Outputs

LARGE = 2**30  # bytes of a single file from which on it is read in batches
_IN_MEMORY_ONLY: dict[str, Any] = {
    "target": None,
    "keep": "",
    "category": "",
    "number": "",
    "missing": "impute",
    "missing_groups": "error",
    "cut": [],
    "merge_groups_below": 0,
    "out": None,
    "report": False,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``fairpca moments``."""
    parser.add_argument(
        "data", nargs="+", metavar="DATA", help="Parquet or CSV files, folders, or globs; moments are merged"
    )
    parser.add_argument("--sensitive", required=True, metavar="COLUMN[,COLUMN]", help="column(s) with the groups")
    parser.add_argument(
        "--features", default="", metavar="COLUMN[,COLUMN]", help="columns to take (default: all others)"
    )
    parser.add_argument("--drop", default="", metavar="COLUMN[,COLUMN]", help="columns that are no features")
    parser.add_argument("--weight", metavar="COLUMN", help="column with the weights of the rows")
    parser.add_argument("--out", required=True, metavar="FILE.npz", help="file for the moments")
    parser.add_argument("--store", metavar="FILE", help="SQLite file that keeps finished parts, to go on after a stop")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(func=run)


def run(options: argparse.Namespace) -> int:
    """Read all files once, and write their moments."""
    from fairpca._outputs import Outputs

    with Outputs({"--out": options.out}, [*_files(options.data), options.store]) as outputs:
        moments = _read(options, options.store, options.weight, options.features, options.quiet)
        outputs.write({"--out": moments.to_bytes()})
    shown = ", ".join(
        f"{label} ({count:,})" for label, count in list(zip(moments.labels, moments.counts, strict=True))[:10]
    )
    print(f"{moments.n_samples:,} rows, {moments.n_features} features, {moments.n_groups} groups: {shown}")
    print(f"wrote {options.out}")
    return 0


def in_batches(data: Sequence[str]) -> bool:
    """Whether the data of ``fairpca fit`` are moments, several files, or one that is too large to hold."""
    if len(data) != 1:
        return True
    name = data[0]
    if name.lower().endswith(".npz") or os.path.isdir(name) or (glob.has_magic(name) and not os.path.exists(name)):
        return True
    return name.lower().endswith((".parquet", ".csv")) and os.path.isfile(name) and os.path.getsize(name) > LARGE


def fit(estimator: Any, options: argparse.Namespace) -> int:
    """Fit to moments, or to files that are read in batches; write loadings and model."""
    from fairpca._outputs import Outputs

    _check_options(options)
    wanted = {"--components-out": options.components_out, "--model": options.model}
    if not any(wanted.values()):
        raise ValueError("Nothing would be written; give --model FILE for the model or --components-out FILE.")
    with Outputs(wanted, _files(options.data)) as outputs, warnings.catch_warnings():
        warnings.showwarning = _cli_table.show_warning
        return _fit(estimator, options, outputs)


def _files(data: Sequence[str]) -> list[str]:
    """Return the names of the files that are read."""
    from fairpca.scale.sources import expanded

    return [file for name in data for file in expanded(name)]


def _check_options(options: argparse.Namespace) -> None:
    given = [
        f"--{name.replace('_', '-')}" for name, default in _IN_MEMORY_ONLY.items() if getattr(options, name) != default
    ]
    if given:
        raise ValueError(
            f"{', '.join(given)} cannot be had for moments, or for files that are read in batches: columns must be "
            "numbers without missing values, and rows are not kept. Write the model with --model, then project with "
            "fairpca apply, one file after the other."
        )


def _fit(estimator: Any, options: argparse.Namespace, outputs: Outputs) -> int:
    import numpy as np

    if not hasattr(estimator, "partial_fit"):
        raise ValueError(
            f"{options.method} compares whole distributions and needs the rows; give one file that fits in memory, or "
            "use MBFPCA.fit_batches from Python."
        )
    saved = [name for name in options.data if name.lower().endswith(".npz")]
    moments = _loaded(options) if saved else _read(options, None, None, "", False)
    scale = np.ones(moments.n_features)
    if options.scale == "standardise":
        deviation = np.sqrt(np.diagonal(moments.covariance()))
        constant = deviation <= 1e-12 * np.maximum(np.abs(moments.mean), 1e-150)
        scale = np.where(constant, 1.0, deviation)
        if constant.any():
            names = np.asarray(_names(moments))[constant]
            _cli_table.warn(f"column(s) {', '.join(map(repr, names[:10]))} are constant; they are not scaled.")
    estimator.fit(moments.transformed(scale=scale))
    outputs.write(_contents(estimator, moments, scale, options))
    for name in (options.components_out, options.model):
        if name:
            print(f"wrote {name}")
    result = estimator.result_
    print(f"{moments.n_samples:,} rows, {moments.n_features} features, {moments.n_groups} groups")
    print(f"status: {result.status}, objective {result.objective:.6g}, {result.n_iter} iterations")
    return 0


def _loaded(options: argparse.Namespace) -> GroupMoments:
    """Load and merge files of moments."""
    if options.sensitive or options.drop:
        raise ValueError("moments know their groups and columns; leave --sensitive and --drop to fairpca moments.")
    return reduce(fairpca.GroupMoments.merge, map(fairpca.GroupMoments.load, options.data))


def _read(options: argparse.Namespace, store: Any, weight: str | None, given: str, quiet: bool) -> GroupMoments:
    """Return the moments of files, with a count of the rows on a terminal."""
    from tqdm import tqdm

    if not options.sensitive:
        raise ValueError("name the column(s) with the groups: --sensitive COLUMN.")
    sensitive = _cli_table.split(options.sensitive, "--sensitive")
    features = _cli_table.split(given, "--features") or None
    dropped = _cli_table.split(options.drop, "--drop")
    source = list(options.data)
    if dropped:
        from fairpca.scale import column_names

        present = column_names(source)
        unknown = [name for name in dropped if name not in present]
        if unknown:
            raise ValueError(f"--drop names {', '.join(map(repr, unknown))}, which {source[0]!r} does not have.")
        if features is None:
            features = [name for name in present if name not in (*sensitive, *dropped, weight)]
        else:
            features = [name for name in features if name not in dropped]
    hidden = quiet or not sys.stderr.isatty()
    with tqdm(desc="rows", unit="row", unit_scale=True, disable=hidden) as bar:
        return fairpca.GroupMoments.from_batches(
            source,
            sensitive=sensitive[0] if len(sensitive) == 1 else sensitive,
            features=features,
            weight=weight,
            store=store,
            progress=lambda where, rows: bar.update(rows) and None,
        )


def _digests(names: Sequence[str]) -> str:
    """SHA-256 of files of moments; other files would have to be read once more."""
    from fairpca.scale import file_digest

    if not all(name.lower().endswith(".npz") for name in names):
        return "not computed, the files were read in batches"
    return ", ".join(file_digest(name) for name in names)


def _names(moments: GroupMoments) -> list[str]:
    return list(moments.feature_names or [f"x{j}" for j in range(moments.n_features)])


def _contents(estimator: Any, moments: GroupMoments, scale: Any, options: argparse.Namespace) -> dict[str, bytes]:
    import numpy as np
    import pandas as pd

    from fairpca.own_data import Decision, SavedModel
    from fairpca.own_data.writing import csv_bytes, fitted_facts, plain

    names = _names(moments)
    loadings = pd.DataFrame(estimator.components_, columns=names)
    loadings.insert(0, "component", list(estimator.get_feature_names_out()), allow_duplicates=True)
    decisions = tuple(Decision(name, "number", "a number in all rows") for name in names)
    facts = fitted_facts(estimator, options.method) | {
        "sensitive": _cli_table.split(options.sensitive or "", "--sensitive"),
        "groups": {str(label): count for label, count in zip(moments.labels, moments.counts.tolist(), strict=True)},
        "target": None,
        "rows": moments.n_samples,
        "rows_read": moments.n_samples,
        "source": ", ".join(os.path.basename(name) for name in options.data[:10]),
        "data_sha256": _digests(options.data),
        "table_columns": names,
        "decisions": [{"column": name, "role": "number", "why": "a number in all rows"} for name in names],
    }
    model = SavedModel.of(None, estimator, decisions, dict(plain(facts)))
    # The estimator's own map subtracts the mean, in scaled units; no range is known that far values are drawn into.
    p = moments.n_features
    learned = {"fill": moments.mean, "mean": np.zeros(p), "scale": scale}
    learned |= {"low": np.full(p, -np.inf), "high": np.full(p, np.inf)}
    model = replace(model, arrays={**model.arrays, **learned})
    return {"--components-out": csv_bytes(loadings), "--model": model.to_bytes()}
