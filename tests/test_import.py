"""What `import fairpca` pulls in, seen from a fresh interpreter."""

import json
import pkgutil
import subprocess
import sys

import pytest

import fairpca

HEAVY = [
    "matplotlib",
    "seaborn",
    "cvxpy",
    "clarabel",
    "numba",
    "llvmlite",
    "sklearn",
    "dask",
    "distributed",
    "requests",
    "pooch",
]
HEAVY += ["fairlearn", "pymanopt", "PIL"]


def modules_after(statement):
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_plain_import_is_light():
    loaded = modules_after("import fairpca")
    assert "fairpca" in loaded
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "statement, absent",
    [
        ("from fairpca import GroupMoments", ["matplotlib", "numba", "cvxpy", "requests", "dask", "sklearn"]),
        ("from fairpca import PCA", ["matplotlib", "numba", "cvxpy", "requests", "dask", "fairlearn"]),
        ("from fairpca import metrics", ["matplotlib", "numba", "cvxpy", "requests", "dask", "fairlearn", "sklearn"]),
        ("from fairpca import synthetic, scale", ["matplotlib", "numba", "cvxpy", "dask", "sklearn"]),
        ("from fairpca import plotting", ["matplotlib", "seaborn", "numba", "cvxpy", "sklearn"]),
        ("import fairpca; dir(fairpca)", ["sklearn", "numba"]),
    ],
)
def test_parts_load_only_what_they_need(statement, absent):
    assert modules_after(statement).isdisjoint(absent)


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'Fairness'"):
        fairpca.Fairness  # noqa: B018


# The files of the estimators are no part of it: the classes are attributes of the package themselves.
ESTIMATORS = {home.removeprefix("fairpca.") for home in fairpca._HOME.values()} - {"solvers"}
FOUND = {info.name for info in pkgutil.iter_modules(fairpca.__path__)}
MODULES = sorted(name for name in FOUND - ESTIMATORS if not name.startswith("_"))


def test_modules_are_attributes_of_the_package():
    code = f"import fairpca\nfor name in {MODULES}:\n    assert getattr(fairpca, name).__name__ == 'fairpca.' + name\n"
    subprocess.run([sys.executable, "-c", f"{code}    assert name in dir(fairpca)"], check=True)
