"""Ask the built site's search, in a browser, for everything that the papers number: its chapter must come first.

`scripts/check_site.py` calls it on the page of the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairpca.companion.published import load_places, papers

PAGE = "search.html"
# Type a question, wait until the results are complete, and return the address of the first one.
ASK = """async question => {
  const results = document.getElementById("search-results");
  results.replaceChildren();
  Search.performSearch(question);
  for (let i = 0; i < 1000 && !results.querySelector(".search-summary").textContent.trim(); i++) {
    await new Promise(done => setTimeout(done, 10));
  }
  return results.querySelector("ul.search li a")?.getAttribute("href") ?? "nothing";
}"""


def questions() -> dict[str, set[str]]:
    """Return what a reader types, such as "Samadi Theorem 5.1", and the chapters where that stands."""
    found: dict[str, set[str]] = {}
    for paper in papers():
        author = paper.short.split()[0]
        for place in load_places(paper.name).itertuples(index=False):
            found.setdefault(f"{author} {place.item}", set()).add(f"chapters/{place.chapter}.html")
    return found


def astray(question: str, chapters: set[str], first: str) -> str:
    """Return what is wrong with the first answer to a question; nothing if it is one of the chapters."""
    page = first.split("#")[0].split("?")[0]
    return "" if page in chapters else f"{question!r} finds {first} first, not {' or '.join(sorted(chapters))}"


def complaints(page: Any, remarks: list[str]) -> Iterator[str]:
    """Yield the questions that lead elsewhere."""
    page.wait_for_function("typeof Search !== 'undefined' && Search.hasIndex()")
    asked = questions()
    for question, chapters in asked.items():
        if told := astray(question, chapters, page.evaluate(ASK, question)):
            yield told
    remarks.append(f"search: {len(asked)} questions, such as {', '.join(map(repr, list(asked)[:3]))}")
