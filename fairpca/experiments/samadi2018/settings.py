"""What Samadi et al. (2018) state about the settings of their experiments, beside what their scripts do."""

from __future__ import annotations

import numpy as np

from fairpca.datasets import load
from fairpca.experiments.engine.runner import load_results
from fairpca.experiments.engine.statements import Setting, register_settings
from fairpca.experiments.samadi2018.figures import CENTERING, credit_rows, drawn_faces, faces_moments, faces_rows

__all__ = ["SETTINGS"]


def _means(statement: str, value: float) -> tuple[str, bool, str]:
    moments = faces_moments()
    subtracted = moments.n_groups if CENTERING["printed"] == "group" else 1
    apart = float(np.linalg.norm(np.subtract(*moments.means)))
    text = f"{subtracted} means, one of each group; those of the faces are {apart:.2f} apart"
    reason = (
        "The script centres each group by its own mean, and on the credit data only the first "
        f"{credit_rows()[0].shape[1]} rows of each group. The third reading, `text`, has one common mean."
    )
    return text, subtracted == value, reason


def _pixels(statement: str, value: float) -> tuple[str, bool, str]:
    raw, used = load("lfw").X, faces_rows()[0]
    divisor = float(raw.max() / used.max())
    text = f"pixels from {raw.min():g} to {raw.max():g} are divided by {divisor:g}"
    return text, abs(divisor - value) < 1e-9 and raw.min() >= 0 and raw.max() <= value, "Another scale."


def _variance(statement: str, value: float) -> tuple[str, bool, str]:
    variances = credit_rows()[0].var(axis=0, ddof=1)
    text = f"variances from {variances.min():.6f} to {variances.max():.6f}"
    return text, bool(np.allclose(variances, value)), "Other variances."


def _faces(statement: str, value: float) -> tuple[str, bool, str]:
    sexes, counts = np.unique(faces_rows()[1][drawn_faces(0)], return_counts=True)
    listed = ", ".join(f"{count} {sex}" for sex, count in zip(sexes, counts, strict=True))
    return listed, counts.sum() == value and bool(np.ptp(counts) == 0), "Another number of faces."


def _samples(statement: str, value: float) -> tuple[str, bool, str]:
    cells = load_results("samadi2018/fig1").cells
    drawn = cells.loc[cells["setting"] == "balanced", "sample"].nunique()
    return f"{drawn} samples", drawn == value, "Another number of samples."


SETTINGS: dict[str, Setting] = {
    "common-mean": _means,
    "pixels": _pixels,
    "credit-variance": _variance,
    "balanced-faces": _faces,
    "balanced-samples": _samples,
}


register_settings(
    "samadi2018",
    SETTINGS,
    "What the paper says about its settings, beside those in use",
    inputs=("samadi2018/fig1",),
)
