"""Every decision about a column is declared, can be overridden, and does what it says."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from fairpca import PCA
from fairpca.tables import Rules, Winsorizer, as_table, prepare
from fairpca.tables.outliers import column_limits

N = 60


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "row": np.arange(N),
            "age": rng.normal(40, 10, N).round(1),
            "income": np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N)),
            "member": rng.random(N) < 0.5,
            "seen": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 400, N), unit="D"),
            "smoker": rng.choice(["yes", "no"], N),
            "town": rng.choice([f"town {i}" for i in range(30)], N, p=np.r_[0.3, 0.2, np.full(28, 0.5 / 28)]),
            "note": [f"note {i}" for i in range(N)],
            "country": "FI",
            "empty": np.nan,
            "sex": np.where(np.arange(N) % 2, "f", "m"),
            "gender": np.where(np.arange(N) % 2, "woman", "man"),
            "paid": rng.random(N) < 0.3,
        }
    )


def roles(prepared):
    return {d.column: d.role for d in prepared.decisions}


def test_decisions_and_features(people):
    found = prepare(as_table(people), ["sex"], "paid", Rules(max_levels=5))
    assert roles(found) == {
        "row": "left out", "age": "number", "income": "number", "member": "number", "seen": "number",
        "smoker": "pair", "town": "category", "note": "left out", "country": "left out", "empty": "left out",
        "sex": "group", "gender": "pair", "paid": "target",
    }  # fmt: skip
    X = found.features()
    assert X.shape == (N, 6 + 2) and not X.isna().any().any()
    scaled = X.iloc[:, :6]
    np.testing.assert_allclose(scaled.mean(), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(ddof=0), 1)
    income = people["income"].fillna(people["income"].median())
    np.testing.assert_allclose(X["income"], (income - income.mean()) / income.std(ddof=0))
    days = (people["seen"] - people["seen"].mean()).dt.total_seconds()
    np.testing.assert_allclose(X["seen"], days / np.sqrt((days**2).mean()))
    frequent = people["town"].value_counts().index[0]
    np.testing.assert_array_equal(X[f"town_{frequent}"], people["town"] == frequent)
    text = "\n".join(found.summary())
    for word in (
        "numbers the rows",
        "names or free text",
        "'FI'",
        "no value at all",
        "missing get the median",
        "; standardised",
        "rarer",
    ):
        assert word in text


def test_names_are_left_out_where_rows_are_few(people):
    few = people.head(12).assign(note=[f"bacterium {i}" for i in range(12)])
    found = prepare(as_table(few), ["sex"], rules=Rules(min_different=2))
    assert roles(found)["note"] == "left out" and roles(found)["smoker"] == "pair"
    kept = prepare(as_table(few), ["sex"], rules=Rules(min_different=2, keep=("note",)))
    assert roles(kept)["note"] == "category"
    three = prepare(as_table(few.head(3)), ["sex"], rules=Rules(min_different=1))
    assert roles(three)["note"] == "left out", "no level has five rows"


def test_overriding(people):
    rules = Rules(scale="none", keep=("row", "note"), drop=("gender",), categories=("age",), max_levels=3)
    found = prepare(as_table(people), ["sex"], "paid", rules)
    assert roles(found) | {"row": "number", "note": "category", "gender": "left out", "age": "category"} == roles(found)
    np.testing.assert_array_equal(found.features()["row"], people["row"])
    assert "not scaled" in "\n".join(found.summary())
    with pytest.raises(ValueError, match=r"no value in .* rows .*--missing impute"):
        prepare(as_table(people), ["sex"], "paid", Rules(missing="error"))
    complete = prepare(as_table(people), ["sex"], "paid", Rules(missing="drop"))
    assert len(complete.frame) == people["income"].notna().sum()
    assert any("rows left out: a missing value" in note for note in complete.notes)


def test_the_group_in_disguise_is_said(people):
    found = prepare(as_table(people), ["sex"], "paid")
    assert (
        len(found.warnings) == 1
        and "'gender' alone predicts the group with balanced accuracy 100%" in found.warnings[0]
    )
    near = people.assign(gender=np.where(people["sex"] == "f", 1.0, 0.0) + people["age"] / 1e3)
    assert "'gender' alone" in prepare(as_table(near), ["sex"], "paid").warnings[0]
    assert prepare(as_table(people.drop(columns="gender")), ["sex"], "paid").warnings == ()


def test_small_and_single_groups_are_said(people):
    people["sex"] = "m"
    assert "single group" in prepare(as_table(people), ["sex"]).warnings[0]
    people.loc[:4, "sex"] = "f"
    assert any("fewer than 20 rows: 'f' (5)" in text for text in prepare(as_table(people), ["sex"]).warnings)


def test_groups_of_numbers_are_cut(people):
    with pytest.raises(ValueError, match="different numbers; cut it into classes"):
        prepare(as_table(people), ["age"])
    people.loc[0, "age"] = 30.0
    found = prepare(as_table(people), ["age", "sex"], cut={"age": [30, 50]})
    assert found.groups["age"].iloc[0] == "30 to < 50"
    assert set(found.groups["age"]) == {"< 30", "30 to < 50", ">= 50"}
    young = people["age"].to_numpy() < 30
    assert set(found.groups["age"][young]) == {"< 30"} and "< 30" not in set(found.groups["age"][~young])
    assert set(found.labels) == {f"{a} / {s}" for a, s in found.groups.to_numpy()}


def test_it_is_a_transformer_for_pipelines(people):
    """What is learned is learned from the training rows only, also with levels that some folds do not have."""
    found = prepare(as_table(people), ["sex"], "paid", Rules(max_levels=40))
    pipeline = make_pipeline(found.transformer(), PCA(n_components=3), LogisticRegression())
    scores = cross_val_score(pipeline, found.frame, found.target.astype(int), cv=4)
    assert scores.shape == (4,) and np.isfinite(scores).all()
    half = clone(found.transformer()).fit(found.frame.iloc[:30])
    income = people["income"].iloc[:30]
    assert half.named_transformers_["numbers"]["simpleimputer"].statistics_[1] == pytest.approx(income.median())
    assert half.transform(found.frame).shape == found.features().shape


def test_whole_numbers_with_gaps_are_the_same_levels(people):
    """A column of categories that misses a value is floating-point; its levels are called as without the gap."""
    people["code"] = [1.0, 2.0, np.nan] * 20
    found = prepare(as_table(people), ["sex"], rules=Rules(categories=("code",)))
    (decision,) = [d for d in found.decisions if d.column == "code"]
    assert set(decision.levels) == {"1", "2", "(missing)"}


def test_far_values_are_drawn_in_and_that_is_said(people):
    rng = np.random.default_rng(3)
    big = pd.DataFrame(
        {"x": rng.normal(size=500), "code": rng.integers(0, 9, 500).astype(float), "sex": ["f", "m"] * 250}
    )
    big.loc[7, "code"] = 999999.0
    found = prepare(as_table(big), ["sex"])
    (decision,) = [d for d in found.decisions if d.column == "code"]
    assert "1 far from all others are clipped at" in decision.why
    assert found.features()["code"].iloc[7] < 25 and found.features()["code"].drop(8).std() > 0.3
    kept = prepare(as_table(big), ["sex"], rules=Rules(outliers="keep"))
    assert kept.features()["code"].iloc[7] > 22.3, "one value carries the column"
    np.testing.assert_allclose(found.features()["x"], kept.features()["x"])


def test_skewed_columns_are_not_cut():
    values = np.random.default_rng(4).lognormal(size=(2000, 1))
    low, high = column_limits(values)
    assert low < values.min() and values.max() < high
    np.testing.assert_allclose((-high, -low), column_limits(-values))


def test_columns_that_hardly_vary_are_left_out(people):
    big = pd.DataFrame({"x": np.arange(200.0) ** 1.5, "rare": [1] * 9 + [0] * 191, "sex": ["f", "m"] * 100})
    assert roles(prepare(as_table(big), ["sex"]))["rare"] == "left out"
    assert roles(prepare(as_table(big), ["sex"], rules=Rules(keep=("rare",))))["rare"] == "number"
    assert roles(prepare(as_table(big), ["sex"], rules=Rules(min_different=9)))["rare"] == "number"


def test_winsorizer_is_an_estimator():
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(Winsorizer(), on_skip=None)


def test_wrong_columns(people):
    table = as_table(people)
    for arguments, message in (
        ((["gender", "nothing"],), "no column 'nothing'"),
        (([],), "No sensitive column"),
        ((["sex"], "sex"), "both sensitive and target"),
        ((["sex"], None, Rules(numbers=("note",))), "not a column of numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            prepare(table, *arguments)


def test_missing_values_of_typed_columns_stay_missing():
    frame = pd.DataFrame(
        {
            "flag": pd.Series([True, False, None] * 20, dtype="category"),
            "nullable": pd.Series([True, None, False] * 20, dtype="boolean"),
            "grade": pd.Series([1, 2, None] * 20).astype("Int64").astype("category"),
            "x": np.linspace(0.0, 1.0, 60),
            "sex": ["f", "m"] * 30,
        }
    )
    found = prepare(as_table(frame), ["sex"])
    for name, values in {"flag": [1, 0, np.nan], "nullable": [1, np.nan, 0], "grade": [1, 2, np.nan]}.items():
        np.testing.assert_array_equal(found.frame[name].to_numpy(dtype=float)[:3], values)
    assert not any(pd.isna(found.features()).any())


def test_groups_of_whole_numbers_with_an_infinity_are_told():
    frame = pd.DataFrame({"x": np.arange(6.0), "group": [1.0, 2.0, np.inf, 1.0, 2.0, 1.0]})
    with pytest.raises(ValueError, match="infinite"):
        prepare(as_table(frame), ["group"])


@pytest.mark.parametrize("mark", ["-", "n.a."])
def test_dates_may_be_missing(mark):
    days = [f"2020-01-{day:02d}" for day in range(1, 29)] + [mark, mark]
    found = prepare(as_table(pd.DataFrame({"seen": days, "x": np.arange(30.0) % 7, "sex": ["f", "m"] * 15})), ["sex"])
    assert roles(found)["seen"] == "number" and any(repr(mark) in line for line in found.summary())


@pytest.mark.parametrize(
    ("values", "what", "remedy"),
    [
        ([f"{h}:{m:02d}" for h in range(10) for m in range(0, 60, 10)], "times of day", "14.25 for 14:15"),
        ([f"{y}-{m:02d}" for y in range(2000, 2005) for m in range(1, 13)], "months", "2012-07-01"),
        ([f"07/{d:02d}/2012 {h}:05 PM" for d in range(1, 31) for h in (1, 3)], "dates", "--date-format %d.%m.%Y"),
        ([f"€{n},999.50" for n in range(60)], "amounts", "as 1234.5"),
        ([f"{n / 10} %" for n in range(60)], "amounts", "as 1234.5"),
        ([f"{d} July {y}" for d in range(1, 31) for y in (1999, 2001)], "dates", "2012-07-04"),
    ],
)
def test_times_that_are_not_read_are_said_with_a_remedy(people, values, what, remedy):
    table = as_table(people.assign(note=values))
    (decision,) = [d for d in prepare(table, ["sex"]).decisions if d.column == "note"]
    assert decision.role == "left out" and f"which look like {what}; write them" in decision.why
    assert remedy in decision.why
    with pytest.raises(ValueError, match=f"--number note: .*which look like {what}") as error:
        prepare(table, ["sex"], rules=Rules(numbers=("note",)))
    assert remedy in str(error.value)


def test_number_on_words_says_which_values_to_change(people):
    values = ["$70", *map(str, range(N - 1))]
    with pytest.raises(ValueError, match=r"1 of 60 values are none.* '70 lots \+' \(row 1\); write all of them"):
        prepare(as_table(people.assign(note=["70 lots +", *values[1:]])), ["sex"], rules=Rules(numbers=("note",)))
    with pytest.raises(ValueError, match=r"1 of 60 values are none.* '\$70' \(row 1\), which look like amounts"):
        prepare(as_table(people.assign(note=values)), ["sex"], rules=Rules(numbers=("note",)))
    mixed = ["1.234,5", *[f"{i}.25" for i in range(N - 1)]]
    with pytest.raises(ValueError, match=r"written in several ways, such as '1\.234,5' .*write all of them alike"):
        prepare(as_table(people.assign(note=mixed)), ["sex"], rules=Rules(numbers=("note",)))


def test_groups_that_differ_in_letter_case_are_said(people):
    found = prepare(as_table(people.assign(sex=["Male", "male", "F"] * 20)), ["sex"])
    assert any("the groups 'Male' and 'male' differ in letter case only" in text for text in found.warnings)
    assert not any("letter case" in text for text in prepare(as_table(people), ["sex"]).warnings)


def test_a_column_of_numbers_with_a_footnote_is_pointed_out():
    rng = np.random.default_rng(0)
    pay = [*rng.normal(3000, 400, 60).round(2), "Source: payroll"]
    frame = pd.DataFrame({"pay": pay, "age": rng.normal(size=61), "sex": ["f", "m"] * 30 + [None]})
    found = prepare(as_table(frame), ["sex"], missing_groups="drop")
    assert roles(found)["pay"] == "left out"
    (said,) = [w for w in found.warnings if w.startswith("pay: read as words")]
    assert "1 of 61 different values" in said and "'Source: payroll' (row 61)" in said
    words = frame.assign(pay=[f"A{i}" for i in range(61)])
    assert not [w for w in prepare(as_table(words), ["sex"], missing_groups="drop").warnings if "read as words" in w]
