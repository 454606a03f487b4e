"""One BLAS thread for all tests; the data mirror beside the checkout is used when it is there."""

import os
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
MIRROR = ROOT.parent / "shared" / "data"
if MIRROR.is_dir():
    os.environ.setdefault("FAIRPCA_MIRROR", str(MIRROR))

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("fairpca", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("fairpca")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], check=True)
    (built,) = folder.glob("fairpca-*.whl")
    return built
