"""Try the page "Your table, nothing uploaded" in a browser: ten tables, with the package's numbers beside the page's.

`scripts/check_site.py` calls it. A table is chosen as a reader would choose a file; what is compared is what the page
shows, to its digits, and the loadings and projections that it saves, to `TOLERANCE` of the total variance. The page may
ask for nothing after it is loaded.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from fairpca import PCA, MeanFairPCA, MinMaxFairPCA
from fairpca.metrics import reconstruction_errors

PAGE = "chapters/use/in_the_browser.html"
TOLERANCE = 1e-9
SHOWN = 2e-3  # of a number that is shown with four digits, or, where it is tiny, with fewer
LARGE = (30_000, 21)
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


@dataclass(frozen=True)
class Case:
    """A table, the column of its groups, and what is asked of the page."""

    name: str
    frame: pd.DataFrame
    d: int
    group: str = "group"
    scaled: bool = True
    separator: str = ","
    decimal: str = "."

    @property
    def features(self) -> list[str]:
        return [name for name in self.frame if name != self.group]

    def file(self) -> bytes:
        """Return the table as the file that is given to the page."""
        return self.frame.to_csv(index=False, sep=self.separator, decimal=self.decimal).encode()

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that the page computes with, and their groups."""
        X = self.frame[self.features].to_numpy(dtype=float)
        if self.scaled:
            X = (X - X.mean(axis=0)) / X.std(axis=0)
        return X - X.mean(axis=0), self.frame[self.group].astype(str).to_numpy()


def table(seed: int, n: int, p: int, groups: int = 2, share: float = 0.3) -> pd.DataFrame:
    """Return rows of groups that differ in mean, spread and directions."""
    rng = np.random.default_rng(seed)
    codes = (rng.random(n) < share).astype(int) if groups == 2 else rng.integers(groups, size=n)
    codes[: 2 * groups] = np.tile(np.arange(groups), 2)
    mixing = rng.normal(size=(groups, p, p)) * np.geomspace(1, 0.2, p)[:, None]
    X = np.einsum("np,npq->nq", rng.normal(size=(n, p)), mixing[codes]) + rng.normal(size=(groups, p))[codes]
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])
    frame["group"] = np.array([f"g{g}" for g in range(groups)])[codes]
    return frame


def cases() -> list[Case]:
    """Return ten tables: small and large, with two groups and more, of all scales and ways to write numbers."""
    from fairpca.datasets import load

    data = load("e_coli")
    e_coli = pd.DataFrame(data.X, columns=data.feature_names).assign(group=np.asarray(data.sensitive_features))
    years = table(3, 300, 5).assign(x0=lambda frame: (40 + 12 * frame["x0"]).round())
    return [
        Case("30 000 × 21", table(0, *LARGE), 4),
        Case("three features", table(1, 40, 3), 1),
        Case("E. Coli", e_coli, 2),
        Case("ages in years", years, 2),
        Case("units as they are", table(4, 200, 6).assign(x0=lambda frame: 100 * frame["x0"]), 3, scaled=False),
        Case("three groups", table(5, 250, 7, groups=3), 2),
        Case("a rare group", table(6, 500, 8, share=0.02), 3),
        Case("decimal commas", table(7, 120, 4), 2, separator=";", decimal=","),
        Case(
            "large and tiny numbers",
            table(8, 150, 5).assign(x0=lambda f: 1e9 * f["x0"], x1=lambda f: 1e-9 * f["x1"]),
            2,
        ),
        Case("sixty features", table(9, 400, 60), 5),
    ]


