"""The benchmark of the criteria: its rival converges to our optimum, and its small run is complete."""

import bench_criteria as criteria
import numpy as np
import pytest
from hostile_spectra import KINDS, hostile_moments

from fairpca.solvers.minmax import solve_minmax


def test_mirror_prox_approaches_the_certified_optimum():
    M = criteria.sources(8, n=200)
    exact = solve_minmax(M, 2, objective="variance").objective
    few, many = (criteria.mirror_prox(M, 2, steps) for steps in (20, 400))
    gaps = [exact - np.einsum("gij,ij->g", M, P).min() for P, _ in (few, many)]
    assert -1e-9 <= gaps[1] < 0.2 * gaps[0]
    P, w = many
    assert np.trace(P) == pytest.approx(2, abs=1e-6) and np.linalg.eigvalsh(P)[[0, -1]] == pytest.approx(
        [0, 1], abs=1 + 1e-9
    )
    assert np.linalg.eigvalsh(np.tensordot(w, M, 1))[-2:].sum() >= exact - 1e-9


def test_hostile_problems_go_through_all_kinds():
    drawn = [hostile_moments(seed) for seed in range(len(KINDS))]
    assert [kind for *_, kind in drawn] == list(KINDS)
    for M, d, _ in drawn:
        assert 1 <= d < M.shape[1]
        values = np.linalg.eigvalsh(M)
        assert values.min() >= -1e-12 * np.abs(values).max()


def test_small_run():
    table = criteria.hostile(4)
    assert (table["proved"] == 4).all() and (table["above_rank_bound"] == 0).all()
    assert table["worst_gap"].max() <= 1e-8
    rival = criteria.rivals((12,), 30).iloc[0]
    assert rival["rival_gap"] >= -1e-9 and rival["rival_rounded_gap"] >= -1e-9 and rival["rival_own_bound"] >= -1e-9
    frontier = criteria.frontiers(("wine_quality",)).iloc[0]
    assert 0 < frontier["missed_by_even_points"] < frontier["missed"] < 1
