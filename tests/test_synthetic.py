"""Generators: sizes, moments, and what the papers say about their pictures."""

import numpy as np
import pytest

from fairpca import metrics, synthetic
from fairpca.linalg import top_eigenpairs


def parts(sample):
    return [sample.X[sample.sensitive_features == g] for g in (0, 1)]


def direction(angle):
    return np.array([[np.cos(angle)], [np.sin(angle)]])


def within(estimate, expected, n, spread):
    np.testing.assert_array_less(np.abs(estimate - expected), 5 * spread / np.sqrt(n))


def test_synthetic1_groups_share_two_moments_but_not_the_shape():
    gaussian, mixture = parts(synthetic.lee_synthetic1(20_000, random_state=0))
    C = 0.1 * np.eye(3) + 1
    for group in (gaussian, mixture):
        within(group.mean(0), 0, 20_000, 1.1)
        within(np.cov(group.T), C, 20_000, 1.6)
    # Along the ones, over sqrt 3: the Gaussian is dense in the middle, the mixture is empty there.
    assert np.mean(np.abs(gaussian.mean(1)) < 0.3) > 0.2
    assert np.mean(np.abs(mixture.mean(1)) < 0.3) < 0.01
    sample = synthetic.lee_synthetic1(random_state=0)
    assert sample.X.shape == (10_000, 3) and sample.sensitive_features[0] == 1


def autoregressive(coefficients, size=200):
    C = np.zeros((5 * size, 5 * size))
    for b, r in enumerate(coefficients):
        for i in range(size):
            for j in range(size):
                C[b * size + i, b * size + j] = r ** abs(i - j) / (1 - r**2)
    return C


@pytest.mark.parametrize("protocol", ["printed", "stated"])
def test_synthetic2_has_the_written_moments(protocol):
    """With many columns X X' / p averages the random map away: E[x'y / p] = <x0, y0> for a shared map, else 0."""
    first, second = (
        (0.99, 0.98, 0.97, 0.98, 0.95),
        ((0.95, 0.98, 0.97, 0.98, 0.99) if protocol == "printed" else (0.99, 0.98, 0.97, 0.98, 0.99)),
    )
    A, B = autoregressive(first), autoregressive(second)
    norm = np.linalg.norm(B - A, 2)
    sample = synthetic.lee_synthetic2(4000, 400, protocol=protocol, random_state=0)
    zero_mean, shifted = (0, 1) if protocol == "stated" else (1, 0)
    groups = parts(sample)
    for group, C in ((groups[zero_mean], A), (groups[shifted], B)):
        total = np.sum(np.var(group, axis=0)) / 4000
        spread = np.sqrt(2 * np.sum(C * C)) / norm
        assert abs(total - np.trace(C) / norm) < 5 * spread / np.sqrt(400) + 0.05 * np.trace(C) / norm
    means = [g.mean(0) for g in groups]
    noise = (np.trace(A) + np.trace(B)) / norm / 400
    gap = np.sum((means[1] - means[0]) ** 2) / 4000
    # A shared map leaves the distance 2 between the means; separate maps add nothing that is shared either.
    assert gap == pytest.approx(4 + noise, rel=0.6)
    rows = groups[zero_mean][:50] @ groups[shifted][:50].T / 4000
    correlated = np.std(rows)
    inner = np.sqrt(np.sum(A * B)) / norm
    if protocol == "stated":
        assert correlated == pytest.approx(inner, rel=0.5)  # rows keep their inner products
    else:
        assert correlated < 0.5 * inner  # unrelated maps destroy them


def test_synthetic2_scale_agrees_with_the_published_files():
    """The authors' file for p = 20 has traces 97.8 (mean-zero group) and 82.9 of the groups' covariances."""
    traces = np.array(
        [
            [np.trace(np.cov(group.T)) for group in parts(synthetic.lee_synthetic2(20, random_state=seed))]
            for seed in range(20)
        ]
    )
    for g, published in ((0, 82.9), (1, 97.8)):
        assert abs(published - traces[:, g].mean()) < 3 * traces[:, g].std()
        assert traces[:, g].std() < 0.2 * published  # otherwise the line above says nothing
    sample = synthetic.lee_synthetic2(20, random_state=0)
    assert [len(group) for group in parts(sample)] == [240, 240] and sample.sensitive_features[0] == 1


