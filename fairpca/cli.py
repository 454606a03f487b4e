"""The command ``fairpca``: fit, apply and inspect models, compare methods, write reports, take moments, get data.

Nothing heavy is imported before it is known which command was asked for.
"""

from __future__ import annotations

import argparse
import ast
import csv
import glob
import io
import os
import re
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fairpca
from fairpca._files import Outputs, file_digest

if TYPE_CHECKING:
    from fairpca import GroupMoments
    from fairpca.tables import Prepared, Table

# Kinds of error whose message is all that a user needs; others keep their traceback.
_EXPECTED = (ValueError, LookupError, OSError, RuntimeError, ImportError, TypeError)
_UNEXPECTED = (KeyError, IndexError, NotImplementedError, RecursionError)
_SPREADSHEET = ("=", "+", "-", "@", "\t", "\r")
LARGE = 2**30  # bytes of a single file from which on it is read in batches

_COLUMNS = "COLUMN[,COLUMN]"
_READING: dict[str, dict[str, Any]] = {
    "--separator": {"default": "auto", "metavar": "CHARACTER", "help": "character between values (default: detected)"},
    "--encoding": {"default": "auto", "help": "encoding of the text (default: detected, UTF-8 first)"},
    "--decimal": {"default": "auto", "choices": ("auto", ".", ","), "help": "decimal sign (default: detected)"},
    "--header": {"default": "auto", "choices": ("auto", "yes", "no"), "help": "whether the first line has the names"},
    "--header-row": {
        "type": int,
        "default": 1,
        "metavar": "N",
        "help": "number of the line with the names (default 1)",
    },
    "--missing-marks": {
        "metavar": "WORD[,WORD]",
        "help": "words for a missing value (default: NA, None, ? and others)",
    },
    "--date-format": {"metavar": "FORM", "help": "form of dates, for example %%d.%%m.%%Y (not needed for 2012-07-04)"},
    "--sheet": {"metavar": "NAME", "help": "sheet of an Excel file (default: the first)"},
}
_PREPARING: dict[str, dict[str, Any]] = {
    "--drop": {"default": "", "metavar": _COLUMNS, "help": "columns that are not features"},
    "--keep": {"default": "", "metavar": _COLUMNS, "help": "columns to keep although a rule would leave them out"},
    "--category": {"default": "", "metavar": _COLUMNS, "help": "columns of numbers that are categories"},
    "--number": {"default": "", "metavar": _COLUMNS, "help": "columns that must be numbers"},
    "--scale": {
        "default": "standardise",
        "choices": ("standardise", "none"),
        "help": "what to do with numbers (default standardise)",
    },
    "--missing": {
        "default": "impute",
        "choices": ("impute", "drop", "error"),
        "help": "what to do with missing values of features (default impute)",
    },
    "--missing-groups": {
        "default": "error",
        "choices": ("error", "own", "drop"),
        "help": "what to do with rows without a group (default error)",
    },
    "--outliers": {
        "default": "clip",
        "choices": ("clip", "keep"),
        "help": "clip extreme values to 20 times the usual range, which changes your data (default clip)",
    },
    "--min-different": {
        "type": int,
        "default": 10,
        "help": "leave out columns in which fewer rows differ from the most common value (default 10)",
    },
    "--max-levels": {"type": int, "default": 20, "help": "largest number of indicators of one category (default 20)"},
    "--max-missing": {
        "type": float,
        "default": 0.5,
        "metavar": "SHARE",
        "help": "leave out columns with a larger share of missing values (default 0.5)",
    },
    "--merge-groups-below": {
        "type": int,
        "default": 0,
        "metavar": "N",
        "help": "merge groups of fewer rows into one (default: no merging)",
    },
    "--cut": {
        "action": "append",
        "default": [],
        "metavar": "COLUMN=EDGE[,EDGE]",
        "help": "cut a sensitive column of numbers into groups at these edges",
    },
}
# What needs all rows at once, so that moments and files that are read in batches cannot have it.
_ROWS_ONLY: dict[str, Any] = {
    "target": None, "keep": "", "category": "", "number": "", "missing": "impute", "missing_groups": "error",
    "cut": [], "merge_groups_below": 0, "out": None, "report": False,
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; default: those of the process.

    Returns
    -------
    int
        0 when all went well, 1 when something failed, 130 after an interrupt. Wrong usage exits with 2.
    """
    if argv is None:  # SIGTERM ends the process as an error would, so that temporary files are removed
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal cannot show is written as \\u2026
            stream.reconfigure(errors="backslashreplace")
    parser = _parser(arguments[0] if arguments else "")
    options = parser.parse_args(arguments)
    options.typed = ["fairpca", *arguments]
    if not hasattr(options, "func"):
        parser.print_help()
        return 0
    try:
        return int(options.func(options) or 0)
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough; nothing more may be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as stop:
        what = "what was finished is kept" if arguments[0] == "data" else "nothing was written"
        print(f"\nfairpca: {str(stop) or f'Stopped; {what}.'}", file=sys.stderr)
        return 130
    except _UNEXPECTED:
        raise
    except _EXPECTED as error:
        print(f"fairpca: error: {printable(error)}", file=sys.stderr)
        return 1


def _parser(command: str) -> argparse.ArgumentParser:
    """Return the parser; only the options of one command are declared, since they may need imports."""
    parser = argparse.ArgumentParser(prog="fairpca", description=fairpca.__doc__)
    parser.add_argument("--version", action="version", version=f"fairpca {fairpca.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, (text, run, groups) in _COMMANDS.items():
        own = commands.add_parser(name, help=text, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name != command:
            continue
        own.set_defaults(func=run)
        own.epilog = {"fit": _parameters, "data": _actions}.get(name, str)()
        for title, about, options in groups() if callable(groups) else groups:
            group = own.add_argument_group(title, about) if title else own
            for option, settings in options.items():
                group.add_argument(option, **settings)
    return parser


def help_texts() -> dict[str, str]:
    """Return what each command prints with ``--help``, from the parsers themselves."""
    from unittest.mock import patch

    with patch.dict(os.environ, COLUMNS="88"):  # the width of the text, whatever the terminal
        return {name: _commands(_parser(name))[name].format_help().strip() for name in _commands(_parser(""))}


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    kinds = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(kinds[0].choices)


# --------------------------------------------------------------------------------------------------------------------
# What the commands on a user's table share


def _reading(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the reader by name."""
    found = {name: getattr(options, name) for name in (flag[2:].replace("-", "_") for flag in _READING)}
    found["separator"] = {"\\t": "\t", "tab": "\t"}.get(options.separator, options.separator)
    if options.missing_marks is not None:
        found["missing_marks"] = _split(options.missing_marks, "--missing-marks")
    return found


def _read(options: argparse.Namespace, path: str) -> Table:
    from fairpca.tables import read_table

    return read_table(path, **_reading(options))


def _prepare(options: argparse.Namespace) -> Prepared:
    """Read and prepare the table, and print what was decided."""
    from fairpca.tables import Rules, prepare

    names = {"numbers": "number", "categories": "category", "drop": "drop", "keep": "keep"}
    given: dict[str, Any] = {name: tuple(_split(getattr(options, o), f"--{o}")) for name, o in names.items()}
    for name in ("scale", "missing", "outliers", "max_levels", "max_missing", "min_different"):
        given[name] = getattr(options, name)
    found = prepare(
        _read(options, options.data),
        _split(options.sensitive, "--sensitive"),
        options.target,
        Rules(**given),
        missing_groups=options.missing_groups,
        cut=_cuts(options.cut),
        merge_below=options.merge_groups_below,
    )
    for line in found.summary():
        print(printable(line))
    for line in found.warnings:
        _warn(line)
    return found


def _warn(message: object) -> None:
    print(f"fairpca: warning: {printable(message)}", file=sys.stderr)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show warnings without the place in the source, which does not help a user of the command line."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _warn(message)
        yield


def printable(text: object) -> str:
    """Show what would steer a terminal instead of sending it there, and of a very long word its ends."""
    text = re.sub(r"\S{300,}", lambda word: f"{word[0][:120]}…{word[0][-40:]}", str(text))
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def _split(text: str, option: str) -> list[str]:
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


def _cuts(given: list[str]) -> dict[str, list[float]]:
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


def _dimensions(text: str) -> list[int]:
    """Read ``2,5,10``."""
    try:
        found = list(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise ValueError(f"--components {text!r} is not a list of dimensions; give whole numbers from 1, as in 2,5,10.")
    return found


@contextmanager
def _progress_bar() -> Iterator[Callable[[int, int], None]]:
    """Show the share of fits that are done, on a terminal only; yield the function that takes (done, total)."""
    from tqdm import tqdm

    with tqdm(unit=" fits", disable=not sys.stderr.isatty(), leave=False, file=sys.stderr) as bar:

        def update(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield update


# --------------------------------------------------------------------------------------------------------------------
# fit


def methods() -> dict[str, str]:
    """Return the estimators by their short names."""
    homes = {name: home.removeprefix("fairpca.") for name, home in fairpca._HOME.items() if name.endswith("PCA")}
    known = {home.removesuffix("fair"): name for name, home in homes.items() if not home.startswith("_")}
    return dict(sorted(known.items(), key=lambda item: (item[1] != "PCA", item[0])))


def _parameters() -> str:
    """Return the parameters of each method, for the help that is asked for."""
    if not {"-h", "--help"} & set(sys.argv):
        return ""
    lines = ["parameters for --set, with their defaults:"]
    for method, name in methods().items():
        known = getattr(fairpca, name)().get_params()
        known.pop("n_components")
        lines.append(f"  {method:8} {', '.join(f'{key}={value}' for key, value in known.items())}")
    return "\n".join(lines)


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


def _fit(options: argparse.Namespace) -> int:
    estimator = estimator_of(options.method, options.components, options.settings)
    wanted = {"--out": options.out, "--components-out": options.components_out, "--model": options.model}
    if _in_batches(options.data):
        _check_batches(options)
        if not any(wanted.values()):
            raise ValueError("Nothing would be written; give --model FILE for the model or --components-out FILE.")
        fit, inputs = _fit_moments, _files(options.data)
    else:
        inputs = list(options.data)
        (options.data,) = options.data
        if not options.sensitive:
            raise ValueError("Name the column(s) with the groups: --sensitive COLUMN.")
        if not any(wanted.values()) and not options.report:
            raise ValueError("Nothing would be written; give --out FILE, --model FILE, or --report to look only.")
        fit = _fit_rows
    with Outputs(wanted, inputs) as outputs, _plain_warnings():
        return fit(estimator, options, outputs)


def _fit_rows(estimator: Any, options: argparse.Namespace, outputs: Outputs) -> int:
    import pandas as pd

    from fairpca.tables import SavedModel
    from fairpca.tables.writing import csv_bytes, provenance

    prepared = _prepare(options)
    transformer = prepared.transformer().set_output(transform="pandas")
    target = None if prepared.target is None else prepared.target.to_numpy()
    features = transformer.fit_transform(prepared.frame)
    estimator.fit(features, target, sensitive_features=prepared.groups)
    result, found = estimator.result_, len(estimator.components_)
    if result.status in ("not_found", "infeasible") and not options.allow_infeasible:
        raise ValueError(
            f"{options.method} found no subspace that meets its tolerance, so nothing is written; "
            "loosen the tolerance with --set, or say --allow-infeasible."
        )
    if found != options.components:
        _warn(f"{found} components instead of {options.components}: the solver's answer has more.")
    projected = pd.DataFrame(estimator.transform(features), columns=estimator.get_feature_names_out())
    written, loadings = prepared.with_groups(projected), _loadings(estimator, estimator.feature_names_in_)
    groups = [word for name in prepared.groups.columns for word in (name, *prepared.groups[name].unique())]
    words = [*(groups if options.out else ()), *(loadings.columns if options.components_out else ())]
    formulas = [word for word in words if str(word).startswith(_SPREADSHEET)]
    if formulas:
        _warn(f"{formulas[0]!r} in the output would be taken for a formula by a spreadsheet; import it there as text.")
    contents = {"--out": csv_bytes(written), "--components-out": csv_bytes(loadings)}
    if options.model:
        facts = provenance(prepared, estimator, options.method)
        contents["--model"] = SavedModel.of(transformer, estimator, prepared.decisions, facts).to_bytes()
    outputs.write(contents)
    if options.out:
        print(f"wrote {options.out}: {len(written)} rows, {found} components")
    _say_written(options.components_out, options.model)
    print(f"status: {result.status}, objective {result.objective:.6g}, {result.n_iter} iterations")
    if options.report:
        from fairpca.report.whole_table import against_pca

        print("\n".join(map(printable, against_pca(estimator, features.to_numpy(), prepared.labels.to_numpy()))))
    return 0


def _loadings(estimator: Any, names: Any) -> Any:
    import pandas as pd

    loadings = pd.DataFrame(estimator.components_, columns=list(names))
    loadings.insert(0, "component", list(estimator.get_feature_names_out()), allow_duplicates=True)
    return loadings


def _say_written(*names: str | None) -> None:
    for name in filter(None, names):
        print(f"wrote {name}")


# --------------------------------------------------------------------------------------------------------------------
# moments, and fit on moments or on files that are read in batches


def _moments(options: argparse.Namespace) -> int:
    with Outputs({"--out": options.out}, _files(options.data)) as outputs:
        moments = _read_moments(options)
        outputs.write({"--out": moments.to_bytes()})
    groups = list(zip(moments.labels, moments.counts, strict=True))[:10]
    shown = ", ".join(f"{label} ({count:,})" for label, count in groups)
    print(f"{moments.n_samples:,} rows, {moments.n_features} features, {moments.n_groups} groups: {shown}")
    print(f"wrote {options.out}")
    return 0


def _in_batches(data: Sequence[str]) -> bool:
    """Whether the data of ``fairpca fit`` are moments, several files, or one that is too large to hold."""
    if len(data) != 1:
        return True
    name = data[0]
    if name.lower().endswith(".npz") or os.path.isdir(name) or (glob.has_magic(name) and not os.path.exists(name)):
        return True
    return name.lower().endswith((".parquet", ".csv")) and os.path.isfile(name) and os.path.getsize(name) > LARGE


def _files(data: Sequence[str]) -> list[str]:
    """Return the names of the files that are read."""
    from fairpca.scale.readers import expanded

    return [file for name in data for file in expanded(name)]


def _check_batches(options: argparse.Namespace) -> None:
    given = [f"--{name.replace('_', '-')}" for name, usual in _ROWS_ONLY.items() if getattr(options, name) != usual]
    if given:
        raise ValueError(
            f"{', '.join(given)} cannot be had for moments, or for files that are read in batches: columns must be "
            "numbers without missing values, and rows are not kept. Write the model with --model, then project with "
            "fairpca apply, one file after the other."
        )


def _fit_moments(estimator: Any, options: argparse.Namespace, outputs: Outputs) -> int:
    import numpy as np

    from fairpca.tables import SavedModel
    from fairpca.tables.writing import csv_bytes

    if not hasattr(estimator, "partial_fit"):
        raise ValueError(
            f"{options.method} compares whole distributions and needs the rows; give one file that fits in memory."
        )
    saved = [name for name in options.data if name.lower().endswith(".npz")]
    if saved and (options.sensitive or options.drop):
        raise ValueError("moments know their groups and columns; leave --sensitive and --drop to fairpca moments.")
    if saved:
        moments = reduce(fairpca.GroupMoments.merge, map(fairpca.GroupMoments.load, options.data))
    else:
        moments = _read_moments(options)
    names = list(moments.feature_names or [f"x{j}" for j in range(moments.n_features)])
    scale = np.ones(moments.n_features)
    if options.scale == "standardise":
        deviation = np.sqrt(np.diagonal(moments.covariance()))
        constant = deviation <= 1e-12 * np.maximum(np.abs(moments.mean), 1e-150)
        scale = np.where(constant, 1.0, deviation)
        if constant.any():
            shown = ", ".join(map(repr, np.asarray(names)[constant][:10]))
            _warn(f"column(s) {shown} are constant; they are not scaled.")
    estimator.fit(moments.transformed(scale=scale))
    sensitive = _split(options.sensitive or "", "--sensitive")
    source = ", ".join(os.path.basename(name) for name in options.data[:10])
    digest = "not computed, the files were read in batches"
    if len(saved) == len(options.data):
        digest = ", ".join(map(file_digest, options.data))
    model = SavedModel.of_moments(estimator, options.method, moments, names, scale, sensitive, source, digest)
    loadings = _loadings(estimator, names)
    outputs.write({"--components-out": csv_bytes(loadings), "--model": model.to_bytes()})
    _say_written(options.components_out, options.model)
    result = estimator.result_
    print(f"{moments.n_samples:,} rows, {moments.n_features} features, {moments.n_groups} groups")
    print(f"status: {result.status}, objective {result.objective:.6g}, {result.n_iter} iterations")
    return 0


def _read_moments(options: argparse.Namespace) -> GroupMoments:
    """Return the moments of files, with a count of the rows on a terminal."""
    from tqdm import tqdm

    if not options.sensitive:
        raise ValueError("name the column(s) with the groups: --sensitive COLUMN.")
    weight = getattr(options, "weight", None)
    sensitive = _split(options.sensitive, "--sensitive")
    features = _split(getattr(options, "features", ""), "--features") or None
    dropped = _split(options.drop, "--drop")
    source = list(options.data)
    if dropped:
        from fairpca.scale import column_names

        present = column_names(source)
        unknown = [name for name in dropped if name not in present]
        if unknown:
            raise ValueError(f"--drop names {', '.join(map(repr, unknown))}, which {source[0]!r} does not have.")
        taken = [name for name in present if name not in (*sensitive, weight)] if features is None else features
        features = [name for name in taken if name not in dropped]
    hidden = getattr(options, "quiet", False) or not sys.stderr.isatty()
    with tqdm(desc="rows", unit="row", unit_scale=True, disable=hidden) as bar:
        return fairpca.GroupMoments.from_batches(
            source,
            sensitive=sensitive[0] if len(sensitive) == 1 else sensitive,
            features=features,
            weight=weight,
            progress=lambda where, rows: bar.update(rows) and None,
        )


# --------------------------------------------------------------------------------------------------------------------
# apply, inspect


def _apply(options: argparse.Namespace) -> int:
    import pandas as pd

    from fairpca.tables import load_model
    from fairpca.tables.writing import csv_bytes

    if options.model == options.data == "-":
        raise ValueError("Model and data cannot both be standard input; give the name of a file for one of them.")
    with Outputs({"--out": options.out}, [options.data, options.model]) as outputs:
        model = load_model(options.model)
        table = _read(options, options.data)
        beside = _split(options.beside, "--with")
        table.check_columns(beside)
        X, notes = model.prepare(table, unknown=options.unknown_levels)
        clash = [name for name in beside if name in model.components]
        if clash:
            raise ValueError(f"--with {clash[0]!r} has the name of a component; rename that column.")
        projected = pd.DataFrame(model.transform(X), columns=list(model.components))
        written = pd.concat([table.rows[beside].reset_index(drop=True), projected], axis=1)
        outputs.write({"--out": csv_bytes(written)})
        for note in (*table.notes, *notes):
            print(printable(note))
        print(f"wrote {options.out}: {len(written)} rows, {projected.shape[1]} components")
    return 0


def _inspect(options: argparse.Namespace) -> int:
    import json

    from fairpca.tables import load_model

    model = load_model(options.model)
    if options.json:
        print(json.dumps(model.as_dict(), indent=2, ensure_ascii=True))
    else:
        print("\n".join(map(printable, model.summary())))
    return 0


# --------------------------------------------------------------------------------------------------------------------
# compare, report, choose


def _compare(options: argparse.Namespace) -> int:
    from fairpca.report import compare
    from fairpca.tables.roles import words_of
    from fairpca.tables.writing import csv_bytes

    wanted = {"--out": options.out, "--json": options.json}
    dimensions = _dimensions(options.components)
    with Outputs(wanted, [options.data]) as outputs:
        prepared = _prepare(options)
        methods = _split(options.methods, "--methods") if options.methods else None
        with _plain_warnings(), _progress_bar() as progress:
            found = compare(
                prepared.frame,
                prepared.labels,
                None if prepared.target is None else words_of(prepared.target),
                positive=options.positive,
                n_components=dimensions,
                methods=methods,
                preparation=prepared.transformer(),
                n_parts=options.parts,
                level=options.level,
                random_state=options.seed,
                progress=progress,
            )
        contents = {"--out": csv_bytes(found.frame), "--json": found.json_text().encode()}
        for line in found.summary():
            print(printable(line))
        outputs.write(contents)
        _say_written(*wanted.values())
    return 0


def _report(options: argparse.Namespace) -> int:
    from fairpca.report.build import built_report

    if options.data == "-":
        raise ValueError("A report names its table, so it cannot be standard input; give the name of a file.")
    if options.out == "-":
        raise ValueError(
            "A report is three files, so --out cannot be standard output; give a name such as report.html."
        )
    os.environ.setdefault("MPLBACKEND", "agg")  # pictures that need no display
    base = Path(options.out)
    # A page tells no folder but that of the table.
    whole = (options.out, f"--out={options.out}")
    typed = [word.removesuffix(options.out) + base.name if word in whole else word for word in options.typed]
    files = {"--out": base, "notebook": base.with_suffix(".ipynb"), "json": base.with_suffix(".json")}
    with Outputs(files, [options.data]) as outputs:
        prepared = _prepare(options)  # errors are found here, before anything is computed
        settings: dict[str, Any] = {
            "components": None if options.components is None else _dimensions(options.components),
            "methods": _split(options.methods, "--methods") if options.methods else None,
            **{name: getattr(options, name) for name in ("positive", "parts", "level", "seed", "missing_groups")},
            "rules": {name: list(v) if isinstance(v, tuple) else v for name, v in vars(prepared.rules).items()},
            "reading": _reading(options),
            "cut": _cuts(options.cut),
            "merge_below": options.merge_groups_below,
            "command": shlex.join(typed),
        }
        groups = list(prepared.groups.columns)
        parameters = {"data": options.data, "sensitive": groups, "target": options.target, "settings": settings}
        with _progress_bar() as progress:
            made = built_report(parameters, progress)
        outputs.write({"--out": made["html"], "notebook": made["ipynb"], "json": made["json"]})
        _say_written(*map(str, files.values()))
    return 0


def _choose(options: argparse.Namespace) -> int:
    from fairpca.report import QUESTIONS, advise

    advice = advise({question.key: getattr(options, question.key) or _asked(question) for question in QUESTIONS})
    lines = ["", f"method      {advice.method}: {advice.why}", f"dimension   {advice.dimension}"]
    lines += [f"parameter   {advice.parameter}"] if advice.parameter else []
    print("\n".join(map(printable, [*lines, "", *advice.commands(options.data, options.sensitive)])))
    return 0


def _asked(question: Any) -> str:
    """Ask until an answer is one of those that are offered."""
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


# --------------------------------------------------------------------------------------------------------------------
# data


_ACTIONS = {
    "list": "all data sets with their sizes and where they are",
    "info": "source, groups, licence and known concerns",
    "export": "write as CSV, to try the other commands on",
    "fetch": "download what is neither bundled, nor in the cache, nor in a mirror",
    "verify": "compare the checksums of all files that are here",
}


def _actions() -> str:
    return "\n".join(["actions:", *(f"  {name:8}{text}" for name, text in _ACTIONS.items())])


def _data(options: argparse.Namespace) -> int:
    from fairpca import datasets

    unknown = [name for name in options.names if name not in datasets.names()]
    if unknown:
        raise ValueError(f"No data set is called {', '.join(unknown)}; there are: {', '.join(datasets.names())}.")
    if options.action == "list":
        return _list()
    if options.action in ("fetch", "verify"):
        return _fetch_or_verify(options)
    if len(options.names) != 1:
        raise ValueError(f"fairpca data {options.action} takes the name of one data set; see fairpca data list.")
    (name,) = options.names
    if options.action == "export":
        return _export(name, options.out or f"{name}.csv")
    print(f"{datasets.describe(name)}\nWhere: {datasets.where(name)}")
    return 0


def _list() -> int:
    from fairpca import datasets

    print(f"{'name':<16}{'rows':>7}{'features':>10}  {'groups':<48}{'where':<9}paper")
    for name in datasets.names():
        entry = datasets.facts(name)
        sizes = ", ".join(f"{word} {n}" for word, n in zip(entry.group_names, entry.group_sizes, strict=True))
        place = datasets.where(name)
        print(f"{name:<16}{entry.n_samples:>7}{entry.n_features:>10}  {sizes:<48}{place:<9}{entry.paper}")
    print(
        f"\ncache: {datasets.cache_folder()}\nmirror: {datasets.mirror_folder() or 'none (FAIRPCA_MIRROR is not set)'}"
    )
    return 0


def _export(name: str, out: str) -> int:
    """Write features, the column `group`, and the column `label` where there is one."""
    from fairpca.datasets import load
    from fairpca.tables.writing import csv_bytes

    with Outputs({"--out": out}) as outputs:
        data = load(name, as_frame=True)
        table = data.X.assign(group=data.sensitive_features.astype(str).to_numpy())
        if data.y is not None:
            table["label"] = data.y.to_numpy()
        outputs.write({"--out": csv_bytes(table)})
    if out != "-":
        print(f"wrote {out}: {len(table)} rows; try: fairpca fit minmax {out} --sensitive group --out projected.csv")
    return 0


def _fetch_or_verify(options: argparse.Namespace) -> int:
    """Return 1 when one cannot be had, or is not the pinned one; to verify what is not here is not an error."""
    from fairpca import datasets

    failed = 0
    for name in options.names or datasets.names():
        try:
            if options.action == "fetch":
                print(f"{name}: {datasets.fetch(name, progress=sys.stderr.isatty())}", flush=True)
            elif (place := datasets.verify(name)) == "missing":
                print(f"{name}: not here (fairpca data fetch {name})")
            else:
                print(f"{name}: {place}, checksums agree")
        except datasets.DataError as error:
            failed = 1
            print(f"{name}: {error}", file=sys.stderr)
    return failed


# --------------------------------------------------------------------------------------------------------------------
# The options of each command


_GROUPS: dict[str, dict[str, Any]] = {
    "--sensitive": {"metavar": _COLUMNS, "help": "column(s) with the groups; several are combined"},
    "--target": {"metavar": "COLUMN", "help": "column that is to be predicted; it is not a feature"},
}
_REQUIRED = {**_GROUPS, "--sensitive": {**_GROUPS["--sensitive"], "required": True}}
_TABLE = (
    ("preparing", "put a name with a comma in quotation marks: --drop '\"a,b\"'", _PREPARING),
    ("reading", None, _READING),
)
_FIT: dict[str, dict[str, Any]] = {
    "method": {"metavar": "METHOD", "help": f"one of {', '.join(methods())}"},
    "data": {
        "nargs": "+",
        "metavar": "DATA",
        "help": "CSV (any separator, also compressed), Parquet, Feather, Excel; '-': standard input; or moments "
        "(.npz), or several files, which are read in batches",
    },
    **_GROUPS,
    "--components": {"type": int, "default": 2, "help": "dimension of the projection (default 2)"},
    "--out": {"metavar": "FILE", "help": "CSV file for the projections and the groups"},
    "--components-out": {"metavar": "FILE", "help": "CSV file for the loadings of the components"},
    "--model": {"metavar": "FILE.npz", "help": "file for the model, for fairpca apply and fairpca inspect"},
    "--set": {
        "action": "append",
        "default": [],
        "metavar": "NAME=VALUE",
        "dest": "settings",
        "help": "set a parameter of the method (its API page lists them)",
    },
    "--report": {"action": "store_true", "help": "print each group's error and loss next to those of PCA"},
    "--allow-infeasible": {
        "action": "store_true",
        "help": "mbfpca: write the result even if it does not meet the tolerance tau",
    },
}
_MODEL: dict[str, dict[str, Any]] = {
    "model": {"metavar": "MODEL.npz", "help": "file that fairpca fit --model has written"}
}
_APPLY: dict[str, dict[str, Any]] = {
    **_MODEL,
    "data": {"metavar": "DATA", "help": "new rows, with the columns of the training table; groups not needed"},
    "--out": {"required": True, "metavar": "FILE", "help": "CSV file for the projections"},
    "--with": {"default": "", "dest": "beside", "metavar": _COLUMNS, "help": "columns to write as well"},
    "--unknown-levels": {
        "default": "error",
        "choices": ("error", "none"),
        "help": "refuse new levels of a category, or give them no indicator (default error)",
    },
}
_COMPARING: dict[str, dict[str, Any]] = {
    "--components": {
        "metavar": "D[,D]",
        "help": "dimensions (default two, and as many as keep half of the variance)",
    },
    "--methods": {
        "metavar": "NAME[,NAME]",
        "help": "names, or all (default: those that take seconds on any table)",
    },
    "--positive": {
        "metavar": "VALUE",
        "help": "value of the target that is a positive decision (default: the later one in order)",
    },
    "--parts": {"type": int, "default": 5, "help": "number of parts of the cross-fitting (default 5)"},
    "--level": {"type": float, "default": 0.95, "help": "level of the intervals (default 0.95)"},
    "--seed": {"type": int, "default": 0, "help": "seed of all random numbers (default 0)"},
}
_TWO = {"default": "2", "metavar": "D[,D]", "help": "dimensions (default 2)"}
_COMPARE: dict[str, dict[str, Any]] = {
    "data": {"metavar": "DATA", "help": "CSV, Parquet, Feather or Excel; '-': standard input"},
    **_REQUIRED,
    "--out": {"metavar": "FILE.csv", "help": "all estimates with their intervals"},
    "--json": {"metavar": "FILE.json", "help": "the same for programs, with statuses and versions"},
}
_REPORT: dict[str, dict[str, Any]] = {
    "data": {"metavar": "DATA", "help": "CSV, Parquet, Feather or Excel"},
    **_REQUIRED,
    "--out": {
        "required": True,
        "metavar": "FILE.html",
        "help": "the page; FILE.ipynb and FILE.json are written next to it",
    },
}
_MOMENTS: dict[str, dict[str, Any]] = {
    "data": {
        "nargs": "+",
        "metavar": "DATA",
        "help": "Parquet or CSV files, folders, or globs; moments are merged",
    },
    "--sensitive": {"required": True, "metavar": _COLUMNS, "help": "column(s) with the groups"},
    "--features": {"default": "", "metavar": _COLUMNS, "help": "columns to take (default: all others)"},
    "--drop": {"default": "", "metavar": _COLUMNS, "help": "columns that are not features"},
    "--weight": {"metavar": "COLUMN", "help": "column with the weights of the rows"},
    "--out": {"required": True, "metavar": "FILE.npz", "help": "file for the moments"},
    "--quiet": {"action": "store_true", "help": "do not show progress"},
}
_DATA: dict[str, dict[str, Any]] = {
    "action": {"choices": tuple(_ACTIONS), "help": "what to do (listed below)"},
    "names": {
        "nargs": "*",
        "metavar": "NAME",
        "help": "data sets (default: all; info and export take one)",
    },
    "--out": {"metavar": "FILE", "help": "file for export (default NAME.csv; '-': standard output)"},
}


def _choosing() -> list[tuple[str, None, dict[str, dict[str, Any]]]]:
    from fairpca.report import QUESTIONS

    asked: dict[str, dict[str, Any]] = {
        f"--{question.key}": {"choices": tuple(question.answers), "help": question.text} for question in QUESTIONS
    }
    asked["--data"] = {"default": "DATA", "metavar": "FILE", "help": "your table, to be named in the commands"}
    asked["--sensitive"] = {
        "default": "COLUMN",
        "metavar": "COLUMN",
        "help": "column with the groups, to be named in the commands",
    }
    return [("", None, asked)]


# What each command does, what runs it, and its options by group: title, text and options of the parser.
_COMMANDS: dict[str, tuple[str, Callable[[argparse.Namespace], int], Any]] = {
    "fit": ("fit a method to the rows of a table; write projections and model", _fit, [("", None, _FIT), *_TABLE]),
    "apply": ("apply a model to new rows", _apply, [("", None, _APPLY), _TABLE[1]]),
    "inspect": (
        "say what is in a model file",
        _inspect,
        [("", None, {**_MODEL, "--json": {"action": "store_true", "help": "print everything, for a program"}})],
    ),
    "compare": (
        "compare methods and dimensions on a table",
        _compare,
        [("", None, _COMPARE), *_TABLE, ("comparing", None, {**_COMPARING, "--components": _TWO})],
    ),
    "report": ("one page about one table", _report, [("", None, _REPORT), *_TABLE, ("comparing", None, _COMPARING)]),
    "moments": ("read files once and write their group moments", _moments, [("", None, _MOMENTS)]),
    "choose": ("ask what matters, and print the commands that follow", _choose, _choosing),
    "data": ("list, describe, export, fetch and verify the data sets", _data, [("", None, _DATA)]),
}


if __name__ == "__main__":
    sys.exit(main())
