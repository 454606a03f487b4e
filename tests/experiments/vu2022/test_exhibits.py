"""The exhibits of Vu et al.: methods as their programs run them, figures, and the tables' bookkeeping."""

import re
from pathlib import Path

import numpy as np
import pytest

from fairpca.datasets import load
from fairpca.experiments.engine.runner import get, run
from fairpca.experiments.vu2022 import _methods as methods
from fairpca.experiments.vu2022 import radius, tables, toy
from fairpca.experiments.vu2022._protocol import Rows, standardise
from fairpca.solvers.minmax import solve_minmax_weights
from fairpca.solvers.rfpca import solve_rfpca_path


@pytest.fixture(scope="module")
def energy():
    data = load("energy")
    return Rows(standardise(np.asarray(data.X, dtype=float))[0], data.group_code)


@pytest.mark.parametrize("eta", [0.1, 0.5, 2.0, 4.25])
def test_port_is_the_solver_s_variant(eta):
    rng = np.random.default_rng(5)
    halves = [rng.standard_normal((40, 6)) * rng.uniform(0.5, 2, 6) for _ in range(2)]
    moments = np.array([X.T @ X / 40 for X in halves])
    V = solve_minmax_weights(moments, 2, variant="vu2022_code", eta=eta, n_iter=200).V
    np.testing.assert_allclose(methods.port_map(moments, 2, eta, 200), V @ V.T, atol=1e-9)


def test_constant_column_becomes_noise_as_in_the_program():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    X[:, 1] = 7.2e-16
    groups = np.repeat([0, 1], 25)
    scaled = methods._rescaled(Rows(X, groups))
    np.testing.assert_allclose(scaled[:, [0, 2]].std(axis=0), 1.0)
    X[:, 1] = 0.0
    assert np.all(methods._rescaled(Rows(X, groups))[:, 1] == 0)


def test_cfpca_readings(energy):
    stream = np.random.RandomState(0)
    problem = methods._cfpca_problem(energy, 3, delta=0.0, mu=0.0, constraints="mean")
    printed = methods.fit_mean_printed(energy, 3, [{"delta": 0.0}], stream)[0]
    assert np.linalg.norm(printed.T @ problem.f) < 1e-8
    for setting, V in zip(
        methods.MEAN_GRID, methods.fit_mean_stated(energy, 3, methods.MEAN_GRID, stream), strict=True
    ):
        assert np.linalg.norm(V.T @ problem.f) <= setting["delta"] + 1e-8
    one, other = methods.fit_both_printed(energy, 3, methods.BOTH_GRID[:2], stream)
    assert one is other  # mu is lost


def test_toy_sweep_turns_towards_equal_errors():
    angles = [toy.run_toy(method="rfpca", setting=f"lam={lam:g}", protocol="stated") for lam in toy.LAMS]
    assert np.all(np.diff([row["angle"] for row in angles]) >= -1e-9)
    assert angles[-1]["abdiff"] < 1e-9
    pca = toy.run_toy(method="pca", setting="", protocol="stated")
    assert angles[0]["angle"] == pytest.approx(pca["angle"], abs=1e-8)


def test_radius_solutions_are_the_certified_ones():
    moments, counts = radius._moments(radius.vu_radius("train", random_state=3))
    radii = [(radius.LAM, np.array([0.0, alpha / np.sqrt(counts[1])])) for alpha in radius.ALPHAS[::9]]
    values = [
        [result.objective for result in solve_rfpca_path(moments, counts / counts.sum(), 1, radii, certified=certified)]
        for certified in (True, False)
    ]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-9)


def test_a_cell_of_the_tables_and_their_grid():
    record = tables.run_pca(dataset="energy", split=0, method="pca", d=3, protocol="stated")
    assert record["abdiff"] == pytest.approx(abs(record["error_0"] - record["error_1"]))
    assert 0 <= record["delta_f_lin"] <= 1
    grid = get("vu2022/tables").grid("paper")
    assert {cell["dataset"] for cell in grid} >= set(tables.DATASETS)
    assert all(cell["protocol"] == "stated" for cell in grid if cell["method"] == "pca")


def test_smoke_tables(tmp_path):
    table = run("vu2022/toy", "smoke", store=tmp_path / "s.sqlite", verbose=0)
    assert set(table["protocol"]) == {"printed", "stated"}
    counts = run("vu2022/table2", "smoke", store=tmp_path / "s.sqlite", verbose=0)
    assert counts.set_index(["dataset", "metric"]).loc[("energy", "n_features"), "value"] == 8


# Every numbered statement of the paper, appendix included.
STATEMENTS = (
    "Definition 2.1",
    "Proposition 2.2",
    "Definition 3.1",
    "Theorem 3.2",
    "Proposition 3.3",
    "Remark 3.4",
    "Lemma 4.1",
    "Algorithm 1",
    "Lemma 4.2",
    "Theorem 4.3",
    "Lemma A.1",
    "Definition B.1",
    "Theorem B.2",
)


def test_every_numbered_statement_has_one_directive():
    folder = Path(__file__).resolve().parents[3] / "chapters" / "vu2022"
    text = "\n".join(path.read_text(encoding="utf8") for path in sorted(folder.glob("*.md")))
    titles = re.findall(r"^`{3,}\{prf:(\w+)\} (.*)\n:label: \S+$", text, re.MULTILINE)
    for statement in STATEMENTS:
        kind, beginning = statement.split()[0].lower(), re.compile(rf"{re.escape(statement)}(?![\d.])")
        found = [title for name, title in titles if name == kind and beginning.match(title)]
        assert len(found) == 1, (statement, found)
