"""Figures for a desktop and for a phone: the same numbers, one column, letters that can be read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path

import book_figures
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import phone_figures
import pytest
from matplotlib.text import Text

from fairpca.plotting import plot_biplot


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def panels() -> plt.Figure:
    """Three panels that share an axis and its label, with a small legend outside."""
    fig, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
    for number, ax in enumerate(axes):
        ax.plot([0, 1], [number, 2], label="a name of some length")
        ax.set_title("a title that is longer than a narrow screen is wide")
    axes[0].set_ylabel("error")
    axes[2].legend(fontsize=5, loc="center left", bbox_to_anchor=(1, 0.5))
    return fig


def test_labels_stay_visible_where_a_chapter_asked_for_a_tight_layout() -> None:
    fig, axes = plt.subplots(1, 3, figsize=(9, 3))
    for ax in axes:
        ax.set(xlabel="a label below", ylabel="a label beside")
    fig.tight_layout()
    book_figures.for_phone(fig)
    fig.draw_without_rendering()
    for above, below in pairwise(axes):
        assert above.xaxis.label.get_window_extent().y0 > below.get_tightbbox().y1 - 1


def size(picture: str) -> tuple[float, float]:
    return tuple(float(number) for number in re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', picture).groups())


def test_phone_gets_one_column_with_labels_and_readable_letters() -> None:
    fig = panels()
    found = book_figures.pictures(fig)
    wide, narrow = size(found["image/svg+xml"]), size(found[book_figures.PHONE])
    assert wide[0] > 600 and wide[0] > wide[1]
    assert narrow[0] < 72 * book_figures.WIDTH + 10 and narrow[1] > narrow[0]
    boxes = [ax.get_position() for ax in fig.axes]
    assert all(a.y0 > b.y1 and abs(a.x0 - b.x0) < 1e-6 for a, b in pairwise(boxes))
    assert [ax.get_ylabel() for ax in fig.axes] == ["error"] * 3
    letters = [text for text in fig.findobj(Text) if text.get_text() and text.get_visible()]
    # 390 pixels of screen leave some 340 for a figure; its letters are then at least nine pixels high.
    assert min(text.get_fontsize() for text in letters) * 340 / narrow[0] >= 9
    assert fig.axes[2].get_legend().get_window_extent().y1 < fig.axes[2].get_window_extent().y0


def test_values_stay_and_the_same_figure_gives_the_same_text() -> None:
    first, second = panels(), panels()
    before = [line.get_ydata().copy() for ax in first.axes for line in ax.lines]
    assert book_figures.pictures(first) == book_figures.pictures(second)
    after = [line.get_ydata() for ax in first.axes for line in ax.lines]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_unusual_panels_are_laid_out_too() -> None:
    fig = plt.figure(figsize=(8, 5), layout="constrained")
    grid = fig.add_gridspec(2, 2)
    space = fig.add_subplot(grid[:, 0], projection="3d")
    space.scatter(*np.random.default_rng(0).standard_normal((3, 20)))
    picture = fig.add_subplot(grid[0, 1])
    fig.colorbar(picture.imshow(np.eye(3)), ax=picture)
    below = fig.add_subplot(grid[1, 1])
    below.twinx().plot([0, 1], [5, 6])
    below.set_xticks(range(6), [f"name {number} of a group" for number in range(6)])
    assert size(book_figures.pictures(fig)[book_figures.PHONE])[1] > 400
    assert below.get_xticklabels()[0].get_rotation() == 60
    lowest = below.get_position()
    assert space.get_position().y0 > picture.get_position().y1 > lowest.y1


def test_pictures_in_a_grid_stay_a_grid_and_clouds_are_light() -> None:
    fig, axes = plt.subplots(2, 4, figsize=(8, 4))
    for ax in axes.flat:
        ax.imshow(np.eye(4))
        ax.axis("off")
    width, height = size(book_figures.pictures(fig)[book_figures.PHONE])
    assert width > height
    fig, ax = plt.subplots()
    cloud, few = ax.scatter(*np.random.default_rng(0).random((2, 5000))), ax.scatter([0], [1])
    assert len(book_figures.pictures(fig)["image/svg+xml"]) < 300_000
    assert cloud.get_rasterized() and not few.get_rasterized()


def test_page_lets_the_browser_choose(tmp_path: Path) -> None:
    data = {"image/svg+xml": "<svg>wide</svg>", phone_figures.PHONE: "<svg>narrow</svg>"}
    output = nbformat.v4.new_output("display_data", data)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=[output])])
    nbformat.write(notebook, tmp_path / "page.ipynb")
    name = hashlib.sha256(b"<svg>wide</svg>").hexdigest()
    assert dict(phone_figures.narrow_pictures(tmp_path / "page.ipynb")) == {name: "<svg>narrow</svg>"}
    image, other = f'<img alt="a" src="../../_images/{name}.svg" />', f'<img src="../_images/{"0" * 64}.svg">'
    thumbnail = f'<img src="../_images/{name}.svg" width="120" loading="lazy" alt="">'
    text = phone_figures.with_choice(image + other + thumbnail, {name})
    source = f'<source media="(max-width: 600px)" srcset="../../_images/{name}-phone.svg">'
    assert text == f"<picture>{source}{image}</picture>" + other + thumbnail
    assert phone_figures.PHONE == book_figures.PHONE


def test_labels_with_leader_lines_part_on_a_phone() -> None:
    tips = 0.3 * np.random.default_rng(0).normal(size=(10, 2))
    fig, ax = plt.subplots(figsize=(6.2, 6.2))
    plot_biplot(tips, [f"a rather long name {j}, and more" for j in range(len(tips))], ax)
    book_figures.pictures(fig)  # leaves the figure as a phone shows it
    boxes = [Text.get_window_extent(text) for text in ax.texts if text.get_text()]
    assert len(boxes) == len(tips)
    for a, b in combinations(boxes, 2):
        assert min(a.x1, b.x1) - max(a.x0, b.x0) <= 1 or min(a.y1, b.y1) - max(a.y0, b.y0) <= 1
