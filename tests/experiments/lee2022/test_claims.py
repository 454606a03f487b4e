"""Verdicts on Lee et al. (2022): they follow from the conditions, and the stored ones are those of today."""

from __future__ import annotations

import numpy as np
import pytest

from fairpca.experiments.engine.verdicts import as_records, judge, judge_theorem, verdict
from fairpca.experiments.lee2022 import claims_theory as theory


def test_verdict_follows_from_its_parts():
    assert [verdict(True, True), verdict(True, False), verdict(False, False)] == ["holds", "holds in part", "fails"]
    with pytest.raises(ValueError, match="at least one"):
        verdict()
    held, failed = (judge("a", "1", good, reason="why.", note="And.") for good in (True, False))
    assert (held.reason, failed.reason) == ("And.", "why. And.")
    assert as_records([held], [failed])[1] == {"id": "a", "ours": "1", "verdict": "fails", "reason": "why. And."}


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
