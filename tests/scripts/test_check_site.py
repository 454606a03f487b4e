"""What the checks of the site in a browser notice, asked without a browser."""

from __future__ import annotations

from pathlib import Path

import check_own_table
import check_search
import check_site
import numpy as np
import pandas as pd
import pytest
from check_own_table import Case, disagreements, errors, losses, package, table

from fairpca.companion.published import load_places, papers

CASE = Case("three features", table(1, 40, 3), 2)


def told(case: Case, method: str) -> tuple[str, str, list[str]]:
    """Return what a page without mistakes saves and shows."""
    X, groups = case.rows()
    code, decoder = package(case, method)
    names = [f"{kind} {k}" for kind in ("code", "decode") for k in range(case.d)]
    loadings = pd.DataFrame(np.vstack((code, decoder)), index=names, columns=case.features).to_csv()
    projection = pd.DataFrame(X @ code.T).assign(group=groups)[["group", *range(case.d)]].to_csv(index=False)
    found = errors(case, code, decoder)
    kept = 1 - ((X - X @ code.T @ decoder) ** 2).sum(axis=1).mean() / X.var(axis=0).sum()
    return (
        loadings,
        projection,
        [f"{100 * kept:.2f} %", *(f"{x:.4g}" for x in (*found, *losses(case, found))), "0", "0"],
    )


@pytest.mark.parametrize("method", check_own_table.METHODS)
def test_page_that_agrees_with_the_package_is_accepted(method: str) -> None:
    assert list(disagreements(CASE, method, *told(CASE, method))) == []


def test_every_wrong_number_of_the_page_is_noticed() -> None:
    loadings, projection, shown = told(CASE, "PCA")
    frame = pd.read_csv(pd.io.common.StringIO(loadings), index_col=0)
    frame.iloc[[0, 2], 0] += 1e-6
    assert any(
        "errors of groups differ" in text for text in disagreements(CASE, "PCA", frame.to_csv(), projection, shown)
    )
    other = told(CASE, "equal losses (min-max)")
    assert any("away from those" in text for text in disagreements(CASE, "PCA", loadings, other[1], shown))
    assert any("the page shows" in text for text in disagreements(CASE, "PCA", loadings, projection, other[2]))
    swapped = projection.replace("g0", "g9")
    assert any("other groups" in text for text in disagreements(CASE, "PCA", loadings, swapped, shown))
    renamed = loadings.replace("x0", "y0")
    assert any("not of" in text for text in disagreements(CASE, "PCA", renamed, projection, shown))


def test_ten_tables_of_different_kinds() -> None:
    cases = check_own_table.cases()
    assert len({case.name for case in cases}) == 10
    assert cases[0].frame[cases[0].features].shape == check_own_table.LARGE
    assert {case.frame[case.group].nunique() for case in cases} == {2, 3}
    assert {case.separator for case in cases} == {",", ";"} and not all(case.scaled for case in cases)


def test_search_is_asked_for_what_papers_number() -> None:
    asked = check_search.questions()
    shown = {paper.short: load_places(paper.name) for paper in papers()}
    assert any(map(len, shown.values()))
    for short, places in shown.items():
        for item, chapter, _ in places[:1].itertuples(index=False):
            assert f"chapters/{chapter}.html" in asked[f"{short.split()[0]} {item}"]
    place = {"chapters/a.html"}
    assert check_search.astray("A", place, "chapters/a.html#x") == ""
    assert "chapters/b.html" in check_search.astray("A", place, "chapters/b.html")


def test_heavy_pages_are_noticed(tmp_path: Path) -> None:
    page, picture = tmp_path / "intro.html", tmp_path / "a picture.svg"
    page.write_bytes(bytes(300_000))
    picture.write_bytes(bytes(1_000_000))
    loaded = [page.as_uri(), picture.as_uri() + "?v=1", picture.as_uri()]
    found = list(check_site.too_heavy(check_site.FIRST, page, loaded))
    assert len(found) == 1 and "1,300,000 bytes" in found[0] and "a picture.svg" in found[0]
    assert list(check_site.too_heavy("chapters/a.html", page, loaded)) == []
    assert "of HTML" in next(check_site.too_heavy("chapters/use/api/a.html", page, []))
