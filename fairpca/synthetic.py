"""The artificial data of the three papers, each reproducible from its ``random_state``.

A function says in its docstring what the paper fixes and what it leaves open. All return a :class:`Sample`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from fairpca._options import Protocol
from fairpca._validation import check_choice, check_number

__all__ = [
    "Sample",
    "lee_figure5",
    "lee_synthetic1",
    "lee_synthetic2",
    "samadi_figure2",
    "vu_radius",
    "vu_toy",
]

Stream = np.random.Generator | np.random.RandomState

# Gaussian groups of Vu et al. (2022), Figure 1 and Appendix D.2.1.
_VU_COVARIANCES = (np.array([[4.0, 0.0], [0.0, 0.2]]), np.array([[0.2, 0.4], [0.4, 3.0]]))

_BASE_FEATURES = 1000  # p_0 of Lee et al. (2022), Appendix H
_BLOCKS = {
    # Autoregressive coefficients of the five blocks: (group with mean zero, shifted group).
    "printed": ((0.99, 0.98, 0.97, 0.98, 0.95), (0.95, 0.98, 0.97, 0.98, 0.99)),
    "stated": ((0.99, 0.98, 0.97, 0.98, 0.95), (0.99, 0.98, 0.97, 0.98, 0.99)),
}


class Sample(NamedTuple):
    """Rows and the group, 0 or 1, of each.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Data.
    sensitive_features : ndarray of int of shape (n_samples,)
        Group of each row.
    """

    X: np.ndarray
    sensitive_features: np.ndarray


def _stream(random_state: Any, *, legacy: bool = False) -> Stream:
    if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        return random_state
    return np.random.RandomState(random_state) if legacy else np.random.default_rng(random_state)


def _join(first: np.ndarray, second: np.ndarray, labels: tuple[int, int] = (0, 1)) -> Sample:
    return Sample(np.vstack((first, second)), np.repeat(labels, (len(first), len(second))))


def lee_synthetic1(n_per_group: int = 5000, *, random_state: Any = None) -> Sample:
    """Draw synthetic data 1 of Lee et al. (2022): equal means and covariances, different distributions (Figure 1).

    Group 0 is N(0, 0.1 I + 11'), group 1 a balanced mixture of N(1, 0.1 I) and N(-1, 0.1 I), in three
    dimensions. The mixture is balanced exactly, half of the rows (rounded down) around -1, as in the authors'
    program.

    Parameters
    ----------
    n_per_group : int, default=5000
        Rows of each group: 5000 in the authors' program and in the file they publish, 150 in the paper's text.
        With 150 the constraint MMD² <= 1e-5 of the figure can have no solution.
    random_state : int, Generator, RandomState or None
        Source of randomness.

    Returns
    -------
    Sample
        Rows of group 1 first, as in the published file.
    """
    check_number("n_per_group", n_per_group, low=2, integer=True)
    rng = _stream(random_state)
    centres = np.where(np.arange(n_per_group) < n_per_group // 2, -1.0, 1.0)
    mixture = centres[:, None] + np.sqrt(0.1) * rng.standard_normal((n_per_group, 3))
    # 0.1 I + 11' is the covariance of independent noise plus one common factor.
    noise = np.sqrt(0.1) * rng.standard_normal((n_per_group, 3))
    gaussian = noise + rng.standard_normal((n_per_group, 1))
    return _join(mixture, gaussian, (1, 0))


def lee_synthetic2(
    n_features: int,
    n_per_group: int = 240,
    *,
    protocol: Protocol = "printed",
    random_state: Any = None,
) -> Sample:
    """Draw synthetic data 2 of Lee et al. (2022): Gaussian groups pushed through random matrices (Figures 2, 3).

    In 1000 dimensions the groups differ in mean by a vector of length 2 along the ones, and in covariance by a
    matrix of spectral norm 1; covariances have five autoregressive blocks with entries r^|i-j| / (1 - r²)
    (equation (36)). The rows are then multiplied by a matrix of standard normals.

    Parameters
    ----------
    n_features : int
        Columns after the multiplication: 20, 30, …, 100 in the paper.
    n_per_group : int, default=240
        Rows of each group: 240 in the text and the program, 250 in Appendix H.
    protocol : {"printed", "stated"}, default="printed"
        "printed", as the authors' program: each group gets a random matrix of its own, so that the groups live
        in unrelated feature maps; the blocks' coefficients are (.99, .98, .97, .98, .95) and the reverse; group 1
        is the one with mean zero. "stated", as Appendix H: one matrix for both; the second coefficients are
        (.99, .98, .97, .98, .99); group 0 has mean zero. Neither standardises the result: the program does not,
        and the text leaves it open.
    random_state : int, Generator, RandomState or None
        Source of randomness.

    Returns
    -------
    Sample
        The group with mean zero first.
    """
    check_choice("protocol", protocol, get_args(Protocol))
    check_number("n_features", n_features, low=1, integer=True)
    check_number("n_per_group", n_per_group, low=1, integer=True)
    rng = _stream(random_state)
    own, other = _BLOCKS[protocol]
    size = _BASE_FEATURES // 5
    norm = max(
        np.linalg.norm(_autoregressive(b, size) - _autoregressive(a, size), 2) for a, b in zip(own, other, strict=True)
    )
    shift = 2.0 / np.sqrt(_BASE_FEATURES)
    rows = [_autoregressive_rows(rng, n_per_group, r, size) / np.sqrt(norm) for r in (own, other)]
    maps = [rng.standard_normal((_BASE_FEATURES, n_features))]
    maps.append(rng.standard_normal((_BASE_FEATURES, n_features)) if protocol == "printed" else maps[0])
    labels = (1, 0) if protocol == "printed" else (0, 1)
    return _join(rows[0] @ maps[0], (rows[1] + shift) @ maps[1], labels)


def _autoregressive(r: float, size: int) -> np.ndarray:
    """Return the covariance of equation (36), r^|i-j| / (1 - r²)."""
    steps = np.arange(size)
    return r ** np.abs(np.subtract.outer(steps, steps)) / (1.0 - r * r)


def _autoregressive_rows(rng: Stream, n: int, coefficients: tuple[float, ...], size: int) -> np.ndarray:
    """Draw rows with independent stationary AR(1) blocks, whose covariance is equation (36)."""
    blocks = []
    for r in coefficients:
        block = rng.standard_normal((n, size))
        block[:, 0] /= np.sqrt(1.0 - r * r)
        for j in range(1, size):
            block[:, j] += r * block[:, j - 1]
        blocks.append(block)
    return np.hstack(blocks)


def vu_toy(n_samples: tuple[int, int] = (500, 200), *, random_state: Any = 10) -> Sample:
    """Draw the toy data of Figure 1 of Vu et al. (2022): two centred Gaussian groups in the plane.

    Group 0, the majority, has covariance diag(4, 0.2) and spreads along the horizontal axis; group 1 has
    [[0.2, 0.4], [0.4, 3]].

    Parameters
    ----------
    n_samples : tuple of int, default=(500, 200)
        Rows of the groups, as in the authors' program.
    random_state : int, Generator, RandomState or None, default=10
        An int seeds NumPy's legacy stream, so that the default is the very sample of the figure.

    Returns
    -------
    Sample
        Rows of group 0 first.
    """
    for n in n_samples:
        check_number("n_samples", n, low=1, integer=True)
    rng = _stream(random_state, legacy=True)
    major, minor = (rng.multivariate_normal(np.zeros(2), C, n) for C, n in zip(_VU_COVARIANCES, n_samples, strict=True))
    return _join(major, minor)


def vu_radius(part: Literal["train", "test"], *, random_state: Any = None) -> Sample:
    """Draw data of the radius simulation of Vu et al. (2022), Appendix D.2.1 (Figure 4).

    The distributions are those of :func:`vu_toy`. The test part has 8000 + 4000 rows and is drawn once, the
    training part has 200 + 100 rows and is drawn anew in each of the 100 simulations. No program was published,
    so the random stream is open.

    Parameters
    ----------
    part : {"train", "test"}
        Which sizes to draw.
    random_state : int, Generator, RandomState or None
        Source of randomness.

    Returns
    -------
    Sample
        Rows of group 0 first.
    """
    check_choice("part", part, ("train", "test"))
    return vu_toy((200, 100) if part == "train" else (8000, 4000), random_state=random_state)


def lee_figure5(n_per_group: int = 150, *, random_state: Any = 0) -> Sample:
    """Draw two ellipses that differ in orientation and position only (Figure 5 of Lee et al. 2022).

    The paper shows a drawing and gives no numbers. Here group 0 is Gaussian around (-2.2, 0) with standard
    deviations 1.4 and 0.4 along axes turned by 30 degrees, and group 1 is its mirror image in the vertical axis,
    row by row. Hence, exactly in the sample: both axes give the groups equal errors; the horizontal one has the
    smaller error; on the vertical one the projected groups coincide, so that their MMD is zero.

    Parameters
    ----------
    n_per_group : int, default=150
        Rows of each group.
    random_state : int, Generator, RandomState or None, default=0
        Source of randomness.

    Returns
    -------
    Sample
        Two columns; row i of group 1 is the mirror image of row i of group 0.
    """
    check_number("n_per_group", n_per_group, low=2, integer=True)
    cloud = _exact_cloud(_stream(random_state), n_per_group, (1.4, 0.4), np.deg2rad(30.0)) + [-2.2, 0.0]
    return _join(cloud, cloud * [-1.0, 1.0])


def samadi_figure2(panel: Literal["a", "b"], n_per_group: int = 150, *, random_state: Any = 0) -> Sample:
    """Draw the two settings of Figure 2 of Samadi et al. (2018), target dimension one.

    The paper shows drawings and gives no numbers. Sample moments are made exact, so that what the text says
    about the panels holds in the sample.

    Parameters
    ----------
    panel : {"a", "b"}
        "a": each group has a good direction of its own, at right angles, so that any common direction favours one
        or is bad for both (standard deviations 1.5 and 0.15, group 0 horizontal, group 1 vertical). "b": group 0
        is round (standard deviation 1), so that every direction is equally bad for it; group 1 lies exactly on the
        horizontal axis (standard deviation 1.5), so that it has a perfect direction.
    n_per_group : int, default=150
        Rows of each group.
    random_state : int, Generator, RandomState or None, default=0
        Source of randomness.

    Returns
    -------
    Sample
        Two columns, rows of group 0 first.
    """
    check_choice("panel", panel, ("a", "b"))
    check_number("n_per_group", n_per_group, low=4, integer=True)
    rng = _stream(random_state)
    if panel == "a":
        return _join(_exact_cloud(rng, n_per_group, (1.5, 0.15), 0.0), _exact_cloud(rng, n_per_group, (0.15, 1.5), 0.0))
    return _join(_exact_cloud(rng, n_per_group, (1.0, 1.0), 0.0), _exact_cloud(rng, n_per_group, (1.5, 0.0), 0.0))


def _exact_cloud(rng: Stream, n: int, deviations: tuple[float, float], angle: float) -> np.ndarray:
    """Draw Gaussian points and correct them so that mean and covariance are exactly the wanted ones."""
    raw = rng.standard_normal((n, 2))
    raw -= raw.mean(axis=0)
    white = np.linalg.qr(raw)[0] * np.sqrt(n)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return (white * np.asarray(deviations)) @ turn.T
