"""Verdicts on Lee et al. (2022): they follow from the conditions, and the stored ones are those of today."""

from __future__ import annotations

import numpy as np
import pytest

from fairpca.experiments.engine.runner import load_results, recompute
from fairpca.experiments.engine.verdicts import as_records, judge, verdict
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
    assert sorted(ids) == sorted(load_claims("lee2022")["id"])
    for table in tables:
        assert (table.loc[table["verdict"] != "holds", "reason"] != "").all()
        assert (table["ours"] != "").all()


def test_stored_verdicts_on_table_1_are_current():
    recompute("lee2022/claims_table1")


@pytest.mark.parametrize("module", [theory, optimisation])
def test_verdicts_on_statements_do_not_depend_on_the_machine(module):
    name = "lee2022/claims_" + module.__name__.rpartition("_")[2]
    stored = load_results(name).table.set_index("id")["verdict"]
    assert {row["id"]: row["verdict"] for row in module.run_claims(method="claims")} == stored.to_dict()


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


def test_mirrored_problem_is_fair_without_its_first_feature():
    X, groups, d = optimisation.mirrored_problem(np.random.default_rng(2))
    V = np.vstack((np.zeros((1, d)), orthonormal(np.random.default_rng(3).standard_normal((X.shape[1] - 1, d)))))
    assert abs(WeightedRows.from_groups(X, groups).value(V, 1.0)) < 1e-15
