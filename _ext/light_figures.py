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
from xml.etree import ElementTree

from PIL import Image

SVG = "http://www.w3.org/2000/svg"
LINK = "{http://www.w3.org/1999/xlink}href"
NUMBER = re.compile(r"-?\d*\.?\d+(?:e[-+]?\d+)?")
NUMBERS = ("x", "y", "width", "height", "x1", "x2", "y1", "y2", "points", "d", "transform")
SHIFT = re.compile(r"translate\(([-.\d]+)(?:[ ,]+0)?\)$")
SMALL = 240  # pixels: a thumbnail is 120 wide, on screens with two pixels to the point
DRAWN = 'id="figure_1"'  # what matplotlib names the whole of a picture
LETTERS = re.compile(r"^(?:text|legend)_\d+$")  # too small to be read in a thumbnail


def _short(match: re.Match[str], digits: int) -> str:
    value = float(match[0])
    # Scales are small numbers that multiply large ones: they keep their digits.
    text = f"{value:.{digits}f}" if abs(value) >= 0.5 else f"{value:.{digits + 1}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return {"-0": "0", "": "0"}.get(text, text)


def rounded(text: str, digits: int = 2) -> str:
    """Return a path with rounded coordinates and no needless room."""
    text = NUMBER.sub(lambda match: _short(match, digits), text)
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


def _moved(text: str, digits: int) -> str:
    def part(match: re.Match[str]) -> str:
        kept = 6 if match[1] in ("scale", "matrix") else digits
        return f"{match[1]}({NUMBER.sub(lambda number: _short(number, kept), match[2])})"

    return re.sub(r"(\w+)\(([^)]*)\)", part, text)


def _light_picture(element: Any, widest: int | None = None) -> None:
    """Give a picture inside the picture fewer bytes: WebP without loss, or for a thumbnail fewer pixels."""
    kind, _, data = element.get(LINK, "").partition(",")
    if not kind.startswith("data:image/png"):
        return
    raw = base64.b64decode(data)
    with Image.open(io.BytesIO(raw)) as picture:
        picture.load()
    made = io.BytesIO()
    if widest is None:
        picture.save(made, "WEBP", lossless=True, quality=60, method=4)
    else:
        picture.thumbnail((widest, widest))
        picture.save(made, "WEBP", quality=50, method=4)
    if made.tell() < len(raw):
        element.set(LINK, "data:image/webp;base64," + base64.b64encode(made.getvalue()).decode())
    else:
        element.set(LINK, "data:image/png;base64," + base64.b64encode(raw).decode())


def _shorten_names(root: Any) -> None:
    """Keep the names that something refers to, and make them short."""
    sheets = [element for element in root.iter(f"{{{SVG}}}style") if element.text]
    said = [value for e in root.iter() for value in e.attrib.values()] + [str(sheet.text) for sheet in sheets]
    used = {text for value in said for text in re.findall(r"#([\w-]+)", value)}
    names: dict[str, str] = {}
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name in used:
            element.set("id", names.setdefault(name, f"i{len(names)}"))
    for element in root.iter():
        for key, value in element.attrib.items():
            if "#" in value and not value.startswith("data:"):
                element.set(key, re.sub(r"#([\w-]+)", lambda m: f"#{names.get(m[1], m[1])}", value))
    for sheet in sheets:  # patterns of hatched areas
        sheet.text = re.sub(r"url\(#([\w-]+)\)", lambda m: f"url(#{names.get(m[1], m[1])})", str(sheet.text))


def _share_styles(root: Any) -> str:
    """Turn styles that stand more than once into classes; return their rules."""
    counted = Counter(element.get("style") for element in root.iter() if element.get("style"))
    names = {style: f"s{number}" for number, (style, times) in enumerate(counted.most_common()) if times > 1}
    for element in root.iter():
        if element.get("style") in names:
            element.set("class", names[element.attrib.pop("style")])
    return "".join(f".{name}{{{style.replace(': ', ':').replace('; ', ';')}}}" for style, name in names.items())


def _unwrap(element: Any) -> None:
    """Take out groups that group nothing."""
    children = []
    for child in element:
        _unwrap(child)
        if child.tag == f"{{{SVG}}}g" and not child.attrib:
            children += list(child)
        elif child.tag != f"{{{SVG}}}g" or len(child):
            children.append(child)
    element[:] = children


def _written(root: Any, digits: int) -> str:
    for element in root.iter():
        element.tail = None
        if element.tag != f"{{{SVG}}}style":
            element.text = None
        for key in NUMBERS:
            value = element.get(key)
            if value is None or (key == "width" and value.endswith("%")):
                continue
            if key == "transform":
                element.set(key, _moved(value, digits))
            else:
                # Letters are drawn in a grid of thousands and made small.
                fine = 0 if key == "d" and element.get("transform") == "scale(0.015625)" else digits
                element.set(key, rounded(value, fine))
        shift = SHIFT.match(element.get("transform", ""))
        if shift and element.tag == f"{{{SVG}}}use" and "x" not in element.attrib:
            del element.attrib["transform"]
            element.set("x", shift[1])
    rules = _share_styles(root)
    style = root.find(f".//{{{SVG}}}style")
    if style is not None:
        style.text = (style.text or "") + rules
    _shorten_names(root)
    _unwrap(root)
    return ElementTree.tostring(root, encoding="unicode")


def _read(text: str) -> Any:
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", LINK[1:].partition("}")[0])
    root = ElementTree.fromstring(text)
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag.endswith("metadata")]:
            parent.remove(child)
    return root


def lighter(text: str) -> str:
    """Return the same picture as shorter SVG."""
    root = _read(text)
    for picture in root.iter(f"{{{SVG}}}image"):
        _light_picture(picture)
    return _written(root, 2)


def thumbnail(text: str) -> str:
    """Return a picture of the picture: as small as it is shown, without letters."""
    root = _read(text)
    for parent in list(root.iter()):
        for child in [child for child in parent if LETTERS.match(child.get("id", ""))]:
            root.extend(child.iter(f"{{{SVG}}}defs"))  # a mark that a legend shows first may be used again
            parent.remove(child)
    used = {value.lstrip("#") for e in root.iter() for key, value in e.attrib.items() if key == LINK}
    for parent in list(root.iter(f"{{{SVG}}}defs")):
        for child in [child for child in parent if child.tag == f"{{{SVG}}}path" and child.get("id") not in used]:
            parent.remove(child)
    for picture in root.iter(f"{{{SVG}}}image"):
        _light_picture(picture, SMALL)
    return _written(root, 1)


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
