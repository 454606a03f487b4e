"""Verdicts on what Vu et al. (2022) say about data, splits, grids and runs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from fairpca import PCA, published
from fairpca.datasets import load, standardise
from fairpca.experiments.engine.runner import load_results
from fairpca.experiments.engine.verdicts import Verdict, as_records, decide, register_claims
from fairpca.experiments.vu2022 import methods
from fairpca.experiments.vu2022.dimensions import SHARE
from fairpca.experiments.vu2022.protocol import Rows, run_split, split_rows
from fairpca.experiments.vu2022.tables import DATASETS, FACES, K
from fairpca.metrics import reconstruction_errors
from fairpca.solvers.rfpca import GroupObjective
from fairpca.synthetic import vu_radius

__all__ = ["run_claims"]


def _errors_of(exhibit: str, method: str, metric: str) -> tuple[Any, Any]:
    """Return our numbers as printed and the printed ones, of the fourteen tables."""
    table: Any = load_results("vu2022/tables").table
    rows = table[(table["exhibit"] == exhibit) & (table["protocol"] == "printed") & (table["method"] == method)]
    ours = rows[(rows["metric"] == metric) & (rows["dataset"] != FACES)].set_index("dataset")["mean"]
    paper: Any = published.load("vu2022", exhibit)
    theirs = paper[(paper["method"] == method) & (paper["metric"] == metric)].set_index("dataset")["value"]
    return ours, theirs.loc[ours.index]


def _equal(method: str) -> int:
    """Count the rows of Table 1 of which both numbers agree in all printed digits."""
    agree = []
    for metric in ("abdiff", "are"):
        ours, theirs = _errors_of("table1", method, metric)
        agree.append((ours - theirs).abs() <= 0.5001e-4)
    return int((agree[0] & agree[1]).sum())


def _protocol() -> Iterator[Verdict]:
    table: Any = load_results("vu2022/table2").table
    counts = table.pivot_table(index="dataset", columns="metric", values="value").astype(int)
    faces = counts.loc[FACES]
    sizes = (faces["n_group_0"], faces["n_group_1"], faces["n_features"])
    text = f"{sizes[0]} and {sizes[1]} images of {sizes[2]} pixels, drawn and resized here by the text's rule"
    yield decide("lfw-size", sizes == (2000, 2000, 24 * 24), text, "Other sizes.")

    printed: Any = published.load("vu2022", "table2").pivot_table(index="dataset", columns="metric", values="value")
    large = counts[counts["n_large_sd"] > 0]
    counted = int((printed.loc[large.index, "n_features"] == large["n_features"]).sum())
    text = (
        f"{len(large)} data sets have such columns ({int(large['n_large_sd'].sum())} columns); "
        f"the printed d counts them in {counted}"
    )
    reason = "The columns are in the files and in the printed dimensions."
    yield decide("protocol-features", counted == 0, text, reason, "fails" if counted == len(large) else "holds in part")


def _splits() -> Iterator[Verdict]:
    """Count the splits in the stored cells, and cut each data set's group sizes as the code does."""
    cells: Any = load_results("vu2022/tables").cells
    cells = cells[(cells["protocol"] == "printed") & (cells["dataset"] != FACES)]
    seeds = {int(found) for found in cells.groupby(["dataset", "method"])["split"].nunique()}
    share = inspect.signature(run_split).parameters["share"].default  # the tables pass none
    counts: Any = load_results("vu2022/table2").table.pivot_table(index="dataset", columns="metric", values="value")
    shares, different = [], set()
    for dataset in cells["dataset"].unique():
        groups = np.repeat([0, 1], counts.loc[dataset, ["n_group_0", "n_group_1"]].to_numpy(dtype=int))
        parts = [split_rows(groups, share, int(seed))[0] for seed in cells["split"].unique()]
        shares += [len(part) / len(groups) for part in parts]
        different.add(len({tuple(np.sort(part)) for part in parts}))
    text = (
        f"{', '.join(map(str, sorted(seeds)))} splits, {', '.join(map(str, sorted(different)))} of them different, "
        f"with {100 * min(shares):.1f} to {100 * max(shares):.1f} % of the rows for training"
    )
    # Each group's share is rounded down, so up to two rows are missing.
    good = seeds == different == {10} and 0.3 - 2 / counts["n_samples"].min() <= min(shares) and max(shares) <= 0.3
    yield decide("protocol-splits", good, text, "Another number of splits, or another share.")


def _restarts() -> Iterator[Verdict]:
    """Look at the starts that the tables' own call makes, and at how many rows of Table 1 come out by it."""
    data, setting = load("energy"), {"alpha": 0.15, "lam": 0.5}
    rows = Rows(standardise(np.asarray(data.X, dtype=np.float64))[0], data.group_code)
    (run,) = methods.rfpca("printed").fit(rows, K, np.random.RandomState(0), setting)
    history = run.result_.history
    starts, steps = history["subgradient_norm"].shape
    objective = GroupObjective(rows.moments.weights, setting["lam"], run.eps_, "printed")
    at_pca = reconstruction_errors(rows.moments, PCA(K).fit(rows.moments).components_.T, centering="none")
    from_pca = float(objective.values(at_pca.to_numpy()).max())
    plain = int(np.sum(np.abs(history["objective"][:, 0] - from_pca) < 1e-9 * from_pca))
    equal = _equal("rfpca")
    text = (
        f"{starts} starts of {steps} iterations, {plain} of them ordinary PCA; so run, {equal} of {len(DATASETS)} "
        "rows of Table 1 agree in all printed digits"
    )
    reason = f"{starts - plain} random starts and {plain} from ordinary PCA."
    near = "holds in part" if (starts - plain, steps) == (20, 1000) else "fails"
    yield decide("protocol-restarts", (starts, plain, steps) == (20, 0, 1000), text, reason, near)


