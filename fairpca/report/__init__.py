"""Compare methods on somebody's rows: what each keeps, whom it costs, what it still tells about the group."""

from fairpca.report.analysis import Analysis, analyse, report_schema
from fairpca.report.choosing import QUESTIONS, advise
from fairpca.report.comparison import FAST_METHODS, Comparison, compare
from fairpca.report.intervals import (
    Interval,
    auc_interval,
    difference_interval,
    gap_interval,
    mean_interval,
    rate_gap_interval,
)
from fairpca.report.measures import MEASURES, Measure, Settings, Split, evaluate, get_measure
from fairpca.report.methods import (
    ChangeThenReduce,
    Fitted,
    Method,
    Rows,
    Skipped,
    fit_method,
    get_method,
    known_methods,
)
from fairpca.report.page import folded
from fairpca.report.scorers import GroupScorer

__all__ = [
    "FAST_METHODS",
    "MEASURES",
    "QUESTIONS",
    "Analysis",
    "ChangeThenReduce",
    "Comparison",
    "Fitted",
    "GroupScorer",
    "Interval",
    "Measure",
    "Method",
    "Rows",
    "Settings",
    "Skipped",
    "Split",
    "advise",
    "analyse",
    "auc_interval",
    "compare",
    "difference_interval",
    "evaluate",
    "fit_method",
    "folded",
    "gap_interval",
    "get_measure",
    "get_method",
    "known_methods",
    "mean_interval",
    "rate_gap_interval",
    "report_schema",
]
