"""Prepare a user's table: a scikit-learn ``ColumnTransformer`` whose every decision is declared."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from fairpca.tables._proxies import joint_proxy, proxies, strong
from fairpca.tables.outliers import Winsorizer, unusual_numbers
from fairpca.tables.reading import Table, as_table
from fairpca.tables.roles import MISSING, Decision, Rules, decide, numbers_of, words_of

OTHER = "(other)"

__all__ = ["Prepared", "as_numbers", "as_words", "column_transformer", "prepare"]


def as_numbers(columns: Any) -> pd.DataFrame:
    """Columns of numbers, truth values and dates (days since 1970) as floating-point numbers.

    Parameters
    ----------
    columns : DataFrame or array-like
        Of two dimensions.

    Returns
    -------
    DataFrame
        With the same columns and index.
    """
    frame = pd.DataFrame(columns)
    return pd.DataFrame({name: numbers_of(frame[name]) for name in frame.columns}, index=frame.index)


def as_words(columns: Any) -> pd.DataFrame:
    """Columns of categories as words; a missing value is the word ``(missing)``.

    Parameters
    ----------
    columns : DataFrame or array-like
        Of two dimensions.

    Returns
    -------
    DataFrame
        With the same columns and index, of objects.
    """
    frame = pd.DataFrame(columns)
    words = {name: words_of(frame[name]) for name in frame.columns}
    return pd.DataFrame(words, index=frame.index, dtype=object)


def column_transformer(decisions: Sequence[Decision], scale: str = "standardise", outliers: str = "clip") -> Any:
    """Return the preparation as an unfitted scikit-learn transformer, to be the first step of a Pipeline.

    Levels are fixed; medians, means and scales are learned by its ``fit``, from the training rows only.

    Parameters
    ----------
    decisions : sequence of Decision
        What becomes of each column.
    scale : {"standardise", "none"}
        Whether numbers, dates and pairs are standardised.
    outliers : {"clip", "keep"}
        What happens to values far from all others.

    Returns
    -------
    ColumnTransformer
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

    scaling = [StandardScaler()] if scale == "standardise" else []
    numbers = make_pipeline(
        FunctionTransformer(as_numbers, feature_names_out="one-to-one"),
        *([Winsorizer()] if outliers == "clip" else []),
        SimpleImputer(strategy="median", keep_empty_features=True),
        *scaling,
    )
    of = {role: [d for d in decisions if d.role == role] for role in ("number", "pair", "category")}
    words = FunctionTransformer(as_words, feature_names_out="one-to-one")
    # A value that is missing in a pair is taken for the frequent one, which is a pair's first.
    pairs = make_pipeline(
        words,
        OrdinalEncoder(
            categories=[[*d.levels] for d in of["pair"]], handle_unknown="use_encoded_value", unknown_value=np.nan
        ),
        SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True),
        *scaling,
    )
    categories = make_pipeline(
        words,
        OneHotEncoder(categories=[[*d.levels] for d in of["category"]], handle_unknown="ignore", sparse_output=False),
    )
    parts = [("numbers", numbers, "number"), ("pairs", pairs, "pair"), ("categories", categories, "category")]
    steps = [(name, step, [d.column for d in of[role]]) for name, step, role in parts if of[role]]
    return ColumnTransformer(steps, verbose_feature_names_out=False)


