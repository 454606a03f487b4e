"""The robust objective of Vu et al. (2022) as a function of the groups' reconstruction errors.

With s_b(V) = tr M_b - tr V'M_bV, r_b = sqrt(s_b), e_b = sqrt(eps_b), the inner supremum over the ambiguity set
is known in closed form (their Theorem 3.2, Proposition 3.3 and Theorem B.2): for an ordered pair (a, a')

    J_aa'(s) = (p_a + lam)(r_a + e_a)^2 + (p_a' - lam) w(r_a', e_a') + sum over other b of p_b (r_b + e_b)^2

and the problem is to minimise the largest of them over V.  ``w`` is (r + e)^2 when lam <= p_a'.  For lam > p_a'
the supremum is (r - e)_+^2 (``variant="corrected"``); the paper's formula (6c) has (r - e)^2 there
(``variant="printed"``), which is the same number exactly where its condition (ii) holds.
Every J is concave in s and the two forms satisfy the same theorems, so all solvers take both, and a third word:
``"vu2022_code"`` is the printed formula with the penalty that the published code uses (:func:`published_lam`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal, get_args

import numpy as np

from fairpca._validation import check_choice

__all__ = [
    "GroupObjective",
    "TwoGroupObjective",
    "ambiguity_radii",
    "check_problem",
    "penalty_used",
    "published_lam",
    "reconstruction_errors",
    "sizes",
]

RFPCAVariant = Literal["corrected", "printed", "vu2022_code"]


def ambiguity_radii(alpha: float, counts: np.ndarray) -> np.ndarray:
    """Return ``alpha / sqrt(N_a)``, the radii that Section 5 of Vu et al. uses, for group sizes `counts`.

    Parameters
    ----------
    alpha : float
        Factor, zero or larger.
    counts : array-like of shape (m,)
        Rows in each group.

    Returns
    -------
    ndarray of shape (m,)
    """
    return alpha / np.sqrt(np.asarray(counts, dtype=float))


def published_lam(moments: np.ndarray, shares: np.ndarray, eps: np.ndarray, n_components: int, lam: float) -> float:
    """Return the penalty that the published code really uses.

    If `lam` exceeds the smaller group share and the smallest p - d eigenvalues of *either* group's second
    moment sum to less than its radius, that code replaces `lam` by the smaller share.
    Theorem 3.2 asks for less (one of two conditions for each group), and the exact robust value needs no
    condition at all, so this reset exists only to repeat what was printed.

    Parameters
    ----------
    moments : ndarray of shape (2, p, p)
        Second moments of the groups.
    shares : ndarray of shape (2,)
        Share of the rows in each group.
    eps : ndarray of shape (2,)
        Radii.
    n_components : int
        Dimension of the subspace.
    lam : float
        Penalty asked for.

    Returns
    -------
    float
        `lam`, or the smaller share.
    """
    smallest = float(np.min(shares))
    if lam <= smallest:
        return float(lam)
    left_out = np.array([np.linalg.eigvalsh(M)[: M.shape[0] - n_components].sum() for M in moments])
    return smallest if np.any(left_out < eps) else float(lam)


def reconstruction_errors(moments: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return s_b = tr M_b - tr V'M_bV for each group.

    Parameters
    ----------
    moments : ndarray of shape (m, p, p)
        Second moments of the groups.
    V : ndarray of shape (p, d)
        Orthonormal basis.

    Returns
    -------
    ndarray of shape (m,)
        What rounding leaves below zero is zero.
    """
    kept = np.einsum("pk,mpk->m", V, moments @ V)
    return np.maximum(np.trace(moments, axis1=1, axis2=2) - kept, 0.0)


