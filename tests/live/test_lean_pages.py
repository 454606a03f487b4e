"""What is taken out of finished pages, and what stays."""

from __future__ import annotations

import shutil
from pathlib import Path

import lean_pages

PAGE = """<html><head>
<script defer src="_static/scripts/fontawesome.js"></script>
<script>const THEBE_JS_URL = "https://example.org/x.js";</script>
<script>const THEBE_JS_URL = "https://example.org/x.js";</script>
<script defer="defer" src="_static/../mathjax/tex-chtml.js"></script>
<script src="searchindex.js"></script>
<script>var own = 1; console.log("loud", own);</script>
<script>var own = 1; console.log("loud", own);</script>
<script type="application/json" id="live-x">{"a":1}</script>
</head><body>BODY<div role="doc-biblioentry">x</div>
<table><tr><th></th><th class="blank">&nbsp;</th><th>d</th></tr></table></body></html>"""


def test_pages_lose_what_they_do_not_use() -> None:
    text = lean_pages.lean("chapters/a.html", PAGE, "../")
    for gone in ("fontawesome", "THEBE", "mathjax", "searchindex", "console.log", "<th></th>"):
        assert gone not in text
    assert text.count("var own") == 1, "settings that stand twice are kept once"
    assert '<td></td><td class="blank">&nbsp;</td><th>d</th>' in text
    assert 'id="live-x"' in text
    assert '<div role="listitem">x</div>' in text
    assert 'href="../_static/icons.css"' in text


def test_pages_keep_what_they_use() -> None:
    text = lean_pages.lean("search.html", PAGE.replace("BODY", '<div class="math">x</div>'), "")
    assert "mathjax" in text
    assert "searchindex" in text


def test_icons_are_drawn_from_the_themes_library() -> None:
    script = '{bars:[448,512,["navicon"],"f0c9","M0 96"],"arrow-up":[384,512,[8593],"f062","M1 2"]}'
    sheet = lean_pages.icon_sheet({"bars", "arrow-up", "solid"}, script)
    assert "M0%2096" in sheet
    assert "0%200%20384%20512" in sheet
    assert ".fa-solid{" not in sheet


def test_rules_of_icons_that_nobody_shows_are_left_out() -> None:
    sheet = '.a{b:c}.fa-bars:before,.fa-navicon:before{content:"\\f0c9"}.fa-0:before{content:"\\30 "}.fa-lg{d:e}'
    lean = lean_pages.without_unused_glyphs(sheet, {"navicon", "lg"})
    assert lean == '.a{b:c}.fa-bars:before,.fa-navicon:before{content:"\\f0c9"}.fa-lg{d:e}'


def test_fonts_keep_the_glyphs_that_are_named(tmp_path) -> None:
    import matplotlib
    from fontTools.ttLib import TTFont

    original = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    font = tmp_path / "fa-solid-900.ttf"
    shutil.copy(original, font)
    font.with_suffix(".woff2").write_bytes(b"the same, compressed")
    lean_pages.subset_fonts(tmp_path, {"41", "2192"})
    assert [file.name for file in tmp_path.iterdir()] == [font.name]
    assert set(TTFont(font).getBestCmap()) == {0x41, 0x2192}
    assert font.stat().st_size < original.stat().st_size / 50
    folder = "../vendor/fontawesome/webfonts"
    face = f'src:url({folder}/a.woff2) format("woff2"),url({folder}/a.ttf) format("truetype")'
    assert lean_pages.COMPRESSED_FONT.sub("", face) == f'src:url({folder}/a.ttf) format("truetype")'
    assert lean_pages.NAMED_GLYPH.findall('.a:before{content:"\\f0c9"}.b{content: "\\f00d"}.c{content:"x"}') == [
        "f0c9",
        "f00d",
    ]
