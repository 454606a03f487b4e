"""Make finished pages light and quiet: what a page does not use is taken out of it, and scripts keep to themselves.

The theme loads every icon of Font Awesome as a script of 1.5 MB; the ten that are used become a style sheet of some
kilobytes, and the fonts keep the glyphs that style sheets name. Thebe, whose script would come from the network, is not
offered by this book. The search index is loaded where one searches, MathJax where there is a formula. Headings of
tables that say nothing are no headings.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sphinx.errors import ExtensionError

ICONS = "icons.css"
SCRIPT = re.compile(r"[ \t]*<script\b[^>]*>.*?</script>\n?", re.DOTALL)
EMPTY_HEADING = re.compile(r"<th\b([^>]*)>((?:\s|&nbsp;)*)</th>")
GLYPHS = re.compile(r'(?:\.fa-[\w-]+::?before,?)+\{content:"[^"]*"\}')
NAMED_GLYPH = re.compile(r'content:\s*"\\(f[0-9a-f]{3})"')
COMPRESSED_FONT = re.compile(r'url\([^)]*\.woff2\)\s*format\("woff2"\),\s*(?=url\([^)]*/webfonts/[^)]*\.ttf\))')
CONSOLE = re.compile(r"\bconsole\.(?:log|warn|info)\(")
# The search reads each page that it found for an excerpt, which browsers refuse to pages that are opened as files.
EXCERPT = ("else if (showSearchSummary)", 'else if (showSearchSummary && location.protocol !== "file:")')
BESIDE = 'document.querySelector("div.bd-sidebar-secondary")'


def _unused(script: str, page: str, text: str) -> bool:
    """Whether a page can do without one of its scripts."""
    if "thebe" in script.lower() or "fontawesome.js" in script or "kernelName" in script:
        return True
    if any(name in script for name in ("searchtools.js", "language_data.js", "searchindex.js")):
        return page != "search.html"
    if "mathjax" in script.lower():
        return 'class="math' not in text
    if "togglebutton" in script or "toggleHint" in script or "toggleOpenOnPrint" in script:
        return not re.search(r'class="[^"]*\b(?:toggle|dropdown)\b', text)
    if "design-tabs.js" in script:
        return "sd-tab-set" not in text
    return False


def lean(page: str, text: str, to_root: str) -> str:
    """Return a page without what it does not use."""
    seen: set[str] = set()

    def kept(match: re.Match[str]) -> str:
        script = match[0].strip()
        # Extensions that are set up twice leave their settings twice.
        if _unused(script, page, body) or ("src=" not in script and script in seen):
            return ""
        seen.add(script)
        return CONSOLE.sub("void(", match[0])

    body = SCRIPT.sub("", text)
    text = SCRIPT.sub(kept, text)
    text = re.sub(r"[ \t]*<link[^>]*(?:sphinx-thebe\.css|fontawesome)[^>]*>\n?", "", text)
    text = EMPTY_HEADING.sub(r"<td\1>\2</td>", text)
    # The entries of a list of references are items of a list; the old role is none of those that a list may have.
    text = text.replace(' role="doc-biblioentry"', ' role="listitem"')
    toggle = '<span class="toctree-toggle"'
    text = text.replace(f"<summary>{toggle}", f'<summary aria-label="Show or hide the pages below">{toggle}')
    sheet = f'<link rel="stylesheet" type="text/css" href="{to_root}_static/{ICONS}" />\n'
    return text.replace("</head>", f"{sheet}</head>", 1)


def icon_sheet(names: set[str], script: str) -> str:
    """Return a style sheet that draws the icons as masks, so that they take the colour of the text."""
    rules = [
        ".fa-solid,.fa-brands,.fa-regular{display:inline-block;width:1em;height:1em;vertical-align:-.125em;"
        "background:currentColor;-webkit-mask:var(--icon) center/contain no-repeat;"
        "mask:var(--icon) center/contain no-repeat}",
        ".fa-lg{font-size:1.25em}",
    ]
    for name in sorted(names):
        found = re.search(rf'[{{,]"?{re.escape(name)}"?:\[(\d+),(\d+),\[[^\]]*\],"\w*","([^"]+)"\]', script)
        if found is None:
            continue  # a class that is a size or a style, no icon
        width, height, path = found.groups()
        picture = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"><path d="{path}"/></svg>'
        rules.append(f'.fa-{name}{{--icon:url("data:image/svg+xml,{quote(picture, safe="")}")}}')
    return "\n".join(rules) + "\n"


def without_unused_glyphs(sheet: str, names: set[str]) -> str:
    """Return a style sheet without the rules of icons that no page shows: a fifth of the theme's."""

    def kept(match: re.Match[str]) -> str:
        return match[0] if names & set(re.findall(r"\.fa-([\w-]+):", match[0])) else ""

    return GLYPHS.sub(kept, sheet)


def subset_fonts(folder: Path, named: set[str]) -> None:
    """Keep in each font only the glyphs with these hexadecimal numbers; so few need no compression."""
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    for file in folder.glob("*.ttf"):
        with TTFont(file) as font:
            subsetter = Subsetter(Options(hinting=False, desubroutinize=True, notdef_outline=False))
            subsetter.populate(unicodes={int(number, 16) for number in named})
            subsetter.subset(font)
            font.save(file)
        file.with_suffix(".woff2").unlink()


def _finish(app: Any, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    static = out / "_static"
    library = static / "scripts" / "fontawesome.js"
    if not library.is_file():
        raise ExtensionError("the theme has no fontawesome.js any more; adapt _ext/lean_pages.py")
    names: set[str] = set()
    for file in out.rglob("*.html"):
        if static in file.parents:
            continue
        page = file.relative_to(out)
        text = lean(str(page), file.read_text(encoding="utf8"), "../" * (len(page.parts) - 1))
        names |= set(re.findall(r"\bfa-([a-z0-9-]+)", text))
        file.write_text(text, encoding="utf8")
    scripts = [*static.glob("*.js"), *(static / "scripts").glob("*.js")]
    for file in scripts:
        if file != library:
            text = file.read_text(encoding="utf8")
            names |= set(re.findall(r"\bfa-([a-z0-9-]+)", text))
            # Pages without headings have no contents beside them; the theme forgets that.
            text = text.replace(f"{BESIDE}.classList", f"{BESIDE}?.classList")
            # What the theme tells its developers is no news for readers.
            file.write_text(CONSOLE.sub("void(", text), encoding="utf8")
    (static / ICONS).write_text(icon_sheet(names, library.read_text(encoding="utf8")), encoding="utf8")
    glyphs: set[str] = set()
    for file in (static / "styles").glob("*.css"):
        sheet = without_unused_glyphs(COMPRESSED_FONT.sub("", file.read_text(encoding="utf8")), names)
        glyphs |= set(NAMED_GLYPH.findall(sheet))
        file.write_text(sheet, encoding="utf8")
    subset_fonts(static / "vendor" / "fontawesome" / "webfonts", glyphs)
    search = static / "searchtools.js"
    text = search.read_text(encoding="utf8")
    if EXCERPT[0] not in text:
        raise ExtensionError("Sphinx's search has changed; adapt _ext/lean_pages.py")
    search.write_text(text.replace(*EXCERPT), encoding="utf8")
    for file in (library, *(static / "scripts").glob("*.map")):
        file.unlink()


def setup(app: Any) -> dict[str, bool]:
    # After the extensions that write pages and scripts of their own.
    app.connect("build-finished", _finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
