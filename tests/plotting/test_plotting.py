"""Pictures are checked by what is in them: labels, data, markers, limits."""

import builtins

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_hex, to_rgb

from fairpca import plotting, synthetic
from fairpca.plotting import _points


@pytest.fixture(autouse=True)
def close_figures():
    with plt.rc_context():
        yield
    plt.close("all")


def legend_texts(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def luminance(color):
    channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return float(np.dot((0.2126, 0.7152, 0.0722), channels))


def deficient(color, kind):
    """Simulate colour blindness (Vienot, Brettel & Mollon 1999) in linear RGB."""
    matrix = {
        "protan": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
        "deutan": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
    }[kind]
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.array(matrix) @ linear


def test_groups_differ_by_color_marker_and_line_also_for_the_colour_blind():
    looks = [plotting.group_style(i) for i in range(8)]
    assert (
        len({s.color for s in looks}) == len({s.marker for s in looks}) == len({str(s.linestyle) for s in looks}) == 8
    )
    assert len({(s.color, s.marker) for s in map(plotting.group_style, range(40))}) == 40
    for kind in ("protan", "deutan"):
        for i in range(4):
            for j in range(i):
                apart = np.abs(deficient(looks[i].color, kind) - deficient(looks[j].color, kind)).max()
                assert apart > 0.1, (kind, i, j)


def test_a_method_has_one_look_and_never_that_of_a_group():
    looks = plotting.METHOD_STYLE
    for part in ("color", "marker", "linestyle"):
        assert len({str(getattr(look, part)) for look in looks.values()}) == len(looks)
    assert not {look.color for look in looks.values()} & set(plotting.PALETTE)
    shown = [look.color for look in looks.values()] + list(plotting.PALETTE[:2])
    for kind in ("protan", "deutan"):
        for i, color in enumerate(shown):
            for other in shown[:i]:
                assert np.abs(deficient(color, kind) - deficient(other, kind)).max() > 0.1, (kind, color, other)
    names = {
        "MBF-PCA, our solver": "mbfpca", "RFPCA": "rfpca", "CFPCA-Mean": "fpca", "FPCA": "fpca", "FairPCA": "minmax",
        "minmax_loss": "minmax", "mean_orthogonal": "mean", "MeanFairPCA": "mean", "LinearEraser": "eraser",
        "PCA": "pca",
    }  # fmt: skip
    for name, method in names.items():
        assert plotting.method_style(name, 5) == looks[method], name
    assert plotting.method_style("delta = 0.1", 3) == plotting.group_style(3)


def test_style_is_opaque_white_and_sized_for_the_book():
    plotting.use_style()
    fig, ax = plt.subplots()
    assert to_hex(fig.get_facecolor()) == to_hex(ax.get_facecolor()) == "#ffffff"
    assert fig.get_facecolor()[3] == 1.0 and not plt.rcParams["savefig.transparent"]
    assert fig.get_figwidth() == 7.0 and fig.dpi == 150
    # Text on white has the contrast that the accessibility guidelines ask for.
    assert (luminance("white") + 0.05) / (luminance(plt.rcParams["text.color"]) + 0.05) > 7


def test_missing_matplotlib_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'fairpca\[plot\]'"):
        plotting.use_style()


def test_projection_draws_every_row_with_the_style_of_its_group():
    sample = synthetic.vu_toy()
    ax = plotting.plot_projection(sample.X, sample.sensitive_features, names={1: "minority"})
    assert legend_texts(ax) == ["0", "minority"]
    for g, dots in enumerate(ax.collections):
        np.testing.assert_array_equal(dots.get_offsets(), sample.X[sample.sensitive_features == g])
        assert to_hex(dots.get_facecolor()[0]) == plotting.group_style(g).color.lower()
    paths = [dots.get_paths()[0].vertices.shape for dots in ax.collections]
    assert paths[0] != paths[1]  # different markers
    thin = plotting.plot_projection(sample.X, sample.sensitive_features, max_points=50)
    again = plotting.plot_projection(sample.X, sample.sensitive_features, max_points=50)
    assert [len(c.get_offsets()) for c in thin.collections] == [50, 50]
    np.testing.assert_array_equal(thin.collections[0].get_offsets(), again.collections[0].get_offsets())
    given = plt.subplots()[1]
    assert plotting.plot_projection(sample.X, sample.sensitive_features, given) is given
    with pytest.raises(ValueError, match="two or three can be drawn"):
        plotting.plot_projection(sample.X[:, :1], sample.sensitive_features)


def test_projection_in_space():
    sample = synthetic.lee_synthetic1(40, random_state=0)
    ax = plotting.plot_projection(sample.X, sample.sensitive_features)
    assert ax.name == "3d" and ax.get_zlabel() == "component 3" and legend_texts(ax) == ["0", "1"]


def boxes_overlap(places, half):
    n = len(places)
    return any(np.all(np.abs(places[i] - places[j]) < (half[i] + half[j]) * 0.999) for i in range(n) for j in range(i))


@pytest.mark.parametrize("seed", range(12))
def test_biplot_labels_do_not_overlap(seed):
    rng = np.random.default_rng(seed)
    tips = rng.uniform(-0.4, 0.4, (11, 2))
    tips[:4] = tips[4] + 0.01 * rng.standard_normal((4, 2))  # features that nearly coincide
    half = np.tile([0.16, 0.035], (11, 1))
    start = tips + 0.1 * tips
    places = _points._spread_labels(tips, half)
    assert boxes_overlap(start, half) and not boxes_overlap(places, half)
    assert np.all(np.abs(places) + half <= 1)


def test_biplot_shows_the_largest_features_and_the_protected_one():
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((30, 2)))[0]
    weakest = int(np.argmin(np.sum(V * V, axis=1)))
    names = [f"x{i}" for i in range(30)]
    ax = plotting.plot_biplot(V, names, highlight=[weakest])
    shown = [t.get_text() for t in ax.texts if t.get_text()]
    largest = np.argsort(-np.sum(V * V, axis=1))[:10]
    assert shown == [names[j] for j in largest] + [names[weakest]]
    assert [t.get_text() for t in ax.texts if t.get_fontweight() == "bold"] == [names[weakest]]
    tips = np.array([t.xy for t in ax.texts if t.get_text()])
    np.testing.assert_allclose(tips, V[[*largest, weakest]])
    assert np.all(np.abs(tips) < ax.get_xlim()[1])
    limited = plotting.plot_biplot(V, names, n_features=None, limit=0.5)
    assert limited.get_xlim() == (-0.5, 0.5) and len([t for t in limited.texts if t.get_text()]) == 30
    with pytest.raises(ValueError, match="two components"):
        plotting.plot_biplot(np.eye(3), ["a", "b", "c"])


