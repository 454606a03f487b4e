"""The pencil's eigenpairs against full decompositions, over spectra chosen to be difficult."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairpca.linalg import subspace_distance, symmetrise
from fairpca.solvers.spectral import Pencil, StreamedPencil, mix_to_zero, split_ties
from fairpca.solvers.spectral._proof import reduced_sum_bound

P = 180


def wishart(rng, p, decay=0.8):
    Q, _ = np.linalg.qr(rng.standard_normal((p, p)))
    return (Q * (10 * decay ** np.arange(p) + 0.01 * rng.random(p))) @ Q.T


def spectra(name, rng):
    if name == "decaying":
        return np.stack([wishart(rng, P) for _ in range(2)])
    if name == "flat":
        A = rng.standard_normal((2, P, 2 * P))
        return A @ A.transpose(0, 2, 1) / (2 * P)
    if name == "integer_diagonal":
        return np.stack([np.diag(rng.integers(0, 6, P).astype(float)) for _ in range(2)])
    if name == "identity":
        return np.stack([np.eye(P), 2 * np.eye(P)])
    if name == "low_rank":
        A = rng.standard_normal((2, P, 3))
        return A @ A.transpose(0, 2, 1)
    if name == "proportional":
        A = wishart(rng, P)
        return np.stack([A, 3 * A])
    if name == "huge_leader":
        return np.stack(
            [wishart(rng, P) + 1e6 * np.outer(v, v) for v in np.linalg.qr(rng.standard_normal((P, 2)))[0].T]
        )
    return np.zeros((2, P, P))


NAMES = ["decaying", "flat", "integer_diagonal", "identity", "low_rank", "proportional", "huge_leader", "zero"]


@pytest.mark.parametrize("weights", [(0.5, 0.5), (1.0, 0.0), (2.5, -1.5)])
@pytest.mark.parametrize("name", NAMES)
def test_large_pencil_equals_full_decomposition(name, weights):
    rng = np.random.default_rng(NAMES.index(name))
    M = spectra(name, rng)
    before = M.copy()
    k = 5
    pencil = Pencil(M)
    w, V = pencil.top(weights, k)
    combined = weights[0] * M[0] + weights[1] * M[1]
    reference = np.linalg.eigvalsh(combined)[::-1]
    norm = np.abs(reference).max()
    np.testing.assert_allclose(w, reference[:k], atol=1e-9 * max(norm, 1e-30))
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
    R = combined @ V - V @ (V.T @ combined @ V)
    assert np.linalg.norm(R, 2) <= 1e-8 * np.sqrt(k) * norm
    np.testing.assert_array_equal(M, before)


def test_shared_basis_serves_other_weights():
    rng = np.random.default_rng(1)
    M = spectra("decaying", rng)
    pencil = Pencil(M)
    pencil.refine([(1.0, 0.0), (0.0, 1.0)], 6)
    products, solves = pencil.n_products, pencil.n_large
    assert not pencil.refine([(1.0, 0.0)], 4)
    assert (pencil.n_products, pencil.n_large) == (products, solves)
    for t in (0.3, 0.7):
        w, V = pencil.top((t, 1 - t), 6)
        _, U = np.linalg.eigh(t * M[0] + (1 - t) * M[1])
        assert subspace_distance(V, U[:, -6:]) < 1e-6
    assert pencil.n_large == solves + 2
    assert pencil.n_products < 2 * products


def test_working_coordinates_are_projections():
    rng = np.random.default_rng(2)
    M = spectra("flat", rng)
    pencil = Pencil(M)
    pencil.refine([(0.5, 0.5)], 3)
    Q = pencil.basis
    np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-12)
    np.testing.assert_allclose(pencil.small, Q.T @ M @ Q, atol=1e-11)
    np.testing.assert_allclose(pencil.combine((2.0, -3.0)), Q.T @ (2 * M[0] - 3 * M[1]) @ Q, atol=1e-10)
    Y = pencil.spectrum((0.5, 0.5)).vectors[:, :3]
    V = pencil.lift(Y)
    np.testing.assert_allclose(pencil.gradient(Y), [np.trace(V.T @ A @ V) for A in M])
    np.testing.assert_allclose(pencil.traces, [np.trace(A) for A in M])


@pytest.mark.parametrize("name", ["flat", "decaying", "integer_diagonal"])
def test_compressed_basis_still_converges(name):
    M = spectra(name, np.random.default_rng(3))
    pencil = Pencil(M, max_basis=40)
    for t in (0.2, 0.5, 0.8):
        w, _ = pencil.top((t, 1 - t), 4)
        np.testing.assert_allclose(w, np.linalg.eigvalsh(t * M[0] + (1 - t) * M[1])[::-1][:4], atol=1e-9)
        assert pencil.basis.shape[1] <= 40
    np.testing.assert_allclose(pencil.basis.T @ pencil.basis, np.eye(pencil.basis.shape[1]), atol=1e-11)
    np.testing.assert_allclose(pencil.small, pencil.basis.T @ M @ pencil.basis, atol=1e-9)


@given(st.integers(1, 12), st.integers(0, 10_000), st.floats(-3, 3))
def test_forced_iteration_on_small_matrices(k, seed, t):
    rng = np.random.default_rng(seed)
    M = np.stack([np.diag(rng.integers(-2, 4, 12).astype(float)), np.diag(rng.integers(0, 3, 12).astype(float))])
    combined = t * M[0] + (1 - t) * M[1]
    expected = np.sort(np.diagonal(combined))[::-1][:k]
    for limit in (0, 150):
        w, V = Pencil(M, dense_limit=limit).top((t, 1 - t), k)
        np.testing.assert_allclose(w, expected, atol=1e-9)
        np.testing.assert_allclose(np.trace(V.T @ combined @ V), expected.sum(), atol=1e-8)


def test_wrong_shapes_and_ranges():
    with pytest.raises(ValueError, match="must be \\(n_matrices"):
        Pencil(np.eye(3))
    with pytest.raises(ValueError, match="between 1 and 3"):
        Pencil(np.eye(3)[None]).refine([(1.0,)], 4)


def test_ties_are_found():
    values = np.array([5.0, 3.0, 3.0 - 1e-12, 3.0 - 2e-12, 1.0])
    assert split_ties(values, 1, 1e-9) == (0, 1)
    assert split_ties(values, 2, 1e-9) == (1, 4)
    assert split_ties(values, 4, 1e-9) == (1, 4)
    assert split_ties(values, 2, 0.0) == (1, 2)


def test_mixing_stays_among_the_maximisers():
    A, B = np.diag([3.0, 2.0, 2.0, 2.0, 1.0]), np.diag([0.0, 1.0, 0.3, -1.0, 5.0])
    E = np.eye(5)

    def balance(V):
        return float(np.trace(V.T @ B @ V)) - 0.1

    V = mix_to_zero(E[:, [0, 1]], E[:, [0, 3]], balance)
    assert abs(balance(V)) < 1e-12
    np.testing.assert_allclose(np.trace(V.T @ A @ V), 5.0, atol=1e-12)
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-14)
    with pytest.raises(ValueError, match="one sign at both ends"):
        mix_to_zero(E[:, [0, 1]], E[:, [0, 2]], balance)


def test_mixing_ends_where_the_balance_is_rounding():
    """Between planes a hair apart the balance has few digits: next to zero it is flat, then jumps to the other side."""
    angle = 1e-5

    def balance(V):
        return round((4.07e-3 - float(V[1, 0]) / angle) * 1e12) / 1e12 + 1e-18

    V0, V1 = np.array([[1.0], [0.0]]), np.array([[np.cos(angle)], [np.sin(angle)]])
    V = mix_to_zero(V0, V1, balance)
    assert abs(balance(V)) <= 2e-12


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-8])
@pytest.mark.parametrize("decay", [0.9, 0.99, 1.0])
def test_the_bound_of_a_sum_holds_for_rough_bases_and_is_tight_for_good_ones(tol, decay):
    rng = np.random.default_rng(4)
    p, d = 180, 5
    A = rng.standard_normal((3, p, p)) * decay ** np.arange(p)
    M = A @ A.transpose(0, 2, 1) / p
    for weights in (np.array([0.2, 0.5, 0.3]), np.array([0.0, 1.0, 0.0])):
        pencil = Pencil(M, tol=min(tol, 1e-8), random_state=1)
        pencil.refine([weights], d, tol=tol)
        true = np.linalg.eigvalsh(np.tensordot(weights, M, 1))[-d:].sum()
        bound = pencil.top_sum_bound(weights, d)
        assert bound >= true * (1 - 1e-14)
        if tol == 1e-8:
            assert bound <= true * (1 + 1e-11)


@pytest.mark.parametrize("d", [1, 3])
def test_the_bound_of_a_sum_pays_for_what_rounding_may_hide(d):
    """Squared residuals that are smaller than their rounding cannot be seen; each of the d may be as large as that."""
    w = np.array([0.1, 0.3, 0.5, 2.0, 3.0, 5.0])
    A, spill, Y = np.diag(w), np.zeros((6, 6)), np.eye(6)
    none, some = (reduced_sum_bound(A, spill, d, w, Y, 0.05, rounding) for rounding in (0.0, 1e-6))
    assert none == pytest.approx(w[-d:].sum(), abs=1e-12)
    # One coupling of that size to an eigenvalue just below `theta` moves the sum by its square over their distance.
    farthest = w[-d] - w[-d - 1]
    assert some - none >= d * 1e-6 * w[-1] ** 2 / farthest
    assert some - none <= 2 * d * 1e-6 * w[-1] ** 2 / farthest


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_of_a_sum_is_not_loosened_by_rounding_of_squares(seed):
    """Vectors exact to rounding beside a small gap: what is added to the sum is their residual, not its rounding."""
    rng = np.random.default_rng(seed)
    q, d, gap = 40, 8, 1e-4
    w = np.concatenate((np.linspace(0.1, 1.0, q - d), 1.0 + gap + np.arange(d) * 2.0))
    Q = np.linalg.qr(rng.standard_normal((q, q)))[0]
    A = symmetrise((Q * w) @ Q.T)
    values, Y = np.linalg.eigh(A)
    bound = reduced_sum_bound(A, np.zeros((q, q)), d, values, Y, 0.05, 0.0)
    assert bound == pytest.approx(w[-d:].sum(), rel=2e-14, abs=0)


def test_eigenpairs_from_products_are_accurate_where_no_tolerance_is_asked_for():
    """Residuals of at most a millionth of the norm, by the whole matrices; the spectrum falls slowly."""
    rng = np.random.default_rng(6)
    Q = np.linalg.qr(rng.standard_normal((P, P)))[0]
    M = np.stack([np.diag(0.97 ** np.arange(P)), (Q * 0.95 ** np.arange(P)) @ Q.T])
    streamed = StreamedPencil(lambda X: M @ X, np.trace(M, axis1=1, axis2=2), P)
    for t in (0.2, 0.7):
        w, V = streamed.top((t, 1 - t), 4)
        combined = t * M[0] + (1 - t) * M[1]
        norm = np.linalg.norm(combined, 2)
        assert np.linalg.norm(combined @ V - V * w, axis=0).max() <= 2e-6 * norm
        np.testing.assert_allclose(w, np.linalg.eigvalsh(combined)[::-1][:4], atol=1e-10 * norm)
