"""What `import fairpca` pulls in, seen from a fresh interpreter."""

import json
import subprocess
import sys

import pytest

HEAVY = ["matplotlib", "seaborn", "cvxpy", "clarabel", "numba", "llvmlite", "sklearn", "dask", "distributed", "pooch"]
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
        ("from fairpca import GroupMoments", ["matplotlib", "numba", "cvxpy", "pooch", "dask", "sklearn"]),
        ("from fairpca import PCA", ["matplotlib", "numba", "cvxpy", "pooch", "dask", "fairlearn"]),
        ("from fairpca import metrics", ["matplotlib", "numba", "cvxpy", "pooch", "dask", "fairlearn", "sklearn"]),
        ("from fairpca import synthetic", ["matplotlib", "numba", "cvxpy", "sklearn"]),
        ("from fairpca import plotting", ["matplotlib", "seaborn", "numba", "cvxpy", "sklearn"]),
        ("import fairpca; dir(fairpca)", ["sklearn", "numba"]),
    ],
)
def test_parts_load_only_what_they_need(statement, absent):
    assert modules_after(statement).isdisjoint(absent)


def test_unknown_name():
    import fairpca

    with pytest.raises(AttributeError, match="no attribute 'Fairness'"):
        fairpca.Fairness  # noqa: B018