def test_vu_toy_is_the_legacy_stream_of_the_figure():
    rng = np.random.RandomState(10)
    A = rng.multivariate_normal([0, 0], [[4, 0], [0, 0.2]], 500)
    B = rng.multivariate_normal([0, 0], [[0.2, 0.4], [0.4, 3]], 200)
    sample = synthetic.vu_toy()
    np.testing.assert_array_equal(sample.X, np.vstack((A, B)))
    np.testing.assert_array_equal(np.bincount(sample.sensitive_features), [500, 200])


def test_vu_radius_sizes():
    assert [len(p) for p in parts(synthetic.vu_radius("train", random_state=1))] == [200, 100]
    majority, minority = parts(synthetic.vu_radius("test", random_state=1))
    assert (len(majority), len(minority)) == (8000, 4000)
    within(np.cov(majority.T), np.diag([4, 0.2]), 8000, 6)
    within(np.cov(minority.T), [[0.2, 0.4], [0.4, 3]], 4000, 5)
    with pytest.raises(ValueError, match="choose one of 'train', 'test'"):
        synthetic.vu_radius("validation")


def test_lee_figure5_says_what_the_text_says():
    sample = synthetic.lee_figure5()
    blue, red = direction(0.0), direction(np.pi / 2)
    for axis in (blue, red):  # both are fair in reconstruction error
        errors = metrics.reconstruction_errors(*_swap(sample, axis))
        assert errors[0] == pytest.approx(errors[1], rel=1e-12)
    assert metrics.average_reconstruction_error(sample.X, blue) < metrics.average_reconstruction_error(sample.X, red)
    # On the red axis the groups cannot be told apart; on the blue one they can.
    assert metrics.mmd_squared(sample.X @ red, sample.sensitive_features, 1.0) < 1e-14
    assert metrics.mmd_squared(sample.X @ blue, sample.sensitive_features, 1.0) > 0.5
    # No other direction does both; blue is the best of the directions with equal errors.
    for angle in np.linspace(0, np.pi, 37)[1:-1]:
        if abs(angle - np.pi / 2) > 0.05:
            gap = metrics.ab_difference(metrics.reconstruction_errors(*_swap(sample, direction(angle))))
            assert gap > 1e-3


def _swap(sample, V):
    return sample.X, V, sample.sensitive_features


def test_samadi_figure2_panel_a_is_a_trade_off():
    sample = synthetic.samadi_figure2("a")
    for angle in np.linspace(0, np.pi, 37):
        errors = metrics.reconstruction_errors(*_swap(sample, direction(angle)))
        assert errors.sum() == pytest.approx(1.5**2 + 0.15**2)  # what one gains the other loses
    for group in parts(sample):
        w, _ = top_eigenpairs(np.cov(group.T, bias=True), 2)
        assert w[1] / w.sum() < 0.01  # each has a faithful direction of its own


def test_samadi_figure2_panel_b_has_one_perfect_and_one_hopeless_group():
    sample = synthetic.samadi_figure2("b")
    for angle in np.linspace(0, np.pi, 19):
        V = direction(angle)
        errors = metrics.reconstruction_errors(*_swap(sample, V))
        losses = metrics.reconstruction_losses(*_swap(sample, V))
        assert errors[0] == pytest.approx(1.0, rel=1e-12)
        assert losses[0] == pytest.approx(0.0, abs=1e-12)
        assert errors[1] == pytest.approx(1.5**2 * np.sin(angle) ** 2, abs=1e-12)
    with pytest.raises(ValueError, match="choose one of 'a', 'b'"):
        synthetic.samadi_figure2("c")


@pytest.mark.parametrize(
    "draw",
    [
        lambda r: synthetic.lee_synthetic1(50, random_state=r),
        lambda r: synthetic.lee_synthetic2(20, 30, random_state=r),
        lambda r: synthetic.vu_toy(random_state=r),
        lambda r: synthetic.vu_radius("train", random_state=r),
        lambda r: synthetic.lee_figure5(random_state=r),
        lambda r: synthetic.samadi_figure2("a", random_state=r),
    ],
)
def test_random_state(draw):
    np.testing.assert_array_equal(draw(3).X, draw(3).X)
    assert np.any(draw(3).X != draw(4).X)
    stream = np.random.default_rng(0)
    assert np.any(draw(stream).X != draw(stream).X)
