"""Take pictures of built pages: desktop, phone and dark mode, and count formulas that MathJax could not read.

python scripts/shoot.py chapters/intro chapters/appendix/reproduce
python scripts/shoot.py --views phone --height 3000 chapters/intro

Pictures go to _build/shots. Needs chromium (`apt-get install chromium`), which nothing else here does.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTHS = {"desktop": 1280, "phone": 390, "dark": 1280}
NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--allow-file-access-from-files",
)


def browse(browser: str, profile: str, page: Path, *options: str) -> str:
    """Open a page, let its scripts run for some virtual seconds, and return what the browser prints."""
    command = [browser, *OPTIONS, f"--user-data-dir={profile}", "--virtual-time-budget=10000", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def framed(page: Path, width: int, height: int, folder: Path) -> Path:
    """Return a page that shows another one in a frame: browsers refuse windows as narrow as a phone."""
    wrapper = folder / f"frame-{width}.html"
    style = f"width:{width}px;height:{height}px;border:0"
    wrapper.write_text(f'<body style="margin:0"><iframe src="{page.as_uri()}" style="{style}"></iframe>')
    return wrapper


def shoot(browser: str, page: Path, name: str, view: str, height: int, target: Path) -> Path:
    """Take one picture."""
    picture = target / f"{name}-{view}.png"
    width = WIDTHS[view]
    with tempfile.TemporaryDirectory() as profile:
        options = [f"--screenshot={picture}", f"--window-size={max(width, 520)},{height}"]
        if view == "dark":
            options.append("--blink-settings=preferredColorScheme=0")
        if width < 520:
            page = framed(page, width, height, Path(profile))
        browse(browser, profile, page, *options)
    return picture


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", help="names such as chapters/intro")
    parser.add_argument("--views", nargs="+", choices=WIDTHS, default=list(WIDTHS))
    parser.add_argument("--height", type=int, default=2000)
    options = parser.parse_args()
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        print("no chromium found", file=sys.stderr)
        return 2
    target = ROOT / "_build" / "shots"
    target.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for name in options.pages:
        page = ROOT / "_build" / "html" / f"{name.removesuffix('.md')}.html"
        with tempfile.TemporaryDirectory() as profile:
            dom = browse(browser, profile, page, "--dump-dom")
        errors, formulas = dom.count("<mjx-merror"), dom.count("<mjx-container")
        sources = len(re.findall(r'class="math notranslate', dom))
        wrong += errors + (sources > 0 and formulas == 0)
        print(f"{name}: {sources} formulas in the source, {formulas} set, {errors} with errors")
        for view in options.views:
            flat = name.removeprefix("chapters/").replace("/", "-")
            print("  ", shoot(browser, page, flat, view, options.height, target).relative_to(ROOT))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
