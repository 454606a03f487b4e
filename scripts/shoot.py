"""Take pictures of built pages on a desktop, on a phone and in dark mode, into _build/shots.

python scripts/shoot.py chapters/intro chapters/appendix/reproduce
python scripts/shoot.py --views phone --height 3000 chapters/intro
"""

from __future__ import annotations

import argparse
from pathlib import Path

from check_site import ARGUMENTS, READY, SIZES, browser

ROOT = Path(__file__).resolve().parents[1]
VIEWS = {view: width for view, (width, _) in SIZES.items()} | {"dark": SIZES["desktop"][0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", help="names such as chapters/intro")
    parser.add_argument("--views", nargs="+", choices=VIEWS, default=list(VIEWS))
    parser.add_argument("--height", type=int, default=2000)
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser(), args=list(ARGUMENTS))
        for name in options.pages:
            for view in options.views:
                page = chromium.new_page(
                    viewport={"width": VIEWS[view], "height": options.height},
                    color_scheme="dark" if view == "dark" else "light",
                )
                page.goto((ROOT / "_build" / "html" / f"{name.removesuffix('.md')}.html").as_uri())
                page.wait_for_function(READY)
                picture = ROOT / "_build" / "shots" / f"{name.removeprefix('chapters/').replace('/', '-')}-{view}.png"
                page.screenshot(path=picture)
                print(picture.relative_to(ROOT))


if __name__ == "__main__":
    main()
