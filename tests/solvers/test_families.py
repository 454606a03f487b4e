"""What is public in the families of solvers, and that importing it stays cheap."""

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import fairpca.solvers
from fairpca.solvers import mbf, minmax

FAMILIES = [info.name for info in pkgutil.iter_modules(fairpca.solvers.__path__) if info.ispkg]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_offers_the_solvers_of_its_public_modules(family):
    package = importlib.import_module(f"fairpca.solvers.{family}")
    names = set()
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.startswith("_"):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            names |= {name for name in module.__all__ if name.startswith("solve")}
    assert names <= set(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)
    assert list(package.__all__) == sorted(package.__all__)


def test_one_place_has_every_solver_and_the_result():
    families = [importlib.import_module(f"fairpca.solvers.{family}") for family in FAMILIES]
    solvers = [name for family in families for name in family.__all__ if name.startswith(("solve_", "erase_"))]
    assert sorted(fairpca.solvers.__all__) == sorted(["SolverResult", *solvers])
    for name in fairpca.solvers.__all__:
        thing = getattr(fairpca.solvers, name)
        assert thing.__name__ == name and thing.__module__.startswith("fairpca.solvers")
    with pytest.raises(AttributeError, match="has no attribute 'solve_everything'"):
        fairpca.solvers.solve_everything  # noqa: B018
    assert "solve_rfpca" in dir(fairpca.solvers)


def test_ways_to_one_answer_have_the_same_defaults():
    for one, other in (
        (minmax.solve_minmax_path, minmax.solve_minmax),
        (minmax.solve_minmax_wide, minmax.solve_minmax),
        (mbf.MBFProblem, mbf.MBFSettings),
    ):
        ours, theirs = inspect.signature(one).parameters, inspect.signature(other).parameters
        optional = [name for name in ours.keys() & theirs.keys() if ours[name].default is not ours[name].empty]
        assert optional and {name: ours[name].default for name in optional} == {
            name: theirs[name].default for name in optional
        }


@pytest.mark.parametrize(
    "statement", ["import fairpca.solvers", "import fairpca.solvers.minmax, fairpca.solvers.rfpca"]
)
def test_importing_solvers_loads_neither_cvxpy_nor_numba(statement):
    code = f"import sys\n{statement}\nassert not {{'cvxpy', 'numba', 'matplotlib'}} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
