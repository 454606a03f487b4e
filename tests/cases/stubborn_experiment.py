"""An experiment whose cells do not let an interrupt through; also a script that can be interrupted.

Arguments of the script are those of the command ``fairpca``. Environment: STUBBORN_TRACE names a file that gets the
process and split of each cell when it begins.
"""

import os
import sys
import time

from fairpca import cli
from fairpca.experiments.engine.runner import Cell, register

SPLITS = 5
WAYS = ("swallows", "converts", "loses")


class _Loses:
    """Python ignores errors in finalisers."""

    def __del__(self):
        time.sleep(0.4)


def run_cell(*, split, way):
    with open(os.environ["STUBBORN_TRACE"], "a") as file:
        file.write(f"{os.getpid()} {split}\n")
    began = time.perf_counter()
    if way == "loses":
        thing = _Loses()
        del thing
    else:
        try:
            time.sleep(0.4)
        except KeyboardInterrupt:
            if way == "converts":
                raise RuntimeError("the solver failed") from None
    return {"value": split, "whole": time.perf_counter() - began >= 0.4}


def register_way(way):
    register(
        f"stubborn/{way}",
        cells=lambda profile: [Cell(split=split, way=way) for split in range(SPLITS)],
        run_cell=run_cell,
        tabulate=lambda frame: frame,
    )


for name in WAYS:
    register_way(name)

if __name__ == "__main__":
    # By its own name, as workers import it.
    import stubborn_experiment  # noqa: F401

    sys.exit(cli.main(sys.argv[1:]))
