"""Make the figures of finished pages light: the same picture, told in fewer bytes; and very small ones for lists.

Matplotlib writes coordinates to a millionth of a point, a style into every element and clouds of marks as plain PNG.
A hundredth of a point cannot be seen, equal styles become classes, and clouds become WebP of the same pixels.
"""

from __future__ import annotations

import base64
import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

from PIL import Image

DECIMAL = re.compile(r"(?<![\w.#])-?\d+\.\d+(?:e[-+]?\d+)?(?![\w.])")
LETTER = "scale(0.015625)"  # matplotlib draws letters in a grid of thousands and makes them small
LETTERS = re.compile(r'<g id="text_\d+">.*?</g>\s*</g>', re.DOTALL)
PICTURE = re.compile(r'data:image/png;base64,([^"]+)')
SMALL = 240  # pixels: a thumbnail is 120 wide, on screens with two pixels to the point
DRAWN = 'id="figure_1"'  # what matplotlib names the whole of a picture


def lighter(text: str, digits: int = 2, widest: int | None = None) -> str:
    """Return the same picture as shorter SVG; with `widest` pictures inside it get no more pixels than that."""

    def short(match: re.Match[str]) -> str:
        # Scales are small numbers that multiply large ones: they keep their digits.
        return f"{float(match[0]):.{digits + (abs(float(match[0])) < 0.5)}f}".rstrip("0").rstrip(".")

    def webp(match: re.Match[str]) -> str:
        made = io.BytesIO()
        with Image.open(io.BytesIO(base64.b64decode(match[1]))) as picture:
            if widest:
                picture.thumbnail((widest, widest))
            picture.save(made, "WEBP", lossless=widest is None, quality=50, method=4)
        encoded = base64.b64encode(made.getvalue()).decode()
        return f"data:image/webp;base64,{encoded}" if len(encoded) < len(match[1]) else match[0]

    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = LETTER.join(DECIMAL.sub(short, part) for part in PICTURE.sub(webp, text).split(LETTER))
    text = re.sub(r"\s+", " ", re.sub(r">\s+<", "><", text))
    text = re.sub(r" ?\b([MLQCHVz]) ?(?=[-\d.\"MLQCHVz])", r"\1", text)
    styles = Counter(re.findall(r' style="([^"]+)"', text)).most_common()
    for number, (style, times) in enumerate(styles):
        if times > 1:
            text = text.replace(f' style="{style}"', f' class="s{number}"')
            text = text.replace("</style>", f".s{number}{{{style}}}</style>", 1)
    used = dict.fromkeys(re.findall(r'(?:href="|url\()#([\w-]+)', text))
    names = {name: f"i{number}" for number, name in enumerate(used)}
    text = re.sub(r' id="([\w-]+)"', lambda m: f' id="{names[m[1]]}"' if m[1] in names else "", text)
    text = re.sub(r'(href="|url\()#([\w-]+)', lambda m: f"{m[1]}#{names[m[2]]}", text)
    return re.sub(r"<g>((?:(?!<g[ >]).)*?)</g>", r"\1", text)


def thumbnail(text: str) -> str:
    """Return a picture of the picture: as small as it is shown, without letters."""
    return lighter(LETTERS.sub("", text), 1, SMALL)


def _finish(app: Any, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    for file in (Path(app.outdir) / "_images").glob("*.svg"):
        text = file.read_text(encoding="utf8")
        if DRAWN in text:
            file.write_text(lighter(text), encoding="utf8")


def setup(app: Any) -> dict[str, bool]:
    # After the pictures for phones are written.
    app.connect("build-finished", _finish, priority=850)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
