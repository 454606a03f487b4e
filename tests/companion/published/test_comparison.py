"""The comparison of our numbers with printed ones, and the verdict on each."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairpca.companion.published import Tolerance, compare

TOLERANCE = (
    Tolerance("t", "*", "*", "var", "mean", 5, 0, 0, "test"),
    Tolerance("*", "b", "*", "*", "*", 900, 0, 0, ""),
)


def printed(**columns):
    base = {"dataset": ["a"], "d": [2], "metric": ["var"], "protocol": ["printed"], "mean": [1.23], "decimals": [2]}
    return pd.DataFrame({**base, **columns})


def ours(value, **columns):
    base = {"dataset": ["a"], "d": [2], "metric": ["var"], "protocol": ["printed"], "mean": [value], "n": [10]}
    return pd.DataFrame({**base, **columns})


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (1.23, "equal"),
        (1.2349, "equal"),
        (1.235, "equal"),
        (1.2351, "close"),
        (1.28, "close"),
        (1.2801, "differs"),
        (1.1799, "differs"),
        (np.nan, "not yet"),
    ],
)
def test_verdicts(value, verdict):
    row = compare(ours(value), printed(), TOLERANCE, exhibit="x/t").iloc[0]
    assert row["verdict"] == verdict
    if verdict != "not yet":
        assert row["difference"] == pytest.approx(value - 1.23) and row["tolerance"] == pytest.approx(0.05)


@settings(max_examples=25)
@given(st.integers(-10_000, 10_000), st.integers(0, 4), st.floats(-0.4999, 0.4999))
def test_equal_means_equal_after_rounding(digits, decimals, fraction):
    number = digits / 10**decimals
    value = (digits + fraction) / 10**decimals
    row = compare(ours(value), printed(mean=[number], decimals=[decimals]), ()).iloc[0]
    assert row["verdict"] == "equal" and round(value, decimals) == round(number, decimals)
    far = compare(ours((digits + 0.51) / 10**decimals), printed(mean=[number], decimals=[decimals]), ()).iloc[0]
    assert far["verdict"] == "differs"


def test_nothing_is_left_out():
    table = pd.concat([printed(), printed(dataset=["b"]), printed(d=[3])], ignore_index=True).assign(sd=[0.1, 0.2, 0.3])
    judged = compare(ours(1.23, sd=[0.1]), table, ())
    assert len(judged) == 6
    assert judged["verdict"].value_counts().to_dict() == {"equal": 2, "not yet": 4}
    assert (compare(None, table, ())["verdict"] == "not yet").all()


def test_tolerance_of_the_first_match_counts():
    table = printed(dataset=["b"], mean=[100.0])
    assert compare(ours(109.0, dataset=["b"]), table, TOLERANCE, exhibit="x/u").iloc[0]["verdict"] == "close"
    assert compare(ours(109.0, dataset=["b"]), table, TOLERANCE, exhibit="x/t").iloc[0]["verdict"] == "differs"


def test_protocols_are_not_mixed():
    assert compare(ours(1.23, protocol=["stated"]), printed(), ()).iloc[0]["verdict"] == "not yet"


def test_words_instead_of_a_number():
    table = printed(mean=[np.nan], text=["fail to converge"])
    assert compare(None, table, ()).iloc[0]["verdict"] == "not yet"
    assert compare(ours(np.nan), table, ()).iloc[0]["verdict"] == "equal"
    # A number beside words says something about another program: no verdict.
    assert compare(ours(3.0), table, ()).iloc[0]["verdict"] == "not judged"


def test_value_and_mean_meet():
    table = printed().rename(columns={"mean": "value"})
    assert compare(ours(1.23), table, ()).iloc[0]["verdict"] == "equal"
    assert compare(ours(1.23).rename(columns={"mean": "value"}), printed(), ()).iloc[0]["verdict"] == "equal"


def test_settings_may_be_empty_or_missing():
    table = printed(setting=[""])
    assert compare(ours(1.23, setting=[np.nan]), table, ()).iloc[0]["verdict"] == "equal"


def test_reasons_are_found_by_pattern():
    reasons = pd.DataFrame(
        [["t", "b*", "*", "*", "*", "*", "*", "wrong"], ["*", "a", "*", "*", "2", "var", "mean", "right"]],
        columns=["exhibit", "dataset", "method", "setting", "d", "metric", "statistic", "reason"],
    )
    assert compare(ours(9.0), printed(), (), exhibit="x/t", reasons=reasons).iloc[0]["reason"] == "right"
    assert compare(ours(1.23), printed(), (), exhibit="x/t", reasons=reasons).iloc[0]["reason"] == ""


def test_errors_of_compare():
    with pytest.raises(ValueError, match="no column 'dataset'"):
        compare(ours(1.0).drop(columns="dataset"), printed(), ())
    with pytest.raises(ValueError, match="a number twice"):
        compare(pd.concat([ours(1.0), ours(2.0)]), printed(), ())


KEYED = "exhibit,dataset,d,metric,protocol,statistic,grain,noise\n"


def measured_in(folder, *rows):
    """Write a result from which tolerances are derived, and return its folder."""
    path = folder / "paper" / "noise.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text(KEYED + "".join(f"{row}\n" for row in rows))
    return folder


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("units", "grains", "noises", "allowed"),
    [(0, 0, 0, 0), (1, 0, 0, 1.0), (0.5, 1, 0, 3.5), (0.5, 0, 2, 1.0), (0.5, 1, 2, 4.0), (0, 2, 4, 7.0)],
)
def test_size_of_a_tolerance_whatever_the_sign(sign, units, grains, noises, allowed, tmp_path):
    """Units of the last digit (one), the grain (three) and the noise (a quarter) of this very number."""
    own, other = "t,a,2,var,printed,mean,3,0.25", "t,a,3,var,printed,mean,99,99"
    results = measured_in(tmp_path, other, own, "u,a,2,var,printed,mean,99,99", "t,a,2,var,printed,sd,99,99")
    tolerance = [Tolerance("*", "*", "*", "*", "*", units, grains, noises, "test", "paper/noise")]
    for side, far in ((1.0, 1.01), (-1.0, 1.01), (1.0, 0.99), (-1.0, 0.99)):
        table = printed(mean=[sign * 100.0], decimals=[0])
        value = ours(sign * 100.0 + side * max(allowed * far, 0.6))
        row = compare(value, table, tolerance, exhibit="x/t", results=results).iloc[0]
        assert row["tolerance"] == pytest.approx(allowed)
        assert row["verdict"] == ("close" if far < 1 and allowed > 0.6 else "differs")


def test_what_was_not_measured_allows_nothing(tmp_path):
    tolerance = [Tolerance("*", "*", "*", "*", "*", 0.5, 1, 2, "test", "paper/noise")]
    missing = compare(ours(1.24), printed(), tolerance, exhibit="x/t", results=tmp_path).iloc[0]
    assert (missing["verdict"], missing["tolerance"]) == ("differs", 0.005)
    results = measured_in(tmp_path, "t,a,2,var,printed,mean,,0.01")
    half = compare(ours(1.24), printed(), tolerance, exhibit="x/t", results=results).iloc[0]
    assert (half["verdict"], half["tolerance"]) == ("close", 0.025)


def test_room_for_the_binary_form_grows_with_large_numbers_of_either_sign():
    for sign in (1.0, -1.0):
        table = printed(mean=[sign * 123456.78])
        assert compare(ours(sign * 123456.785), table, ()).iloc[0]["verdict"] == "equal"
        assert compare(ours(sign * 123456.78501), table, ()).iloc[0]["verdict"] == "differs"


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_reason_may_say_how_far_in_units_of_what_was_measured(side, tmp_path):
    words = "{away:.1f} of {spread:.2f}, {moves:.1f} of {noise:.3f}, {share:.1f} %"
    reasons = pd.DataFrame(
        [["*", "*", "*", "*", "*", "*", "*", words]],
        columns=["exhibit", "dataset", "method", "setting", "d", "metric", "statistic", "reason"],
    )
    tolerance = [Tolerance("*", "*", "*", "*", "*", 0.5, 0, 2, "test", "paper/noise")]
    results = measured_in(tmp_path, "t,a,2,var,printed,mean,0,0.02")
    own = ours(1.23 + side * 0.05, sd=[0.1])
    judged = compare(own, printed(), tolerance, exhibit="x/t", reasons=reasons, results=results).iloc[0]
    assert (judged["verdict"], judged["reason"]) == ("differs", "0.5 of 0.10, 2.5 of 0.020, 4.1 %")


NAMES = ["exhibit", "dataset", "method", "setting", "d", "metric", "statistic", "reason"]


@pytest.mark.parametrize(
    ("noise", "expected"),
    [("0.02", "2.5 times"), ("0.0006", "83.3 times"), ("0.0004", "unknown"), ("0", "unknown"), ("", "unknown")],
)
def test_what_moves_a_number_too_little_does_not_explain_a_difference(noise, expected, tmp_path):
    """The difference is 0.05, and a hundredth of it is 0.0005."""
    reasons = pd.DataFrame([[*"*******", "{moves:.1f} times"], [*"*******", "unknown"]], columns=NAMES)
    tolerance = [Tolerance("*", "*", "*", "*", "*", 0.5, 0, 0, "test", "paper/noise")]
    results = measured_in(tmp_path, f"t,a,2,var,printed,mean,0,{noise}")
    row = compare(ours(1.28), printed(), tolerance, exhibit="x/t", reasons=reasons, results=results).iloc[0]
    assert (row["verdict"], row["reason"]) == ("differs", expected)


@pytest.mark.parametrize(("share", "expected"), [(0.3, "30% zero"), (0.0, "unknown"), (np.nan, "unknown")])
def test_a_reason_may_rest_on_another_metric_of_the_same_keys(share, expected):
    reasons = pd.DataFrame([[*"*******", "{zero:.0%} zero"], [*"*******", "unknown"]], columns=NAMES)
    own = pd.concat([ours(9.0), ours(share, metric=["zero"]), ours(1.0, metric=["zero"], d=[3])])
    row = compare(own, printed(), (), reasons=reasons).iloc[0]
    assert (row["verdict"], row["reason"]) == ("differs", expected)


def test_what_comes_out_equal_with_an_inferred_setting_is_counted_by_itself():
    table = printed(dataset=["german"], method=["mbfpca"], setting=["tau=1e-3"])
    given = {"dataset": ["german"], "method": ["mbfpca"], "setting": ["tau=1e-3"]}
    judged = compare(ours(1.23, **given), table, (), exhibit="lee2022/table1").iloc[0]
    assert judged["verdict"] == "equal, inferred" and "PCA" in judged["reason"]
    assert compare(ours(9.0, **given), table, (), exhibit="lee2022/table1").iloc[0]["verdict"] == "differs"
    other = {"method": ["fpca"]}
    same = compare(ours(1.23, **given | other), table.assign(**other), (), exhibit="lee2022/table1").iloc[0]
    assert same["verdict"] == "equal" and same["reason"] == ""