@dataclass(frozen=True)
class TwoGroupObjective:
    """J_0 and J_1 of equation (6b) for two groups, in plain floats because the exact solver calls them often.

    Attributes
    ----------
    shares : tuple of float
        (p_0, p_1).
    lam : float
        Penalty on the gap.
    eps : tuple of float
        Radii (eps_0, eps_1).
    variant : {"corrected", "printed", "vu2022_code"}
        Which value lam > p_a' gets, see the module's docstring; here the last two are the same.
    """

    shares: tuple[float, float]
    lam: float
    eps: tuple[float, float]
    variant: RFPCAVariant = "corrected"

    def __post_init__(self) -> None:
        p0, p1 = self.shares
        fixed = (p0 + self.lam, p1 - self.lam, p1 + self.lam, p0 - self.lam, sqrt(self.eps[0]), sqrt(self.eps[1]))
        object.__setattr__(self, "_fixed", (*fixed, self.variant != "corrected"))

    def values(self, s0: float, s1: float) -> tuple[float, float]:
        """Return (J_0, J_1) at the reconstruction errors (s0, s1)."""
        plus0, minus1, plus1, minus0, e0, e1, printed = self._fixed  # type: ignore[attr-defined]
        r0 = sqrt(s0) if s0 > 0 else 0.0
        r1 = sqrt(s1) if s1 > 0 else 0.0
        up0, up1 = r0 + e0, r1 + e1
        down0, down1 = r0 - e0, r1 - e1
        if not printed:
            down0, down1 = max(down0, 0.0), max(down1, 0.0)
        low1 = up1 if minus1 >= 0 else down1
        low0 = up0 if minus0 >= 0 else down0
        return plus0 * up0 * up0 + minus1 * low1 * low1, plus1 * up1 * up1 + minus0 * low0 * low0

    def value(self, s0: float, s1: float) -> float:
        """Return max(J_0, J_1)."""
        return max(self.values(s0, s1))

    def size(self, s0: float, s1: float) -> float:
        """Return the sum of the magnitudes of the terms in J_0 and J_1."""
        return (1 + 2 * self.lam) * ((sqrt(s0) + sqrt(self.eps[0])) ** 2 + (sqrt(s1) + sqrt(self.eps[1])) ** 2)

    def slopes(self, a: int, s0: float, s1: float) -> tuple[float, float]:
        """Return the partial derivatives of J_a in s0 and s1 (infinite at s_b = 0 when eps_b > 0)."""
        plus0, minus1, plus1, minus0, e0, e1, printed = self._fixed  # type: ignore[attr-defined]
        ratio0 = e0 / sqrt(s0) if s0 > 0 else (inf if e0 > 0 else 0.0)
        ratio1 = e1 / sqrt(s1) if s1 > 0 else (inf if e1 > 0 else 0.0)
        if a == 0:
            return plus0 * (1 + ratio0), _lower_slope(minus1, ratio1, printed)
        return _lower_slope(minus0, ratio0, printed), plus1 * (1 + ratio1)

    def support(self, a: int, s0: float, s1: float) -> float:
        """Return the weight t of M_0 in the tangent of J_a, normalised so that the weights sum to 1."""
        g0, g1 = self.slopes(a, s0, s1)
        if g0 == inf:
            return 0.5 if g1 == inf else 1.0
        return 0.0 if g1 == inf else g0 / (g0 + g1)

    def increase(self, s0: float, s1: float, d0: float, d1: float) -> float:
        """Return a bound on how much either J changes when (s0, s1) moves by at most (d0, d1), d >= 0, upwards."""
        plus0, minus1, plus1, minus0, e0, e1, _ = self._fixed  # type: ignore[attr-defined]
        grow0 = d0 + 2 * e0 * (sqrt(max(s0, 0.0) + d0) - sqrt(max(s0, 0.0)))
        grow1 = d1 + 2 * e1 * (sqrt(max(s1, 0.0) + d1) - sqrt(max(s1, 0.0)))
        return max(plus0 * grow0 + abs(minus1) * grow1, plus1 * grow1 + abs(minus0) * grow0)


def _lower_slope(weight: float, ratio: float, printed: bool) -> float:
    if weight == 0:
        return 0.0
    if weight > 0:
        return weight * (1 + ratio)
    return weight * (1 - ratio) if printed else weight * max(1 - ratio, 0.0)


