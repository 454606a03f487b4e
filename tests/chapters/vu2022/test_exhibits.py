"""The exhibits of Vu et al.: methods as their programs run them, figures, and the tables' bookkeeping."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fairpca import PCA, RFPCA, MinMaxFairPCA
from fairpca.companion import stored
from fairpca.companion.vu2022 import compared, fits, one_split, rescaled, separations, split_groups
from fairpca.datasets import load, standardise
from fairpca.metrics import delta_f_lin
from fairpca.synthetic import vu_radius, vu_toy

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # the programs go on with what they have


def test_constant_column_becomes_noise_as_in_the_program():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    X[:, 1] = 7.2e-16
    scaled = rescaled(X)
    np.testing.assert_allclose(scaled[:, [0, 2]].std(axis=0), 1.0)
    noise = scaled[:, 1].std()  # what rounding leaves depends on the BLAS, and so does whether it leaves anything
    assert noise == 0 or noise == pytest.approx(1.0)
    X[:, 1] = 0.0
    assert np.all(rescaled(X)[:, 1] == 0)


def test_cfpca_readings():
    data = load("german_credit")
    X = standardise(np.asarray(data.X, dtype=float))[0]
    apart = np.subtract(*(X[data.group_code == a].mean(axis=0) for a in (1, 0)))
    printed = next(fits("cfpca_mean", "printed", None, 3, X, data.group_code, only=7))[1]
    assert np.linalg.norm(printed.components_ @ apart) < 1e-3  # nearly Pf = 0, whatever delta
    stated = fits("cfpca_mean", "stated", None, 3, X, data.group_code)
    distances = {float(name[6:]): np.linalg.norm(model.components_ @ apart) for name, model in stated}
    assert all(distance <= delta + 1e-8 for delta, distance in distances.items())
    assert distances[0.1] > 0.09  # the level is used
    assert [name for name, _ in compared("cfpca_both", "printed", None)] == ["mu=1"]  # mu is lost
    assert len(list(compared("cfpca_both", "stated", None))) == 5


def test_toy_is_judged_on_its_own_rows():
    """500 + 200 rows of the authors' seed; errors of rows about zero; 41 starts from the rest of the same stream."""
    stream = np.random.RandomState(10)
    X, groups = vu_toy(random_state=stream)
    model = RFPCA(
        1,
        lam=0.2,
        alpha=0,
        solver="subgradient",
        variant="vu2022_code",
        centering="none",
        random_state=stream,
        options={"n_starts": 41},
    ).fit(X, sensitive_features=groups)
    cells = stored("vu2022/toy").cells.set_index(["method", "setting", "protocol"])
    row = cells.loc["rfpca", "lam=0.2", "printed"]
    v = np.array([row["x"], row["y"]])
    assert abs(v @ model.components_[0]) == pytest.approx(1.0, abs=1e-9)
    left = np.sum((X - np.outer(X @ v, v)) ** 2, axis=1)
    means = [left[groups == a].mean() for a in (0, 1)]
    assert [row["error_0"], row["error_1"]] == pytest.approx(means)
    assert (row["are"], row["abdiff"]) == pytest.approx((left.mean(), abs(means[0] - means[1])))


@pytest.mark.parametrize(("setting", "eps_0"), [("eps0=0", 0.0), ("eps0=0.15/sqrt(N0)", 0.15 / np.sqrt(200))])
def test_radius_is_judged_row_by_row(setting, eps_0):
    """lambda = 0.1, eps_1 = alpha / sqrt(100) for 100 alphas in [0, 10]; the errors of the test rows."""
    X, groups = vu_radius("test", random_state=2022)
    train, labels = vu_radius("train", random_state=4)
    cells = stored("vu2022/radius").cells
    assert set(cells["split"]) == set(range(100))
    cells = cells[(cells["split"] == 4) & (cells["setting"] == setting)]
    np.testing.assert_allclose(cells["alpha"], np.arange(100) * 10 / 99)
    for row in cells.to_dict("records")[::33]:
        eps = (eps_0, row["alpha"] / np.sqrt(100))
        v = RFPCA(1, lam=0.1, eps=eps, centering="none").fit(train, sensitive_features=labels).components_[0]
        left = np.sum((X - np.outer(X @ v, v)) ** 2, axis=1)
        gap = abs(left[groups == 0].mean() - left[groups == 1].mean())
        found = [row["are"], row["abdiff"], row["sum"], np.cos(np.radians(row["angle"]))]
        assert found == pytest.approx([left.mean(), gap, left.mean() + gap, abs(v[0])], rel=1e-6)


