"""Compare methods on somebody's rows: what each keeps, whom it costs, what it still tells about the group."""

from fairpca.report.measures import MEASURES, Measure, Settings, Yardstick, evaluate
from fairpca.report.method import Fitted, Method, Rows, Skipped, Steps, fit_method
from fairpca.report.methods import get_method, known_methods

__all__ = [
    "MEASURES",
    "Fitted",
    "Measure",
    "Method",
    "Rows",
    "Settings",
    "Skipped",
    "Steps",
    "Yardstick",
    "evaluate",
    "fit_method",
    "get_method",
    "known_methods",
]
