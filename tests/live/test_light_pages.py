"""Figures and formulas in fewer bytes: the same picture, the same formulas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import book_figures
import exhibits
import light_figures
import matplotlib.pyplot as plt
import numpy as np
import pytest
import site_extras


@pytest.fixture(scope="module")
def picture() -> Iterator[str]:
    rng = np.random.default_rng(0)
    fig, axes = plt.subplots(1, 2, figsize=(7, 3))
    axes[0].plot(rng.normal(size=(40, 8)), "o-", label="a name")
    axes[0].bar([5, 10], [1, 2], hatch="//")
    axes[0].legend()
    axes[1].scatter(*rng.normal(size=(2, 2000)), alpha=0.4)
    axes[1].set_title("a title")
    yield book_figures.pictures(fig)["image/svg+xml"]
    plt.close("all")


def numbers(text: str) -> list[float]:
    """The coordinates of the lines in the first axes, in order."""
    root = ElementTree.fromstring(text)
    found = [path.get("d", "") for path in root.iter("{http://www.w3.org/2000/svg}path") if path.get("clip-path")]
    return [float(number) for path in found for number in re.findall(r"-?[\d.]+", path)]


def test_a_light_figure_shows_the_same(picture: str) -> None:
    light = light_figures.lighter(picture)
    assert len(light) < 0.7 * len(picture)
    assert 'viewBox="' in light
    assert "data:image/webp" in light
    np.testing.assert_allclose(numbers(light), numbers(picture), atol=0.0051)
    used = set(re.findall(r'(?:href="|url\()#([\w-]+)', light))
    assert used == set(re.findall(r'\bid="([\w-]+)"', light)), "every name is used, and every reference is answered"
    assert picture.count("<use") == light.count("<use")


def test_clouds_keep_their_pixels(picture: str) -> None:
    def pixels(text: str) -> np.ndarray:
        import base64
        import io

        from PIL import Image

        data = re.search(r"base64,([^\"]+)", text)[1]
        with Image.open(io.BytesIO(base64.b64decode(data))) as image:
            found = np.asarray(image.convert("RGBA")).copy()
        found[found[..., 3] == 0] = 0  # what is transparent has no colour
        return found

    assert np.array_equal(pixels(picture), pixels(light_figures.lighter(picture)))


def test_a_thumbnail_is_small_and_whole(picture: str) -> None:
    small = light_figures.thumbnail(picture)
    assert len(small) < 0.5 * len(picture)
    root = ElementTree.fromstring(small)
    names = [element.get("id") for element in root.iter() if element.get("id")]
    assert {value.lstrip("#") for e in root.iter() for key, value in e.attrib.items() if key.endswith("href")} >= {
        name for name in names if f'href="#{name}"' in small
    }
    assert all(f'id="{name}"' in small for name in re.findall(r'href="#([\w-]+)"', small))


def test_lists_show_thumbnails(picture: str, tmp_path: Path) -> None:
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images" / "one.svg").write_text(picture, encoding="utf8")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "page.html").write_text('<figure id="fig-x"><img alt="one" src="../_images/one.svg"></figure>')
    room = '<td data-thumbnail="page.html#fig-x"></td>'
    text = exhibits.with_thumbnails(tmp_path / "a" / "find.html", room)
    assert 'src="../_images/one-small.svg"' in text
    assert len((tmp_path / "_images" / "one-small.svg").read_text(encoding="utf8")) < 0.5 * len(picture)


def test_mathjax_is_one_script_without_its_menu() -> None:
    text = site_extras.mathjax(site_extras._mathjax_source())
    whole = (site_extras._mathjax_source() / "tex-chtml.js").stat().st_size
    assert len(text.encode()) < 0.7 * whole
    assert "ui/menu/Menu" not in text
    assert text.index("preLoad(") < text.index("TeXFont")
