"""Open every page of the built site in Chromium, on a desktop and on a phone, light and dark, and complain.

    python scripts/check_site.py _build/html --jobs 2
    python scripts/check_site.py _build/html chapters/intro.html

Nothing may break the rules of WCAG 2 A and AA that axe knows, write to the console, ask for anything elsewhere, be
wider than the screen, be an image without pixels, or be a formula that is cut without a cue; live figures must obey the
keyboard. Without a Chromium on the machine it says so and succeeds.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync")
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa")
# Formulas are drawn by MathJax from spans that axe knows nothing about; their spoken form is MathJax's own.
AXE = """async (rules) => {
  const options = {runOnly: rules, resultTypes: ["violations"], preload: false};
  const found = await axe.run({exclude: [["mjx-container"]]}, options);
  return found.violations.map(v => `${v.id} ×${v.nodes.length}: ${v.nodes[0].html.slice(0, 160)}`);
}"""
LAYOUT = """() => {
  const told = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    const wide = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > width + 1);
    const last = wide.slice(-1)[0]?.outerHTML.slice(0, 120);
    told.push(`page is ${document.documentElement.scrollWidth} wide on ${width}: ${last}`);
  }
  for (const image of document.querySelectorAll("main img")) {
    if (!image.complete || image.naturalWidth === 0) told.push(`image without pixels: ${image.getAttribute("src")}`);
  }
  for (const formula of document.querySelectorAll("div.math")) {
    const inner = formula.querySelector("mjx-container");
    const cut = [formula, inner].some(e => e && e.scrollWidth > e.clientWidth + 2 && e.clientWidth > 0);
    const name = formula.id || formula.textContent.slice(0, 60);
    if (cut && !formula.classList.contains("is-cut")) told.push(`formula cut without a cue: ${name}`);
  }
  for (const error of document.querySelectorAll("mjx-merror")) {
    told.push(`formula with an error: ${error.textContent.slice(0, 80)}`);
  }
  return told;
}"""


def browser() -> str | None:
    """Return the machine's Chromium, if there is one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def axe_source() -> str:
    """Return the text of axe, which a package brings."""
    import axe_playwright_python

    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf8")


def complaints(page: Any, address: str, axe: str) -> Iterator[str]:
    """Yield what is wrong with one page."""
    heard: list[str] = []
    page.on("console", lambda message: heard.append(f"console: {message.text[:160]}"))
    page.on("pageerror", lambda error: heard.append(f"error in a script: {str(error)[:160]}"))
    page.on(
        "request",
        lambda request: request.url.startswith(("file:", "data:", "blob:")) or heard.append(f"asks for {request.url}"),
    )
    page.set_viewport_size(dict(zip(("width", "height"), SIZES["desktop"], strict=True)))
    page.goto(address, wait_until="load")
    page.wait_for_function("!window.MathJax?.startup?.promise || window.MathJax.startup.promise.then(() => true)")
    page.evaluate("document.querySelectorAll('img[loading=lazy]').forEach(i => i.loading = 'eager')")
    page.add_script_tag(content=axe)
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = document.documentElement.dataset.mode = '{theme}'")
        for view, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate("() => new Promise(done => setTimeout(done, 350))")
            found = page.evaluate(AXE, list(RULES)) + (page.evaluate(LAYOUT) if theme == "light" else [])
            yield from (f"{view}, {theme}: {text}" for text in found)
    yield from (f"live figure {text}" for text in live_figures(page))
    yield from heard


def live_figures(page: Any) -> Iterator[str]:
    """Yield what is wrong with the live figures: asleep, or deaf to the keyboard."""
    for figure in page.query_selector_all(".live[data-live]"):
        name = figure.get_attribute("data-live")
        if not figure.is_visible():
            yield f"{name} did not wake"
            continue
        sliders = figure.query_selector_all("input[type=range]")
        for slider in sliders:
            before = figure.query_selector(".live-stage").inner_html()
            slider.focus()
            page.keyboard.press("ArrowRight")
            page.keyboard.press("ArrowRight")
            page.keyboard.press("ArrowLeft")
            if figure.query_selector(".live-stage").inner_html() == before:
                # At its end a slider can only go back.
                page.keyboard.press("ArrowLeft")
                page.keyboard.press("ArrowLeft")
                if figure.query_selector(".live-stage").inner_html() == before:
                    yield f"{name}: a slider does nothing"


def check(files: list[Path]) -> dict[str, list[str]]:
    """Open pages one after the other in one browser."""
    from playwright.sync_api import sync_playwright

    axe, found = axe_source(), {}
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser(), args=list(ARGUMENTS))
        for file in files:
            page = chromium.new_page(reduced_motion="reduce")
            found[str(file)] = list(dict.fromkeys(complaints(page, file.resolve().as_uri(), axe)))
            page.close()
        chromium.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path)
    parser.add_argument("pages", nargs="*", help="only these, such as chapters/intro.html")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if browser() is None:
        print(f"The site was not opened in a browser: there is no {', '.join(BROWSERS)} on this machine.")
        return 0
    files = [options.site / name for name in options.pages] or sorted(
        file for file in options.site.rglob("*.html") if "_static" not in file.parts
    )
    missing = [str(file) for file in files if not file.is_file()]
    if missing or not files:
        print(f"No such page: {', '.join(missing) or options.site}. Build the site first: make book.", file=sys.stderr)
        return 2
    # Pages are dealt out like cards, so that neighbours, which are alike, do not all fall to one process.
    hands = [files[k :: options.jobs] for k in range(options.jobs)]
    wrong = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for found in pool.map(check, [hand for hand in hands if hand]):
            for file, texts in found.items():
                wrong += len(texts)
                for text in texts:
                    print(f"{Path(file).relative_to(options.site)}: {text}")
    print(f"{len(files)} pages, {', '.join(SIZES)}, light and dark: {wrong} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
