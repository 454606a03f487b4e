"""Over-relaxed primal–dual splitting for FPCA with extrapolation, stopped by a certified duality gap."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from fairpca.linalg import symmetrise
from fairpca.solvers.fpca._kernel import Kernel
from fairpca.solvers.fpca.problem import FPCAProblem

__all__ = ["SplittingOutcome", "solve_splitting", "upper_bound"]

_CHECK_EVERY = 10
_PLAIN_AFTER = 1000  # the convergence theorem wants steps that stop changing and no extrapolation
_REGULARISATION = 1e-10


@dataclass
class SplittingOutcome:
    """Best feasible P found, proven bounds (in the problem's own scale) and their history.

    `dual` is the dual point that proves `upper`: the arguments of :func:`upper_bound`.
    """

    P: np.ndarray
    lower: float
    upper: float
    relative_gap: float
    n_iter: int
    dual: tuple[np.ndarray, np.ndarray, float, np.ndarray]
    history: dict[str, np.ndarray] = field(default_factory=dict)


def solve_splitting(
    problem: FPCAProblem,
    *,
    tol: float = 1e-7,
    max_iter: int = 5000,
    start: np.ndarray | None = None,
    deadline: float = np.inf,
) -> SplittingOutcome:
    """Solve `problem` until the gap between a feasible P and a proven bound is at most `tol`, relatively.

    Each iteration projects on the Fantope (exact water-filling of the eigenvalues, together with
    f'Pf ≤ δ² where that constraint is present) and clips the singular values of two dual matrices.
    Every ten iterations the primal and dual steps are rebalanced from their residuals and the last ten
    iterates are extrapolated (Anderson's method); an extrapolation that does not reduce the residual is
    taken back. The operator-norm mean constraint ‖Pf‖ ≤ b is a third, vector-valued dual block.

    The gap is measured relative to max(|lower|, |upper|, <S, P>), which stays meaningful when a heavy
    penalty makes the objective vanish.

    Parameters
    ----------
    problem : FPCAProblem
        The problem, normally from :func:`~fairpca.solvers.fpca.problem.fpca_problem`.
    tol : float, default=1e-7
        Relative certified gap at which to stop.
    max_iter : int, default=5000
        Iterations allowed.
    start : ndarray of shape (p, p), optional
        First P; the best projector for S that is orthogonal to f otherwise.
    deadline : float
        Time of ``perf_counter`` after which the next bounds are the last.

    Returns
    -------
    SplittingOutcome
    """
    reduced = problem.reduce()
    kernel = Kernel(problem, reduced)
    extrapolation = _Extrapolation(kernel)
    X0 = reduced.best_projector(problem.n_components)
    kernel.X = X0.copy() if start is None else symmetrise(reduced.B.T @ start @ reduced.B)
    if kernel.operator and reduced.kappa == 0:
        kernel.y = 2.0 * X0 @ (reduced.S @ kernel.fh)

    best_lower, best_upper, best_X, dual = -np.inf, np.inf, kernel.X, kernel.dual
    variance = 0.0
    relative = np.inf
    lowers, uppers, iterations = [], [], []
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        plain = n_iter > _PLAIN_AFTER
        Xn = kernel.step() if plain else extrapolation.step()
        if n_iter % _CHECK_EVERY and n_iter < max_iter:
            continue
        feasible, lower = kernel.lower(Xn)
        if lower > best_lower:
            best_lower, best_X = lower, feasible
            variance = abs(float(np.vdot(reduced.S, feasible)))
        upper = kernel.upper()
        if upper < best_upper:
            best_upper, dual = upper, kernel.dual
        relative = (best_upper - best_lower) / max(abs(best_upper), abs(best_lower), variance, 1e-300)
        iterations.append(n_iter)
        lowers.append(best_lower)
        uppers.append(best_upper)
        if relative <= tol or perf_counter() > deadline:
            break
        kernel.renew(relative)
        if not plain:
            extrapolation.jump()
    history = {
        "iteration": np.array(iterations),
        "lower": np.array(lowers) * reduced.scale,
        "upper": np.array(uppers) * reduced.scale,
    }
    lower, upper = best_lower * reduced.scale, best_upper * reduced.scale
    return SplittingOutcome(reduced.restore(best_X), lower, upper, relative, n_iter, dual, history)


class _Extrapolation:
    """Anderson's extrapolation of the kernel's iterates, with a safeguard, and the balance of its steps."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.images, self.moves = np.empty((2, 2 * _CHECK_EVERY, len(kernel.pack())))
        self.count = 0  # of the rows above that are in use
        self.fallback: tuple[np.ndarray, float] | None = None

    def step(self) -> np.ndarray:
        """Iterate once and remember where it led; take a jump back that did not pay."""
        before = self.kernel.pack() if self.count == 0 else self.images[self.count - 1]
        Xn = self.kernel.step()
        image, move = self.images[self.count], self.moves[self.count]
        np.subtract(self.kernel.pack(image), before, out=move)
        if self.fallback is not None:
            saved, residual = self.fallback
            self.fallback = None
            if np.linalg.norm(move) > residual:
                self.kernel.unpack(saved)
                return Xn
        self.count += 1
        return Xn

    def jump(self) -> None:
        """Go to the combination of the remembered points whose move would be shortest, then balance the steps."""
        if self.count == 0:
            return
        images, moves = self.images[: self.count], self.moves[: self.count]
        residual = float(np.linalg.norm(moves[-1]))
        if self.count >= _CHECK_EVERY and residual > 0:
            moves /= max(moves.max(), -moves.min())  # products of tiny moves would underflow
            gram = moves @ moves.T
            gram /= np.linalg.norm(gram)
            weights = np.linalg.solve(gram + _REGULARISATION * np.eye(len(gram)), np.ones(len(gram)))
            self.fallback = images[-1].copy(), residual
            self.kernel.unpack(weights @ images / weights.sum())
            self.count = 0
        self._balance(moves[-1])

    def _balance(self, move: np.ndarray) -> None:
        split = self.kernel.S.size
        primal, dual = float(np.linalg.norm(move[:split])), float(np.linalg.norm(move[split:]))
        if primal == 0 or dual == 0:
            return
        factor = float(np.clip(np.sqrt(primal / dual), 0.5, 2.0))
        if 1 / 1.2 < factor < 1.2:  # a change of step sizes costs the memory, so small ones are not worth it
            return
        if self.fallback is not None:
            saved, residual = self.fallback
            now = self.kernel.pack()
            self.kernel.unpack(saved)
            self.kernel.omega *= factor
            self.fallback = self.kernel.pack(), residual * np.sqrt(max(factor, 1.0 / factor))
            self.kernel.omega /= factor
            self.kernel.unpack(now)
        self.kernel.omega *= factor
        self.count = 0


def upper_bound(
    problem: FPCAProblem, Y1: np.ndarray, Y2: np.ndarray, nu: float = 0.0, y: np.ndarray | None = None
) -> float:
    r"""Return a proven upper bound on the optimal value from *any* dual point (Theorem F2).

    .. math:: \Sigma^\downarrow_d\bigl(S-\operatorname{sym}(D_1Y_1+D_2Y_2)-\nu\hat f\hat f^\top\bigr)
              +\tfrac1{4\kappa}\bigl(\|Y_1\|_*^2+\|Y_2\|_*^2\bigr)+\nu b

    in the reduced scale, with :math:`(\|Y_1\|_*+\|Y_2\|_*)^2` when one slack variable serves both inequalities, and
    the symmetrised :math:`y\hat f^\top` and :math:`b\|y\|` in place of the terms with ν for the operator-norm
    mean constraint. The referee solvers are certified with it.

    Parameters
    ----------
    problem : FPCAProblem
    Y1, Y2 : ndarray of shape (q, q)
        Dual matrices in the reduced coordinates; q is p − 1 where f is eliminated, p otherwise.
    nu : float, default=0.0
        Multiplier (not negative) of the quadratic mean constraint.
    y : ndarray of shape (q,), optional
        Multiplier of the operator-norm mean constraint.

    Returns
    -------
    float
    """
    reduced = problem.reduce()
    kernel = Kernel(problem, reduced)
    if nu < 0:
        raise ValueError(f"nu={nu!r} must not be negative.")
    kernel.multiplier = float(nu)
    kernel.new_duals = np.stack((Y1, Y2)), kernel.y if y is None else y
    kernel.parts = [Y1, Y2]
    return kernel.upper() * reduced.scale
