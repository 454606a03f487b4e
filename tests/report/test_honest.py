"""A report does not call fair what it cannot see: rare outcomes, chance, proxies, and what was not checked."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairpca import cli
from fairpca.report import Settings, analyse, compare, rate_gap_interval
from fairpca.report import analysis as analysis_module
from fairpca.report.analysis import _limits
from fairpca.report.analysis import answers as report_answers
from fairpca.report.cells import parts_of, selected
from fairpca.report.intervals import gap_by_chance
from fairpca.tables import Rules, as_table, prepare

QUICK = Settings(kernel_rows=150, permutations=10, folds=3, tree_rounds=5)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(analysis_module, "_QUICK", QUICK)


def rare(n=2000, seed=0):
    """Callbacks for about one row in twelve, with a higher rate for one of the groups."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["black", "white"], n)
    X = rng.normal(size=(n, 5))
    called = rng.random(n) < 1 / (1 + np.exp(3.0 - 1.2 * X[:, 0] - 0.7 * (group == "white")))
    table = pd.DataFrame(X + 0.5 * (group == "white")[:, None], columns=list("abcde"))
    return table.assign(race=group, callback=np.where(called, "yes", "no"))


@pytest.fixture(scope="module")
def compared():
    table = rare()
    return table, compare(
        table[list("abcde")],
        table["race"],
        table["callback"].to_numpy(),
        methods=["pca"],
        n_components=3,
        settings=QUICK,
    )


def test_a_rare_outcome_is_not_called_fair(compared):
    table, found = compared
    at_half = found.decisions.query("classifier == 'logistic' and threshold == '0.5'")
    assert at_half["selected"].max() < 5, "at 0.5 nobody is selected, or this table is not a rare one"
    metrics = found.frame.set_index("metric")
    assert np.isnan(metrics.loc["selection_gap:logistic", "estimate"])
    assert np.isnan(metrics.loc["tpr_gap:logistic", "estimate"])
    rows = found.decisions.query("classifier == 'logistic' and threshold == 'base rate'").set_index("group")
    assert rows["selected"].sum() == pytest.approx((table["callback"] == "yes").sum(), abs=5)
    for group, part in table.groupby("race"):
        positives = (part["callback"] == "yes").sum()
        assert rows.loc[group, ["rows", "positives"]].tolist() == [len(part), positives]
        assert rows.loc[group, "selection_rate"] == rows.loc[group, "selected"] / len(part)
        assert rows.loc[group, "tpr"] == rows.loc[group, "hits"] / positives
    gap = metrics.loc["base_selection_gap:logistic"]
    assert gap["estimate"] == pytest.approx(np.ptp(rows["selection_rate"])) and gap["estimate"] > 0.02
    assert gap["low"] < gap["estimate"] < gap["high"] and gap["chance"] > 0
    assert found.positive == "yes" and found.base_rate == pytest.approx((table["callback"] == "yes").mean())


def test_decisions_are_those_of_a_slow_loop(compared):
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    from fairpca import PCA
    from fairpca._validation import encode_groups

    table, found = compared
    X, y = table[list("abcde")].to_numpy(), (table["callback"] == "yes").to_numpy()
    parts, chosen = parts_of(encode_groups(table["race"]), y, 5, 0), np.zeros(len(table), dtype=bool)
    for part in range(5):
        held = parts == part
        scaler = StandardScaler().fit(X[~held])
        model = PCA(3).fit(scaler.transform(X[~held]))
        Z, new = (model.transform(scaler.transform(rows)) for rows in (X[~held], X[held]))
        scores = LogisticRegression(max_iter=300).fit(Z / Z.std(axis=0), y[~held]).predict_proba(new / Z.std(axis=0))
        count = round(y[~held].mean() * held.sum())
        chosen[held] = scores[:, 1] >= np.sort(scores[:, 1])[-count]
    rows = found.decisions.query("classifier == 'logistic' and threshold == 'base rate'").set_index("group")
    for group in ("black", "white"):
        of = (table["race"] == group).to_numpy()
        assert rows.loc[group, "selected"] == chosen[of].sum() and rows.loc[group, "hits"] == chosen[of & y].sum()


def test_the_positive_class_can_be_chosen(compared):
    table, _ = compared
    words = pd.Series(np.where(table["a"] > 1, "gold", np.where(table["b"] > 0, "silver", "none")))
    given = (table[list("abcde")], table["race"], words.to_numpy())
    options = {"methods": ["pca"], "settings": QUICK, "n_parts": 2}
    assert "--positive VALUE" in " ".join(compare(*given, **options).notes)
    found = compare(*given, positive="gold", **options)
    assert found.positive == "gold" and found.base_rate == pytest.approx((words == "gold").mean())
    with pytest.raises(
        ValueError, match=r"positive='lead' is not a value of the target; its values are 'gold', 'none'"
    ):
        compare(*given, positive="lead", **options)


