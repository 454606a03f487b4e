"""What is measured about a fitted method, on rows that it has not seen."""

from fairpca.report.measures._code import code_dimensions, own_decoder
from fairpca.report.measures._declared import MEASURES, Measure, Settings, declared
from fairpca.report.measures._evaluate import evaluate
from fairpca.report.measures._yardstick import Yardstick

__all__ = [
    "MEASURES",
    "Measure",
    "Settings",
    "Yardstick",
    "code_dimensions",
    "declared",
    "evaluate",
    "own_decoder",
]
