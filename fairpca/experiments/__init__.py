"""Experiments that reproduce the papers' exhibits: `run` one, or `load_results` that stand in ``data/results``."""

from fairpca._resources import added_roots
from fairpca.experiments.engine.results import load_results, recompute
from fairpca.experiments.engine.runner import collect, get, names, run, status

__all__ = ["collect", "get", "load_results", "names", "recompute", "run", "status"]

# Other checkouts bring their papers' experiments under this name too, so that a folder can move between them.
__path__ += [str(root / "fairpca" / "experiments") for root in added_roots()]
