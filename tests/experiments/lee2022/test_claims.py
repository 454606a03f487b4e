"""Verdicts on Lee et al. (2022): they follow from the conditions, and the stored ones are those of today."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairpca.experiments.engine.runner import load_results
from fairpca.experiments.engine.verdicts import as_records, judge, judge_theorem, verdict
from fairpca.experiments.lee2022 import claims
from fairpca.experiments.lee2022 import claims_optimisation as optimisation
from fairpca.experiments.lee2022 import claims_theory as theory
from fairpca.linalg import orthonormal
from fairpca.published import load_claims
from fairpca.solvers.mmd import WeightedRows

NAMES = ("theory", "optimisation", "table1", "fig1", "fig2_fig3", "communality")


def test_verdict_follows_from_its_parts():
    assert [verdict(True, True), verdict(True, False), verdict(False, False)] == ["holds", "holds in part", "fails"]
    with pytest.raises(ValueError, match="at least one"):
        verdict()
    held, failed = (judge("a", "1", good, reason="why.", note="And.") for good in (True, False))
    assert (held.reason, failed.reason) == ("And.", "why. And.")
    assert as_records([held], [failed])[1] == {"id": "a", "ours": "1", "verdict": "fails", "reason": "why. And."}


def test_each_statement_is_judged_once_with_a_reason_where_it_does_not_hold():
    tables = [load_results(f"lee2022/claims_{name}").table.fillna("") for name in NAMES]
    ids = [id for table in tables for id in table["id"]]
    # What cannot be judged here is declared as open, with the reason.
    assert sorted([*ids, "data-adult-share", "data-compas-share"]) == sorted(load_claims("lee2022")["id"])
    for table in tables:
        assert (table.loc[~table["verdict"].isin(["holds", "not refuted"]), "reason"] != "").all()
        assert (table["ours"] != "").all()


@pytest.mark.parametrize("module", [theory, optimisation])
def test_verdicts_on_statements_do_not_depend_on_the_machine(module):
    name = "lee2022/claims_" + module.__name__.rpartition("_")[2]
    stored = load_results(name).table.set_index("id")["verdict"]
    assert {row["id"]: row["verdict"] for row in module.run_claims(method="claims")} == stored.to_dict()


def test_theorems_have_words_of_their_own():
    options = {"ours": "text", "attempts": 7, "kind": "random pairs", "reason": "why.", "note": "And."}
    proved = judge_theorem("a", violations=0, proof="lee2022/theory", **options)
    assert (proved.verdict, proved.reason) == ("proved", "Proof in chapter `lee2022/theory`. And.")
    partly = judge_theorem("a", violations=0, proof="lee2022/theory", left_open="Open.", **options)
    assert (partly.verdict, partly.reason) == ("holds in part", "Proof in chapter `lee2022/theory`. Open. And.")
    tried = judge_theorem("a", violations=0, **options)
    assert (tried.verdict, tried.reason) == ("not refuted", "And.")
    assert tried.ours == "not refuted in 7 attempts (random pairs): text"
    # One counterexample is enough, whatever is said to be proved.
    false = judge_theorem("a", violations=1, proof="lee2022/theory", left_open="Open.", **options)
    assert (false.verdict, false.reason) == ("refuted", "why. And.")
    with pytest.raises(ValueError, match="say why"):
        judge_theorem("a", "text", violations=1, attempts=7, kind="random pairs")
    with pytest.raises(ValueError, match="at least one attempt"):
        judge_theorem("a", "text", violations=0, attempts=0, kind="none")


def test_a_search_comes_nearer_to_the_worst_case_than_its_start():
    rng = np.random.default_rng(0)
    A = np.diag([5.0, 4.0, 1.0, 0.5, 0.1])
    start = orthonormal(rng.standard_normal((5, 2)))

    def value(V):
        return float(np.sum(A * (V @ V.T)))

    V, best = optimisation.climb(value, start, rng, size=0.3, steps=300)
    assert best == value(V) > value(start) and best == pytest.approx(9.0, abs=0.1)
    assert np.allclose(V.T @ V, np.eye(2))


@pytest.mark.parametrize(("power", "verdict"), [(3.4, "fails"), (3.6, "holds")])
def test_what_explodes_grows_faster_than_cubes_whatever_our_solver_does(monkeypatch, power, verdict):
    general = {p: 1e-4 * p**power for p in (10, 20, 40)}
    monkeypatch.setattr(claims, "published_seconds", lambda method, setting: general)
    monkeypatch.setattr(claims, "fpca_seconds", lambda: ({20: 0.1, 1000: 60.0}, general))
    assert claims.judge_figures_2_and_3(id="fig3-fpca-explodes")["verdict"] == verdict


@pytest.mark.parametrize(("seconds", "verdict"), [(0.5 * 86400, "fails"), (1.5 * 86400, "holds")])
def test_infeasible_is_a_day_at_a_thousand_features_with_the_solver_meant(monkeypatch, seconds, verdict):
    general = {p: seconds * (p / 1000) ** 4 for p in (10, 100)}
    monkeypatch.setattr(claims, "published_seconds", lambda method, setting: general)
    monkeypatch.setattr(claims, "fpca_seconds", lambda: ({1000: 1.0}, general))
    assert claims.judge_figures_2_and_3(id="fig3-infeasible")["verdict"] == verdict


@pytest.mark.parametrize(("factor", "verdict"), [(1.9, "holds"), (2.1, "fails")])
def test_similar_fairness_is_at_most_twice_the_discrepancy(monkeypatch, factor, verdict):
    values = {"fpca": 1.0, "mbfpca": factor, "mbfpca_ours": factor}
    monkeypatch.setattr(claims, "_series", lambda metric, stat, protocol, method, s: pd.Series({20: values[method]}))
    assert claims.judge_figures_2_and_3(id="fig2-fairness")["verdict"] == verdict


@pytest.mark.parametrize(("ratio", "verdict"), [(0.92, "holds"), (1.08, "holds"), (1.12, "fails"), (0.88, "fails")])
def test_a_dimension_is_confirmed_by_a_variance_within_a_tenth(monkeypatch, ratio, verdict):
    def scaled(name, p):
        X, groups = claims.lee_synthetic2(p, protocol="printed", random_state=p)
        return SimpleNamespace(X=np.sqrt(ratio) * X, group_code=groups)

    monkeypatch.setattr(claims, "load", scaled)
    assert claims.judge_figures_2_and_3(id="fig2-base")["verdict"] == verdict


def test_linear_scores_against_samples():
    rng, R = np.random.default_rng(0), 10.0
    plane = rng.standard_normal((4000, 2)) * [1.0, R]
    plane[2000:, 0] += 1.0
    c = np.repeat([1 / 2000, -1 / 2000], 2000)

    def unbiased(Z):
        K = np.exp(-np.sum((Z[:, None] - Z[None]) ** 2, axis=2) / 2)
        return c @ K @ c - 2 / 2000

    sampled = np.sqrt(unbiased(plane[:, :1]) / unbiased(plane))
    assert sampled == pytest.approx(theory._linear_scores(R, 1.0), rel=0.1)


def test_supplement_formula_is_the_gradient_of_the_kernel():
    rng = np.random.default_rng(1)
    X, Y, V = rng.standard_normal((9, 4)), rng.standard_normal((7, 4)), orthonormal(rng.standard_normal((4, 2)))
    term = WeightedRows.from_groups(np.vstack((X, Y)), np.repeat([0, 1], [9, 7]))
    assert np.allclose(theory._supplement_gradient(X, Y, V, 1.3), term.value_and_gradient(V, 1.3)[1])


@pytest.mark.parametrize("components", [1, 2])
def test_formulas_that_are_wrong_for_so_many_components_are_refuted(monkeypatch, components):
    original = theory._supplement_gradient

    def wrong(X, Y, V, sigma):
        return original(X, Y, V, sigma) * (1.001 if V.shape[1] == components else 1.0)

    assert next(theory._gradient()).verdict == "proved"
    monkeypatch.setattr(theory, "_supplement_gradient", wrong)
    assert next(theory._gradient()).verdict == "refuted"


def test_mirrored_problem_is_fair_without_its_first_feature():
    X, groups, d = optimisation.mirrored_problem(np.random.default_rng(2))
    V = np.vstack((np.zeros((1, d)), orthonormal(np.random.default_rng(3).standard_normal((X.shape[1] - 1, d)))))
    assert abs(WeightedRows.from_groups(X, groups).value(V, 1.0)) < 1e-15
