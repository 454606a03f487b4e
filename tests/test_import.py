"""What `import fairpca` pulls in, seen from a fresh interpreter."""

import json
import pkgutil
import subprocess
import sys

import pytest

import fairpca

HEAVY = ["matplotlib", "seaborn", "cvxpy", "clarabel", "numba", "llvmlite", "dask", "distributed", "requests", "pooch"]
HEAVY += ["fairlearn", "pymanopt", "PIL"]
# One after the other, and what has not been loaded after each.
STATEMENTS = {
    "import fairpca; dir(fairpca)": [*HEAVY, "sklearn"],
    "from fairpca import GroupMoments, synthetic, scale": [*HEAVY, "sklearn"],
    "from fairpca import metrics, plotting": [*HEAVY, "sklearn"],
    "from fairpca import PCA": HEAVY,
}
# The files of the estimators do not belong to it, because the classes are attributes of the package.
ESTIMATORS = {home.removeprefix("fairpca.") for home in fairpca._HOME.values()} - {"solvers"}
FOUND = {info.name for info in pkgutil.iter_modules(fairpca.__path__)}
MODULES = sorted(name for name in FOUND - ESTIMATORS if not name.startswith("_"))


def test_parts_load_only_what_they_need_and_modules_are_attributes():
    code = "import json, sys\n" + "".join(f"{line}\nprint(json.dumps(sorted(sys.modules)))\n" for line in STATEMENTS)
    code += f"for name in {MODULES}:\n    assert getattr(fairpca, name).__name__ == 'fairpca.' + name\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for (statement, absent), loaded in zip(STATEMENTS.items(), done.stdout.splitlines(), strict=True):
        assert "fairpca" in (modules := set(json.loads(loaded)))
        assert not modules & set(absent), statement


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'Fairness'"):
        fairpca.Fairness  # noqa: B018
