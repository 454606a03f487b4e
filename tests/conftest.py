"""One BLAS thread for all tests; the data mirror beside the checkout is used when it is there."""

import os
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

ROOT = Path(__file__).resolve().parents[1]
MIRROR = ROOT.parent / "shared" / "data"
if MIRROR.is_dir():
    os.environ.setdefault("FAIRPCA_MIRROR", str(MIRROR))

from hypothesis import settings  # noqa: E402

settings.register_profile("fairpca", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("fairpca")