def test_pages_name_the_positive_class_and_say_that_nobody_is_selected(tmp_path, capsys):
    data, out = tmp_path / "calls.csv", tmp_path / "r.html"
    rare(800, 1).to_csv(data, index=False)
    words = [str(data), "--sensitive", "race", "--target", "callback", "--methods", "pca,minmax_loss", "--parts", "2"]
    assert cli.main(["report", *words, "--out", str(out), "--components", "2", "--positive", "yes"]) == 0
    page = out.read_text()
    assert page.count("(positive: yes, ") >= 4 and "nobody selected" in page and "base rate, %" in page
    assert "Nothing unusual" not in page and "Checked: 5 features" in page and "Not checked" in page
    numbers = json.loads(out.with_suffix(".json").read_text())
    assert len(numbers["answers"]) == 5 and all(line in page.replace("&#x27;", "'") for line in numbers["answers"])
    assert "--positive yes" in numbers["command"]
    capsys.readouterr()
    assert cli.main(["compare", *words, "--positive", "no"]) == 0
    assert "positive: no, 9" in capsys.readouterr().out


def test_the_share_with_the_highest_scores_is_selected_and_ties_are_drawn():
    scores = np.array([0.1, 0.9, 0.5, 0.5, 0.5, 0.5])
    draws = np.array([selected(scores, 0.5, seed) for seed in range(300)])
    assert (draws.sum(axis=1) == 3).all() and draws[:, 1].all() and not draws[:, 0].any()
    assert draws[:, 2:].mean(axis=0) == pytest.approx(0.5, abs=0.12)


def test_newcombes_interval_is_the_published_one():
    """Table II of Newcombe (1998), method 10: 56 of 70 against 48 of 80, and 9 of 10 against 3 of 10."""
    found = rate_gap_interval(np.array([56, 48]), np.array([70, 80]))
    assert (found.estimate, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)
    found = rate_gap_interval(np.array([9, 3]), np.array([10, 10]))
    assert (found.low, found.high) == pytest.approx((0.1705, 0.8090), abs=1e-4)


@pytest.mark.parametrize("rates", [(0.1, 0.2), (0.02, 0.02), (0.1, 0.1, 0.1, 0.25)])
def test_intervals_of_gaps_cover(rates):
    rng = np.random.default_rng(0)
    totals = np.full(len(rates), 150)
    found = [rate_gap_interval(rng.binomial(totals, rates), totals) for _ in range(600)]
    covered = np.mean([one.low <= np.ptp(rates) <= one.high for one in found])
    assert covered >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 600)


