"""What decides a verdict: tables on both sides of a threshold are judged differently."""

import pytest

from fairpca.experiments.vu2022 import claims


def verdict(judged, id):
    return next(entry.verdict for entry in judged if entry.id == id)


@pytest.mark.parametrize(("excess", "expected"), [(0.09, "holds"), (0.11, "fails"), (0.25, "fails")])
def test_close_to_the_best_is_within_a_tenth(monkeypatch, excess, expected):
    """Every set has RFPCA behind the best method by the same share, in both criteria."""
    original = claims._wide

    def behind(table, exhibit, protocol, metric):
        wide = original(table, exhibit, protocol, metric)
        if exhibit == "table1":
            wide["rfpca"] = (1 + excess) * wide.drop(columns="rfpca").min(axis=1)
        return wide

    monkeypatch.setattr(claims, "_wide", behind)
    assert verdict(claims._tables(), "text-small-gaps") == expected


def test_one_set_within_a_tenth_is_not_enough(monkeypatch):
    """The statement is about every remaining set."""
    original = claims._wide

    def behind(table, exhibit, protocol, metric):
        wide = original(table, exhibit, protocol, metric)
        if exhibit == "table1":
            best = wide.drop(columns="rfpca").min(axis=1)
            wide["rfpca"] = 1.5 * best
            wide.loc[wide.index[0], "rfpca"] = 1.05 * best.iloc[0]
        return wide

    monkeypatch.setattr(claims, "_wide", behind)
    assert verdict(claims._tables(), "text-small-gaps") == "fails"
