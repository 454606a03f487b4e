"""What decides a verdict: tables on both sides of a threshold are judged differently."""

from types import SimpleNamespace

import pytest

from fairpca.experiments.engine.runner import load_results
from fairpca.experiments.vu2022 import claims


def verdict(judged, id):
    return next(entry.verdict for entry in judged if entry.id == id)


@pytest.mark.parametrize(
    ("degrees", "expected"), [(5e-4, "holds"), (2e-3, "holds in part"), (0.9, "holds in part"), (1.2, "fails")]
)
def test_a_heavy_penalty_must_meet_the_other_direction(monkeypatch, degrees, expected):
    table = load_results("vu2022/toy").table.copy()
    stated = (table["metric"] == "angle") & (table["protocol"] == "stated")
    fair = float(table.loc[stated & (table["method"] == "fairpca"), "value"].iloc[0])
    sweep = table[stated & (table["method"] == "rfpca")]
    heaviest = sweep["setting"].str.removeprefix("lam=").astype(float).idxmax()
    table.loc[heaviest, "value"] = fair + degrees
    monkeypatch.setattr(claims, "load_results", lambda name: SimpleNamespace(table=table))
    assert verdict(claims._figure_1(), "fig1-heavy-penalty") == expected


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
