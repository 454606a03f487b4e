"""Try the page "Your table, nothing uploaded" in a browser, with the package's numbers next to the page's.

`scripts/check_site.py` calls it. A table is chosen as a reader would choose a file; what is compared is what the page
shows, to its digits, and the loadings that it saves, to `TOLERANCE` of the total variance. The page may ask for nothing
after it is loaded.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from fairpca import PCA, MeanFairPCA, MinMaxFairPCA
from fairpca.datasets import load

PAGE = "chapters/use/in_the_browser.html"
TOLERANCE = 1e-9
SHOWN = 2e-3  # of a number that is shown with four digits, or, where it is tiny, with fewer
# Names of the methods on the page and the estimators that answer the same question.
METHODS = {
    "PCA": lambda d: PCA(d),
    "equal losses (min-max)": lambda d: MinMaxFairPCA(d),
    "equal means, orthogonal": lambda d: MeanFairPCA(d),
    "equal means, oblique": lambda d: MeanFairPCA(d, projection="oblique"),
}
# From the moment that the file is chosen to the one where the numbers stand on the page.
WATCH = """figure => {
  const input = figure.querySelector("input[type=file]"), results = figure.querySelector("[aria-live=polite]");
  let started = 0;
  figure.took = null;
  input.addEventListener("change", () => { started = performance.now(); figure.took = null; }, {capture: true});
  new MutationObserver(() => {
    if (figure.took === null && results.querySelector("table")) figure.took = performance.now() - started;
  }).observe(results, {childList: true, subtree: true});
  // What the browser is given to save; many downloads in a row are refused now and then.
  URL.createObjectURL = blob => { figure.saved = blob; return "blob:"; };
  HTMLAnchorElement.prototype.click = () => {};
}"""
SET = "(input, value) => { input.value = value; input.dispatchEvent(new Event('input', {bubbles: true})); }"
CELLS = "table => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent))"


def table(seed: int, n: int, p: int, groups: int = 2) -> pd.DataFrame:
    """Return rows of groups that differ in mean, spread and directions, in columns of very different units."""
    rng = np.random.default_rng(seed)
    codes = np.append(np.tile(np.arange(groups), 2), np.minimum(rng.geometric(0.7, n - 2 * groups), groups) - 1)
    mixing = rng.normal(size=(groups, p, p)) * np.geomspace(1, 0.2, p)[:, None]
    X = np.einsum("np,npq->nq", rng.normal(size=(n, p)), mixing[codes]) + rng.normal(size=(groups, p))[codes]
    frame = pd.DataFrame(X * np.geomspace(1e-3, 1e3, p), columns=[f"x{j}" for j in range(p)])
    return frame.assign(group=[f"g{code}" for code in codes])


def tables() -> Iterator[tuple[str, pd.DataFrame, int, dict[str, str]]]:
    """Yield name, table, number of components and the way to write numbers: large, real, small, and three groups."""
    data = load("e_coli")
    yield "30 000 × 21", table(0, 30_000, 21), 4, {}
    yield "E. Coli", pd.DataFrame(data.X, columns=data.feature_names).assign(group=data.sensitive_features), 2, {}
    yield "decimal commas", table(7, 40, 3), 1, {"sep": ";", "decimal": ","}
    yield "three groups", table(5, 250, 60, groups=3), 5, {}


def standardised(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that the page computes with, and their groups."""
    X = frame.drop(columns="group").to_numpy(dtype=float)
    return (X - X.mean(axis=0)) / X.std(axis=0), frame["group"].astype(str).to_numpy()


def errors(frame: pd.DataFrame, code: np.ndarray, decoder: np.ndarray) -> list[float]:
    """Return each group's mean squared error of reconstruction about its own mean, in the order of the names."""
    X, groups = standardised(frame)
    parts = (X[groups == name] - X[groups == name].mean(axis=0) for name in sorted(set(groups)))
    return [float(((rows - rows @ code.T @ decoder) ** 2).sum(axis=1).mean()) for rows in parts]


