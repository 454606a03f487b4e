"""One iteration of the primal–dual splitting for FPCA, with its certificate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dgeqrf, dorgqr, dsyevd

from fairpca.linalg import clip_to_trace, symmetrise, top_eigenpairs
from fairpca.solvers.fpca.problem import FPCAProblem, Reduction

__all__ = ["Kernel"]

_RELAXATION = 1.6
_SPARE = 4  # eigenpairs asked for beyond those that the last matrix needed
_ROUNDS, _PER_ROUND = 4, 50  # Rayleigh–Ritz steps before LAPACK: one, and one more for so many columns
_SHARE, _ACCURACY = 1e-3, (1e-9, 1e-5)  # residual of an eigenpair: a share of the duality gap, within limits


class _Leading:
    """Leading eigenpairs of matrices that resemble each other, as many as turn out to be needed.

    They come from those of the last matrix by a few Rayleigh–Ritz steps with the residuals, which need products with
    the matrix only. LAPACK takes over where they do not settle, and after `renew`: the steps cannot see an eigenvector
    that is orthogonal to all that they began with.
    """

    def __init__(self) -> None:
        self.count: float = np.inf
        self.V: np.ndarray | None = None
        self.accuracy = _ACCURACY[1]

    def of(
        self,
        multiply: Callable[[np.ndarray], np.ndarray],
        form: Callable[[], np.ndarray],
        needed: Callable[[np.ndarray], int],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return those of the eigenvalues, descending, that are `needed`, and their vectors.

        `needed` counts them in some leading eigenvalues, and counts all where these may not be enough.
        """
        found = None if self.V is None else _refined(multiply, self.V, needed, self.accuracy)
        if found is None:
            A = form()
            if self.count < len(A) // 5:
                w, V = top_eigenpairs(A, int(self.count))
                count = needed(w)
            if self.count >= len(A) // 5 or count == len(w):
                w, V = np.linalg.eigh(A)
                w, V = w[::-1], V[:, ::-1]
                count = needed(w)
        else:
            w, V, count = found
        self.count = count + _SPARE
        self.V = V[:, : int(self.count)].copy() if self.count < len(V) // 5 else None
        return w[:count], V[:, :count]

    def renew(self, accuracy: float) -> None:
        """Decompose the next matrix by LAPACK, and later ones to a residual relative to the largest eigenvalue."""
        self.V, self.accuracy = None, accuracy