def test_what_chance_gives_is_what_permuted_groups_give():
    rng = np.random.default_rng(0)
    codes = rng.choice(8, 700, p=[0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
    chosen = rng.random(700) < 0.15
    totals = np.bincount(codes)
    gaps = [np.ptp(np.bincount(rng.permutation(codes), chosen) / totals) for _ in range(2000)]
    known = gap_by_chance(np.bincount(codes, chosen).astype(int), totals)
    assert known == pytest.approx(np.quantile(gaps, 0.95), rel=0.08) and known > 0.15


def test_random_groups_are_rarely_found_beyond_chance():
    table = rare(600)
    rng, beyond = np.random.default_rng(0), 0
    y = table["callback"].to_numpy()
    for _ in range(6):
        found = compare(table[list("abcde")], rng.choice(list("ABCDEFGH"), 600), y, methods=["pca"], n_parts=2,
                        settings=Settings(60, 0, 2, 0))  # fmt: skip
        gap = found.frame.set_index("metric").loc["base_selection_gap:logistic"]
        beyond += gap["estimate"] > gap["chance"]
        assert (found.decisions["tpr"].isna() == (found.decisions["positives"] < 20)).all()
    assert beyond <= 2


# --------------------------------------------------------------------------------------------------------------------
# Proxies


@pytest.mark.parametrize("levels", [2, 12, 36, 90])
def test_categories_of_any_number_of_levels_are_proxies(levels):
    rng = np.random.default_rng(levels)
    n = 1200
    sex = rng.choice(["f", "m"], n)
    names = np.array([f"{s}{j}" for s, j in zip(sex, rng.integers(0, levels // 2, n), strict=True)])
    other = rng.choice([f"w{j}" for j in range(levels)], n)
    table = pd.DataFrame({"x": rng.normal(size=n), "name": names, "other": other, "sex": sex})
    found = prepare(as_table(table), ["sex"], rules=Rules(keep=("name", "other")))  # 90 levels would be left out
    assert found.proxies["name"] == pytest.approx(1.0, abs=0.02) and next(iter(found.proxies)) == "name"
    assert found.proxies["other"] == pytest.approx(0.5, abs=0.08) and found.proxies["x"] == pytest.approx(0.5, abs=0.08)
    assert [w for w in found.warnings if "'name' alone predicts the group" in w] and len(found.warnings) == 1


def test_numbers_and_joint_patterns_are_proxies():
    rng = np.random.default_rng(0)
    n = 1500
    sex = rng.integers(0, 2, n)
    first = rng.integers(0, 2, n)
    table = pd.DataFrame({
        "code": rng.integers(0, 5, n) * 2 + sex, "height": rng.normal(size=n) + 12 * sex, "first": first,
        "second": first ^ sex, "noise": rng.normal(size=n), "sex": sex,
    })  # fmt: skip
    found = prepare(as_table(table), ["sex"])
    assert min(found.proxies["code"], found.proxies["height"]) > 0.97
    assert max(found.proxies[name] for name in ("first", "second", "noise")) < 0.58
    alone = prepare(as_table(table[["first", "second", "noise", "sex"]]), ["sex"])
    assert alone.joint_proxy() > 0.97 and not alone.warnings
    assert prepare(as_table(table[["noise", "sex"]]), ["sex"]).joint_proxy() == pytest.approx(0.5, abs=0.08)


def test_a_report_says_what_was_checked_and_what_a_reader_must_know():
    rng = np.random.default_rng(0)
    groups = np.repeat(list("abcdefghij"), [30, *[60] * 9])
    X = rng.normal(size=(len(groups), 4)) * np.where(groups == "a", 5.0, 1.0)[:, None]
    table = pd.DataFrame(X, columns=list("wxyz")).assign(group=groups, school=[f"school {g}" for g in groups])
    study = analyse(table, ["group"], methods=["pca"], parts=2, components=[2])
    text = study.remarks()
    assert "Nothing unusual" not in text and "Together they predict the group with" in text and "Not checked" in text
    assert "Survey weights are not used" in text
    first, *_, last = report_answers(study)
    assert "rows of the group 'a' (only 30 rows) are described worst" in first and first.count("only") == 1
    assert "'school' alone predicts the group of nearly every row" in last
    for picture in (study.plot_groups(), study.plot_dimensions()):
        assert "The eight largest groups are shown." in picture


def test_the_accuracy_names_its_threshold_and_what_one_decision_for_all_rows_reaches():
    table = rare(600)
    study = analyse(table, ["race"], "callback", methods=["pca"], components=[2])
    share = (table["callback"] == "no").mean()
    page = study.outcomes()
    assert "accuracy at 0.5" in page and f"one decision for all rows is right for {share:.1%}" in page


def test_groups_that_are_left_out_are_counted():
    study = SimpleNamespace(
        prepared=SimpleNamespace(labels=list("aabbc"), strong_proxies=[]), comparison=SimpleNamespace(groups="a")
    )
    assert _limits(study).endswith(" Too small to be compared: 2 of the groups.")
    study.comparison.groups = "abc"
    assert "Too small" not in _limits(study)


def test_points_of_two_methods_differ_in_the_picture():
    table = rare(400)
    methods = ["minmax_loss", "minmax_error", "mean_orthogonal", "mean_oblique"]
    ax = compare(table[list("abcde")], table["race"], methods=methods, settings=QUICK).plot()
    points = [line for line in ax.lines if line.get_marker() not in ("None", None, "")]
    looks = {(p.get_color(), p.get_marker(), p.get_fillstyle()) for p in points}
    assert len(points) == len(looks) == len(methods)


def test_extremes_over_groups_are_of_the_pooled_estimates():
    """With many groups that do not differ, the mean of each part's own extremes is far larger."""
    rng = np.random.default_rng(2)
    groups = rng.choice(list("abcdefgh"), 600)
    found = compare(rng.normal(size=(600, 6)), groups, methods=["pca"], n_components=2, settings=QUICK)
    of = found.frame.set_index("metric")["estimate"]
    parts = found.values.groupby("metric")["value"].mean()
    for kind in ("error", "loss"):
        each = [of[f"{kind}:{group}"] for group in "abcdefgh"]
        assert of[f"worst_{kind}"] == max(each) and of[f"{kind}_gap"] == max(each) - min(each)
        assert of[f"{kind}_gap"] < 0.8 * parts[f"{kind}_gap"]


def test_more_columns_than_rows_leave_every_method_in_the_range_of_a_share():
    """Centred training rows span one direction less than there are, and rounding in it is not a feature."""
    rng = np.random.default_rng(3)
    table = rng.normal(size=(72, 4)) @ rng.normal(size=(4, 900)) + rng.normal(size=(72, 900))
    found = compare(table, rng.choice(["a", "b"], 72), n_components=2, settings=QUICK)
    kept = found.frame[found.frame["metric"] == "variance"]["estimate"]
    assert len(kept) == 7 and kept.between(0, 100).all()
