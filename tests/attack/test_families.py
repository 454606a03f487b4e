"""Random and hostile problems for every solver, each checked against something independent.

``pytest -m attack`` draws new problems, a thousand of each family unless ATTACK_EXAMPLES says otherwise. Hypothesis
prints how to repeat what it finds; add it to the cases below when it is fixed.
"""

from __future__ import annotations

import os
import warnings
import zlib

import families_linear
import families_minmax
import families_mmd
import families_robust
import families_shapes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MODULES = (families_linear, families_minmax, families_robust, families_mmd, families_shapes)
FAMILIES = {name: family for module in MODULES for name, family in module.FAMILIES.items()}
EXAMPLES = int(os.environ.get("ATTACK_EXAMPLES", "1000"))


def wrong(name: str, seed: int, number: int) -> list[str]:
    """Draw one problem and return what does not hold; warnings about numbers are errors."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        return [f"{one.what}: {one.gap:.3g}, allowed {one.allowed:.3g}" for one in FAMILIES[name](rng) if one.wrong]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_few_problems(name: str) -> None:
    assert not [found for number in range(3) for found in wrong(name, 0, number)]


@pytest.mark.attack
@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=EXAMPLES, derandomize=False, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1))
def test_many_problems(name: str, seed: int) -> None:
    assert not wrong(name, seed, 0)


@pytest.mark.parametrize(
    ("name", "seed", "number"),
    [
        ("MBFPCA, in the plane", 101, 17),
        ("MeanFairPCA", 101, 78),
        ("LinearEraser", 101, 88),
        ("min-max, multiplicative weights", 22001, 57),  # a group without variance
        ("min-max, multiplicative weights", 22001, 1787),  # a trace above d by the tolerance of a linear programme
        ("degenerate data", 22001, 376),  # nested, Nash welfare, nothing varies
        ("degenerate data", 22002, 2),  # distances of 1e11 bandwidths
        ("degenerate data", 22001, 1743),
        ("min-max, multiplicative weights", 51002, 324),  # HiGHS does not solve a linear programme
        ("min-max, multiplicative weights", 51002, 4451),
        ("min-max against CVXPY", 51002, 2076),  # a group without directions decides
        ("min-max, three to twelve groups", 71002, 1012),  # a large group of which only a small plane matters
        ("min-max, two groups", 51001, 994),  # three eigenvalues that nearly cross
    ],
)
def test_what_was_wrong_once_is_right(name: str, seed: int, number: int) -> None:
    assert not wrong(name, seed, number)


def test_a_wrong_answer_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each family compares: an answer that is off by a thousandth does not pass."""
    from fairpca import PCA

    fit = PCA.fit

    def off(self: PCA, *arguments: object, **options: object) -> PCA:
        model = fit(self, *arguments, **options)
        model.explained_variance_ = 1.001 * model.explained_variance_
        return model

    monkeypatch.setattr(PCA, "fit", off)
    assert wrong("PCA", 0, 0)
