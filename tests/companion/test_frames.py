"""Cells and tables as frames and files, by hand."""

import base64
import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest

from fairpca.companion import tidy
from fairpca.companion._frames import cells_frame, read_cells, write_cells


def test_tidy_keeps_the_order_of_groups_and_those_without_a_key():
    cells = pd.DataFrame({"method": ["z", "z", "a", None], "x": [1.0, 3.0, np.nan, 5.0]})
    table = tidy(cells, ["x"], by=["method", "dataset"], protocol={"x": "stated"})
    assert table["method"].fillna("none").tolist() == ["z", "a", "none"]
    assert table["n"].tolist() == [2, 0, 1] and table["protocol"].unique().tolist() == ["stated"]
    np.testing.assert_allclose(table["mean"], [2.0, np.nan, 5.0])
    np.testing.assert_allclose(table["sd"], [2**0.5, np.nan, np.nan])


RECORDS = {
    "text": ["a", "", "b"], "words": ["a", "b", None], "whole": [1, 2, 3], "mixed": [1, "b", None],
    "real": [1, 2.5, None], "flags": [True, False, True], "some flags": [True, False, None],
    "arrays": [np.arange(3.0), None, np.eye(2)],
}  # fmt: skip


def test_cells_come_back_with_their_types():
    cells = [(f'{{"n":{n}}}', [{name: values[n] for name, values in RECORDS.items()}]) for n in range(3)]
    content = write_cells(cells)
    again = read_cells(content)
    for (cell, [record]), (other, [found]) in zip(cells, again, strict=True):
        assert cell == other
        for name, value in record.items():
            assert type(found[name]) is type(value) or (name == "real" and found[name] == value)
            np.testing.assert_array_equal(found[name], value)
    frame = cells_frame(cells)
    assert frame["flags"].dtype == bool and frame["some flags"].dtype == object and frame["real"].dtype == float
    assert write_cells(again) == content


def test_pickled_arrays_are_not_opened():
    buffer = io.BytesIO()
    np.save(buffer, np.array([{}], dtype=object), allow_pickle=True)
    value = json.dumps({"__npy__": base64.b64encode(buffer.getvalue()).decode("ascii")})
    text = pd.DataFrame({"cell": ["{}"], "x:json": [value]}).to_csv(index=False)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        read_cells(gzip.compress(text.encode()))