@dataclass(frozen=True)
class Prepared:
    """A table that is ready: features, groups, target, and what was decided.

    Attributes
    ----------
    frame : DataFrame
        The columns that are features, as they were read.
    groups : DataFrame
        The sensitive columns.
    target : Series or None
        What is to be predicted.
    decisions : tuple of Decision
        One for each column of the table.
    rules : Rules
        By which they were made.
    notes : tuple of str
        What else happened: how the table was read, rows left out.
    warnings : tuple of str
        What a user should look at.
    source : str
        Name of the file, or what stands for it.
    digest : str
        SHA-256 of the file; of a table that was in memory, of its contents.
    n_rows_read : int
        Rows of the table, before any was left out.
    proxies : dict of str to float
        With which cross-validated balanced accuracy each feature alone predicts the group, the best first.
    """

    frame: pd.DataFrame
    groups: pd.DataFrame
    target: pd.Series | None
    decisions: tuple[Decision, ...]
    rules: Rules
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    source: str = "data"
    digest: str = ""
    n_rows_read: int = 0
    proxies: Mapping[str, float] = field(default_factory=dict)

    def joint_proxy(self) -> float:
        """Return with which balanced accuracy all features together predict the group of new rows (boosted trees)."""
        return joint_proxy(self.frame, self.decisions, self.labels.to_numpy(), dict(self.proxies))

    @property
    def strong_proxies(self) -> list[str]:
        """Features that alone predict the group of nearly every row."""
        groups = self.labels.nunique()
        return [name for name, share in self.proxies.items() if strong(share, groups)]

    @property
    def labels(self) -> pd.Series:
        """Group of each row as one word; several sensitive columns give their combinations."""
        words = [words_of(self.groups[name]) for name in self.groups.columns]
        joined = [" / ".join(parts) for parts in zip(*words, strict=True)]
        return pd.Series(joined, index=self.frame.index, name=" / ".join(self.groups.columns), dtype=object)

    def transformer(self) -> Any:
        """Return the preparation, an unfitted ``ColumnTransformer``."""
        return column_transformer(self.decisions, self.rules.scale, self.rules.outliers)

    def features(self) -> pd.DataFrame:
        """Return the matrix of features of all rows, prepared with medians, means and scales of all rows."""
        fitted = self.transformer().set_output(transform="pandas")
        return pd.DataFrame(fitted.fit_transform(self.frame))

    def with_groups(self, projected: pd.DataFrame) -> pd.DataFrame:
        """Return projections of all rows with the sensitive columns before them, and where rows stood if some left."""
        names = list(projected.columns)
        taken = [name for name in self.groups.columns if name in names]
        if taken:
            raise ValueError(
                f"The components are called {', '.join(names)}, as is the sensitive column "
                f"{', '.join(map(repr, taken))}; rename that column."
            )
        written = self.groups.reset_index(drop=True)
        if len(projected) < self.n_rows_read:  # rows were left out: say which these are
            place = self.frame.index.name or "row"
            if place not in written.columns:
                written.insert(0, place, self.frame.index.to_numpy())
        return pd.concat([written, projected.reset_index(drop=True)], axis=1)

    def summary(self) -> list[str]:
        """Everything that was recognised and decided, a line each; columns with the same decision share one."""
        lines = list(self.notes)
        same: dict[tuple[str, str], list[str]] = {}
        for decision in self.decisions:
            same.setdefault((decision.role, decision.why), []).append(decision.column)
        for (role, why), columns in same.items():
            shown = ", ".join(columns[:8]) + (f", … ({len(columns)} columns)" if len(columns) > 8 else "")
            lines.append(f"{role}: {shown} ({why})")
        return lines


