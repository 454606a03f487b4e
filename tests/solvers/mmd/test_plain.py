"""Without numba the same sums come from NumPy."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairpca.solvers.mmd import WeightedRows, _blocks, _compiled, _plain, kernel, kernel_products

NAMES = {
    _blocks: ["run_pairs"],
    kernel: ["slopes_of", "values_and_gradients", "weighted_coordinates"],
}


def with_loops(loops, function):
    with pytest.MonkeyPatch.context() as patch:
        for module, names in NAMES.items():
            for name in names:
                patch.setattr(module, name, getattr(loops, name))
        return function()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(4, 1500), st.integers(1, 6), st.integers(2, 4), st.floats(-2, 3))
def test_numpy_gives_what_compiled_code_gives(seed, n, d, n_groups, scale):
    rng = np.random.default_rng(seed)
    X, p = rng.standard_normal((n, d + 2)) * 10.0**scale, d + 2
    codes = np.append(np.arange(n_groups), rng.integers(0, n_groups, n - n_groups))
    term = WeightedRows.from_groups(X, codes, n_groups)
    V = np.linalg.qr(rng.standard_normal((3, p, d)))[0]
    sigma, W = float(rng.uniform(0.5, 3.0)), rng.standard_normal((2, n))

    def results():
        yield np.array(term.value_and_gradient(V[0], sigma)[0])
        yield term.value_and_gradient(V[0], sigma)[1]
        yield kernel_products(X @ V[0], W, sigma)
        if len(term.X) <= 1024:
            yield from term.values_and_gradients(V, sigma)

    compiled, plain = (with_loops(loops, lambda: list(results())) for loops in (_compiled, _plain))
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * max(1.0, float(np.abs(X).max())))


WITHOUT = """
import sys, warnings
import numpy as np
if {hidden}:
    import importlib.util as util
    find = util.find_spec
    util.find_spec = lambda name, *more: None if name == "numba" else find(name, *more)
    sys.modules["numba"] = None
from fairpca import MBFPCA, RFPCA
rng = np.random.default_rng(0)
X, groups = rng.standard_normal((80, 5)) * [3, 2, 1.5, 1, 1], np.arange(80) % 2
X[groups == 1] += 0.4
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    fair = MBFPCA(2, tau=0.05, random_state=0).fit(X, sensitive_features=groups)
    robust = RFPCA(2, solver="subgradient", random_state=0).fit(X, sensitive_features=groups)
print(sum("fairpca[fast]" in str(w.message) for w in said), *fair.explained_variance_, *robust.explained_variance_)
"""


def test_estimators_work_without_numba_and_say_so_once():
    found = []
    for hidden in (False, True):
        run = subprocess.run(
            [sys.executable, "-c", WITHOUT.format(hidden=hidden)], capture_output=True, text=True, check=True
        )
        said, *values = run.stdout.split()
        assert int(said) == hidden
        found.append(np.array(values, dtype=float))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
