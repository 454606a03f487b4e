"""The table of methods: each is named, cited, and does what it promises."""

import re
from pathlib import Path

import numpy as np
import pytest

import fairpca.report.methods as package
from fairpca.report import Method, Rows, Settings, Skipped, Split, evaluate, fit_method, get_method, known_methods

ROOT = Path(__file__).parents[2]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 6)) * [3, 2, 2, 1, 1, 1]
    group = np.repeat(["a", "b"], [150, 90])
    X[group == "b", 0] += 2.0
    y = X[:, 0] + rng.standard_normal(240) > 0
    return Rows(X, group, y)


def test_names_are_short_and_differ():
    names = [method.name for method in package._METHODS]
    assert len(set(names)) == len(names) == len(known_methods()) and names[0] == "pca"
    assert all(re.fullmatch(r"[a-z0-9_]+", name) for name in names)


def test_methods_cite_works_of_the_bibliography():
    bibliography = (ROOT / "references.bib").read_text()
    for method in known_methods().values():
        assert f"{{{method.cite}," in bibliography, method.name
        assert method.about.endswith(".") and method.title


@pytest.mark.parametrize("name", known_methods())
def test_every_method_gives_what_is_measured_or_says_why_not(name, rows):
    try:
        fitted = fit_method(get_method(name), rows, 2)
    except Skipped as skipped:
        assert str(skipped).endswith(".")
        return
    Z = fitted.encode(rows.X, rows.groups)
    assert Z.shape == (len(rows), 2) and np.isfinite(Z).all()


class FirstColumns:
    def __init__(self, k):
        self.k = k

    def transform(self, X):
        return X[:, : self.k]


def test_a_method_needs_no_more_than_a_fit(rows):
    first = Method("first", "First columns", "nobody2030", "Keeps the first columns.", lambda _, d: FirstColumns(d))
    found = evaluate(fit_method(first, rows, 2), Split(rows, rows, 2, Settings(permutations=9)))
    total = np.var(rows.X, axis=0)
    # Columns are independent, so the decoder of two of them reconstructs about those two.
    assert found["variance"] == pytest.approx(100 * total[:2].sum() / total.sum(), abs=2)
    assert found["gap:variance"] >= 0


def test_unknown_names_and_missing_packages_are_told(rows):
    with pytest.raises(ValueError, match="'pca'"):
        get_method("pcb")
    absent = Method("x", "X", "x", "X.", lambda rows, d: None, requires=("no_such_package",))
    with pytest.raises(Skipped, match="no_such_package"):
        fit_method(absent, rows, 2)
    with pytest.raises(Skipped, match="not a reduction"):
        fit_method(get_method("pca"), rows, 7)


def test_repairs_do_what_they_promise(rows):
    """On the training rows: means, then covariances too, are those of no group in particular."""
    d = rows.X.shape[1]
    for name in ("correlation_remover", "gaussian_repair", "group_standardised"):
        Z = fit_method(get_method(name), rows, d).encode(rows.X, rows.groups)
        a, b = (Z[rows.groups.codes == g] for g in (0, 1))
        np.testing.assert_allclose(a.mean(axis=0), b.mean(axis=0), atol=1e-9)
        difference = np.abs(np.cov(a.T) - np.cov(b.T)).max() / np.cov(Z.T).max()
        assert (difference < 0.01) == (name == "gaussian_repair")


def test_projecting_out_leaves_no_linear_classifier(rows):
    from sklearn.linear_model import LogisticRegression

    X = rows.X.copy()
    X[rows.groups.codes == 1, 1:3] += 2.0
    rows = Rows(X, rows.groups)
    Z = fit_method(get_method("inlp"), rows, 2).encode(rows.X, rows.groups)
    found = LogisticRegression(max_iter=500).fit(Z, rows.groups.codes).score(Z, rows.groups.codes)
    before = LogisticRegression(max_iter=500).fit(rows.X, rows.groups.codes).score(rows.X, rows.groups.codes)
    assert found <= 150 / 240 + 0.03 < before - 0.05


def test_two_ways_to_erase_are_one(rows):
    """PCA of erased rows and the oblique code see the same, and keep more than the orthogonal one (field's theorem)."""
    split = Split(rows, rows, 2, Settings(permutations=0, tree_rounds=0))
    found = {
        n: evaluate(fit_method(get_method(n), rows, 2), split) for n in ("leace", "mean_oblique", "mean_orthogonal")
    }
    for name in ("variance", "gap:variance", "worst_error", "linear_auc"):
        assert found["leace"][name] == pytest.approx(found["mean_oblique"][name], abs=1e-6)
    assert found["mean_oblique"]["gap:variance"] < found["mean_orthogonal"]["gap:variance"]
    assert found["mean_oblique"]["mean_gap"] == pytest.approx(0, abs=1e-6)
    # On its own training rows an oblique code falls short of PCA by what its decoder does not give back.
    best = evaluate(fit_method(get_method("pca"), rows, 2), split)["variance"]
    assert found["leace"]["gap:variance"] == pytest.approx(best - found["leace"]["variance"], abs=1e-6)