def prepare(
    table: Any,
    sensitive: Sequence[str],
    target: str | None = None,
    rules: Rules | None = None,
    *,
    missing_groups: Literal["error", "own", "drop"] = "error",
    cut: Mapping[str, Sequence[float]] | None = None,
    merge_below: int = 0,
) -> Prepared:
    """Decide what becomes of each column.

    Parameters
    ----------
    table : Table or frame
        What was read, or a frame in memory (pandas, Polars, pyarrow).
    sensitive : sequence of str
        Columns that say the group; several are combined.
    target : str, optional
        Column that is to be predicted.
    rules : Rules, optional
        How columns become features.
    missing_groups : {"error", "own", "drop"}
        What to do with rows without a group: refuse, make them a group of their own, or leave them out.
    cut : dict of str to sequence of float, optional
        Edges that cut a sensitive column of numbers into classes.
    merge_below : int, default=0
        Groups of fewer rows than this are one group, ``(other)``.

    Returns
    -------
    Prepared
    """
    rules = rules or Rules()
    sensitive = list(dict.fromkeys(sensitive))
    wanted = [*sensitive, *([target] if target else []), *rules.numbers, *rules.categories, *rules.drop, *rules.keep]
    table = as_table(table)
    table.check_columns(wanted)
    if not sensitive:
        raise ValueError("No sensitive column is given; name the column that says the group of each row (--sensitive).")
    if target in sensitive:
        raise ValueError(f"{target!r} is both sensitive and target; give two different columns.")
    notes, rows = list(table.notes), table.rows
    rows = _without_missing_groups(table, rows, sensitive, missing_groups, notes)
    if target:
        rows = _left(rows, rows[target].notna().to_numpy(), f"no target {target!r}", notes)
    groups = _groups(rows, sensitive, cut or {})
    sizes = groups.groupby(sensitive)[sensitive[0]].transform("size")
    if (sizes < merge_below).any():
        merged = groups[sizes < merge_below].drop_duplicates()
        notes.append(f"{len(merged)} groups of fewer than {merge_below} rows are the group {OTHER}")
        groups[sizes < merge_below] = OTHER
    if rules.missing == "drop":
        features = [n for n in rows.columns if n not in (*sensitive, target, *rules.drop)]
        usable = [n for n in features if rows[n].isna().mean() <= rules.max_missing or n in rules.keep]
        complete = rows[usable].notna().all(axis=1).to_numpy()
        rows, groups = _left(rows, complete, "a missing value", notes), groups[complete]
    if len(rows) < 2:
        raise ValueError(
            f"{len(rows)} of {len(table.rows)} rows can be used; PCA needs at least two. Give more rows, or "
            "keep those with missing values."
        )
    _check_finite(rows, table)
    decisions = decide(rows, sensitive, target, rules)
    features = [d.column for d in decisions if d.role in ("number", "pair", "category")]
    if not features:
        left = "; ".join(f"{d.column}: {d.why}" for d in decisions if d.role == "left out")
        raise ValueError(f"No column is left as a feature ({left or 'all say group or target'}); give some numbers.")
    found = Prepared(
        rows[features], groups, rows[target] if target else None, decisions, rules, tuple(notes),
        source=table.source, digest=table.digest, n_rows_read=len(table.rows),
    )  # fmt: skip
    found = replace(found, proxies=proxies(found.frame, decisions, found.labels.to_numpy()))
    misread = [note for note in notes if "read as words, because" in note]
    return replace(found, warnings=(*misread, *_warnings(found)))


def _left(rows: pd.DataFrame, mask: np.ndarray, why: str, notes: list[str]) -> pd.DataFrame:
    if not mask.all():
        notes.append(f"{int((~mask).sum())} of {len(mask)} rows left out: {why}")
    return rows[mask]


def _without_missing_groups(
    table: Table, rows: pd.DataFrame, sensitive: list[str], missing_groups: str, notes: list[str]
) -> pd.DataFrame:
    for name in sensitive:
        absent = rows[name].isna().to_numpy()
        if not absent.any():
            continue
        if missing_groups == "error":
            raise ValueError(
                f"The sensitive column {name!r} has no value in {int(absent.sum())} of {len(absent)} rows "
                f"({table.where(absent)}){_read_as_missing(table, name)}. Fill them in, or say --missing-groups drop "
                "(leaves these rows out) or --missing-groups own (makes them a group of their own)."
            )
        if missing_groups == "drop":
            rows = _left(rows, ~absent, f"no value of {name!r}", notes)
        else:
            notes.append(f"{int(absent.sum())} rows without {name!r} are the group {MISSING}")
    return rows


def _read_as_missing(table: Table, name: str) -> str:
    """Say which words were read as missing, where a column has some."""
    said = [note for note in table.notes if name in note.partition(":")[0] and "taken as missing" in note]
    return f": {said[0].partition(': ')[2]}, and --missing-marks '' keeps such words as values" if said else ""


