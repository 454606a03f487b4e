"""Algorithm 1 in V against the paper's U form, the compiled loop against the batched one, and its bookkeeping."""

import numpy as np
import pytest
from bench_rfpca import algorithm_1_in_u
from hypothesis import given
from hypothesis import strategies as st
from rfpca_cases import KINDS, random_instance

from fairpca.linalg import subspace_distance
from fairpca.solvers.rfpca import (
    GroupObjective,
    pca_start,
    random_starts,
    reconstruction_errors,
    solve_rfpca,
    solve_rfpca_subgradient,
)
from fairpca.solvers.rfpca import subgradient as rfpca_subgradient


def wishart(rng, m, p):
    X = [rng.standard_normal((3 * p, p)) * rng.uniform(0.5, 1.5, p) for _ in range(m)]
    return np.array([Y.T @ Y / len(Y) for Y in X])


@pytest.mark.parametrize("p, k", [(4, 1), (7, 3), (12, 5), (70, 3)])
@pytest.mark.parametrize("retraction", ["qr", "polar"])
def test_u_form_and_v_form_visit_complementary_subspaces(p, k, retraction):
    rng = np.random.default_rng(p + k)
    moments, shares, eps = wishart(rng, 2, p), np.array([0.7, 0.3]), np.array([0.02, 0.05])
    V0 = random_starts(p, k, 1, 3)
    U0 = np.linalg.qr(V0[0], mode="complete")[0][:, k:]
    for lam in (0.0, 0.2, 1.5):
        # The same step size for both; before chattering sets in, where rounding is amplified.
        U = algorithm_1_in_u(moments, shares, lam, eps, U0, 2000, 60)
        run = solve_rfpca_subgradient(
            moments,
            shares,
            k,
            lam,
            eps,
            variant="printed",
            starts=V0,
            max_iter=60,
            step=1 / np.sqrt(2001),
            retraction=retraction,
        )
        complement = np.linalg.qr(U, mode="complete")[0][:, p - k :]
        assert subspace_distance(run.V, complement) < 1e-8
        np.testing.assert_allclose(run.V.T @ run.V, np.eye(k), atol=1e-12)


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("form", ["corrected", "printed"])
@pytest.mark.parametrize("retraction", ["qr", "polar"])
def test_compiled_and_batched_steps_agree(m, form, retraction, monkeypatch):
    rng = np.random.default_rng(m)
    moments, shares = wishart(rng, m, 9), rng.dirichlet(np.full(m, 4.0))
    options = {"variant": form, "retraction": retraction, "n_starts": 4, "max_iter": 40, "random_state": 1}
    args = moments, shares, 3, 0.8, np.full(m, 0.1)
    compiled = solve_rfpca_subgradient(*args, **options)
    monkeypatch.setattr(rfpca_subgradient, "_COMPILED_UP_TO", 0)
    batched = solve_rfpca_subgradient(*args, **options)
    for name in ("objective", "subgradient_norm"):
        np.testing.assert_allclose(compiled.history[name], batched.history[name], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(compiled.history["active"], batched.history["active"])
    assert batched.history["active"].shape == batched.history["objective"].shape
    assert subspace_distance(compiled.V, batched.V) < 1e-8
    assert compiled.extra["start"] == batched.extra["start"]


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS), form=st.sampled_from(["corrected", "printed"]))
def test_never_below_the_exact_optimum(seed, kind, form):
    rng = np.random.default_rng(seed)
    moments, shares, lam, eps = random_instance(rng, 6, kind)
    local = solve_rfpca_subgradient(
        moments, shares, 2, lam, eps, variant=form, n_starts=4, max_iter=150, keep="best", random_state=seed
    )
    exact = solve_rfpca(moments, shares, 2, lam, eps, variant=form)
    scale = max(local.objective, 1e-12 * np.trace(moments.sum(axis=0)))
    assert exact.objective <= local.objective + 1e-8 * scale


