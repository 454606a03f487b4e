"""The code hash changes when the code behind a cell changes, and only then."""

import importlib
import sys
import textwrap

import pytest

from fairpca.experiments.engine.codehash import code_hash, code_pieces

FILES = {
    "__init__.py": """
        '''A small package.'''
        _HOME = {"Lazy": "PACKAGE.lazy"}
        def __getattr__(name):
            from importlib import import_module
            if name in _HOME:
                return getattr(import_module(_HOME[name]), name)
            raise AttributeError(name)
    """,
    "lazy.py": """
        class Lazy:
            def fit(self):
                return 41
    """,
    "helpers.py": """
        import warnings
        from functools import lru_cache, partial, wraps
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from PACKAGE.annotations_only import Thing
        LIMIT: int = 3
        TABLE = {"a": 1}
        TABLE["b"] = 2
        def used(x: int) -> int:
            '''Doc.'''
            if x < -100:
                raise ValueError(f"{x} is too small {complain(x)}")
            if x < -50:
                warnings.warn("small", stacklevel=2)
            return x + LIMIT + TABLE["a"]  # why
        def complain(x):
            return "really"
        def unrelated(x):
            return x - 1
        def even(n):
            return n == 0 or odd(n - 1)
        def odd(n):
            return n != 0 and even(n - 1)
        def logged(function):
            @wraps(function)
            def wrapper(*args):
                return function(*args)
            return wrapper
        @logged
        def decorated(x):
            return x * 7
        @lru_cache(maxsize=8)
        def cached(x):
            return x * 11
        def base_power(x, p):
            return x**p
        square = partial(base_power, p=2)
        def inside_function(x):
            return x + 1000
        def shadowed(x):
            return x + 2000
    """,
    "metrics.py": """
        def mmd2(x):
            return kernel(x) + 1
        def kernel(x):
            return x * 0.5
        def other(x):
            return x
    """,
    "models.py": """
        from .helpers import LIMIT
        class Base:
            def shared(self):
                return 1
        class Model(Base):
            '''Doc.'''
            rate: float = 0.5
            def fit(self, x):
                return self.step(x)
            def step(self, x):
                return x * 2 + LIMIT
        class Unused:
            def fit(self):
                return 5
    """,
    "jitted.py": """
        from numba import njit
        STEP = 0.25
        @njit
        def inner(x):
            return x * STEP
        @njit(cache=False)
        def outer(x):
            return inner(x) + 1.0
    """,
    "experiment.py": """
        import PACKAGE.metrics
        from PACKAGE import Lazy, metrics as m
        from PACKAGE import helpers
        from PACKAGE.helpers import even, decorated, cached, square, used as used_here
        from PACKAGE.models import Model
        from PACKAGE.jitted import outer
        CONSTANT = (1, 2.5)
        def run_cell(*, split: int, shadowed=0):
            '''Compute.'''
            from PACKAGE.helpers import inside_function
            total = used_here(split) + m.mmd2(1.0) + CONSTANT[0] + Model().fit(split) + Lazy().fit()
            message = f"{total:.3f} is {split}"
            return {"value": total, "even": even(4), "d": decorated(2) + cached(2) + square(3) + inside_function(1),
                    "j": outer(1.0), "s": shadowed, "message": message}
        def unrelated():
            return helpers.unrelated(1)
        def make(number):
            def inner_cell(**key):
                return {"value": number}
            return inner_cell
        from_factory_1 = make(1)
        from_factory_2 = make(2)
        table = helpers.partial(make, {"one": cached, "two": from_factory_2})
        chosen = [helpers.even, lambda **key: {"value": 5}][1]
    """,
}


