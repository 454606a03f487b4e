"""Groups of any type, and what is said of bad ones."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairpca._validation import check_choice, check_number, encode_groups


@pytest.mark.parametrize(
    "given, labels",
    [
        ([2, 0, 2], (0, 2)),
        ([True, False, True], (False, True)),
        (np.array(["b", "a", "b"]), ("a", "b")),
        (pd.Series(["b", "a", "b"], dtype="string"), ("a", "b")),
        (pd.Categorical(["lo", "hi", "lo"], categories=["lo", "mid", "hi"]), ("lo", "hi")),
        ([1.5, -1.0, 1.5], (-1.0, 1.5)),
        ([1, "a", 1], (1, "a")),
        ([[0, "x"], [1, "y"], [0, "y"]], ((0, "x"), (0, "y"), (1, "y"))),
        (pd.DataFrame({"s": ["m", "f", "m"], "o": [1, 1, 0]}), (("f", 1), ("m", 0), ("m", 1))),
    ],
)
def test_groups_of_any_type(given, labels):
    groups = encode_groups(given, 3)
    assert groups.labels == labels
    frame = pd.DataFrame(given)
    for i in range(3):
        row = tuple(frame.iloc[i])
        assert groups.labels[groups.codes[i]] == (row if len(row) > 1 else row[0])
    assert groups.counts.sum() == 3


@pytest.mark.parametrize(
    "given, message",
    [
        (["a", None, "b"], r"missing values in 1 row\(s\): 1"),
        ([1.0, float("nan"), 2.0], r"row\(s\): 1"),
        (pd.DataFrame({"s": ["a", "b", "c"], "t": [1, None, None]}), r"column 't' has missing values in 2 row"),
        ([1, 2], "2 rows but X has 3"),
        (np.zeros((3, 1, 1)), "one row for each row"),
        ("sex", "Pass the column itself"),
        (None, "Pass the column itself"),
        (np.zeros((3, 0)), "no columns"),
    ],
)
def test_bad_groups(given, message):
    with pytest.raises(ValueError, match=message):
        encode_groups(given, 3)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("solver='x' is not known; choose one of 'a', 'b'", lambda: check_choice("solver", "x", ("a", "b"))),
        ("mu must be a number; got '1'", lambda: check_number("mu", "1")),
        ("must be an integer", lambda: check_number("n", 1.5, integer=True)),
        (r"mu=-1 is out of range; it must lie in \[0, inf\)", lambda: check_number("mu", -1, low=0)),
        ("not a number", lambda: check_number("tau", float("nan"))),
    ],
)
def test_choice_and_number_messages(message, call):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
    check_number("tau", np.float32(0.5), low=0, low_open=True)


@given(st.lists(st.text(st.characters(exclude_characters="\0"), max_size=5), min_size=1, max_size=30))
def test_fixed_width_text_is_grouped_as_numpy_sorts_it(texts):
    values = np.array(texts, dtype="U5")
    labels, codes = np.unique(values, return_inverse=True)
    for column in (values, values.astype(object), values.astype("U9")[::-1][::-1]):
        groups = encode_groups(column)
        assert groups.labels == tuple(labels.tolist())
        np.testing.assert_array_equal(groups.codes, codes)