@pytest.mark.parametrize("method", ["pca", "rfpca", "fairpca"])
def test_dimensions_are_errors_of_groups_in_both_halves(method):
    """Half of each group trains; alpha = 0.15, lambda = 0.5, eta = 0.1; the rows' own errors about training means."""
    data, stream = load("wine_quality"), np.random.RandomState(2)
    model = {
        "pca": PCA(2),
        "rfpca": RFPCA(2, alpha=0.15, lam=0.5, centering="none", solver="subgradient", variant="vu2022_code"),
        "fairpca": MinMaxFairPCA(2, solver="mw", variant="vu2022_code", max_iter=1000, options={"eta": 0.1}),
    }[method]
    if method == "rfpca":
        model.set_params(max_iter=1000, options={"n_starts": 21}, random_state=stream)
    groups, rng = np.asarray(data.group_code), np.random.default_rng(2)
    parts = [[], []]
    for a in (0, 1):
        rows = np.flatnonzero(groups == a)
        rng.shuffle(rows)
        parts[0].extend(rows[: len(rows) // 2])
        parts[1].extend(rows[len(rows) // 2 :])
    for rows in parts:
        rng.shuffle(rows)
    X = np.asarray(data.X, dtype=float)
    X = (X - X[parts[0]].mean(axis=0)) / X[parts[0]].std(axis=0)
    P = model.fit(X[parts[0]], sensitive_features=groups[parts[0]]).components_
    P = P.T @ P
    cells = stored("vu2022/dimensions").cells.query("dataset == 'wine_quality' and split == 2 and d == 2")
    (found,) = cells[
        (cells["method"] == method) & (cells["protocol"] == ("stated" if method == "pca" else "printed"))
    ].to_dict("records")
    for part, rows in zip(("train", "test"), parts, strict=True):
        for a in (0, 1):
            own = X[[i for i in rows if groups[i] == a]] - X[[i for i in parts[0] if groups[i] == a]].mean(axis=0)
            assert found[f"error_{a}:{part}"] == pytest.approx(np.sum((own - own @ P) ** 2) / len(own), rel=1e-6)
        assert found[f"are:{part}"] == pytest.approx(np.sum((X[rows] - X[rows] @ P) ** 2) / len(rows), rel=1e-6)


def test_pareto_points_are_all_rows_at_every_setting():
    """No split: all rows train and are judged, for each setting in the order of the grid."""
    cells = stored("vu2022/pareto").cells
    assert set(cells["dataset"]) == {"default_credit", "biodeg", "german_credit"}  # Figures 2, 5, 6
    cells = cells.query("dataset == 'german_credit' and method == 'rfpca' and protocol == 'stated' and d == 3")
    points = cells.to_dict("records")
    assert [point["setting"] for point in points[:2]] == ["alpha=0.05, lam=0", "alpha=0.05, lam=0.5"]
    data = load("german_credit")
    X = np.asarray(data.X, dtype=float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for point in points[4::6]:
        alpha, lam = (float(word.partition("=")[2]) for word in point["setting"].split(", "))
        model = RFPCA(3, alpha=alpha, lam=lam, centering="none").fit(X, sensitive_features=data.group_code)
        V = model.components_.T
        assert point["are"] == pytest.approx(np.sum((X - X @ V @ V.T) ** 2) / len(X))
        own = [X[data.group_code == a] - X[data.group_code == a].mean(axis=0) for a in (0, 1)]
        gap = [np.sum((Y - Y @ V @ V.T) ** 2) / len(Y) for Y in own]
        assert point["abdiff"] == pytest.approx(abs(gap[0] - gap[1]))


def test_a_stored_cell_has_the_test_part_and_the_training_part_in_their_places():
    data = load("energy")
    found = one_split(np.asarray(data.X, float), data.group_code, "pca", "stated", 1)
    cells = stored("vu2022/tables").cells.query("dataset == 'energy' and method == 'pca' and split == 1")
    (record,) = cells.to_dict("records")
    for name in ("are", "abdiff", "error_0", "error_1"):
        assert record[name] == pytest.approx(found["outside"][name], rel=1e-9)
        assert record[f"{name}:train"] == pytest.approx(found["inside"][name], rel=1e-9)
        assert found["inside"][name] != found["outside"][name]
    assert record["abdiff"] == pytest.approx(abs(record["error_0"] - record["error_1"]))
    assert 0 <= record["delta_f_lin"] <= 1


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


def test_of_a_map_with_more_dimensions_the_leading_ones_are_separated():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, 60, 4))
    a = b = np.arange(60) % 2
    U, found = np.eye(4), {"train": (A, a), "test": (B, b)}
    found["model"] = SimpleNamespace(
        components_=(U[:, :3] * [0.5, 0.9, 0.7]).T, result_=SimpleNamespace(basis="affine")
    )
    expected = delta_f_lin(B @ U[:, [1]], b, A @ U[:, [1]], a, balanced=True, random_state=0).value
    assert dict(separations(found, 1, "stated", None, 0))["delta_f_lin"] == pytest.approx(expected)


@pytest.mark.parametrize("dataset", ["energy", "e_coli"])
def test_grain_of_table_4_is_one_row_of_the_smaller_group_on_the_other_side(dataset):
    """The largest change of a difference of shares that one row of the test part can make."""
    groups = load(dataset).group_code
    test = groups[split_groups(groups, 0.3, 0)[1]]

    def separation(said):
        return np.mean(said[test == 0]) - np.mean(said[test == 1])

    nobody = np.zeros(len(test))
    changes = [abs(separation(row) - separation(nobody)) for row in np.eye(len(test))]
    grains = stored("vu2022/noise").table.query("exhibit == 'table4' and dataset == @dataset")["grain"]
    np.testing.assert_allclose(grains, max(changes))


@pytest.mark.parametrize("exhibit", ["table1", "table3"])
def test_noise_is_how_far_repeated_cells_are_from_the_printed_ones(exhibit):
    """The mean of ten splits, each moved up or down by one of five measured differences: known in closed form."""
    column, one = "are:train" if exhibit == "table3" else "are", ["dataset", "method", "split"]
    own = stored("vu2022/tables").cells.query("protocol == 'printed'").set_index(one)[column].sort_index()
    moved = stored("vu2022/rounding").cells.set_index(one)[column].sort_index()
    differences = (moved - own.reindex(moved.index)).dropna()
    expected = np.sqrt((differences**2).groupby(level=["dataset", "method"]).mean() / 10)
    rows = stored("vu2022/noise").table.query("exhibit == @exhibit and metric == 'are' and method != 'fairpca'")
    noises = rows.set_index(["dataset", "method"])["noise"]
    assert len(noises) == 3 * 14
    np.testing.assert_allclose(noises, expected.reindex(noises.index).fillna(0.0), rtol=0.1, atol=1e-12)