def disagreements(frame: pd.DataFrame, d: int, method: str, loadings: str, shown: list[str]) -> Iterator[str]:
    """Yield where the page's answer is not the package's: a saved file, and a row of the table that it shows."""
    X, groups = standardised(frame)
    model = METHODS[method](d).fit(X, sensitive_features=groups)
    code, decoder = model.components_, getattr(model, "decoder_", model.components_)
    ours = np.array(errors(frame, code, decoder))
    saved = pd.read_csv(io.StringIO(loadings), index_col=0)
    if list(saved.columns) != list(frame.columns.drop("group")):
        yield f"loadings are of {list(saved.columns)}"
    elif (worst := np.abs(errors(frame, saved.to_numpy()[:d], saved.to_numpy()[-d:]) - ours).max()) > (
        TOLERANCE * X.shape[1]
    ):
        yield f"errors of groups differ by {worst:.1e} from the package's"
    # A group loses against PCA of its own rows.
    spectra = [np.linalg.eigvalsh(np.cov(X[groups == name].T, ddof=0)) for name in sorted(set(groups))]
    expected = [100 - 100 * ((X - X @ code.T @ decoder) ** 2).sum() / X.size, *ours]
    expected += [error - spectrum[:-d].sum() for error, spectrum in zip(ours, spectra, strict=True)]
    found = [float(text.rstrip(" %")) for text in shown[: len(expected)]]
    if not np.allclose(found, expected, rtol=SHOWN, atol=np.append(5e-3, np.full(len(found) - 1, 1e-9 * X.shape[1]))):
        yield f"the page shows {found}, the package says {[float(f'{x:.6g}') for x in expected]}"


def answers(page: Any, figure: Any, name: str, frame: pd.DataFrame, d: int, written: Any) -> Iterator[str]:
    """Give a table to the page and yield what is wrong with its numbers."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        frame.to_csv(file, index=False, **written)
        figure.query_selector("input[type=file]").set_input_files(file)
        page.wait_for_function(
            "figure => figure.took !== null || figure.querySelector('.live-message').textContent", arg=figure
        )
    if refused := figure.query_selector(".live-message").inner_text():
        yield f"{name}: refused, {refused}"
        return
    figure.query_selector("[aria-live=polite] input[type=range]").evaluate(SET, str(d))
    _, *rows = figure.query_selector("[aria-live=polite] table").evaluate(CELLS)
    wanted = [method for method in METHODS if frame["group"].nunique() == 2 or "min-max" not in method]
    if [row[0] for row in rows] != wanted:
        yield f"{name}: methods {[row[0] for row in rows]}, not {wanted}"
        return
    for method, *shown in rows:
        figure.query_selector("[aria-live=polite] .live-told select, .live-told select").select_option(label=method)
        figure.query_selector('button:text-is("save loadings")').click()
        loadings = figure.evaluate("figure => figure.saved.text()")
        yield from (f"{name}, {method}: {text}" for text in disagreements(frame, d, method, loadings, shown))


def complaints(page: Any, remarks: list[str]) -> Iterator[str]:
    """Yield what is wrong with the page when tables are given to it; remarks get the time of the last one."""
    page.wait_for_load_state("networkidle")  # the browser asks for the icon after everything else
    asked: list[str] = []
    page.on("request", lambda request: request.url.startswith("blob:") or asked.append(request.url))
    figure = page.query_selector('.live[data-live="own-table"]')
    if figure is None:
        yield "there is no room for a table"
        return
    figure.evaluate(WATCH)
    for name, *given in tables():
        yield from answers(page, figure, name, *given)
        remarks.append(f"own table: {name} read, solved and shown in {figure.evaluate('figure => figure.took')} ms")
    yield from (f"asks for {address} after it is loaded" for address in asked)
