"""What the checks of the site in a browser notice, asked without a browser."""

from __future__ import annotations

from pathlib import Path

import check_own_table
import check_search
import check_site
import numpy as np
import pandas as pd
import pytest
from check_own_table import disagreements, errors, standardised

from fairpca.companion.published import load_places, papers

FRAME, D = check_own_table.table(1, 40, 3), 2


def told(method: str) -> tuple[str, list[str]]:
    """Return what a page without mistakes saves and shows."""
    X, groups = standardised(FRAME)
    model = check_own_table.METHODS[method](D).fit(X, sensitive_features=groups)
    code, decoder = model.components_, getattr(model, "decoder_", model.components_)
    names = [f"{kind} {k}" for kind in ("code", "decode") for k in range(D)]
    loadings = pd.DataFrame(np.vstack((code, decoder)), index=names, columns=["x0", "x1", "x2"]).to_csv()
    found = errors(FRAME, code, decoder)
    best = [np.linalg.svd(rows - rows.mean(axis=0))[1][D:] ** 2 @ [1 / len(rows)]
            for rows in (X[groups == g] for g in ("g0", "g1"))]  # fmt: skip
    kept = 100 * (1 - ((X - X @ code.T @ decoder) ** 2).sum() / (X**2).sum())
    return loadings, [f"{kept:.2f} %", *(f"{x:.4g}" for x in (*found, *np.subtract(found, best))), "0", "0"]


@pytest.mark.parametrize("method", check_own_table.METHODS)
def test_page_that_agrees_with_the_package_is_accepted_and_another_one_is_not(method: str) -> None:
    loadings, shown = told(method)
    assert list(disagreements(FRAME, D, method, loadings, shown)) == []
    frame = pd.read_csv(pd.io.common.StringIO(loadings), index_col=0)
    frame.iloc[[0, 2], 0] += 1e-6
    (wrong,) = disagreements(FRAME, D, method, frame.to_csv(), shown)
    assert "errors of groups differ" in wrong
    (wrong,) = disagreements(FRAME, D, method, loadings.replace("x0", "y0"), shown)
    assert "loadings are of ['y0', 'x1', 'x2']" in wrong
    for i in range(5):
        changed = [*shown[:i], f"{1.01 * float(shown[i].rstrip(' %')):.4g}", *shown[i + 1 :]]
        assert "the page shows" in next(disagreements(FRAME, D, method, loadings, changed)), i


def test_search_is_asked_for_what_papers_number() -> None:
    asked = check_search.questions()
    for paper in papers():
        for item, chapter, _ in load_places(paper.name).itertuples(index=False):
            assert f"chapters/{chapter}.html" in asked[f"{paper.short.split()[0]} {item}"]
    assert check_search.astray("A", {"chapters/a.html"}, "chapters/a.html#x") == ""
    assert "chapters/b.html" in check_search.astray("A", {"chapters/a.html"}, "chapters/b.html")


def test_heavy_pages_are_noticed(tmp_path: Path) -> None:
    page, picture = tmp_path / "intro.html", tmp_path / "a picture.svg"
    page.write_bytes(bytes(300_000))
    picture.write_bytes(bytes(1_000_000))
    loaded = [page.as_uri(), picture.as_uri() + "?v=1", picture.as_uri()]
    found = list(check_site.too_heavy(check_site.FIRST, page, loaded))
    assert len(found) == 1 and "1,300,000 bytes" in found[0] and "a picture.svg" in found[0]
    assert list(check_site.too_heavy("chapters/a.html", page, loaded)) == []
    assert "of HTML" in next(check_site.too_heavy("chapters/use/api/a.html", page, []))
