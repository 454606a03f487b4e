"""What is measured about a fitted method, on rows that it has not seen."""

from fairpca.report.measures._declared import MEASURES, Measure, Settings, declared
from fairpca.report.measures._evaluate import evaluate
from fairpca.report.measures._yardstick import Yardstick

__all__ = ["MEASURES", "Measure", "Settings", "Yardstick", "declared", "evaluate"]