def test_group_curves():
    table = pd.DataFrame(
        [(d, g, m, d + 10 * (g == "w") + 100 * (m == "B"), 1.0) for m in "AB" for g in "mw" for d in (3, 1, 2)],
        columns=["d", "group", "method", "value", "sd"],
    )
    ax = plotting.plot_group_curves(table, method="method")
    assert legend_texts(ax) == ["A, m", "A, w", "B, m", "B, w"]
    np.testing.assert_array_equal(ax.lines[3].get_xydata(), [[1, 111], [2, 112], [3, 113]])
    assert ax.lines[0].get_color() == ax.lines[1].get_color() != ax.lines[2].get_color()
    assert ax.lines[0].get_marker() == ax.lines[2].get_marker() != ax.lines[1].get_marker()
    plain = plotting.plot_group_curves(table[table["method"] == "A"])
    assert legend_texts(plain) == ["m", "w"] and plain.lines[0].get_color() != plain.lines[1].get_color()
    with pytest.raises(ValueError, match=r"no column \['k'\]"):
        plotting.plot_group_curves(table, x="k")


def test_every_picture_can_be_drawn():
    """Constrained layout and fonts only act when a figure is drawn; warnings are errors here."""
    sample = synthetic.vu_toy()
    plotting.use_style()
    fig, axes = plt.subplots(1, 2, figsize=(7, 3))
    plotting.plot_projection(sample.X, sample.sensitive_features, axes[0])
    plotting.plot_biplot(np.eye(3)[:, :2], ["a", "b", "c"], axes[1])
    fig.canvas.draw()
    pixels = np.asarray(fig.canvas.buffer_rgba())
    assert pixels[..., 3].min() == 255 and pixels[..., :3].std() > 0
