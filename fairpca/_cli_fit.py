"""``fairpca fit``: one of the methods on the rows of somebody's own table."""

from __future__ import annotations

import argparse
import ast
import sys
import warnings
from typing import TYPE_CHECKING, Any

import fairpca
from fairpca import _cli_moments, _cli_table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from fairpca._outputs import Outputs
    from fairpca.own_data import Prepared

_SPREADSHEET = ("=", "+", "-", "@", "\t", "\r")


def methods() -> dict[str, str]:
    """Short names of the estimators."""
    homes = {name: home.removeprefix("fairpca.") for name, home in fairpca._HOME.items() if name.endswith("PCA")}
    known = {home.removesuffix("fair"): name for name, home in homes.items() if not home.startswith("_")}
    return dict(sorted(known.items(), key=lambda item: (item[1] != "PCA", item[0])))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``fairpca fit``."""
    parser.add_argument("method", metavar="METHOD", help=f"one of {', '.join(methods())}")
    parser.add_argument(
        "data",
        nargs="+",
        metavar="DATA",
        help="CSV (any separator, also compressed), Parquet, Feather, Excel; '-': standard input; or moments (.npz), "
        "or several files, which are read in batches",
    )
    _cli_table.add_preparing(parser, required=False)
    _cli_table.add_reading(parser)
    parser.add_argument("--components", type=int, default=2, help="dimension of the projection (default 2)")
    parser.add_argument("--out", metavar="FILE", help="CSV file for the projections and the groups")
    parser.add_argument("--components-out", metavar="FILE", help="CSV file for the loadings of the components")
    parser.add_argument("--model", metavar="FILE.npz", help="file for the model, for fairpca apply and fairpca inspect")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help="a parameter of the method, as its API page explains",
    )
    parser.add_argument("--report", action="store_true", help="print each group's error and loss beside those of PCA")
    parser.add_argument(
        "--allow-infeasible", action="store_true", help="mbfpca: write also what does not meet its tolerance tau"
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    if {"-h", "--help"} & set(sys.argv):
        parser.epilog = "\n".join(["parameters for --set, with their defaults:", *_parameters()])
    parser.set_defaults(func=run)


def _parameters() -> list[str]:
    lines = []
    for method, name in methods().items():
        known = getattr(fairpca, name)().get_params()
        known.pop("n_components")
        lines.append(f"  {method:8}{', '.join(f'{key}={value}' for key, value in known.items())}")
    return lines


def run(options: argparse.Namespace) -> int:
    """Fit, project, write."""
    from fairpca._outputs import Outputs

    estimator = estimator_of(options.method, options.components, options.settings)
    if _cli_moments.in_batches(options.data):
        return _cli_moments.fit(estimator, options)
    (options.data,) = options.data
    if not options.sensitive:
        raise ValueError("Name the column(s) with the groups: --sensitive COLUMN.")
    wanted = {"--out": options.out, "--components-out": options.components_out, "--model": options.model}
    if not any(wanted.values()) and not options.report:
        raise ValueError("Nothing would be written; give --out FILE, --model FILE, or --report to look only.")
    with Outputs(wanted, [options.data]) as outputs:
        return _fit(estimator, options, outputs)


def _fit(estimator: Any, options: argparse.Namespace, outputs: Outputs) -> int:
    import pandas as pd

    prepared = _cli_table.prepare(options)
    transformer = prepared.transformer().set_output(transform="pandas")
    target = None if prepared.target is None else prepared.target.to_numpy()
    with warnings.catch_warnings():
        warnings.showwarning = _cli_table.show_warning
        features = transformer.fit_transform(prepared.frame)
        estimator.fit(features, target, sensitive_features=prepared.groups)
    status = estimator.result_.status
    if status in ("not_found", "infeasible") and not options.allow_infeasible:
        print(
            f"fairpca: error: {options.method} found no subspace that meets its tolerance, so nothing is written; "
            "loosen the tolerance with --set, or say --allow-infeasible.",
            file=sys.stderr,
        )
        return 1
    found = len(estimator.components_)
    if found != options.components:
        _cli_table.warn(f"{found} components instead of {options.components}: the solver's answer has more.")
    projected = pd.DataFrame(estimator.transform(features), columns=estimator.get_feature_names_out())
    written = _beside_groups(prepared, projected)
    if options.out or options.components_out or options.model:
        outputs.write(_contents(written, transformer, estimator, prepared, options))
    for name in (options.out, options.components_out, options.model):
        if name:
            print(f"wrote {name}: {len(written)} rows, {found} components" if name == options.out else f"wrote {name}")
    print(f"status: {status}, objective {estimator.result_.objective:.6g}, {estimator.result_.n_iter} iterations")
    if options.report:
        _report(estimator, features, prepared)
    return 0


def _contents(
    written: pd.DataFrame, transformer: Any, estimator: Any, prepared: Prepared, options: argparse.Namespace
) -> dict[str, bytes]:
    import pandas as pd

    from fairpca.own_data import SavedModel, provenance
    from fairpca.own_data.writing import csv_bytes

    loadings = pd.DataFrame(estimator.components_, columns=estimator.feature_names_in_)
    loadings.insert(0, "component", list(estimator.get_feature_names_out()), allow_duplicates=True)
    written_words = [w for name in prepared.groups.columns for w in (name, *prepared.groups[name].unique())]
    written_words = [*(written_words if options.out else ()), *(loadings.columns if options.components_out else ())]
    formulas = [word for word in written_words if str(word).startswith(_SPREADSHEET)]
    if formulas:
        _cli_table.warn(
            f"{formulas[0]!r} in the output would be taken for a formula by a spreadsheet; import it there as text."
        )
    contents = {"--out": csv_bytes(written), "--components-out": csv_bytes(loadings)}
    if options.model:
        facts = provenance(prepared, estimator, options.method)
        contents["--model"] = SavedModel.of(transformer, estimator, prepared.decisions, facts).to_bytes()
    return contents


def _beside_groups(prepared: Prepared, projected: pd.DataFrame) -> pd.DataFrame:
    """Put the columns with the groups before the projections, row by row as they stand in the file."""
    import pandas as pd

    if len(prepared.groups) != len(projected):
        raise RuntimeError(
            f"{len(prepared.groups)} rows were read, but {len(projected)} projected; nothing is written."
        )
    names = list(projected.columns)
    taken = [name for name in prepared.groups.columns if name in names]
    if taken:
        raise ValueError(
            f"The components are called {', '.join(names)}, as is the sensitive column "
            f"{', '.join(map(repr, taken))}; rename that column."
        )
    written = prepared.groups.reset_index(drop=True)
    if len(projected) < prepared.n_rows_read:  # rows were left out: say which these are
        place = prepared.frame.index.name or "row"
        if place not in written.columns:
            written.insert(0, place, prepared.frame.index.to_numpy())
    return pd.concat([written, projected.reset_index(drop=True)], axis=1)


def estimator_of(method: str, components: int, settings: list[str]) -> Any:
    """Return an estimator with what ``--set`` says."""
    known = methods()
    if method not in known:
        raise ValueError(f"Unknown method {method!r}; known are {', '.join(known)}.")
    kind = getattr(fairpca, known[method])
    allowed = sorted(set(kind().get_params()) - {"n_components"})
    parameters = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in allowed:
            shown = setting if len(setting) < 100 else setting[:100] + "…"
            raise ValueError(
                f"--set takes NAME=VALUE with a parameter of {method}; got {shown!r}. "
                f"Parameters are {', '.join(allowed) or 'none'}."
            )
        parameters[name] = _literal(value)
    return kind(n_components=components, **parameters)


def _literal(text: str) -> Any:
    """Read a number, a truth value, a list or a mapping; what is none of these is text."""
    if len(text) > 1000:
        raise ValueError(f"--set got a value of {len(text)} characters; give a number or a word.")
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _report(estimator: Any, features: pd.DataFrame, prepared: Prepared) -> None:
    """Print what was gained and lost against PCA of the dimension that was asked for, on these rows."""
    import pandas as pd

    from fairpca.metrics import average_reconstruction_error, mmd_squared, reconstruction_errors, reconstruction_losses

    X, labels, d = features.to_numpy(), prepared.labels.to_numpy(), estimator.n_components
    plain = fairpca.PCA(n_components=d).fit(X, sensitive_features=labels)
    table = pd.DataFrame({"rows": pd.Series(labels).value_counts().sort_index()})
    variances, discrepancies = {}, {}
    # What MBF-PCA bounds, by the kernel that it was fitted with; of more groups it is a sum, and of classes a part.
    sigma = getattr(estimator, "bandwidth_", None) if getattr(estimator, "fairness", "") == "dp" else None
    for name, model in (("PCA", plain), (type(estimator).__name__, estimator)):
        P = _given_back(model)
        lost = average_reconstruction_error(X, center=X.mean(axis=0), projection=P)
        variances[name] = 100.0 * (1.0 - lost / X.var(axis=0).sum())
        if sigma is not None and len(table) == 2:
            discrepancies[name] = mmd_squared(X @ model.components_.T, labels, sigma=sigma)
        table[f"error {name}"] = reconstruction_errors(X, None, labels, projection=P)
        table[f"loss {name}"] = reconstruction_losses(X, None, labels, projection=P, n_components=d)
    print("variance explained: " + ", ".join(f"{value:.2f} % ({name})" for name, value in variances.items()))
    if discrepancies:
        print("MMD² between the groups: " + ", ".join(f"{v:.4g} ({name})" for name, v in discrepancies.items()))
    table.index.name = "group"
    print(_cli_table.printable(table.reset_index().to_string(index=False)))
    gaps = {c: table[c].max() - table[c].min() for c in table.columns if c.startswith("error")}
    print("largest difference between groups: " + ", ".join(f"{value:.6g} ({name})" for name, value in gaps.items()))
    print(
        "Errors are about the group's own mean, on the rows that were fitted; fairpca compare looks at held-out rows."
    )
    if len(estimator.components_) != d:
        print(
            f"{type(estimator).__name__} has {len(estimator.components_)} components and PCA {d}: its map has extra "
            "dimensions, each shrunk; what is kept and lost is what that map gives back (inverse_transform)."
        )


def _given_back(model: Any) -> np.ndarray:
    """Return P with which a model gives rows back: ``inverse_transform(transform(X))`` is ``(X - mean) P + mean``.

    That is the projection on the components where they are orthonormal. It is the affine map of a min-max solution
    with extra dimensions, whose losses are those of the solution, and the code with its decoder where it is oblique.
    """
    scale = getattr(model, "scale_", 1.0)
    P: np.ndarray = (model.components_ / scale).T @ (getattr(model, "decoder_", model.components_) * scale)
    return P
