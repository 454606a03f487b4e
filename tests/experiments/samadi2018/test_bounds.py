"""Bounds on rounds and times: the attack has teeth, and the sharper theorem of the chapter survives it."""

import numpy as np
import pytest

from fairpca.experiments.engine.runner import recompute
from fairpca.experiments.samadi2018 import bounds
from fairpca.experiments.samadi2018.bounds import attack_theorem_a2
from fairpca.solvers.minmax import solve_minmax, solve_minmax_weights


def test_attack_breaks_the_theorem_with_far_fewer_rounds():
    rng = np.random.default_rng(1)
    assert max(attack_theorem_a2(rng, constant=0.5) for _ in range(200)) > 1


def test_sharper_theorem_on_hostile_groups():
    """Groups of very different size, tied and of rank one: excess within log k/(eta T) + 2 eta l rho, for all steps."""
    rng = np.random.default_rng(2)
    for _ in range(30):
        k, p = int(rng.integers(2, 5)), int(rng.integers(2, 6))
        d = int(rng.integers(1, p))
        scales = 10.0 ** rng.uniform(-2, 1, k)
        factors = rng.standard_normal((k, p, int(rng.integers(1, p + 1))))
        C = scales[:, None, None] * (factors @ factors.transpose(0, 2, 1))
        z = solve_minmax(C, d).bound
        alpha = np.linalg.eigvalsh(C)[:, -d:].sum(axis=1).max()
        for ell, rho in ((z, max(z, alpha - z)), (max(z, 0.3 * alpha), alpha)):
            T = int(rng.integers(5, 200))
            eta = min(1 / rho, float(10.0 ** rng.uniform(-2, 0)) / rho)
            run = solve_minmax_weights(C, d, eta=eta, n_iter=T, rounding="none")
            excess = run.extra["average_loss"] - z
            assert excess <= np.log(k) / (eta * T) + 2 * eta * ell * rho + 1e-6 * alpha


def test_stored_verdicts_are_current():
    recompute("samadi2018/claims_bounds")


def test_linear_programme_is_the_one_of_the_paper(monkeypatch):
    """Its optimum by duality: the most, over weights of two groups, that they lose in the best directions for both."""
    answers = []
    original = bounds.linprog

    def kept(*given, **options):
        answers.append(original(*given, **options))
        return answers[-1]

    monkeypatch.setattr(bounds, "linprog", kept)
    n, d, rng = 40, 10, np.random.default_rng(3)
    bounds.run_linear_program(method="linear programme", n=n, cell_seed=3)
    assert len(answers) == 3
    for answer in answers:
        sums = rng.gamma(0.5, size=(2, n))
        best = np.sort(sums, axis=1)[:, -d:].sum(axis=1)
        weights = [np.array([w, 1 - w]) for w in np.linspace(0, 1, 1001)]
        dual = max(w @ best - np.sort(w @ sums)[-d:].sum() for w in weights)
        assert answer.fun == pytest.approx(dual, rel=1e-3)
        assert answer.fun == pytest.approx(np.max(best - sums @ answer.x[:-1]))
