"""One fitted method, measured on rows that it has not seen."""

from __future__ import annotations

from fairpca.report.measures._code import linear_code, own_decoder
from fairpca.report.measures._decisions import decisions
from fairpca.report.measures._dependence import mmd, recovery
from fairpca.report.measures._reconstruction import losses, optimality_gaps, reconstruction
from fairpca.report.measures._yardstick import Yardstick
from fairpca.report.method import Fitted

__all__ = ["evaluate"]


def evaluate(fitted: Fitted, yard: Yardstick) -> dict[str, float]:
    """Measure a fitted method; the names of the result are told by :data:`MEASURES`.

    Parameters
    ----------
    fitted : Fitted
        Fitted on ``yard.train``.
    yard : Yardstick
        The split.

    Returns
    -------
    dict of str to float
        What does not apply is left out: decisions without a label, losses and gaps where the method is no linear map
        or changes with the group of the row. A measure of one group has its label behind a colon.
    """
    Z_train = fitted.encode(yard.train.X, yard.train.groups)
    Z_test = fitted.encode(yard.test.X, yard.test.groups)
    code = linear_code(fitted, yard.train, yard.n_components)
    return {
        **reconstruction(yard, Z_train, Z_test, own_decoder(fitted, Z_train, yard.n_components)),
        **losses(yard, code),
        **mmd(yard, Z_test),
        **recovery(yard, Z_test),
        **decisions(yard, Z_train, Z_test),
        **optimality_gaps(yard, code),
        "seconds": fitted.seconds,
    }