def _groups(rows: pd.DataFrame, sensitive: list[str], cut: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    groups = rows[sensitive].copy()
    for name, edges in cut.items():
        if name not in sensitive or rows[name].dtype.kind not in "biuf":
            raise ValueError(
                f"--cut {name!r} is not a sensitive column of numbers; it cuts one of those, as in age=30,60."
            )
        borders = sorted({float(edge) for edge in edges})
        shown = [f"{edge:g}" for edge in borders]
        labels = [
            f"< {shown[0]}",
            *(f"{a} to < {b}" for a, b in itertools.pairwise(shown)),
            f">= {shown[-1]}",
        ]
        values = rows[name].to_numpy(dtype=float)
        words = np.array(labels, dtype=object)[np.digitize(values, borders)]
        words[np.isnan(values)] = MISSING
        groups[name] = words
    for name in sensitive:
        groups[name] = words_of(groups[name])
        distinct = groups[name].nunique()
        if distinct > 20 and rows[name].dtype.kind in "fiuM" and name not in cut:
            raise ValueError(
                f"The sensitive column {name!r} has {distinct} different numbers; cut it into classes, for instance "
                f"--cut {name}={rows[name].median():g}."
                if rows[name].dtype.kind != "M"
                else f"The sensitive column {name!r} has {distinct} different dates; give a column with few groups."
            )
    return groups


def _check_finite(rows: pd.DataFrame, table: Table) -> None:
    numbers = rows[[name for name, dtype in rows.dtypes.items() if dtype.kind == "f"]]
    largest = numbers.abs().max()
    for name in largest.index[largest > 1e150]:
        infinite = np.isinf(numbers[name].to_numpy())
        if infinite.any():
            positions = rows.index[infinite][:5]
            raise ValueError(
                f"The column {name!r} is infinite in {int(infinite.sum())} rows ({table.place}s "
                f"{', '.join(map(str, positions))}); put a number there, or leave the value empty."
            )
        raise ValueError(
            f"The column {name!r} has values up to {largest[name]:.1g}, whose squares overflow; divide it, or leave "
            "it out with --drop."
        )


def _warnings(prepared: Prepared) -> list[str]:
    groups = prepared.labels.nunique()
    found = [
        f"{name!r} alone predicts the group with balanced accuracy {prepared.proxies[name]:.0%} (guessing: "
        f"{1 / groups:.0%}), so it is a proxy of the group; leave it out with --drop unless that is meant."
        for name in prepared.strong_proxies
    ]
    if prepared.target is not None and 2 <= prepared.target.nunique() <= 20:
        answers, n = words_of(prepared.target), prepared.target.nunique()
        found += [
            f"{name!r} alone predicts {prepared.target.name!r} with balanced accuracy {share:.0%}; leave it out with "
            "--drop if it is not known beforehand."
            for name, share in proxies(prepared.frame, prepared.decisions, answers).items()
            if strong(share, n)
        ]
    found += unusual_numbers(prepared.frame, [d.column for d in prepared.decisions if d.role == "number"])
    counts = prepared.labels.value_counts()
    if len(counts) == 1:
        found.append(f"there is a single group, {counts.index[0]!r}, so nothing can be compared.")
    alike: dict[str, list[str]] = {}
    for label in counts.index:
        alike.setdefault(label.casefold(), []).append(label)
    found += [
        f"the groups {' and '.join(map(repr, sorted(labels)))} differ in letter case only, and are kept apart; write "
        "them alike if they are one."
        for labels in alike.values()
        if len(labels) > 1
    ]
    small = counts[counts < 20]
    if len(small):
        shown = ", ".join(f"{label!r} ({count})" for label, count in small.items() if count < 20)
        shown = shown if len(small) <= 5 else f"{len(small)} of {len(counts)} groups"
        found.append(
            f"fewer than 20 rows: {shown}. Nothing reliable can be said of them, and they decide "
            "what methods that compare groups do for all rows; --merge-groups-below merges them."
        )
    return found