def _refined(
    multiply: Callable[[np.ndarray], np.ndarray],
    V: np.ndarray,
    needed: Callable[[np.ndarray], int],
    accuracy: float,
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Return leading eigenpairs near the orthonormal `V` and how many are needed; None if these do not settle."""
    q, k = V.shape
    AV = multiply(V)
    R, before = AV - V @ (V.T @ AV), np.inf
    for remaining in reversed(range(min(_ROUNDS, 1 + q // _PER_ROUND))):
        B = np.concatenate((V.T, R.T)).T
        factors, tau, *_ = dgeqrf(B, overwrite_a=1)  # numpy's wrappers take longer than this for so few columns
        B = dorgqr(factors, tau, overwrite_a=1)[0]
        B[:, :k] = V
        AB = np.concatenate((AV.T, multiply(B[:, k:]).T)).T
        w, Y, _ = dsyevd(B.T @ AB)
        w, Y = w[: -k - 1 : -1], Y[:, : -k - 1 : -1]
        V, AV = B @ Y, AB @ Y
        R = AV - V * w
        count = needed(w)
        residual = np.sqrt(np.square(R[:, :count]).sum(axis=0).max(initial=0.0))
        if count == k or residual <= accuracy * abs(w[0]):
            return (w, V, count) if count < k else None
        if residual * min(residual / before, 1.0) ** remaining > accuracy * abs(w[0]) and remaining < _ROUNDS - 1:
            return None
        before = residual
    return None


class Kernel:
    """State and arithmetic of the iteration; step sizes τ = ηω, σ = η/ω with η = 1/‖K‖."""

    def __init__(self, problem: FPCAProblem, reduced: Reduction) -> None:
        q = len(reduced.S)
        self.reduced, self.mean_form = reduced, problem.mean_form
        self.d = problem.n_components
        self.trace_equal = problem.trace == "equal"
        self.sum_form = problem.penalty == "sum"
        self.S, self.kappa = reduced.S, reduced.kappa
        self.D = np.stack((reduced.D1, reduced.D2))[:, :, None]
        self.operator = reduced.fh is not None and problem.mean_form == "operator"
        self.quadratic = reduced.fh is not None and problem.mean_form == "quadratic"
        self.fh = np.zeros(q) if reduced.fh is None else reduced.fh
        self.b = reduced.bound
        self.eta = np.sqrt(0.5) if self.operator and self.kappa > 0 else 1.0
        self.omega = np.sqrt(self.d)
        self.X = np.zeros((q, q))
        self.Y, self.y = np.zeros((2, q, q)), np.zeros(q)
        self.new_duals = self.Y, self.y
        self.parts = list(self.Y[:, :, :0])
        self.projected, self.factors = self.X, (np.zeros(0), self.X[:, :0])
        self.nu = 0.0
        self.multiplier = 0.0
        self.leading = _Leading()
        self.singular = _Leading(), _Leading()

    def pack(self, out: np.ndarray | None = None) -> np.ndarray:
        """Return primal and dual variables as one vector, in the metric in which the iteration contracts."""
        root, n = np.sqrt(self.omega), self.S.size
        out = np.empty(3 * n + len(self.y)) if out is None else out
        np.divide(self.X.ravel(), root, out=out[:n])
        np.multiply(self.Y.ravel(), root, out=out[n : 3 * n])
        np.multiply(self.y, root, out=out[3 * n :])
        return out

    def unpack(self, z: np.ndarray) -> None:
        """Set the variables from what `pack` returned at the same step sizes."""
        root, q = np.sqrt(self.omega), len(self.S)
        matrices = z[: 3 * q * q].reshape(3, q, q)
        self.X, self.Y, self.y = symmetrise(matrices[0]) * root, matrices[1:] / root, z[3 * q * q :] / root

    def adjoint(self, Y: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return K*(Y, y), symmetric."""
        A = (self.D * Y).sum(axis=0) if self.kappa > 0 else np.zeros_like(self.S)
        if self.operator:
            A = A + np.multiply.outer(y, self.fh)
        return symmetrise(A)

    def step(self) -> np.ndarray:
        """Do one iteration and return the new point of the Fantope before relaxation."""
        tau, sigma = self.eta * self.omega, self.eta / self.omega
        self.projected = Xn = self.project(self.X + tau * (self.S - self.adjoint(self.Y, self.y)), tau)
        reach = 2.0 * Xn - self.X
        Yn, yn = self.Y, self.y
        if self.kappa > 0:
            Yn = self.clip(self.Y + sigma * self.D * reach, sigma)
        if self.operator:
            z = self.y + sigma * (reach @ self.fh)
            length = np.linalg.norm(z)
            yn = z * max(0.0, 1.0 - sigma * self.b / length) if length > 0 else z
        self.new_duals = Yn, yn
        self.X = self.X + _RELAXATION * (Xn - self.X)
        self.Y = self.Y + _RELAXATION * (Yn - self.Y)
        self.y = self.y + _RELAXATION * (yn - self.y)
        return Xn

    def fantope(self, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positive eigenvalues of the projection of `A` on the Fantope, and their eigenvectors."""
        kept = np.zeros(0)

        def needed(w: np.ndarray) -> int:
            nonlocal kept
            kept = self.clipped(w) if len(w) >= self.d else np.ones(len(w))
            return int(np.count_nonzero(kept))

        w, U = self.leading.of(A.__matmul__, lambda: A, needed)
        self.factors = kept[: len(w)], U
        return self.factors

    def clipped(self, w: np.ndarray) -> np.ndarray:
        """Return the eigenvalues of the projection of a matrix with eigenvalues `w`."""
        inside = w.clip(0.0, 1.0)
        return inside if not self.trace_equal and inside.sum() <= self.d else clip_to_trace(w, self.d)

    def project(self, A: np.ndarray, tau: float) -> np.ndarray:
        """Project on the Fantope, jointly with f̂'X f̂ ≤ b when that is a constraint; keep its multiplier."""
        if not self.quadratic:
            w, U = self.fantope(A)
            return (U * w) @ U.T
        F = np.multiply.outer(self.fh, self.fh)

        def excess(nu: float) -> tuple[float, np.ndarray]:
            self.leading.V = None  # the root that is sought here needs values without noise
            w, U = self.fantope(A - nu * F)
            return float(w @ (U.T @ self.fh) ** 2) - self.b, (U * w) @ U.T

        accuracy = 1e-9 * self.b
        value, X = excess(self.nu)
        if value <= accuracy and self.nu == 0.0:
            self.multiplier = 0.0
            return X
        low, high, at_low, at_high = 0.0, np.inf, np.nan, np.nan
        nu, width = self.nu, max(self.nu, 1e-3)
        for _ in range(200):
            if abs(value) <= accuracy:
                break
            if value > 0:
                low, at_low = nu, value
            else:
                if nu == 0.0:
                    break
                high, at_high = nu, value
            if not np.isfinite(high):
                width *= 2.0
                guess = low + width
            elif np.isnan(at_low):
                guess = 0.0 if low == 0.0 and high < 1e-14 else max(low, high - width)
                width *= 2.0
            else:
                guess = low + (high - low) * at_low / (at_low - at_high)
                edge = 0.02 * (high - low)
                guess = min(max(guess, low + edge), high - edge)
                if high - low <= 1e-15 * max(1.0, high):
                    break
            nu = guess
            value, X = excess(nu)
        self.nu, self.multiplier = nu, nu / tau
        return X

    def clip(self, Z: np.ndarray, sigma: float) -> np.ndarray:
        """Proximal map of σ times the conjugate of the penalty: clip singular values by water-filling."""
        weight = 2.0 * self.kappa / sigma
        parts = [_right_singular(M, leading, weight) for M, leading in zip(Z, self.singular, strict=True)]
        if self.sum_form:
            cuts = [_water_level(s, weight) for s, _ in parts]
        else:  # this level is above each of the two, so that what is enough for those is enough for it
            cuts = [_water_level(np.sort(np.concatenate([parts[0][0], parts[1][0]]))[::-1], weight)] * 2
        duals, self.parts = np.empty_like(Z), []
        for M, (s, V), cut, dual in zip(Z, parts, cuts, duals, strict=True):
            k = int(np.searchsorted(-s, -cut))
            self.parts.append((M @ V[:, :k]) * (1.0 - cut / s[:k]))
            np.matmul(self.parts[-1], V[:, :k].T, out=dual)
        return duals

    def renew(self, gap: float) -> None:
        """Decompose the next matrices without regard to the last ones, and those after them as the `gap` demands."""
        for leading in (self.leading, *self.singular):
            leading.renew(float(np.clip(_SHARE * gap, *_ACCURACY)))

    def lower(self, Xn: np.ndarray) -> tuple[np.ndarray, float]:
        """Return a feasible point near `Xn` and its objective."""
        Xn = self.reduced.meet_mean(Xn, self.d, self.mean_form)
        return Xn, float(np.vdot(self.S, Xn)) - self.penalty(Xn)

    def penalty(self, X: np.ndarray) -> float:
        """Return κ·pen(‖D1 X‖², ‖D2 X‖²)."""
        if self.kappa == 0:
            return 0.0
        w, U = self.factors
        # For U diag(w) U' the matrix (DX)'(DX) has the eigenvalues of a small one.
        parts = self.D * (U * w if X is self.projected else X)
        t = [float(np.linalg.eigvalsh(part.T @ part)[-1]) if part.size else 0.0 for part in parts]
        t = [max(value, 0.0) for value in t]
        return self.kappa * (sum(t) if self.sum_form else max(t))

    @property
    def dual(self) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
        """The newest dual point: two matrices, the multiplier of the mean constraint, and the vector in its place."""
        return (*self.new_duals[0], self.multiplier, self.new_duals[1])

    def upper(self) -> float:
        """Return the certificate (Theorem F2) at the newest dual point."""
        A = self.S - self.adjoint(*self.new_duals)
        if self.quadratic:
            A = A - self.multiplier * np.multiply.outer(self.fh, self.fh)
        value = _support(A, self.d, self.trace_equal)
        if self.kappa > 0:
            a, b = (float(np.linalg.norm(part, "nuc")) if part.size else 0.0 for part in self.parts)
            value += (a * a + b * b if self.sum_form else (a + b) ** 2) / (4.0 * self.kappa)
        if self.quadratic:
            value += self.multiplier * self.b
        elif self.operator:
            value += self.b * float(np.linalg.norm(self.new_duals[1]))
        return value


def _support(A: np.ndarray, d: int, trace_equal: bool) -> float:
    """Return the maximum of <A, X> over the Fantope: Ky Fan's sum of the d largest eigenvalues."""
    w = np.linalg.eigvalsh(A)[len(A) - d :]
    return float(w.sum() if trace_equal else np.clip(w, 0.0, None).sum())


def _right_singular(Z: np.ndarray, leading: _Leading, weight: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the singular values (descending) above the water level and some below it, and right singular vectors.

    They come from the eigenvectors of Z'Z. Squaring loses half the digits of the small singular values only, and
    those are cut off.
    """

    def needed(w: np.ndarray) -> int:
        s = np.sqrt(w.clip(0.0))
        return int(np.count_nonzero(s > _water_level(s, weight)))

    w, V = leading.of(lambda B: Z.T @ (Z @ B), lambda: Z.T @ Z, needed)
    return np.sqrt(w.clip(0.0)), V


def _water_level(s: np.ndarray, weight: float) -> float:
    """Return θ ≥ 0 with weight·θ = Σ (s_j − θ)_+ for descending `s`."""
    candidates = np.cumsum(s) / (weight + np.arange(1, s.size + 1))
    return float(candidates.max(initial=0.0))
