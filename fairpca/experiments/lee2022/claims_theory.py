"""What Lee et al. (2022) state about the maximum mean discrepancy, judged by small computations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np
from fairpca.experiments.engine.verdicts import Verdict, as_records, judge, judge_theorem, register_claims

from fairpca import MinMaxFairPCA
from fairpca.linalg import orthonormal
from fairpca.metrics import mmd_squared
from fairpca.solvers.mmd import WeightedRows
from fairpca.synthetic import lee_figure5

__all__ = ["run_claims"]


def _kernel(A: np.ndarray, B: np.ndarray, sigma: float) -> np.ndarray:
    return np.exp(-np.sum((A[:, None] - B[None]) ** 2, axis=2) / (2 * sigma**2))


def _two_samples(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Draw two small samples of a random dimension, with different means and spreads, and a bandwidth."""
    d, sizes = int(rng.integers(1, 5)), rng.integers(5, 30, size=2)
    X = rng.standard_normal((sizes[0], d))
    Y = rng.standard_normal((sizes[1], d)) * rng.uniform(0.3, 2, d) + rng.normal(0, 1, d)
    return X, Y, float(rng.uniform(0.3, 3))


def _labels(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.repeat([0, 1], [len(X), len(Y)])


def _normal_kernel(difference: Any, variances: Any, sigma: float) -> float:
    """Return E k(x, y) where x − y is normal with this mean and these variances of its coordinates."""
    total = sigma**2 + np.asarray(variances, dtype=float)
    return float(np.prod(sigma / np.sqrt(total) * np.exp(-(np.asarray(difference) ** 2) / (2 * total))))


def _estimator() -> Iterator[Verdict]:
    rng, errors = np.random.default_rng(0), []
    for _ in range(20):
        X, Y, sigma = _two_samples(rng)

        def k(a: np.ndarray, b: np.ndarray, sigma: float = sigma) -> float:
            return float(np.exp(-np.sum((a - b) ** 2) / (2 * sigma**2)))

        loop = float(np.mean([k(a, b) for a in X for b in X]) + np.mean([k(a, b) for a in Y for b in Y]))
        loop -= 2 * float(np.mean([k(a, b) for a in X for b in Y]))
        # The norm of the difference of the mean embeddings, which is what the double sum is to equal.
        rows, weights = np.vstack((X, Y)), np.where(_labels(X, Y) == 0, 1 / len(X), -1 / len(Y))
        norm = float(weights @ _kernel(rows, rows, sigma) @ weights)
        errors += [abs(loop - norm), abs(loop - mmd_squared(rows, _labels(X, Y), sigma))]
    # What rounding leaves of sums of some hundred kernel values.
    wrong = sum(error >= 1e-12 for error in errors)
    yield judge_theorem(
        "lemma1-estimator",
        f"double sum, norm of the embeddings' difference and package agree to rounding in {len(errors) - wrong} of "
        f"{len(errors)} comparisons",
        violations=wrong,
        attempts=len(errors),
        kind="random samples of two groups",
        proof="lee2022/definition",
        reason="The double sum is not the squared norm.",
    )


def _from_normal(centres: np.ndarray, weights: np.ndarray, variance: float, sigma: float) -> float:
    """Return MMD² of N(0, 1) and a mixture of normals of one variance."""
    inside = sum(
        a * b * _normal_kernel(x - y, [2 * variance], sigma)
        for (x, a), (y, b) in product(zip(centres, weights, strict=True), repeat=2)
    )
    across = sum(a * _normal_kernel(x, [1 + variance], sigma) for x, a in zip(centres, weights, strict=True))
    return _normal_kernel(0, [2.0], sigma) + inside - 2 * across


def _metric() -> Iterator[Verdict]:
    shifts, bandwidths, half = (0.3, 0.5, 0.7, 0.9), (0.3, 1.0, 3.0), np.array([0.5, 0.5])
    # Two normals at ±shift with the mean and the variance of N(0, 1).
    different = [_from_normal(np.array([-s, s]), half, 1 - s**2, sigma) for s, sigma in product(shifts, bandwidths)]
    # N(0, 1) itself, as a mixture whose centres are normal as well (Gauss–Hermite nodes).
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    same = [abs(_from_normal(nodes * 0.5, weights / weights.sum(), 0.75, sigma)) for sigma in bandwidths]
    # Rounding, as pairs that are equal show it.
    level = max(1e-13, 1e4 * max(same))
    equal = sum(value <= level for value in different) + sum(value > 1e-13 for value in same)
    yield judge_theorem(
        "prop-mmd-metric",
        f"{len(different)} pairs with equal moments and another shape have an MMD² from {min(different):.0e} to "
        f"{max(different):.1e}; the normal distribution written as a mixture has none beyond rounding",
        violations=equal,
        attempts=len(different) + len(same),
        kind="mixtures with equal moments, the least different ones chosen",
        proof="lee2022/definition",
        reason="Different distributions have an MMD of zero, or equal ones another.",
    )


# --------------------------------------------------------------------------------------------------------------------
# Proposition 1


def _scores_in_the_space(rng: np.random.Generator, n: int) -> tuple[float, float]:
    """Return the largest |E g − E g| / (‖w‖ Δ) over random scores g = Σ a_j k(u_j, ·), and that of the witness."""
    largest, witness = 0.0, 1.0
    for _ in range(n):
        X, Y, sigma = _two_samples(rng)
        delta = float(np.sqrt(mmd_squared(np.vstack((X, Y)), _labels(X, Y), sigma)))
        # Centres at random places, and at the points of both samples with the signs of the witness function.
        own = np.where(_labels(X, Y) == 0, 1 / len(X), -1 / len(Y))
        random = rng.normal(0, 2, (8, X.shape[1]))
        for centres, a in ((random, rng.standard_normal(8)), (np.vstack((X, Y)), own)):
            norm = float(np.sqrt(a @ _kernel(centres, centres, sigma) @ a))
            gap = abs(float(np.mean(_kernel(X, centres, sigma) @ a) - np.mean(_kernel(Y, centres, sigma) @ a)))
            ratio = gap / (norm * delta)
            largest = max(largest, ratio)
        witness = min(witness, ratio)
    return largest, witness


def _linear_scores(R: float, sigma: float) -> float:
    """Return Δ(scores) / Δ(plane) for N(0, diag(1, R²)) and N(e_1, diag(1, R²)) and the scores z ↦ z_1.

    The scores have the distributions N(0, 1) and N(1, 1) whatever R is, and are compared with σ = 1.
    """

    def discrepancy(mean: list[float], variances: list[float], width: float) -> float:
        v = 2 * np.asarray(variances)
        zero = np.zeros(len(mean))
        return float(np.sqrt(2 * _normal_kernel(zero, v, width) - 2 * _normal_kernel(mean, v, width)))

    return discrepancy([1.0], [1.0], 1.0) / discrepancy([1.0, 0.0], [1.0, R**2], sigma)


def _downstream() -> Iterator[Verdict]:
    cases = 1000
    largest, witness = _scores_in_the_space(np.random.default_rng(2), cases)
    spreads = (1e0, 1e2, 1e4, 1e6)
    fixed, scaled = [_linear_scores(R, 1.0) for R in spreads], [_linear_scores(R, R) for R in spreads]
    # A constant exists only if the ratio stays bounded along every sequence of distributions.
    bounded = not all(later > 5 * earlier for row in (fixed, scaled) for earlier, later in pairwise(row))
    listed = ", ".join(f"{ratio:.3g}" for ratio in fixed)
    text = (
        f"mean scores in the kernel's space: at most {largest:.3f} of ‖w‖Δ in {2 * cases} cases (the witness attains "
        f"{witness:.3f}); linear scores of unit weight: ratio to Δ {listed} as the spread of the other coordinate "
        f"grows 100-fold each time, up to {scaled[-1]:.1g} if the bandwidth grows with it"
    )
    yield judge_theorem(
        "prop1-downstream",
        text,
        violations=int(largest > 1 + 1e-9) + int(not bounded),
        attempts=2,
        kind="means of scores in the kernel's space, distributions of linear scores",
        reason="True for means of scores in the kernel's space, false for the distributions of linear scores.",
    )


# --------------------------------------------------------------------------------------------------------------------
# Proposition 2, supplement G, Figure 5


def _concentration() -> Iterator[Verdict]:
    rng, draws, level = np.random.default_rng(4), 100, 0.05
    misses, total, quantiles = {"printed": 0, "smaller": 0}, 0, []
    sizes = ((50, 50), (50, 400), (200, 200), (800, 800))
    for shift, (m, n) in product((0.0, 1.0), sizes):
        v = np.array([2.0, 2.0])
        truth = np.sqrt(2 * _normal_kernel([0, 0], v, 1.0) - 2 * _normal_kernel([shift, 0], v, 1.0))
        root, both = 1 / np.sqrt(m) + 1 / np.sqrt(n), 2 * (m + n) / (m * n)
        bounds = {
            "printed": 2 * root + np.sqrt(both * np.log(2 / level)),
            "smaller": root + np.sqrt(both * np.log(1 / level)),
        }
        errors = np.empty(draws)
        for i in range(draws):
            Z = rng.standard_normal((m + n, 2))
            Z[m:, 0] += shift
            errors[i] = abs(np.sqrt(mmd_squared(Z, np.repeat([0, 1], [m, n]), 1.0)) - truth)
        total += draws
        for name, bound in bounds.items():
            misses[name] += int(np.sum(errors > bound))
        quantiles.append((shift, m, n, float(np.quantile(errors, 1 - level))))
    small, large = (next(q for s, m, n, q in quantiles if s == 0 and m == n == size) for size in (50, 800))
    rate = float(np.log(large / small) / np.log(800 / 50))
    text = (
        f"bound at 95 % missed in {misses['printed']} of {total} draws, without the factors 2 in {misses['smaller']}; "
        f"the error falls with the power {rate:.2f} of the rows"
    ).replace("-0", "−0")
    yield judge_theorem(
        "prop2-concentration",
        text,
        violations=int(misses["printed"] > level * total) + int(abs(rate + 0.5) >= 0.1),
        attempts=2,
        kind="share of draws beyond the bound, rate in the number of rows",
        proof="lee2022/definition",
        reason="The bound is missed too often, or the error falls at another rate.",
    )


def _supplement_gradient(X: np.ndarray, Y: np.ndarray, V: np.ndarray, sigma: float) -> np.ndarray:
    """Return the three final formulas of supplement G, put together: h_1 + h_2 − 2 h_3."""

    def within(A: np.ndarray) -> np.ndarray:
        K = _kernel(A @ V, A @ V, sigma)
        return A.T @ (np.diag(K.sum(axis=1)) - K) @ A @ V * (-2 / (len(A) ** 2 * sigma**2))

    K = _kernel(X @ V, Y @ V, sigma)
    cross = X.T @ np.diag(K.sum(axis=1)) @ X + Y.T @ np.diag(K.sum(axis=0)) @ Y - X.T @ K @ Y - Y.T @ K.T @ X
    return within(X) + within(Y) + 2 / (len(X) * len(Y) * sigma**2) * cross @ V


def _gradient() -> Iterator[Verdict]:
    rng, step, errors, kernels = np.random.default_rng(5), 1e-4, [], []
    for _ in range(20):
        p, d = int(rng.integers(3, 8)), int(rng.integers(1, 3))
        X, Y = rng.standard_normal((15, p)), rng.standard_normal((12, p)) * 1.5 + 0.5
        V, sigma = orthonormal(rng.standard_normal((p, d))), float(rng.uniform(0.5, 2))
        term = WeightedRows.from_groups(np.vstack((X, Y)), _labels(X, Y))
        stated = _supplement_gradient(X, Y, V, sigma)
        H = rng.standard_normal(V.shape)
        h = [mmd_squared(np.vstack((X, Y)) @ (V + t * step * H), _labels(X, Y), sigma) for t in (-2.0, -1.0, 1.0, 2.0)]
        slope = (h[0] - 8 * h[1] + 8 * h[2] - h[3]) / (12 * step)
        errors.append(abs(slope - float(np.sum(stated * H))) / np.abs(stated).max())
        kernels.append(float(np.abs(stated - term.value_and_gradient(V, sigma)[1]).max() / np.abs(stated).max()))
    # What is left of differences of the fourth order with this step, and of sums in double precision.
    wrong = sum(slope >= 1e-8 or kernel >= 1e-10 for slope, kernel in zip(errors, kernels, strict=True))
    yield judge_theorem(
        "gradient",
        f"its three formulas agree with finite differences to 8 digits and with the package's kernel to 10 in "
        f"{len(errors) - wrong} of {len(errors)} cases",
        violations=wrong,
        attempts=len(errors),
        kind="random data, loadings and bandwidths",
        proof="lee2022/mbfpca",
        reason="The formulas are not the derivative.",
    )


def _figure_5() -> Iterator[Verdict]:
    rows, codes = (np.asarray(part) for part in lee_figure5()[:2])
    angles = np.arange(0, 180, 1.0)
    lines = np.column_stack((np.cos(np.radians(angles)), np.sin(np.radians(angles))))
    match = angles[np.argmin([mmd_squared((rows @ v)[:, None], codes, 1.0) for v in lines])]
    first = MinMaxFairPCA(1).fit(rows, sensitive_features=codes).components_[0]
    equal = np.degrees(np.arctan2(first[1], first[0])) % 180
    apart = min(abs(equal - match), 180 - abs(equal - match))
    text = f"MMD is smallest at {match:.0f}°, the losses are equal and least at {equal:.0f}°: {apart:.0f} degrees apart"
    yield judge("fig5-definitions", text, bool(apart > 10))


def run_claims(*, method: str) -> list[dict[str, Any]]:
    """Judge what the paper states about the discrepancy, its estimate, its gradient, and what follows from it."""
    return as_records(_estimator(), _metric(), _downstream(), _concentration(), _gradient(), _figure_5())


register_claims("lee2022/claims_theory", run_claims, "Verdicts on the statements about the discrepancy")