class GroupObjective:
    """All J_aa' of Theorem B.2 for any number of groups, vectorised over the ordered pairs.

    The J of all pairs differ in the terms of a and a' only, so m numbers of two kinds give the m (m - 1) values.

    Parameters
    ----------
    shares, eps : array-like of shape (m,)
        Group shares and radii.
    lam : float
        Penalty on the largest gap.
    variant : {"corrected", "printed", "vu2022_code"}
        As for :class:`TwoGroupObjective`.

    Attributes
    ----------
    pairs : ndarray of shape (m * (m - 1), 2)
        Ordered pairs (a, a'); for two groups (0, 1) and (1, 0), that is J_0 and J_1.
    """

    def __init__(self, shares: np.ndarray, lam: float, eps: np.ndarray, variant: RFPCAVariant = "corrected") -> None:
        self.shares = np.asarray(shares, dtype=float)
        self.lam = lam
        first, second = np.indices((len(self.shares),) * 2).reshape(2, -1)
        self.pairs = np.stack((first, second), axis=1)[first != second]
        self.radii = np.sqrt(np.asarray(eps, dtype=float))
        self.printed = variant != "corrected"
        self._negative = self.shares < lam

    def _rows(self, up: np.ndarray, low: np.ndarray, pairs: slice | np.ndarray = slice(None)) -> np.ndarray:
        """Return, for each pair, the groups' weights times `up`, and for the pair's second group times `low`."""
        chosen = self.pairs[pairs]
        at = np.arange(len(chosen))
        rows = np.repeat((self.shares * up)[None, :], len(chosen), axis=0)
        rows[at, chosen[:, 0]] = ((self.shares + self.lam) * up)[chosen[:, 0]]
        with np.errstate(invalid="ignore"):
            lowered = np.where(self.shares == self.lam, 0.0, (self.shares - self.lam) * low)
        rows[at, chosen[:, 1]] = lowered[chosen[:, 1]]
        return rows

    @property
    def weights(self) -> np.ndarray:
        """Weight of group b's term in each pair's J, shape (n_pairs, m); it may be negative."""
        ones = np.ones(len(self.shares))
        return self._rows(ones, ones)

    def largest_weight(self, sizes: np.ndarray) -> float:
        """Return the largest sum over the groups of a pair's weights, without signs, times `sizes`."""
        whole, lowered = float(self.shares @ sizes), (np.abs(self.shares - self.lam) - self.shares) * sizes
        return float((whole + self.lam * sizes[self.pairs[:, 0]] + lowered[self.pairs[:, 1]]).max())

    def _terms(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (r + e)^2 of each group and, where lam exceeds its share, what stands in its place."""
        r = np.sqrt(np.maximum(s, 0.0))
        down = r - self.radii if self.printed else np.maximum(r - self.radii, 0.0)
        up = (r + self.radii) ** 2
        return up, np.where(self._negative, down**2, up)

    def values(self, s: np.ndarray) -> np.ndarray:
        """Return the J of every pair at `s` of shape (m,), shape (n_pairs,)."""
        up, low = self._terms(s)
        lowered = (self.shares - self.lam) * low - self.shares * up
        return np.asarray(self.shares @ up + self.lam * up[self.pairs[:, 0]] + lowered[self.pairs[:, 1]])

    def slopes(self, s: np.ndarray, floor: float = 0.0, pairs: slice | np.ndarray = slice(None)) -> np.ndarray:
        """Return dJ/ds of the chosen pairs, shape (n_pairs, m).

        `floor` keeps sqrt(s) away from zero, where the slope is infinite.
        """
        r = np.sqrt(np.maximum(s, floor))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(self.radii > 0, self.radii / r, 0.0)
        down = 1 - ratio if self.printed else np.maximum(1 - ratio, 0.0)
        return self._rows(1 + ratio, np.where(self._negative, down, 1 + ratio), pairs)

    def chords(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return constants and slopes of the affine functions through every J at the corners of a box of errors."""
        width = high - low
        at_low, at_high = self._terms(low), self._terms(high)
        rises = [
            np.divide(b - a, width, out=np.zeros_like(a), where=width > 0) for a, b in zip(at_low, at_high, strict=True)
        ]
        slopes = self._rows(*rises)
        return self.values(low) - slopes @ low, slopes


def check_problem(
    moments: np.ndarray, shares: np.ndarray, d: int, lam: float, eps: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return moments, shares and radii as float64 arrays, or raise if they do not make a problem."""
    moments = np.asarray(moments, dtype=np.float64)
    shares = np.asarray(shares, dtype=np.float64)
    eps = np.asarray(eps, dtype=np.float64)
    if moments.ndim != 3 or moments.shape[1] != moments.shape[2] or len(moments) < 2:
        raise ValueError(
            f"the second moments have shape {moments.shape}; they must be (n_groups, p, p) with two or more groups."
        )
    m, p = moments.shape[:2]
    if not 1 <= d < p:
        raise ValueError(f"n_components={d} is out of range; with {p} features it must lie between 1 and {p - 1}.")
    if shares.shape != (m,) or np.any(shares <= 0) or abs(shares.sum() - 1) > 1e-8:
        raise ValueError(f"the shares {shares.tolist()} must be {m} positive numbers that sum to 1.")
    if eps.shape != (m,):
        raise ValueError(f"eps has {eps.size} value(s); give one radius for each of the {m} groups.")
    if not np.all(np.isfinite(eps)) or np.any(eps < 0):
        raise ValueError(f"eps={eps.tolist()} must be finite and not negative.")
    if not (np.isfinite(lam) and lam >= 0):
        raise ValueError(f"lam={lam!r} must be a finite number, zero or larger.")
    if not np.all(np.isfinite(moments)):
        raise ValueError("the second moments contain NaN or infinite entries; clean the data first.")
    return moments, shares, eps


def sizes(moments: np.ndarray, eps: np.ndarray) -> np.ndarray:
    """Return what decides the unit of a problem: traces, and radii only where the unit would make them overflow."""
    return np.append(np.trace(moments, axis1=1, axis2=2), np.asarray(eps, dtype=np.float64) * 2.0**-900)


def penalty_used(
    variant: RFPCAVariant, moments: np.ndarray, shares: np.ndarray, eps: np.ndarray, d: int, lam: float
) -> float:
    """Return the penalty of a problem: `lam`, or what the published code makes of it."""
    check_choice("variant", variant, get_args(RFPCAVariant))
    if variant != "vu2022_code":
        return float(lam)
    if len(moments) != 2:
        raise ValueError(
            f"variant='vu2022_code' is defined for two groups and there are {len(moments)}; choose 'corrected' or "
            "'printed'."
        )
    return published_lam(moments, shares, eps, d, lam)
