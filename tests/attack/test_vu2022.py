"""Long searches against what Vu et al. state about their objective: secants, chords, and the bound of Theorem 4.3."""

import numpy as np
import pandas as pd
import pytest
from pages import functions
from scipy.optimize import minimize

from fairpca.companion.vu2022 import random_frame, random_problem
from fairpca.solvers.rfpca import ComplementObjective, polar_factor

pytestmark = pytest.mark.attack
PENALTIES = (0.5, 1.0, 1.5, 2.0, 2.5)  # the paper's grid without zero
against_bound = functions("vu2022/convergence")["against_bound"]


def plane_problem(x, lam):
    """Map nine free numbers to two groups in the plane that satisfy condition (ii), and a line."""

    def moment(size, spread, angle):
        c, s = np.cos(angle), np.sin(angle)
        return size * (np.eye(2) + spread * np.array([[c, s], [s, -c]]))

    spreads = 0.99 * np.tanh(x[2:4]) ** 2
    moments = np.array([moment(1.0, spreads[0], 0.0), moment(np.exp(3 * np.tanh(x[1])), spreads[1], x[4])])
    eps = np.linalg.eigvalsh(moments)[:, 0] / (1 + np.exp(-np.clip(x[5:7], -12, 12)))
    share = 0.02 + 0.96 / (1 + np.exp(-np.clip(x[7], -12, 12)))
    shares = np.array([share, 1 - share])
    problem = ComplementObjective(moments, shares, 1, shares.min() if lam is None else lam, eps)
    return problem, np.array([[np.cos(x[8])], [np.sin(x[8])]])


def steepest_secant(rng, lam, tries=8):
    """Look for a steep secant by local searches; its slope is measured with two values of F."""

    def steepness(x):
        problem, U = plane_problem(x, lam)
        return -float(np.linalg.norm(problem.subgradient(U))) / problem.printed_lipschitz

    options = {"maxiter": 1500, "xatol": 1e-5, "fatol": 1e-7}
    starts = 1.5 * rng.standard_normal((tries, 9))
    found = [minimize(steepness, start, method="Nelder-Mead", options=options) for start in starts]
    problem, U = plane_problem(min(found, key=lambda result: result.fun).x, lam)
    gradient, slopes = problem.subgradient(U), []
    for sign in (-1, 1):
        W = polar_factor(U + sign * 1e-5 * gradient / np.linalg.norm(gradient))
        rise = abs(problem.values(W).max() - problem.values(U).max())
        slopes.append(float(rise / np.linalg.norm(W - U)))
    return max(slopes), problem


@pytest.mark.parametrize("lam", PENALTIES)
def test_secants_exceed_the_printed_constant_and_not_the_repaired_one(lam):
    slope, problem = steepest_secant(np.random.default_rng([2022, 4]), lam)
    assert problem.printed_lipschitz < slope < problem.lipschitz


def test_up_to_the_smaller_share_no_secant_exceeds_the_printed_constant():
    slope, problem = steepest_secant(np.random.default_rng([2022, 4]), None)
    assert slope < problem.printed_lipschitz


def chord_is_below(problem):
    """Look for a chord of F below F: along eigenvectors of C_a with negative eigenvalue, from short to long."""
    unit = np.zeros((1, problem.columns))
    unit[0, 0] = 1.0
    for C in problem.quadratic:
        w, Q = np.linalg.eigh(C)
        for x in Q.T[w < 0]:
            for length in 10.0 ** np.arange(-2, 5):
                near, far = length * x[:, None] * unit, 3 * length * x[:, None] * unit
                ends = (problem.values(near).max() + problem.values(far).max()) / 2
                if problem.values((near + far) / 2).max() > ends + 1e-9 * abs(ends):
                    return True
    return False


def test_chords_below_the_objective_exist_beyond_the_shares_only():
    rng = np.random.default_rng([2022, 3])
    for _ in range(50):
        p = random_problem(rng, 0.0)
        assert not chord_is_below(
            ComplementObjective(p.moments, p.shares, p.n_components, float(p.shares.min()), p.eps)
        )
    assert all(any(chord_is_below(random_problem(rng, lam)) for _ in range(20)) for lam in PENALTIES)


def test_no_run_in_the_plane_exceeds_the_bound_of_theorem_4_3():
    rng = np.random.default_rng([2022, 5])

    def short(x):
        problem, U = plane_problem(x, 2.5)
        rows = pd.DataFrame(against_bound(problem, U, 10))
        return -float((rows["measure"] / rows["bound"]).max())

    options = {"maxiter": 60, "maxfev": 60}
    starts = 1.5 * rng.standard_normal((5, 9))
    assert min(minimize(short, start, method="Nelder-Mead", options=options).fun for start in starts) >= -1


@pytest.mark.parametrize("scale", [0.01, 0.1, 1.0, 10.0])
def test_no_random_run_exceeds_the_bound_of_theorem_4_3(scale):
    rng = np.random.default_rng(5)
    for lam in (0.2, 1.0, 2.5):
        problem = random_problem(rng, lam, scale)
        for steps in (10, 100, 1000):
            rows = pd.DataFrame(against_bound(problem, random_frame(rng, problem), steps))
            assert (rows["measure"] <= rows["bound"]).all()
            assert (rows["measure"] <= rows["sharp"])[rows["constant"] == "repaired"].all()