def package(case: Case, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Return code and decoder of the package's answer."""
    X, groups = case.rows()
    model = METHODS[method](case.d).fit(X, sensitive_features=groups)
    return model.components_, getattr(model, "decoder_", model.components_)


def errors(case: Case, code: np.ndarray, decoder: np.ndarray) -> np.ndarray:
    """Return each group's mean squared error of reconstruction about its own mean, in the order of the names."""
    X, groups = case.rows()
    found = []
    for name in sorted(set(groups)):
        rows = X[groups == name] - X[groups == name].mean(axis=0)
        found.append(((rows - rows @ code.T @ decoder) ** 2).sum(axis=1).mean())
    return np.array(found)


def losses(case: Case, found: np.ndarray) -> np.ndarray:
    """Return what groups lose against PCA of their own rows."""
    X, groups = case.rows()
    own = []
    for name in sorted(set(groups)):
        rows = X[groups == name]
        best = PCA(case.d).fit(rows, sensitive_features=np.arange(len(rows)) % 2).components_
        own.append(reconstruction_errors(rows, best.T, np.zeros(len(rows)))[0])
    return found - np.array(own)


def disagreements(case: Case, method: str, loadings: str, projection: str, shown: list[str]) -> Iterator[str]:
    """Yield where the page's answer to one method is not the package's: two saved files and a row of the table."""
    X, groups = case.rows()
    total, names = X.var(axis=0).sum(), sorted(set(groups))
    saved = pd.read_csv(io.StringIO(loadings), index_col=0)
    if list(saved.columns) != case.features:
        yield f"loadings are of {list(saved.columns)}, not of {case.features}"
        return
    code, decoder = saved.to_numpy()[: case.d], saved.to_numpy()[-case.d :]
    ours = errors(case, *package(case, method))
    theirs = errors(case, code, decoder)
    if (worst := np.abs(theirs - ours).max() / total) > TOLERANCE:
        yield f"errors of groups differ by {worst:.1e} of the variance from the package's"
    rows = pd.read_csv(io.StringIO(projection), dtype={case.group: str})
    if list(rows[case.group]) != list(groups):
        yield "the projection's rows have other groups than the table's"
    elif (worst := np.abs(rows.to_numpy()[:, 1:].astype(float) - X @ code.T).max() / np.sqrt(total)) > TOLERANCE:
        yield f"saved projections are {worst:.1e} away from those of the saved loadings"
    kept = 1 - ((X - X @ code.T @ decoder) ** 2).sum(axis=1).mean() / total
    expected = [100 * kept, *ours, *losses(case, ours)]
    told = [float(text.rstrip(" %")) for text in shown[: 1 + 2 * len(names)]]
    # Of losses, differences of errors, only those digits count that the errors have.
    room = SHOWN * np.abs(expected) + np.array([5e-3, *[1e-12 * total] * len(names), *[1e-9 * total] * len(names)])
    if (np.abs(np.array(told) - expected) > room).any():
        yield f"the page shows {told}, the package says {[float(f'{x:.6g}') for x in expected]}"


def answers(page: Any, figure: Any, case: Case) -> tuple[float, Iterator[str]]:
    """Give a table to the page; return the milliseconds until its numbers stood there, and what is wrong with them."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        file.write_bytes(case.file())
        figure.query_selector("input[type=file]").set_input_files(file)
        page.wait_for_function(
            "figure => figure.took !== null || figure.querySelector('.live-message').textContent", arg=figure
        )
    took = figure.evaluate("figure => figure.took")
    return took, _compared(figure, case)


def _compared(figure: Any, case: Case) -> Iterator[str]:
    refused = figure.query_selector(".live-message").inner_text()
    if refused:
        yield f"{case.name}: refused, {refused}"
        return
    if not case.scaled:
        figure.query_selector("text=divide every feature").click()
    slider = figure.query_selector("[aria-live=polite] input[type=range]")
    slider.evaluate(SET, str(case.d))
    _, *rows = figure.query_selector("[aria-live=polite] table").evaluate(CELLS)
    two = case.frame[case.group].nunique() == 2
    wanted = [method for method in METHODS if two or "min-max" not in method]
    if [row[0] for row in rows] != wanted:
        yield f"{case.name}: methods {[row[0] for row in rows]}, not {wanted}"
        return
    for method, *shown in rows:
        figure.query_selector("[aria-live=polite] .live-told select, .live-told select").select_option(label=method)
        files = [saved(figure, f"save {what}") for what in ("loadings", "projection")]
        yield from (f"{case.name}, {method}: {text}" for text in disagreements(case, method, *files, shown))


def saved(figure: Any, button: str) -> str:
    """Press a button and return the text of the file that it saves."""
    figure.evaluate("figure => { figure.saved = null; }")
    figure.query_selector(f'button:text-is("{button}")').click()
    return figure.evaluate("figure => figure.saved?.text() ?? ''")


def complaints(page: Any, remarks: list[str]) -> Iterator[str]:
    """Yield what is wrong with the page when ten tables are given to it; remarks get the time of the large one."""
    page.wait_for_load_state("networkidle")  # the browser asks for the icon after everything else
    asked: list[str] = []
    page.on("request", lambda request: request.url.startswith("blob:") or asked.append(request.url))
    figure = page.query_selector('.live[data-live="own-table"]')
    if figure is None:
        yield "there is no room for a table"
        return
    figure.evaluate(WATCH)
    tried = cases()
    for case in tried:
        took, found = answers(page, figure, case)
        yield from found
        if case is tried[0] and took is not None:
            remarks.append(f"own table: {case.name} read, solved for all d and shown in {took:.0f} ms")
    yield from (f"asks for {address} after it is loaded" for address in asked)
    remarks.append(f"own table: {len(tried)} tables compared with the package, {len(asked)} requests after loading")
