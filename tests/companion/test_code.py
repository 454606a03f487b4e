"""What makes a kept cell outdated, and what does not."""

import functools

import pytest

from fairpca.companion import _code
from fairpca.companion._code import Code
from fairpca.datasets import digest

PAGE = '''
import functools
import numpy as np
from fairpca import {imported}
from fairpca.companion import grid, seed, tidy
from fairpca.datasets import load, standardise

SCALE = {scale}
NAMES = ["energy"]

class Rule:
    """A docstring."""

    def weight(self, x):
        return {method} * x

def helper(x):
    """{doc}"""
    return {helper} * x  # {comment}

def cell(dataset, n, extra={default}):
    # {comment}
    values = [helper(x) for x in range(n)]
    model = {imported}(n)
    return {{"value": {own} + SCALE + sum(values) + Rule().weight(n), "rows": len(load(NAMES[0]).X)}}
'''
PLAIN = {
    "imported": "RFPCA",
    "scale": "1.0",
    "method": "1",
    "doc": "A docstring.",
    "helper": "2",
    "comment": "a comment",
    "default": "0",
    "own": "3",
}


def page(tmp_path, monkeypatch, **changes):
    """Return the cell function of a page, as if it were the program that runs."""
    path = tmp_path / f"page{len(list(tmp_path.iterdir()))}.py"
    path.write_text(PAGE.format(**(PLAIN | changes)))
    names = {"__name__": "__main__"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["cell"]


def test_comments_docstrings_and_layout_do_not_count(tmp_path, monkeypatch):
    before = Code(page(tmp_path, monkeypatch))
    for changes in ({"comment": "another"}, {"doc": "Other words."}, {"own": "(3)"}):
        assert Code(page(tmp_path, monkeypatch, **changes)).digest == before.digest


@pytest.mark.parametrize("name", ["own", "helper", "method", "scale", "default", "imported"])
def test_code_and_constants_count(tmp_path, monkeypatch, name):
    before = Code(page(tmp_path, monkeypatch))
    other = {"imported": "MinMaxFairPCA"}.get(name, "7")
    assert Code(page(tmp_path, monkeypatch, **{name: other})).digest != before.digest


def test_modules_behind_the_used_names_count(tmp_path, monkeypatch):
    function = page(tmp_path, monkeypatch)
    before = Code(function).digest
    real = _code._module_digest

    def changed(module):
        monkeypatch.setattr(_code, "_module_digest", lambda name: real(name) + "x" * (name == module))
        return Code(function).digest != before

    # The solver, what it imports, and what loads the data; not what runs, shows and files, or another solver.
    for module in ("fairpca.rfpca", "fairpca.solvers.rfpca.exact", "fairpca.linalg", "fairpca.datasets._dataset"):
        assert changed(module), module
    for module in (
        "fairpca.companion._grid",
        "fairpca.plotting",
        "fairpca.report",
        "fairpca.solvers.mmd",
        "fairpca.cli",
    ):
        assert not changed(module), module


SHARED = """
import functools

STEP = {step}

@functools.cache
def rows(n):
    return n + STEP

def other(n):
    return {other}
"""


def test_of_shared_code_only_what_is_used_counts(tmp_path, monkeypatch):
    """Functions of companion/<paper>.py serve many pages; they may have a cache."""

    def code(**changes):
        path = tmp_path / f"shared{len(list(tmp_path.iterdir()))}.py"
        path.write_text(SHARED.format(**({"step": 1, "other": 2} | changes)))
        shared = {"__name__": "fairpca.companion.toy2030"}
        exec(compile(path.read_text(), str(path), "exec"), shared)
        function = page(tmp_path, monkeypatch)
        function.__globals__["helper"] = shared["rows"]
        return Code(function).digest

    assert code(other=3) == code()
    assert code(step=2) != code()


def test_a_module_is_known_by_its_syntax(tmp_path, monkeypatch):
    def tree(text):
        (tmp_path / "module.py").write_text(text)
        monkeypatch.setattr(_code, "find_spec", lambda name: type("Spec", (), {"origin": tmp_path / "module.py"}))
        _code._tree.cache_clear()
        return _code._skeleton(_code._tree("module"))

    try:
        plain = tree('"""Words."""\n\ndef f(x):\n    """Words."""\n    return x + 1\n')
        assert tree("def f(x):  # words\n    return (x + 1)\n") == plain
        assert tree("def f(x):\n    return x - 1\n") != plain
        assert tree("def f(x):\n    return x + True\n") != plain
    finally:
        _code._tree.cache_clear()


def test_data_count_by_the_cells_that_use_them(tmp_path, monkeypatch):
    function, settings = page(tmp_path, monkeypatch), [{"dataset": "biodeg"}, {"dataset": "e_coli"}]
    code = Code(function, settings)
    assert code.data == {name: digest(name) for name in code.data} and set(code.data) == {"energy", "biodeg", "e_coli"}
    before = [code.key(setting) for setting in settings]
    monkeypatch.setattr(_code, "digest", lambda name: "other" if name == "biodeg" else digest(name))
    assert [new == old for new, old in zip(map(Code(function, settings).key, settings), before, strict=True)] == [
        False,
        True,
    ]
    monkeypatch.setattr(_code, "digest", lambda name: "other" if name == "energy" else digest(name))
    assert not set(map(Code(function, settings).key, settings)) & set(before)


def test_a_cached_function_is_refused(tmp_path, monkeypatch):
    """Worker processes could not load it, which would show only with two of them."""
    function = page(tmp_path, monkeypatch)
    function.__globals__["helper"] = functools.cache(function.__globals__["helper"])
    with pytest.raises(TypeError, match="helper has a cache"):
        Code(function)


def test_enclosed_values_and_partial_arguments_count():
    def make(n):
        return lambda x: {"value": n * x}

    assert Code(make(1)).digest != Code(make(2)).digest
    assert Code(functools.partial(make(1), x=1)).digest != Code(functools.partial(make(1), x=2)).digest


def test_digest_of_data_is_that_of_its_files():
    assert len({digest(name) for name in ("energy", "biodeg", "lfw", "synthetic2")}) == 4
    with pytest.raises(ValueError, match="nothing"):
        digest("nothing")
