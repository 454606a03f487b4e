"""What the live pages compute is what the package computes."""

from __future__ import annotations

import io
import shutil
import subprocess

import live_figures
import numpy as np
import pandas as pd
import pytest

from fairpca import GroupMoments, MinMaxFairPCA
from fairpca.companion.published.finder import finder
from fairpca.linalg import top_eigenpairs
from fairpca.metrics import mmd_squared, reconstruction_errors, reconstruction_losses
from fairpca.solvers.minmax import solve_minmax
from fairpca.solvers.rfpca import TwoGroupObjective, solve_rfpca


def two_groups(seed):
    """Rows of two groups: tied spectra, copied columns, groups without common directions, all scales."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 12))
    n, d = int(rng.integers(p + 5, 80)), int(rng.integers(1, p))
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-2, 2, size=p)
    codes = (rng.random(n) < 0.4).astype(int)
    codes[:4] = [0, 0, 1, 1]
    if seed % 5 == 0:
        X[:, -1] = X[:, 0]
    if seed % 7 == 0:
        X = np.round(X)
    if seed % 6 == 0:
        X[codes == 1] = np.eye(p)[np.arange((codes == 1).sum()) % p]
    if seed % 11 == 0:
        X *= 1e-7
    return {"X": X.tolist(), "codes": codes.tolist(), "groups": 2, "d": d}


CASES = [two_groups(seed) for seed in range(60)]


@pytest.fixture(scope="module")
def answers(ask):
    return ask("solve", *CASES)


def test_eigenpairs_are_those_of_lapack(answers):
    for case, answer in zip(CASES, answers, strict=True):
        M = GroupMoments.from_data(np.array(case["X"]), case["codes"]).second_moments("group")[0]
        p, w = len(M), np.array(answer["values"])
        Q = np.array(answer["vectors"]).reshape(p, p)
        scale = np.abs(w).max()
        np.testing.assert_allclose(w, np.linalg.eigvalsh(M), atol=1e-13 * scale)
        np.testing.assert_allclose(Q @ Q.T, np.eye(p), atol=1e-13)
        np.testing.assert_allclose(Q.T * w @ Q, M, atol=1e-13 * scale)


@pytest.mark.parametrize("objective", ["loss", "error"])
def test_minmax_is_the_packages(answers, objective):
    for case, answer in zip(CASES, answers, strict=True):
        moments = GroupMoments.from_data(np.array(case["X"]), case["codes"])
        found, ours = solve_minmax(moments.second_moments("group"), case["d"], objective=objective), answer[objective]
        scale = np.trace(moments.covariance())
        assert ours["objective"] == pytest.approx(found.objective, abs=1e-11 * scale)
        assert -1e-13 * scale <= ours["objective"] - ours["bound"] <= 1e-10 * scale, "a bound that proves it"
        V = np.array(ours["rows"]).reshape(case["d"], -1)
        np.testing.assert_allclose(V @ V.T, np.eye(case["d"]), atol=1e-12)
        errors = reconstruction_errors(np.array(case["X"]), V.T, case["codes"])
        np.testing.assert_allclose(ours["errors"], errors, atol=1e-11 * scale)


def test_pca_keeps_the_most_variance(answers):
    for case, answer in zip(CASES, answers, strict=True):
        total = np.cov(np.array(case["X"]).T, ddof=0)
        kept = top_eigenpairs(total, case["d"])[0].sum()
        assert answer["pca"]["objective"] == pytest.approx(np.trace(total) - kept, abs=1e-12 * np.trace(total))


def test_equal_means_are_equal_and_the_oblique_code_is_never_worse(answers):
    """Against a slow second way: PCA of explicitly projected or erased rows."""
    for case, answer in zip(CASES, answers, strict=True):
        if "oblique" not in answer:
            continue
        X, codes, d = np.array(case["X"]), np.array(case["codes"]), case["d"]
        centred = X - X.mean(axis=0)
        total = centred.T @ centred / len(X)
        scale = np.trace(total)
        f = X[codes == 1].mean(axis=0) - X[codes == 0].mean(axis=0)
        N = np.eye(len(f)) - np.outer(f, f) / (f @ f)
        kept = np.linalg.eigvalsh(N @ total @ N)[::-1][:d].sum()
        assert answer["orthogonal"]["objective"] == pytest.approx(kept, abs=1e-11 * scale)
        # Rows regressed on the group indicator, in the coordinates where the covariance is the identity.
        U, s, Wt = np.linalg.svd(centred / np.sqrt(len(X)), full_matrices=False)
        keep = s > 1e-6 * s[0]
        z = (codes - codes.mean()) / np.linalg.norm(codes - codes.mean())
        direction = U[:, keep].T @ z
        direction /= np.linalg.norm(direction)
        shrunk = (np.eye(keep.sum()) - np.outer(direction, direction)) @ (s[keep, None] * Wt[keep])
        best = np.linalg.eigvalsh(shrunk @ shrunk.T)[::-1][:d].clip(0).sum()
        assert answer["oblique"]["objective"] == pytest.approx(best, abs=1e-9 * scale)
        assert answer["oblique"]["total"] == pytest.approx(scale - best, abs=1e-9 * scale)
        assert answer["oblique"]["total"] <= answer["orthogonal"]["total"] + 1e-10 * scale
        assert max(answer["oblique"]["distance"], answer["orthogonal"]["distance"]) <= 1e-6


def test_three_groups_have_equal_means(ask):
    rng = np.random.default_rng(3)
    X, codes = rng.normal(size=(60, 6)), rng.integers(0, 3, 60)
    X += codes[:, None] * rng.normal(size=6) + (codes == 2)[:, None] * rng.normal(size=6)
    [answer] = ask("solve", {"X": X.tolist(), "codes": codes.tolist(), "groups": 3, "d": 2})
    for name in ("orthogonal", "oblique"):
        W = np.array(answer[name]["rows"]).reshape(2, 6)
        means = np.array([X[codes == g].mean(axis=0) for g in range(3)]) @ W.T
        np.testing.assert_allclose(means - means[0], 0, atol=1e-12)
    assert "loss" not in answer


def test_criteria_in_the_plane_are_the_metrics(ask):
    rng = np.random.default_rng(0)
    cases = [
        {
            "first": {"n": 40, "long": 2, "wide": 0.5, "turn": 0, "x": 0, "y": 0, "seed": 1},
            "second": {
                "n": int(rng.integers(10, 60)),
                "long": 1.5,
                "wide": float(rng.uniform(0.1, 2)),
                "turn": 70,
                "x": 1,
                "y": -1,
                "seed": 2,
            },
            "angles": [0, 17, 90, 133],
            "penalty": 0.7,
            "sigma": float(rng.uniform(0.3, 2)),
        }
        for _ in range(6)
    ]
    for case, answer in zip(cases, ask("plane", *cases), strict=True):
        X, groups = np.vstack(answer["groups"]), np.repeat([0, 1], [len(g) for g in answer["groups"]])
        np.testing.assert_allclose(np.var(answer["groups"][0], axis=0), [4, 0.25], rtol=1e-12)
        for angle, row in zip(case["angles"], answer["rows"], strict=True):
            v = np.array([[np.cos(np.deg2rad(angle))], [np.sin(np.deg2rad(angle))]])
            errors = reconstruction_errors(X, v, groups)
            total = np.trace(np.cov(X.T, ddof=0)) - np.var(X @ v)
            expected = [*errors, total, reconstruction_losses(X, v, groups).max(), total + 0.7 * np.ptp(errors)]
            np.testing.assert_allclose([*row["errors"], row["total"], row["loss"], row["gap"]], expected, rtol=1e-10)
            assert row["mmd"] == pytest.approx(mmd_squared(X @ v, groups, case["sigma"]), abs=1e-12)


def test_joint_range_finds_the_certified_optimum(ask):
    rng = np.random.default_rng(1)
    cases, expected = [], []
    for i in range(24):
        p = int(rng.integers(2, 7))
        k = int(rng.integers(1, p))
        roots = rng.normal(size=(2, p, p)) * rng.uniform(0.3, 3, size=(2, 1, 1))
        M = roots @ roots.transpose(0, 2, 1)
        penalty = {"p0": float(rng.uniform(0.1, 0.9)), "lambda": float(rng.uniform(0, 2)), "radius": float(i % 3) * 0.2}
        cases.append({"M0": M[0].tolist(), "M1": M[1].tolist(), "k": k, "penalty": penalty, "lines": 60})
        shares, eps = np.array([penalty["p0"], 1 - penalty["p0"]]), np.full(2, penalty["radius"])
        expected.append((solve_rfpca(M, shares, k, penalty["lambda"], eps).objective, np.trace(M.sum(axis=0))))
    for answer, (value, scale) in zip(ask("range", *cases), expected, strict=True):
        assert answer["bound"] <= value + 1e-9 * scale
        assert answer["best"]["value"] >= value - 1e-9 * scale
        assert answer["best"]["value"] <= value + 1e-6 * scale
        assert answer["best"]["value"] - answer["bound"] <= 0.02 * scale


def test_objective_of_a_pair_is_the_packages(ask):
    rng = np.random.default_rng(2)
    cases = [
        {"s0": float(a), "s1": float(b), "penalty": {"p0": float(p), "lambda": float(lam), "radius": float(e)}}
        for a, b, p, lam, e in zip(*rng.uniform(0, [[4], [4], [1], [2], [1]], size=(5, 40)), strict=True)
    ]
    for case, answer in zip(cases, ask("objective", *cases), strict=True):
        penalty = case["penalty"]
        objective = TwoGroupObjective((penalty["p0"], 1 - penalty["p0"]), penalty["lambda"], (penalty["radius"],) * 2)
        np.testing.assert_allclose(
            [answer["first"], answer["second"]], objective.values(case["s0"], case["s1"]), rtol=1e-12
        )


def test_planes_in_space_are_measured_as_the_package_does(ask):
    rng = np.random.default_rng(4)
    groups = [rng.normal(size=(30, 3)).tolist(), (rng.normal(size=(20, 3)) + 1).tolist()]
    cases = [{"groups": groups, "azimuth": a, "elevation": b, "sigma": 0.8} for a, b in ((0, 90), (33, 12), (-120, 45))]
    X, labels = np.vstack(groups), np.repeat([0, 1], [30, 20])
    for answer in ask("sphere", *cases):
        V = np.column_stack((answer["plane"]["u"], answer["plane"]["v"]))
        np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-14)
        np.testing.assert_allclose(V.T @ answer["plane"]["normal"], 0, atol=1e-14)
        assert answer["mmd"] == pytest.approx(mmd_squared(X @ V, labels, 0.8), abs=1e-12)
        total = np.cov(X.T)
        assert answer["share"] == pytest.approx(np.trace(V.T @ total @ V) / np.trace(total), rel=1e-12)


def test_own_table_gives_the_packages_numbers(ask):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(80, 5)) * [1, 10, 3, 0.1, 2], columns=list("abcde"))
    frame["sex"] = np.where(rng.random(80) < 0.3, "f", "m")
    frame.loc[frame["sex"] == "f", ["a", "b"]] += 3
    text = frame.to_csv(index=False)
    [answer] = ask("own", {"text": text, "features": list("abcde"), "group": "sex", "scaled": True})
    X = frame[list("abcde")].to_numpy()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for d, found in enumerate(answer, 1):
        model = MinMaxFairPCA(d).fit(X, sensitive_features=frame["sex"])
        minmax = next(entry for entry in found if entry["method"] == "minmax")
        np.testing.assert_allclose(minmax["losses"], model.losses_, atol=1e-9)
        np.testing.assert_allclose(minmax["errors"], model.errors_, atol=1e-9)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_tables_are_read_as_pandas_reads_them(ask, separator):
    frame = pd.DataFrame(
        {"a, b": ["x", 'with "quotes"', "two\nlines"], "n": [1.5, -2e-3, 4], "text; more": ["p", "q\tq", ""]}
    )
    text = "\ufeff" + frame.to_csv(index=False, sep=separator, lineterminator="\r\n", quoting=2)
    [answer] = ask("table", {"text": text})
    again = pd.read_csv(io.StringIO(text.lstrip("\ufeff")), sep=separator, dtype=str, keep_default_na=False)
    assert answer["names"] == list(again.columns)
    assert answer["columns"] == [again[name].tolist() for name in again]
    assert [column["numeric"] for column in answer["described"]] == [False, True, False]
    assert answer["described"][2]["missing"] == 1


def test_numbers_are_the_nearest_doubles(ask):
    rng = np.random.default_rng(3)
    values = [*(10.0 ** rng.uniform(-7, 9, 2000) * rng.choice([-1, 1], 2000)), 0.1, 1 / 3, 123456789.0, 0.0, 2.0**53]
    texts = [repr(float(value)) for value in values] + ["-0", "007.50", "9007199254740993", "123456789.123456789"]
    texts += [f"{value:.9f}" for value in values] + [f"{value:.17f}" for value in values]
    [found] = ask("numbers", {"texts": texts})
    read = [(text, number) for text, number in zip(texts, found, strict=True) if number is not None]
    assert len(read) > 0.8 * len(texts), "others are left to the browser's own, slower way"
    assert [number for _, number in read] == [float(text) for text, _ in read]
    strange = ["", "-", ".5", "5.", "1e5", "0x10", "1.2.3", "1 ", "+1", "1_000", "12345678901"]
    assert ask("numbers", {"texts": strange}) == [[None] * len(strange)]


def test_all_ways_to_write_numbers_are_read(ask):
    text = "g,x,y\na,1e3,.5\nb, 2 ,5.\na,+7,-1E-2\nb,12345678901,0.00000000000000000001\nä,3,4\n"
    [answer] = ask("table", {"text": text, "features": ["x", "y"], "group": "g", "drop": False})
    assert answer["X"] == [1000, 0.5, 2, 5, 7, -0.01, 12345678901, 1e-20, 3, 4]


def test_decimal_commas_and_missing_rows(ask):
    text = "g;x;y\na;1,5;2\nb;;3\na;-0,25;4\n"
    [answer] = ask("table", {"text": text, "features": ["x", "y"], "group": "g", "drop": True})
    assert answer["X"] == [1.5, 2, -0.25, 4]
    assert answer["dropped"] == 1
    assert answer["labels"] == ["a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("a,b\n", "no rows"),
        ("a,b\n1,2\n3\n", "Line 3 has 1 fields, but the header has 2"),
        ("a,b\n1,2,3\n", "Line 2 has 3 fields"),
        ("a,a\n1,2\n", "two columns are called “a”"),
        ("a,\n1,2\n", "column 2 has no name"),
        ("1,2\n3,4\n", "Line 1 has numbers only"),
        ("a\n1\n", "one column only"),
        ('a,b\n"1,2\n3,4\n', "Line 2: a quotation mark is opened"),
        ('a,b\n"1"x,2\n', "Line 2: after a closing quotation mark"),
        ("a,b\n1,\0\n", "zero bytes"),
        ("g,x,y\na,1,2\nb,oops,3\n", "Line 3: column “x” has “oops”"),
        ("g,x,y\na,1,2\nb,1e999,3\n", "Line 3: column “x” has “1e999”"),
        ("g,x,y\na,1,2\n\nb,,3\n", "Line 4: column “x” has no value"),
        ("g,x,y\na,1,2\n,1,3\n", "Line 3: the group column “g” has no value"),
        ("g,x,y\na,0x10,2\nb,1,3\n", "Line 2: column “x” has “0x10”"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_with_its_line(ask, text, message):
    [answer] = ask("table", {"text": text, "features": ["x", "y"], "group": "g", "drop": False})
    assert message in answer["error"]
    assert answer["kind"] == "TableError"


def test_tables_sort_and_filter(ask):
    pairs = [["2", "10"], ["b", "a"], ["", "1"], ["−3", "2"], ["1.5 %", "x"], ["a", "a"]]
    [signs] = [np.sign(answer).tolist() for answer in ask("cells", {"pairs": pairs})]
    assert signs == [-1, 1, 1, -1, -1, 0]
    rows = [["Samadi", "Figure 1"], ["Lee", "Table 1"], ["Vu", "Table 3"]]
    names = [" ".join(row) for row in rows]
    assert ask("matching", {"names": names, "rows": rows, "words": "table lee"}) == [[1]]
    assert ask("matching", {"names": names, "rows": rows, "words": " "}) == [[0, 1, 2]]


def test_the_finder_finds_what_readers_type(ask, board):
    """Author and item of each row that a query finds; "…" stands for further ones."""
    found = finder(board)
    names, rows = found["words"].tolist(), found[["paper", "item", "verdict", "distance"]].to_numpy().tolist()
    called = (found["paper"].str.split().str[0] + " " + found["item"]).tolist()
    wanted = {
        "fig. 4": {"Samadi Figure 4", "Lee Figure 4", "Vu Figure 4"},
        "Figure 4": {"Samadi Figure 4", "Lee Figure 4", "Vu Figure 4"},
        "Fig 3": {"Samadi Figure 3", "Lee Figure 3", "Vu Figure 3"},
        "samadi et al 2018 fig 4": {"Samadi Figure 4"},
        "vu table 3": {"Vu Table 3"},
        "Vu et al., Theorem B.2": {"Vu Theorem B.2"},
        "Supplement G": {"Lee Supplement G"},
        "thm 5.1": {"Samadi Theorem 5.1"},
        "Figure 99": set(),
    }
    among = {"credit": "Samadi Figure 3", "biplot": "Lee Figure 8", "corrected": "Lee Lemma 4"}
    cases = [{"names": names, "rows": rows, "words": query} for query in [*wanted, *among]]
    for case, shown in zip(cases, ask("matching", *cases), strict=True):
        query, titles = case["words"], {called[i] for i in shown}
        if query in wanted:
            assert titles == wanted[query], query
        else:
            assert among[query] in titles and len(shown) < len(rows) / 3, query


def test_one_script_for_pages_that_are_opened_as_files(tmp_path):
    node = shutil.which("node")
    script = tmp_path / "live.js"
    script.write_text(live_figures.bundle(), encoding="utf8")
    assert "import " not in script.read_text().replace("important", "")
    assert "fetch(" not in script.read_text()
    assert "XMLHttpRequest" not in script.read_text()
    if node:  # names that two modules define would be a syntax error here
        subprocess.run([node, "--check", str(script)], check=True)
