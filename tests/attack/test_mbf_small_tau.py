"""MBF-PCA with small τ on random tables: the default loses nothing against thirty starts of another seed."""

import warnings

import numpy as np
import pytest

from fairpca import MBFPCA

pytestmark = pytest.mark.attack


def table(seed, i):
    """Return rows, groups, d and τ of a small table: mixtures, unequal scales, heavy tails or clusters."""
    rng = np.random.default_rng(seed * 1000 + i)
    n, p = int(rng.integers(40, 120)), int(rng.integers(3, 9))
    d = int(rng.integers(1, min(p, 4)))
    n_groups = 2 if rng.random() < 0.7 else 3
    codes = rng.integers(0, n_groups, n)
    codes[: 2 * n_groups] = np.tile(np.arange(n_groups), 2)
    kind = rng.choice(["mixture", "scale", "heavy", "cluster"])
    X = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-0.6, 0.6, p)
    if kind == "mixture":
        X += rng.standard_normal((n_groups, p))[codes] * rng.choice([0.3, 1, 3])
    elif kind == "scale":
        X *= (10.0 ** rng.uniform(-0.5, 0.5, (n_groups, p)))[codes]
    elif kind == "heavy":
        X = rng.standard_t(1.2, (n, p))
    else:
        X = (rng.standard_normal((4, p)) * 3)[rng.integers(0, 4, n)] + 0.3 * X
        X[codes == 1] += 0.5
    return X, codes, d, float(10.0 ** rng.uniform(-7, -2.5))


def points(X, codes, d, tau, **options):
    """Return the points of variance that are kept, or -inf where nothing fair enough was found."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MBFPCA(d, tau=tau, **options).fit(X, sensitive_features=codes)
    return 100 * model.explained_variance_ratio_.sum() if model.mmd2_ <= tau else -np.inf


def test_at_most_one_table_is_lost_by_a_tenth_of_a_point():
    lost = []
    for seed, count in ((5, 79), (77, 200)):
        for i in range(count):
            case = table(seed, i)
            default, thirty = points(*case, random_state=0), points(*case, random_state=12345, n_starts=30)
            if thirty > default + 0.1:
                lost.append((seed, i, default, thirty))
                print(f"lost: seed {seed} table {i}: {default:.3f} against {thirty:.3f}", flush=True)
    assert len(lost) <= 1, lost
