"""One BLAS thread for all tests, no connection beyond this machine, and no test whose data are missing."""

import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# A shell that runs the tests in the background leaves Ctrl-C ignored, here and in whatever tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]

# Processes that tests start refuse the network too, because Python finds this folder's sitecustomize.py by itself.
LOOPBACK = str(ROOT / "tests" / "loopback")
SEARCHED = os.environ.get("PYTHONPATH", "").split(os.pathsep)
if LOOPBACK not in SEARCHED:
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [LOOPBACK, *SEARCHED]))
    runpy.run_path(f"{LOOPBACK}/sitecustomize.py")

import pandas as pd  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("fairpca", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("fairpca")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs data sets that are neither bundled, nor in the cache, nor in the mirror."""
    from fairpca.datasets import where

    wanted = {name for mark in item.iter_markers("mirror") for name in mark.args}
    missing = sorted(name for name in wanted if where(name) == "missing")
    if missing:
        pytest.skip(f"{', '.join(missing)}: not bundled and not here; set FAIRPCA_MIRROR to a folder with the data")


@pytest.fixture(scope="session")
def board() -> pd.DataFrame:
    """Return the verdicts on everything that the papers print and state."""
    from fairpca.companion.published import scoreboard

    return scoreboard()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], check=True)
    (built,) = folder.glob("fairpca-*.whl")
    return built
