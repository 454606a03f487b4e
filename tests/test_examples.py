"""Every example in a docstring does what it says, and everything public to be called has one where it helps."""

import doctest
import importlib
import inspect
import pkgutil
import re
import warnings

import pytest

import fairpca

MODULES = [name for _, name, _ in pkgutil.walk_packages(fairpca.__path__, "fairpca.") if not name.endswith("__main__")]


def with_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in MODULES:
        module = importlib.import_module(name)
        for test in finder.find(module):
            if test.examples:
                yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("example", with_examples())
def test_examples_say_what_comes_out(example, monkeypatch, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failed, _ = runner.run(example, out=said.append)
    importlib.import_module("matplotlib.pyplot").close("all")
    assert not failed, "".join(said)


@pytest.mark.parametrize("package", ["fairpca.metrics", "fairpca.plotting"])
def test_public_functions_have_an_example(package):
    module = importlib.import_module(package)
    functions = [name for name in module.__all__ if inspect.isfunction(getattr(module, name))]
    without = [name for name in functions if ">>>" not in (getattr(module, name).__doc__ or "")]
    assert set(without) <= {"use_style"}, without  # which sets a style and returns nothing


SECTIONED = [
    "fairpca.datasets",
    "fairpca.linalg",
    "fairpca.metrics",
    "fairpca.tables",
    "fairpca.plotting",
    "fairpca.companion.published",
    "fairpca.report",
    "fairpca.scale",
    "fairpca.synthetic",
    *(f"fairpca.solvers.{part.name}" for part in pkgutil.iter_modules(fairpca.solvers.__path__) if part.ispkg),
]
# Pieces of HTML, and a look-up, whose one line says all.
ONE_LINE = {"figure_html", "folded", "get_measure", "page", "table_html"}


@pytest.mark.parametrize("package", SECTIONED)
def test_public_functions_describe_every_parameter_and_what_they_return(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        function = getattr(module, name)
        if not inspect.isfunction(function) or name in ONE_LINE:
            continue
        signature = inspect.signature(function)
        pieces = re.split(r"^(\w+)\n-{3,}\n", inspect.getdoc(function) or "", flags=re.M)
        sections = dict(zip(pieces[1::2], pieces[2::2], strict=True))
        described = re.findall(r"^(\S[^:\n]*?)(?: :.*)?$", sections.get("Parameters", ""), flags=re.M)
        names = [word.lstrip("*") for line in described for word in line.split(", ")]
        assert sorted(names) == sorted(signature.parameters), name
        assert signature.return_annotation == "None" or {"Returns", "Yields"} & set(sections), name