# What the text lists, method by method.
_STATED_GRIDS: dict[str, tuple[str, dict[str, tuple[float, ...]]]] = {
    "protocol-grid-rfpca": ("rfpca", {"alpha": (0.05, 0.1, 0.15), "lam": (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)}),
    "protocol-grid-fairpca": ("fairpca", {"eta": (*np.linspace(0.25, 4.25, 17), 0.1)}),
    "protocol-grid-mean": ("cfpca_mean", {"delta": (0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9)}),
    "protocol-grid-both": ("cfpca_both", {"mu": (0.0001, 0.001, 0.01, 0.05, 0.5)}),
}


def _grids() -> Iterator[Verdict]:
    """Compare the grids that the programs search, with which the tables come out, with those of the text."""
    of: dict[str, dict[str, tuple[float, ...]]] = {}
    for method, compared in (
        ("rfpca", methods.rfpca("printed")),
        ("fairpca", methods.fairpca("printed")),
        ("cfpca_mean", methods.cfpca_mean("printed")),
        ("cfpca_both", methods.cfpca_both("printed")),
    ):
        found: dict[str, list[float]] = {}
        for setting in compared.settings:
            for name, value in {**setting, **setting.get("options", {})}.items():
                if name != "options":
                    found.setdefault(name, []).append(float(value))
        of[method] = {name: tuple(sorted(set(values))) for name, values in found.items()}
    for id, (method, stated) in _STATED_GRIDS.items():
        listed = {name: tuple(sorted(map(float, values))) for name, values in stated.items()}
        same = listed.keys() == of[method].keys() and all(np.allclose(listed[n], of[method][n]) for n in listed)
        shown = "; ".join(f"{name} in {{{', '.join(f'{v:g}' for v in values)}}}" for name, values in of[method].items())
        text = f"{shown}; so run, {_equal(method)} of {len(DATASETS)} rows of Table 1 agree in all printed digits"
        yield decide(id, same, text, "The program searches other values, or loses them on the way to the solver.")
    steps, rows = methods.MW_STEPS, _equal("fairpca")
    text = f"{steps} steps; so run, {rows} of {len(DATASETS)} rows of Table 1 agree in all printed digits"
    yield decide("protocol-fairpca-iterations", steps == 1000, text, "Another number.")


def _faces() -> Iterator[Verdict]:
    """Say what stands beside the faces' protocol; no program was published for them."""
    cells: Any = load_results("vu2022/tables").cells
    runs = cells[cells["dataset"] == FACES].groupby("method")["split"].nunique()
    text = f"{runs.min()} to {runs.max()} random choices of faces, two folds, exact solvers"
    reason = "No program was published for the faces, and exact solvers make no iterations; nothing can be compared."
    for id in ("lfw-iterations", "lfw-folds", "lfw-runs"):
        yield Verdict(id, text, "not judged", reason)


def _figures() -> Iterator[Verdict]:
    cells: Any = load_results("vu2022/dimensions").cells
    splits = int(cells.groupby(["dataset", "method", "protocol"])["split"].nunique().max())
    yield decide(
        "fig3-split", SHARE == 0.5, f"{100 * SHARE:.0f} % for training in the program's call", "Another share."
    )
    yield decide("fig3-runs", splits == 5, f"{splits} splits", "Another number.")
    sizes = {part: vu_radius(part, random_state=0).sensitive_features for part in ("train", "test")}
    counts = {part: np.unique(np.asarray(groups), return_counts=True)[1].tolist() for part, groups in sizes.items()}
    cells = load_results("vu2022/radius").cells
    runs, alphas = int(cells["split"].nunique()), int(cells["alpha"].nunique())
    text = f"{counts['train']} for training, {counts['test']} for the test, {runs} simulations of {alphas} radii"
    reason = "No program was published; ours follows the text, and there is nothing to compare it with."
    yield Verdict("fig4-sizes", text, "not judged", reason)


def _groups() -> Iterator[Verdict]:
    """Ask whether the groups that Table 2 names are those of the file: German Credit by savings, or by age."""
    data = load("german_credit")
    absent = sorted({f"A{i}" for i in range(1, 21)} - {name.split("_")[0] for name in data.feature_names})
    text = f"of the attributes A1 to A20 the features lack {', '.join(absent)}, by which the rows were grouped"
    reason = (
        "Attribute 13 of that data set is the age in years; savings in DM are attribute 6, which is among the features."
    )
    yield decide("table2-german-group", "A13" not in absent, text, reason, "holds in part")


def run_claims(*, method: str) -> list[dict[str, Any]]:
    """Judge what the text says about the protocol."""
    return as_records(_protocol(), _splits(), _restarts(), _grids(), _faces(), _figures(), _groups())


register_claims(
    "vu2022/claims_protocol",
    run_claims,
    "Verdicts on data, splits, grids and runs",
    inputs=(
        *(f"vu2022/{stem}" for stem in ("dimensions", "radius", "tables", "table2")),
        *(f"published/vu2022/{stem}" for stem in ("table1", "table2")),
    ),
)
