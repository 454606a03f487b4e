"""A fitted projection in one file without pickle: preparation, map and provenance, checked when it is read.

The file is an ``.npz`` of plain arrays. ``header`` holds JSON in UTF-8: the columns with their levels, what was
decided, where the model comes from, and the SHA-256 of everything else in the file. A reader needs neither scikit-learn
nor this package's estimators, and nothing in the file is ever executed. Nothing is in it that only few rows have:
levels of fewer than five rows, sizes of such groups, and what was found while the table was read are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairpca._archive import archive_bytes, parse_archive
from fairpca._moments import GroupMoments
from fairpca.tables._values import number_of
from fairpca.tables.encoding import read_bytes
from fairpca.tables.reading import Table
from fairpca.tables.roles import MISSING, Decision, numbers_of, words_of
from fairpca.tables.writing import fitted_facts

__all__ = ["SavedModel", "load_model"]

_KIND = "model"
_ARRAYS = (
    "low", "high", "fill", "mean", "scale", "pair_mean", "pair_scale", "matrix", "offset", "back_matrix", "back_offset",
)  # fmt: skip
_ROLES = ("number", "pair", "category")


@dataclass(frozen=True)
class SavedModel:
    """An affine map of a prepared table, with all that is needed to apply it to new rows.

    Attributes
    ----------
    columns : tuple of Decision
        The columns that are features, in the order of the matrix.
    arrays : dict of str to ndarray
        ``low, high, fill, mean, scale`` of the numbers, ``pair_mean, pair_scale`` of the pairs; ``matrix, offset``
        map prepared rows x to ``x @ matrix + offset``, ``back_matrix, back_offset`` back.
    components : tuple of str
        Names of what comes out.
    provenance : dict
        Method, parameters, status, certificate, versions, digest of the data, groups and their sizes, all decisions.
    """

    columns: tuple[Decision, ...]
    arrays: Mapping[str, np.ndarray]
    components: tuple[str, ...]
    provenance: Mapping[str, Any]

    # -----------------------------------------------------------------------------------------------------------------
    # Making one

    @classmethod
    def of(cls, transformer: Any, estimator: Any, decisions: Sequence[Decision], provenance: Mapping[str, Any]) -> Any:
        """Take over a fitted preparation and a fitted estimator whose ``transform`` is affine.

        Parameters
        ----------
        transformer : ColumnTransformer
            What :func:`fairpca.tables.column_transformer` gave, fitted.
        estimator : transformer
            Fitted on what it returns; with ``inverse_transform``.
        decisions : sequence of Decision
            Those that the transformer was made from.
        provenance : dict
            To be kept, in types that JSON knows.
        """
        columns = tuple(d for role in _ROLES for d in decisions if d.role == role)
        names = getattr(estimator, "feature_names_in_", None)
        matrix, offset = _affine(estimator.transform, int(estimator.n_features_in_), names)
        back, back_offset = _affine(estimator.inverse_transform, matrix.shape[1])
        arrays = _learned(transformer)
        arrays |= {"matrix": matrix, "offset": offset, "back_matrix": back, "back_offset": back_offset}
        names = tuple(str(name) for name in estimator.get_feature_names_out())
        return cls(columns, arrays, names, dict(provenance))

    @classmethod
    def of_moments(
        cls,
        estimator: Any,
        method: str,
        moments: GroupMoments,
        names: Sequence[str],
        scale: np.ndarray,
        sensitive: Sequence[str],
        source: str,
        digest: str,
    ) -> SavedModel:
        """Take over an estimator that was fitted to moments of columns of numbers, divided by `scale`.

        Its own map subtracts the mean, in scaled units; no range is known beyond which values are clipped.
        """
        decisions = tuple(Decision(name, "number", "a number in all rows") for name in names)
        origin = {
            "sensitive": sensitive,
            "groups": {str(label): count for label, count in zip(moments.labels, moments.counts.tolist(), strict=True)},
            "target": None,
            "rows": moments.n_samples,
            "rows_read": moments.n_samples,
            "source": source,
            "data_sha256": digest,
        }
        model = cls.of(None, estimator, decisions, fitted_facts(estimator, method, decisions, origin))
        p = moments.n_features
        learned = {"fill": moments.mean, "mean": np.zeros(p), "scale": scale}
        learned |= {"low": np.full(p, -np.inf), "high": np.full(p, np.inf)}
        return replace(model, arrays={**model.arrays, **learned})

    def to_bytes(self) -> bytes:
        """Return the file."""
        header = {
            "kind": _KIND,
            "columns": [
                {"name": d.column, "role": d.role, "levels": [*d.levels], "rare": d.rare} for d in self.columns
            ],
            "components": [*self.components],
            "provenance": self.provenance,
        }
        return archive_bytes(header, self.arrays)

    # -----------------------------------------------------------------------------------------------------------------
    # Reading one

    @classmethod
    def from_bytes(cls, content: bytes, path: str) -> SavedModel:
        """Read a file, or raise ``ValueError`` that says what is wrong with it."""
        header, arrays = parse_archive(content, _KIND, _ARRAYS, path)
        columns = tuple(Decision(c["name"], c["role"], "", tuple(c["levels"]), c["rare"]) for c in header["columns"])
        return cls(columns, arrays, tuple(header["components"]), header["provenance"])

    # -----------------------------------------------------------------------------------------------------------------
    # Using one

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the prepared features."""
        names = [d.column for d in self.columns if d.role in ("number", "pair")]
        return (*names, *(f"{d.column}_{level}" for d in self.columns if d.role == "category" for level in d.levels))

    @property
    def variance_kept(self) -> float:
        """Share of the variance that ``transform`` and ``inverse_transform`` keep.

        An affine min-max solution shrinks a direction to the length l, and so the variance of its scores to the share
        l². Back and forth it keeps the share 1 - (1 - l²)², which is 2 - l² times as much.
        """
        shares = self.provenance["explained_variance_ratio"]
        if self.provenance["estimator"] != "MinMaxFairPCA":  # the only one that shrinks directions
            return float(sum(shares))
        return float((2.0 - (self.arrays["matrix"] ** 2).sum(axis=0)) @ shares)

    def as_dict(self) -> dict[str, Any]:
        """Return provenance, names of features and components, and the variance kept, in types that JSON knows."""
        names = {"features": self.feature_names, "components": self.components}
        return {**self.provenance, **names, "variance_kept": self.variance_kept}

    def summary(self) -> list[str]:
        """Return what the file holds, a line each."""
        facts = self.provenance
        found, asked = len(self.components), facts["parameters"].get("n_components", len(self.components))
        extra = "" if found == asked else f" ({asked} asked for)"
        parameters = ", ".join(f"{name}={value}" for name, value in facts["parameters"].items())
        bound = f", bound {facts['bound']:.6g} ({facts['certificate']})" if facts["bound"] is not None else ", no bound"
        return [
            f"method      {facts['estimator']}({parameters})",
            f"status      {facts['status']}, objective {facts['objective']:.6g}{bound}",
            f"components  {found}{extra} of {len(self.feature_names)} features, "
            f"{100 * self.variance_kept:.2f} % of the variance",
            f"groups      {' / '.join(facts['sensitive'])}: "
            + ", ".join(f"{label} ({count})" for label, count in facts["groups"].items()),
            f"data        {facts['source']}, {facts['rows']} of {facts['rows_read']} rows, "
            f"SHA-256 {facts['data_sha256']}",
            f"made        {facts['made']}, {', '.join(map(' '.join, facts['versions'].items()))}",
            *(f"column      {d['role']}: {d['column']} ({d['why']})" for d in facts["decisions"]),
            *(f"levels      {d.column}: {', '.join(d.levels)}" for d in self.columns if d.levels),
            "holds       what is listed here; of each number its median, mean, deviation and the limits of extreme "
            "values; the loadings. It holds no rows, and no level or group of fewer than five rows unless --keep asked "
            "for it.",
        ]

    def prepare(self, table: Table, *, unknown: str = "error") -> tuple[np.ndarray, list[str]]:
        """Prepare new rows as those of the training table were.

        Parameters
        ----------
        table : Table
            New rows; columns may stand in another order, and there may be more of them.
        unknown : {"error", "none"}
            Whether a level that the training rows did not have is refused, or gets no indicator.

        Returns
        -------
        X : ndarray of shape (n_rows, n_features)
            Prepared rows.
        notes : list of str
            What was done on the way.
        """
        rows = table.rows
        absent = [d.column for d in self.columns if d.column not in rows.columns]
        if absent:
            shown = ", ".join(map(repr, absent[:10])) + (", …" if len(absent) > 10 else "")
            known = ", ".join(map(str, rows.columns[:20]))
            raise ValueError(
                f"{table.source!r} has no column {shown}, which the model was fitted with; its columns are {known}. "
                "Give a table with the columns of the training table."
            )
        notes = self._order(table)
        parts: list[np.ndarray] = []
        numbers = [self._number(table, d) for d in self.columns if d.role == "number"]
        if numbers:
            X = np.column_stack(numbers)
            filled = np.where(np.isnan(X), self.arrays["fill"], np.clip(X, self.arrays["low"], self.arrays["high"]))
            if np.isnan(X).any():
                notes.append(f"{int(np.isnan(X).sum())} missing numbers get the median of the training rows")
            parts.append((filled - self.arrays["mean"]) / self.arrays["scale"])
        pairs = [self._indicators(table, d, unknown, notes)[:, 1] for d in self.columns if d.role == "pair"]
        if pairs:
            parts.append((np.column_stack(pairs) - self.arrays["pair_mean"]) / self.arrays["pair_scale"])
        parts += [self._indicators(table, d, unknown, notes) for d in self.columns if d.role == "category"]
        return np.hstack(parts), notes

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Project prepared rows."""
        return np.asarray(X @ self.arrays["matrix"] + self.arrays["offset"])

    def inverse_transform(self, Z: np.ndarray) -> np.ndarray:
        """Map projections back to prepared rows."""
        return np.asarray(Z @ self.arrays["back_matrix"] + self.arrays["back_offset"])

    def _order(self, table: Table) -> list[str]:
        trained = list(self.provenance.get("table_columns", []))
        given = [name for name in table.rows.columns if name in trained]
        if given == [name for name in trained if name in given]:
            return []
        nameless = [d.column for d in self.columns if d.column.startswith("column") or d.column.endswith(")")]
        if nameless and any(note.startswith(("column ", "the name ")) for note in table.notes):
            raise ValueError(
                f"The columns of {table.source!r} stand in another order than those of the training table, and "
                f"{', '.join(map(repr, nameless[:5]))} are known by their place only; put them in the same order."
            )
        return ["the columns stand in another order than in the training table; they are matched by name"]

    def _number(self, table: Table, decision: Decision) -> np.ndarray:
        column = table.rows[decision.column]
        if column.dtype.kind not in "biufM":
            if column.isna().all():
                return np.full(len(column), np.nan)
            wrong = pd.to_numeric(column, errors="coerce").isna().to_numpy() & column.notna().to_numpy()
            example = column[wrong].iloc[0] if wrong.any() else column.iloc[0]
            raise ValueError(
                f"Column {decision.column!r} held numbers when the model was fitted, but {table.source!r} has "
                f"{str(example)!r} there ({table.where(wrong)}); mend these values or leave them empty."
            )
        values = numbers_of(column)
        infinite = np.isinf(values)
        if infinite.any():
            raise ValueError(
                f"Column {decision.column!r} is infinite in {int(infinite.sum())} rows ({table.where(infinite)}); put "
                "a number there, or leave the value empty."
            )
        return values

    def _indicators(self, table: Table, decision: Decision, unknown: str, notes: list[str]) -> np.ndarray:
        known = {*decision.levels}
        words = _as_levels(table.rows[decision.column], known)
        strange = np.array([word not in known and word != MISSING for word in words], dtype=bool)
        if strange.any() and decision.rare:
            notes.append(f"{decision.column}: {int(strange.sum())} rare or new values have no indicator")
            strange[:] = False
        if strange.any() and unknown == "error":
            shown = ", ".join(map(repr, list(dict.fromkeys(words[strange]))[:5]))
            raise ValueError(
                f"Column {decision.column!r} has levels that the training rows did not have: {shown} "
                f"({table.where(strange)}). Known are {', '.join(map(repr, sorted(known)[:10]))}. Mend them, or say "
                "--unknown-levels none, which gives them no indicator."
            )
        absent = (words == MISSING) & (MISSING not in known)
        if absent.any() or strange.any():
            what = f"{decision.levels[0]!r}" if decision.role == "pair" else "no level"
            count = int((absent | strange).sum())
            notes.append(f"{decision.column}: {count} missing or unknown values are taken for {what}")
        return (words[:, None] == np.array(decision.levels, dtype=object)[None, :]).astype(float)


def load_model(path: str | Path) -> SavedModel:
    """Read what ``fairpca fit --model`` has written; an error says what is wrong with a file.

    Parameters
    ----------
    path : str or Path
        The file; ``-`` is standard input.

    Returns
    -------
    SavedModel
    """
    return SavedModel.from_bytes(read_bytes(str(path)), str(path))


def _as_levels(column: pd.Series, known: set[str]) -> np.ndarray:
    """Words of a column; numbers that were read without their unit get the level's, as 36 of the level '36 months'."""
    words = words_of(column)
    if column.dtype.kind not in "iuf" or known.issuperset(words):
        return words
    levels = {number: level for level in sorted(known) if (number := number_of(level)) is not None}
    pairs = zip(words, numbers_of(column), strict=True)
    return np.array([word if word in known else levels.get(number, word) for word, number in pairs], dtype=object)


