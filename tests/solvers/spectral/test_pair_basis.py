"""Large solves of the shared basis: how often they look whether they are done."""

import numpy as np
import pytest

from fairpca.solvers.spectral import PairBasis, pair_basis


@pytest.mark.parametrize("d", [1, 2])
def test_a_solve_of_many_steps_looks_at_its_eigenpairs_a_few_times(d, monkeypatch):
    """About forty products; the speed of convergence seen so far tells when to look again."""
    looks = []

    def counted(A, k, top=pair_basis.top_eigenpairs):
        looks.append(len(A))
        return top(A, k)

    monkeypatch.setattr(pair_basis, "top_eigenpairs", counted)
    spectrum = np.concatenate((np.full(d, 1.01), np.linspace(1, 0, 700 - d)))
    for seed in range(3):
        basis = PairBasis(np.stack([np.diag(spectrum)] * 2), seed)
        basis.solve(0.5, d, 1e-7)
        values, vectors = basis.pairs(0.5, d)
        V = basis.lift(vectors)[:, -d:]
        assert np.linalg.norm(spectrum[:, None] * V - V * values[-d:]) < 1e-6
    assert max(looks) > 300
    assert len(looks) <= 5 * 3
