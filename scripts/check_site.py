"""Open every page of the built site in Chromium, on a desktop and on a phone, light and dark, and complain.

    python scripts/check_site.py _build/html --jobs 2
    python scripts/check_site.py _build/html chapters/intro.html

Nothing may break the rules of WCAG 2 A and AA that axe knows, write to the console, ask for anything elsewhere, be
wider than the screen, be an image without pixels, be a formula that is cut without a cue, or weigh more than `LIMITS`;
live figures must obey the keyboard. The page that computes with a reader's table is given some
(`check_own_table.py`), and the search must find what the papers number (`check_search.py`). Without a Chromium on the
machine it says so and succeeds.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import check_own_table
import check_search

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync")
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa")
FIRST = "chapters/intro.html"
# Bytes, uncompressed: the page with everything that it loads, pictures included, and the text of pages of the API.
LIMITS = {"first page": 1_200_000, "page": 2_500_000, "text of an API page": 200_000}
# The rest of what a page needs for itself.
MORE: dict[str, Callable[[Any, list[str]], Iterator[str]]] = {
    check_own_table.PAGE: check_own_table.complaints,
    check_search.PAGE: check_search.complaints,
}
READY = "!window.MathJax?.startup?.promise || window.MathJax.startup.promise.then(() => true)"
# Two frames after a change of size or theme everything is laid out, if nothing is in motion; what moves for ever, or
# never starts because it has gone, is waited for half a second.
SETTLED = """async () => {
  const wait = time => new Promise(done => setTimeout(done, time));
  const frame = () => new Promise(requestAnimationFrame);
  const still = async () => {
    await frame();
    await frame();
    await Promise.all(document.getAnimations().map(a => a.finished.catch(() => {})));
  };
  await Promise.race([still(), wait(500)]);
}"""
# Axe looks at every element, and its time grows faster than their number. Rows of a table, lines of code and entries of
# a list repeat one another: what looks the same and stands on the same ground is shown to axe twice at most. The
# insides of formulas are left out, because axe knows nothing about them; their spoken form is MathJax's own.
NO_FORMULAS = '() => document.querySelectorAll("mjx-container").forEach(formula => formula.replaceChildren())'
FEWER = """() => {
  const STYLES = ["color", "backgroundColor", "backgroundImage", "fontSize", "fontWeight", "opacity", "display"];
  const looks = new Map();
  const look = e => {
    if (looks.has(e)) return looks.get(e);
    const style = getComputedStyle(e);
    const kind = e.getAttribute("class")?.replace(/\\d+/g, "");
    const own = [...STYLES.map(name => style[name]), e.getAttribute("role"), kind, e.type].join();
    const word = c => (c.nodeType === 3 && c.data.trim() ? "t" : "");
    const inside = [...e.childNodes].map(c => (c.nodeType === 1 ? look(c) : word(c)));
    const names = [...e.attributes].map(a => a.name).join();
    const told = `<${e.tagName} ${names} ${own}>${inside.join("").replace(/t+/g, "t")}`;
    looks.set(e, told);
    return told;
  };
  look(document.body);
  const seen = new Map();
  const visit = (e, ground) => {
    const { backgroundColor, opacity } = getComputedStyle(e);
    if (backgroundColor !== "rgba(0, 0, 0, 0)" || opacity !== "1") ground += `/${backgroundColor} ${opacity}`;
    for (const child of [...e.children]) {
      if (child.matches("tr, li, p, pre, div, section, figure, dl, details, h2, h3, h4")) {
        const key = ground + looks.get(child);
        seen.set(key, (seen.get(key) ?? 0) + 1);
        if (seen.get(key) > 2) {
          child.remove();
          continue;
        }
      }
      // What names a control stays whole.
      if (!child.matches("label, a, button, summary, legend, caption")) visit(child, ground);
    }
  };
  visit(document.body, "");
  return document.querySelectorAll("*").length;
}"""
# Contrast takes axe most of its time, and depends on nothing but colours, size and ground of a text. So of texts that
# are alike in both themes two stay, with what they stand in; everything else is taken off the page.
COLOURS = """() => {
  const themes = ["light", "dark"], root = document.documentElement;
  const texts = [...document.body.querySelectorAll("*")].filter(e =>
    !e.closest("mjx-container, script, style") && [...e.childNodes].some(c => c.nodeType === 3 && c.data.trim()));
  const keys = texts.map(() => "");
  for (const theme of themes) {
    root.dataset.theme = root.dataset.mode = theme;
    const grounds = new Map([[null, ""]]);
    const ground = e => {
      if (!grounds.has(e)) {
        const { backgroundColor, backgroundImage, opacity, position } = getComputedStyle(e);
        const own = `${backgroundColor} ${backgroundImage} ${opacity} ${position === "fixed"}`;
        const nothing = own === "rgba(0, 0, 0, 0) none 1 false";
        grounds.set(e, ground(e.parentElement) + (nothing ? "" : `/${own}`));
      }
      return grounds.get(e);
    };
    texts.forEach((e, i) => {
      const { color, fontSize, fontWeight, textShadow } = getComputedStyle(e);
      keys[i] += [color, fontSize, fontWeight, textShadow, ground(e)].join();
    });
  }
  root.dataset.theme = root.dataset.mode = "light";
  const seen = new Map(), kept = new Set();
  texts.forEach((e, i) => {
    seen.set(keys[i], (seen.get(keys[i]) ?? 0) + 1);
    if (seen.get(keys[i]) <= 2) for (let at = e; at; at = at.parentElement) kept.add(at);
  });
  for (const e of [...document.body.querySelectorAll("*")]) if (!kept.has(e)) e.remove();
  return kept.size;
}"""
AXE = """async (options) => {
  const more = {resultTypes: ["violations"], preload: false};
  const found = await axe.run({exclude: [["mjx-container"]]}, {...options, ...more});
  const reason = node => node.any[0]?.message.slice(0, 160) ?? "";
  return found.violations.map(
    v => `${v.id} ×${v.nodes.length}: ${v.nodes[0].html.slice(0, 160)} ${reason(v.nodes[0])}`);
}"""
MARKUP = {"runOnly": list(RULES), "rules": {"color-contrast": {"enabled": False}}}
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
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


def complaints(page: Any, site: Path, file: Path, remarks: list[str]) -> Iterator[str]:
    """Yield what is wrong with one page."""
    import axe_playwright_python

    heard: list[str] = []
    asked: dict[str, None] = {}
    page.on("console", lambda message: heard.append(f"console: {message.text[:160]}"))
    page.on("pageerror", lambda error: heard.append(f"error in a script: {str(error)[:160]}"))
    page.on("request", lambda request: asked.setdefault(request.url))
    name = file.relative_to(site).as_posix()
    first, *others = SIZES
    resize(page, first)
    page.goto(file.resolve().as_uri(), wait_until="load")
    page.wait_for_function(READY)
    page.evaluate("document.querySelectorAll('img[loading=lazy]').forEach(i => i.loading = 'eager')")
    page.wait_for_function("[...document.images].every(image => image.complete)")
    yield from too_heavy(name, file, [address for address in asked if address.startswith("file:")])
    # To lay out a long page anew takes longer than to look at it, so it changes its size as seldom as possible.
    page.evaluate(SETTLED)
    yield from (f"{first}: {text}" for text in page.evaluate(LAYOUT))
    yield from (f"live figure {text}" for text in live_figures(page))
    if name in MORE:
        yield from MORE[name](page, remarks)
    for view in others:
        resize(page, view)
        yield from (f"{view}: {text}" for text in page.evaluate(LAYOUT))
    yield from (f"asks for {url}" for url in asked if not url.startswith(("file:", "data:", "blob:")))
    yield from list(heard)
    # From here on the page loses parts, so its scripts may complain about what they miss.
    page.evaluate(NO_FORMULAS)
    page.add_script_tag(path=Path(axe_playwright_python.__file__).parent / "axe.min.js")
    page.add_style_tag(content="*, ::before, ::after {transition: none !important; animation: none !important}")
    resize(page, first)
    page.evaluate(FEWER)
    for view in SIZES:
        resize(page, view)
        page.wait_for_timeout(350)  # so long after a change of size the theme marks what scrolls
        yield from (f"{view}: {text}" for text in page.evaluate(AXE, MARKUP))
    page.evaluate(COLOURS)
    for view in reversed(SIZES):
        resize(page, view)
        for theme in ("light", "dark"):
            page.evaluate(f"document.documentElement.dataset.theme = document.documentElement.dataset.mode = '{theme}'")
            yield from (f"{view}, {theme}: {text}" for text in page.evaluate(AXE, CONTRAST))


def resize(page: Any, view: str) -> None:
    """Give the page another size, if it has not that one, and wait until it is laid out."""
    size = dict(zip(("width", "height"), SIZES[view], strict=True))
    if page.viewport_size != size:
        page.set_viewport_size(size)
        page.evaluate(SETTLED)


def too_heavy(name: str, file: Path, loaded: list[str]) -> Iterator[str]:
    """Yield complaints on a page that weighs more than it may, given the addresses of what it loads."""
    files = {Path(unquote(urlsplit(address).path)) for address in loaded} | {file.resolve()}
    weight = sum(path.stat().st_size for path in files if path.is_file())
    kind = "first page" if name == FIRST else "page"
    if weight > LIMITS[kind]:
        heaviest = max(files, key=lambda path: path.stat().st_size if path.is_file() else 0)
        yield f"weighs {weight:,} bytes, more than {LIMITS[kind]:,}; the most of it is {heaviest.name}"
    if name.startswith("chapters/use/api") and file.stat().st_size > LIMITS["text of an API page"]:
        yield f"is {file.stat().st_size:,} bytes of HTML, more than {LIMITS['text of an API page']:,}"


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


def open_browser() -> None:
    """Start a browser that stays until the process ends."""
    from playwright.sync_api import sync_playwright

    global chromium
    driver = sync_playwright().start()
    chromium = driver.chromium.launch(executable_path=browser(), args=list(ARGUMENTS))


def check(site: Path, file: Path) -> tuple[list[str], list[str]]:
    """Open one page; return what is wrong with it, and what else there is to say."""
    remarks: list[str] = []
    page = chromium.new_page(reduced_motion="reduce")
    try:
        return list(dict.fromkeys(complaints(page, site, file, remarks))), remarks
    except Exception as error:  # one page that cannot be opened is a complaint, not the end of all
        return [f"could not be checked: {str(error)[:300]}"], remarks
    finally:
        page.context.close()


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
    # Long pages first, so that no process works on one while the other has nothing left.
    files.sort(key=lambda file: (file.relative_to(options.site).as_posix() not in MORE, -file.stat().st_size))
    wrong, start, told = 0, time.perf_counter(), []
    with ProcessPoolExecutor(options.jobs, initializer=open_browser) as pool:
        jobs = {pool.submit(check, options.site, file): file for file in files}
        for job in as_completed(jobs):
            name = jobs[job].relative_to(options.site).as_posix()
            found, remarks = job.result()
            wrong += len(found)
            told += remarks
            for text in found:
                print(f"{name}: {text}", flush=True)
    for text in told:
        print(text)
    print(
        f"{len(files)} pages, {', '.join(SIZES)}, light and dark: {wrong} complaints, "
        f"{time.perf_counter() - start:.0f} s with {options.jobs} processes"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
