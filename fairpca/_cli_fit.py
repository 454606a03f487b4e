"""``fairpca fit``: one of the methods on the rows of somebody's own CSV file."""

from __future__ import annotations

import argparse
import ast
import csv
import sys
import warnings
from typing import TYPE_CHECKING, Any

import fairpca
from fairpca._interrupts import HeedInterrupts

if TYPE_CHECKING:
    import pandas as pd

    from fairpca._outputs import Outputs

_ESTIMATORS = {"pca": "PCA", "fpca": "FPCA", "mbfpca": "MBFPCA", "minmax": "MinMaxFairPCA", "rfpca": "RFPCA"}


def _methods() -> dict[str, str]:
    return {method: name for method, name in _ESTIMATORS.items() if name in fairpca.__all__}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``fairpca fit``."""
    parser.add_argument("method", metavar="METHOD", help=f"one of {', '.join(_methods())}")
    parser.add_argument("data", metavar="DATA.csv", help="one row a sample, with a header; '-' reads standard input")
    parser.add_argument(
        "--sensitive", required=True, metavar="COLUMN[,COLUMN]", help="column(s) with the groups; several are combined"
    )
    parser.add_argument("--components", type=int, default=2, help="dimension of the projection (default 2)")
    parser.add_argument(
        "--drop", default="", metavar="COLUMN[,COLUMN]", help='columns that are not features; quote "a,b" with a comma'
    )
    parser.add_argument("--separator", default=",", metavar="CHARACTER", help="what stands between values (default ,)")
    parser.add_argument("--out", required=True, metavar="FILE", help="CSV file for the projections and the groups")
    parser.add_argument("--components-out", metavar="FILE", help="CSV file for the loadings of the components")
    parser.add_argument("--standardise", action="store_true", help="scale every feature to variance one first")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="a parameter of the method"
    )
    parser.add_argument("--report", action="store_true", help="print variance explained and each group's error")
    parser.set_defaults(func=run)


def run(options: argparse.Namespace) -> int:
    """Fit, project, write."""
    from fairpca._outputs import Outputs

    estimator = _estimator(options.method, options.components, options.settings)
    with Outputs({"--out": options.out, "--components-out": options.components_out}, data=options.data) as outputs:
        return _fit(estimator, options, outputs)


def _fit(estimator: Any, options: argparse.Namespace, outputs: Outputs) -> int:
    import pandas as pd

    from fairpca._user_table import check_columns, read_user_table
    from fairpca.experiments.engine.results import table_text

    sensitive = list(dict.fromkeys(_split(options.sensitive)))
    table = read_user_table(options.data, options.separator)
    dropped = _split(options.drop)
    check_columns(table, [*sensitive, *dropped], options.data)
    features = _features(table.drop(columns=[*dict.fromkeys([*sensitive, *dropped])]))
    _check_missing(table[sensitive], "sensitive column")
    if options.standardise:
        features = _standardise(features)
    estimator.set_output(transform="pandas")
    with HeedInterrupts(), warnings.catch_warnings():
        # A user of the command line has no use for the place in the source.
        warnings.showwarning = _show_warning
        projected = estimator.fit(features, sensitive_features=table[sensitive]).transform(features)
    taken = [name for name in sensitive if name in projected.columns]
    if taken:
        raise ValueError(
            f"The components are called {', '.join(projected.columns)}, as is the sensitive column "
            f"{', '.join(map(repr, taken))}; rename that column."
        )
    loadings = pd.DataFrame(estimator.components_, columns=features.columns)
    loadings.insert(0, "component", list(projected.columns), allow_duplicates=True)
    written = _beside_groups(table[sensitive], projected)
    outputs.write({"--out": table_text(written).encode(), "--components-out": table_text(loadings).encode()})
    print(f"wrote {options.out}: {len(written)} rows, {projected.shape[1]} components")
    if options.components_out:
        print(f"wrote {options.components_out}")
    if options.report:
        _report(estimator, features, table[sensitive])
    return 0


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"fairpca: warning: {message}", file=sys.stderr)


def _beside_groups(groups: pd.DataFrame, projected: pd.DataFrame) -> pd.DataFrame:
    """Put the columns with the groups before the projections, row by row as they stand."""
    if len(groups) != len(projected):
        raise RuntimeError(f"{len(groups)} rows were read, but {len(projected)} projected; nothing is written.")
    written = projected.copy()
    for position, name in enumerate(groups.columns):
        # An array, since pandas would match the labels of two frames.
        written.insert(position, name, groups[name].to_numpy())
    return written


def _split(text: str) -> list[str]:
    """Split names at commas; a name that contains one stands in quotation marks."""
    names = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in names if name.strip()]


def _joined(names: list[str]) -> str:
    """Names as --drop takes them."""
    import shlex

    return shlex.quote(",".join(f'"{name}"' if "," in name else name for name in names))


def _estimator(method: str, components: int, settings: list[str]) -> Any:
    known = _methods()
    if method not in known:
        raise ValueError(f"Unknown method {method!r}; known are {', '.join(known)}.")
    kind = getattr(fairpca, known[method])
    allowed = sorted(set(kind().get_params()) - {"n_components"})
    parameters = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in allowed:
            raise ValueError(
                f"--set takes NAME=VALUE with a parameter of {method}; got {setting!r}. "
                f"Parameters are {', '.join(allowed) or 'none'}."
            )
        try:
            parameters[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            # A bare word is text.
            parameters[name] = value
    return kind(n_components=components, **parameters)


def _check_missing(table: pd.DataFrame, what: str) -> None:
    for name in table.columns:
        rows = table.index[table[name].isna()]
        if len(rows):
            shown = ", ".join(str(row) for row in rows[:5])
            raise ValueError(
                f"The {what} {name!r} has no value in {len(rows)} rows (lines {shown}{', …' if len(rows) > 5 else ''} "
                "of the file). Fill them in or remove these rows."
            )


def _features(table: pd.DataFrame) -> pd.DataFrame:
    if table.shape[1] == 0:
        raise ValueError("No columns are left as features; a projection needs at least one numeric column.")
    text = [str(name) for name in table.columns if table[name].dtype.kind not in "biuf"]
    if text:
        raise ValueError(
            f"Columns {', '.join(map(repr, text))} are not numbers ({_first_text(table, text[0])}). Encode them as "
            f"numbers, or leave them out with --drop {_joined(text)}."
        )
    _check_missing(table, "column")
    numbers = table.astype(float)
    _check_finite(numbers)
    return numbers


def _first_text(table: pd.DataFrame, name: str) -> str:
    """Say where the first value stands that is no number."""
    import pandas as pd

    column = table[name]
    wrong = column.index[pd.to_numeric(column, errors="coerce").isna() & column.notna()]
    # A column of numbers too large for a machine has no such value.
    return f"line {wrong[0]} has {str(column[wrong[0]])!r}" if len(wrong) else f"{name!r} has type {column.dtype}"


def _check_finite(table: pd.DataFrame) -> None:
    for name in table.columns:
        rows = table.index[table[name].abs() == float("inf")]
        if len(rows):
            raise ValueError(
                f"The column {name!r} is infinite in {len(rows)} rows (first in line {rows[0]} of the file). "
                "Put a number there or remove these rows."
            )


def _standardise(table: pd.DataFrame) -> pd.DataFrame:
    scale = table.std(ddof=0)
    constant = [str(name) for name in table.columns if scale[name] == 0]
    if constant:
        raise ValueError(
            f"Columns {', '.join(map(repr, constant))} are constant, so they cannot be scaled to variance one; "
            f"leave them out with --drop {_joined(constant)}."
        )
    return (table - table.mean()) / scale


def _report(estimator: Any, features: pd.DataFrame, sensitive: pd.DataFrame) -> None:
    import numpy as np
    import pandas as pd

    residual = features.to_numpy() - estimator.inverse_transform(np.asarray(estimator.transform(features)))
    errors = pd.Series((residual**2).sum(axis=1), index=features.index)
    by_group = errors.groupby([sensitive[name] for name in sensitive.columns]).agg(["size", "mean"])
    by_group.columns = ["rows", "mean squared reconstruction error"]
    result = estimator.result_
    print(f"status: {result.status}, objective {result.objective:.6g}, {result.n_iter} iterations")
    print(f"variance explained: {100 * estimator.explained_variance_ratio_.sum():.2f} %")
    print(by_group.reset_index().to_string(index=False))
    gap = by_group.iloc[:, 1]
    print(f"largest difference between groups: {gap.max() - gap.min():.6g}")
