"""What is written about somebody's table: CSV, and where a model comes from."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairpca
from fairpca.tables.preparation import Prepared
from fairpca.tables.roles import FEW, Decision

__all__ = ["csv_bytes", "fitted_facts", "plain", "provenance", "versions"]


def csv_bytes(table: pd.DataFrame) -> bytes:
    """Return a table as CSV in UTF-8; numbers keep all their digits.

    Parameters
    ----------
    table : DataFrame
        Its index is left out.

    Returns
    -------
    bytes
    """
    return table.to_csv(index=False, lineterminator="\n").encode("utf-8", "replace")


def versions() -> dict[str, str]:
    """Return the versions that numbers depend on.

    Returns
    -------
    dict of str to str
        By package, and ``python``.
    """
    from importlib.metadata import version

    packages = {name: version(name) for name in ("numpy", "scipy", "pandas", "scikit-learn")}
    return {"fairpca": fairpca.__version__, "python": platform.python_version(), **packages}


def plain(value: Any) -> Any:
    """Return a value in types that JSON knows; what is not finite becomes None.

    Parameters
    ----------
    value : object
        Mappings, sequences and arrays are gone through; what JSON has no type for becomes a string.

    Returns
    -------
    dict, list, bool, int, float, str or None
    """
    text = json.dumps(value, default=_plain)
    return json.loads(text, parse_constant=lambda _: None)  # NaN and infinities


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, (set, np.ndarray, pd.Index)) else str(value)


def fitted_facts(
    estimator: Any, method: str, decisions: Sequence[Decision], origin: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a model file says of the fit itself, wherever its moments came from, in types that JSON knows."""
    result = estimator.result_
    facts = {
        "method": method,
        "estimator": type(estimator).__name__,
        "parameters": estimator.get_params(),
        "status": result.status,
        "objective": result.objective,
        "bound": result.bound,
        "gap": result.gap,
        "certificate": result.certificate,
        "explained_variance_ratio": estimator.explained_variance_ratio_,
        "versions": versions(),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        **origin,
        "table_columns": [d.column for d in decisions],
        "decisions": [{"column": d.column, "role": d.role, "why": d.why} for d in decisions],
    }
    return dict(plain(facts))


def provenance(prepared: Prepared, estimator: Any, method: str) -> dict[str, Any]:
    """Return what a model file says about its origin.

    Parameters
    ----------
    prepared : Prepared
        The table and what was decided about its columns.
    estimator : estimator
        Fitted to it.
    method : str
        Its name on the command line.

    Returns
    -------
    dict
        Of types that JSON knows.
    """
    counts = prepared.labels.value_counts().sort_index()
    origin = {
        "sensitive": list(prepared.groups.columns),
        "groups": large_groups(counts),
        "target": None if prepared.target is None else prepared.target.name,
        "rows": len(prepared.frame),
        "rows_read": prepared.n_rows_read,
        "source": Path(prepared.source).name,
        "data_sha256": prepared.digest,
    }
    return fitted_facts(estimator, method, prepared.decisions, origin)


def large_groups(counts: pd.Series) -> dict[str, int]:
    """Return the size of each group; groups of fewer than five rows are counted together."""
    small = counts[counts < FEW]
    found = {str(label): int(count) for label, count in counts.items() if count >= FEW}
    return found | ({f"(groups of fewer than {FEW} rows)": int(small.sum())} if len(small) else {})