def test_the_first_step_follows_the_gradient_by_finite_differences():
    rng = np.random.default_rng(0)
    moments, shares, eps = wishart(rng, 3, 6), np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.0])
    V = random_starts(6, 2, 1, 0)[0]
    run = solve_rfpca_subgradient(moments, shares, 2, 0.7, eps, starts=V[None], max_iter=1, step=1e-7)
    objective = GroupObjective(shares, 0.7, eps)
    assert run.history["objective"][0, 0] == pytest.approx(objective.values(reconstruction_errors(moments, V)).max())
    # The largest decrease over tangent directions of unit length is the norm of the Riemannian gradient.
    drop = (run.history["objective"][0, 0] - run.history["objective"][0, 1]) / 1e-7
    assert drop == pytest.approx(run.history["subgradient_norm"][0, 0] ** 2, rel=1e-4)


def test_random_starts_consume_the_stream_as_the_published_code_does():
    stream, reference = np.random.RandomState(5), np.random.RandomState(5)
    for p, k in ((6, 2), (5, 3), (130, 4)):  # consecutive fits of different size on one stream; both ways to complement
        for V in random_starts(p, k, 3, stream):
            X = reference.randn(p, p - k)
            assert np.abs(V.T @ X).max() < 1e-8
            np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
    assert stream.randn() == reference.randn()
    assert np.array_equal(random_starts(6, 2, 3, 1), random_starts(6, 2, 3, 1))


def test_starts_history_and_the_kept_iterate():
    rng = np.random.default_rng(2)
    moments, shares, eps = wishart(rng, 2, 8), np.array([0.5, 0.5]), np.array([0.05, 0.02])
    last = solve_rfpca_subgradient(moments, shares, 3, 1.5, eps, n_starts=6, max_iter=80, random_state=0)
    best = solve_rfpca_subgradient(moments, shares, 3, 1.5, eps, n_starts=6, max_iter=80, random_state=0, keep="best")
    values = last.history["objective"]
    assert values.shape == last.history["active"].shape == (6, 81)
    assert last.history["subgradient_norm"].shape == (6, 80)
    assert last.objective == pytest.approx(values[:, -1].min(), rel=1e-12)
    assert best.objective == pytest.approx(values.min(), rel=1e-12)
    assert best.objective < last.objective  # J_0 = J_1 binds here, so the last iterates chatter
    start = pca_start(moments, shares, 3)
    objective = GroupObjective(shares, 1.5, eps)
    assert values[0, 0] == pytest.approx(objective.values(reconstruction_errors(moments, start)).max())
    assert np.isnan(last.gap) and last.status in ("converged", "max_iter")
    short = solve_rfpca_subgradient(moments, shares, 3, 0.1, eps, n_starts=1, max_iter=10, step=1e-4)
    assert short.status == "max_iter"


@pytest.mark.parametrize("retraction", ["qr", "polar"])
@pytest.mark.parametrize("p", [8, 64])
def test_orthonormality_survives_badly_scaled_data(retraction, p):
    rng = np.random.default_rng(1)
    moments = wishart(rng, 2, p) * 1e8
    run = solve_rfpca_subgradient(
        moments, np.array([0.4, 0.6]), 3, 0.5, np.full(2, 0.1), n_starts=2, max_iter=100, retraction=retraction
    )
    np.testing.assert_allclose(run.V.T @ run.V, np.eye(3), atol=1e-12)
    assert np.all(np.isfinite(run.history["objective"]))


def test_two_groups_of_low_rank_where_an_error_can_vanish():
    moments = np.array([np.diag([1.0, 0.0, 0.0, 0.0]), np.diag([0.0, 1.0, 0.5, 0.2])])
    run = solve_rfpca_subgradient(
        moments, np.array([0.5, 0.5]), 1, 0.4, np.array([0.3, 0.0]), n_starts=4, random_state=0
    )
    assert np.isfinite(run.objective) and np.all(np.isfinite(run.V))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"retraction": "exp"}, "retraction='exp' is not known"),
        ({"keep": "first"}, "keep='first' is not known"),
        ({"starts": np.zeros((2, 3, 1))}, "starts has shape"),
    ],
)
def test_bad_options_are_explained(options, message):
    moments = np.stack([np.eye(4), np.eye(4)])
    with pytest.raises(ValueError, match=message):
        solve_rfpca_subgradient(moments, np.array([0.5, 0.5]), 2, 0.1, np.zeros(2), **options)