def _affine(function: Any, size: int, names: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return matrix and offset of an affine map, from the images of zero and of the unit vectors."""
    images = np.asarray(function(pd.DataFrame(np.vstack([np.zeros(size), np.eye(size)]), columns=names)))
    return images[1:] - images[0], images[0]


def _learned(transformer: Any) -> dict[str, np.ndarray]:
    """Medians, means and scales that a fitted preparation has learned."""
    found: dict[str, np.ndarray] = {}
    for part, prefix in (("numbers", ""), ("pairs", "pair_")):
        pipeline = getattr(transformer, "named_transformers_", {}).get(part)
        steps = {} if pipeline is None else pipeline.named_steps
        fill = steps["simpleimputer"].statistics_ if steps else np.zeros(0)
        scaler, clipped = steps.get("standardscaler"), steps.get("winsorizer")
        found[f"{prefix}mean"] = np.zeros(len(fill)) if scaler is None else scaler.mean_
        found[f"{prefix}scale"] = np.ones(len(fill)) if scaler is None else scaler.scale_
        if part == "numbers":
            found["fill"] = np.asarray(fill, dtype=float)
            found["low"] = np.full(len(fill), -np.inf) if clipped is None else clipped.low_
            found["high"] = np.full(len(fill), np.inf) if clipped is None else clipped.high_
    return found