@pytest.fixture
def hash_of(tmp_path, monkeypatch):
    """Return a function that writes the package (with replacements) under one name and hashes one of its functions."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write_and_hash(*replacements, function="run_cell", symbols=False):
        package = tmp_path / "toypackage"
        package.mkdir(exist_ok=True)
        applied = 0
        for name, text in FILES.items():
            text = textwrap.dedent(text).replace("PACKAGE", "toypackage")
            for file, old, new in replacements:
                if file == name:
                    assert old in text, (old, name)
                    text = text.replace(old, new)
                    applied += 1
            (package / name).write_text(text)
        assert applied == len(replacements)
        for module in [module for module in sys.modules if module.partition(".")[0] == "toypackage"]:
            del sys.modules[module]
        importlib.invalidate_caches()
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        import linecache

        linecache.clearcache()
        try:
            target = getattr(importlib.import_module("toypackage.experiment"), function)
            return (code_pieces if symbols else code_hash)(target)
        finally:
            sys.dont_write_bytecode = before

    return write_and_hash


CHANGES = {
    "the function itself": ("experiment.py", "CONSTANT[0]", "CONSTANT[1]"),
    "a format in it": ("experiment.py", ":.3f", ":.4f"),
    "when an error is raised": ("helpers.py", "x < -100", "x < -101"),
    "type of an error": ("helpers.py", "raise ValueError", "raise KeyError"),
    "a helper": ("helpers.py", "x + LIMIT", "x * LIMIT"),
    "a constant": ("helpers.py", "LIMIT: int = 3", "LIMIT: int = 4"),
    "type of a constant": ("experiment.py", "(1, 2.5)", "(1.0, 2.5)"),
    "an item set later": ("helpers.py", 'TABLE["b"] = 2', 'TABLE["b"] = 3'),
    "through a module attribute": ("metrics.py", "kernel(x) + 1", "kernel(x) + 2"),
    "two steps away": ("metrics.py", "x * 0.5", "x * 0.6"),
    "a method": ("models.py", "x * 2 + LIMIT", "x * 3 + LIMIT"),
    "a class attribute": ("models.py", "= 0.5", "= 0.6"),
    "a base class": ("models.py", "return 1", "return 2"),
    "a decorated function": ("helpers.py", "x * 7", "x * 8"),
    "the decorator": ("helpers.py", "return function(*args)", "return 2 * function(*args)"),
    "a cached function": ("helpers.py", "x * 11", "x * 12"),
    "behind a partial": ("helpers.py", "x**p", "x**p + 1"),
    "argument of a partial": ("helpers.py", "p=2", "p=3"),
    "one of a mutual recursion": ("helpers.py", "n != 0 and", "n > 0 and"),
    "imported inside the function": ("helpers.py", "x + 1000", "x + 1001"),
    "a jitted function": ("jitted.py", "+ 1.0", "+ 2.0"),
    "called by a jitted function": ("jitted.py", "x * STEP", "x * STEP + 0"),
    "a constant of a jitted function": ("jitted.py", "STEP = 0.25", "STEP = 0.5"),
    "an option of the compiler": ("jitted.py", "cache=False", "cache=False, fastmath=True"),
    "a name made on demand": ("lazy.py", "return 41", "return 42"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_that_matter(hash_of, change):
    assert hash_of() != hash_of(CHANGES[change])


NOT_CHANGES = {
    "docstring of the function": ("experiment.py", "'''Compute.'''", "'''Computes a cell.'''"),
    "docstring removed": ("experiment.py", "'''Compute.'''\n", "\n"),
    "docstring of a helper": ("helpers.py", "'''Doc.'''", "'''Other.'''"),
    "docstring of a class": ("models.py", "'''Doc.'''", "'''Other.'''"),
    "words of an error": ("helpers.py", "is too small", "is much too small"),
    "words of a warning": ("helpers.py", '"small"', '"rather small"'),
    "what only an error says": ("helpers.py", '"really"', '"indeed"'),
    "a comment": ("helpers.py", "# why", "# because"),
    "an annotation": ("helpers.py", "x: int) -> int", "x: float) -> float"),
    "annotation of a constant": ("helpers.py", "LIMIT: int = 3", "LIMIT: float = 3"),
    "an annotation that becomes absent": ("helpers.py", "x: int) -> int", "x)"),
    "layout": ("metrics.py", "return kernel(x) + 1", "return (\n        kernel(x)\n        + 1\n    )"),
    "an unrelated function": ("helpers.py", "x - 1", "x - 2"),
    "an unrelated function of a used module": ("metrics.py", "return x\n", "return x + 5\n"),
    "an unrelated class": ("models.py", "return 5", "return 6"),
    "an unrelated function beside it": ("experiment.py", "helpers.unrelated(1)", "helpers.unrelated(2)"),
    "a function of the name of an argument": ("helpers.py", "x + 2000", "x + 2001"),
}


@pytest.mark.parametrize("change", NOT_CHANGES)
def test_changes_that_do_not_matter(hash_of, change):
    assert hash_of() == hash_of(NOT_CHANGES[change])


def test_factories_and_lambdas(hash_of):
    one, two = hash_of(function="from_factory_1"), hash_of(function="from_factory_2")
    assert one != two
    assert hash_of(function="from_factory_1") == one
    assert hash_of(("experiment.py", '{"value": 5}', '{"value": 6}'), function="chosen") != hash_of(function="chosen")


def test_functions_in_a_mapping_are_followed(hash_of):
    before = hash_of(function="table")
    assert hash_of(function="table") == before, "no address of a function"
    for change in (
        ("helpers.py", "x * 11", "x * 12"),
        ("experiment.py", "make(2)", "make(3)"),
        ("experiment.py", '"one": cached', '"three": cached'),
    ):
        assert hash_of(change, function="table") != before, change
    assert hash_of(("helpers.py", "x - 1", "x - 2"), function="table") == before


def test_what_is_followed_is_told(hash_of):
    symbols = hash_of(symbols=True)
    assert "toypackage.metrics:kernel:0" in symbols
    assert not [symbol for symbol in symbols if "unrelated" in symbol or "Unused" in symbol or "shadowed" in symbol]
    assert not [symbol for symbol in symbols if symbol.startswith(("numba", "functools"))]


def test_partial_and_wrapped_starting_points():
    from functools import partial, wraps

    def cell(number):
        return number

    @wraps(cell)
    def wrapped(number):
        return cell(number)

    assert code_hash(partial(cell, number=1)) != code_hash(partial(cell, number=2))
    assert code_hash(partial(cell, number=1)) == code_hash(partial(cell, number=1))
    assert any("cell" in symbol for symbol in code_pieces(wrapped))


def test_package_code_is_followed_across_modules():
    from fairpca.pca import PCA

    symbols = code_pieces(PCA)
    assert "fairpca._base:BaseFairPCA:0" in symbols
    assert any(symbol.startswith("fairpca.linalg:") for symbol in symbols)


def test_source_that_cannot_be_read():
    scope = {"__name__": "nowhere_to_be_found"}
    exec("def cell():\n    return 1\n", scope)
    with pytest.raises(ValueError, match="cannot be read"):
        code_hash(scope["cell"])


def test_a_package_that_imports_its_own_submodule(hash_of):
    own = ("__init__.py", "'''A small package.'''", "from toypackage import helpers")
    symbols = hash_of(own, ("experiment.py", "total = used_here(split)", "total = helpers.used(split)"), symbols=True)
    assert "toypackage.helpers:used:0" in symbols


def test_a_file_that_changed_since_it_was_loaded_has_no_hash(tmp_path, monkeypatch):
    path = tmp_path / "edited_module.py"
    path.write_text("def cell():\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    function = importlib.import_module("edited_module").cell
    assert len(code_hash(function)) == 32
    path.write_text("\n\n\ndef cell():\n    return 2\n")
    with pytest.raises(ValueError, match=r"'cell' has changed since it was loaded.*Start again"):
        code_hash(function)
    sys.modules.pop("edited_module")
