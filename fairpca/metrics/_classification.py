"""Accuracy and group fairness of a classifier on the projected data (Table 1 of Lee et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from fairpca._options import Protocol
from fairpca._validation import check_choice, check_rows, check_rows_match
from fairpca.metrics._checks import two_groups

__all__ = ["SVMReport", "delta_dp", "delta_eod", "delta_eop", "rbf_svm_predictions", "rbf_svm_report"]

_FAR = 1e6  # times the spread: where rows lie so far from zero, squares have lost their differences
_FARTHEST = 1e150  # from each other: the kernel has long been zero, and the squares are still numbers


def _fairlearn() -> Any:
    try:
        import fairlearn.metrics
    except ImportError as error:
        raise ImportError(
            "the demographic parity, equal opportunity and equalized odds differences come from fairlearn, which is "
            "not installed; run: pip install 'fairlearn>=0.12'"
        ) from error
    return fairlearn.metrics


def _binary(values: Any, name: str, n_samples: int | None = None) -> np.ndarray:
    array = np.asarray(values).ravel()
    if n_samples is not None:
        check_rows_match(name, array.size, n_samples)
    if not np.isin(array, (0, 1)).all():
        found = sorted(set(array.tolist()) - {0, 1}, key=str)[:5]
        raise ValueError(f"{name} must hold 0 and 1 only; it also holds {found}. Recode the labels.")
    return array.astype(np.int64)


def delta_dp(y_pred: Any, sensitive_features: Any) -> float:
    """Return the demographic parity difference (Definition 2 of Lee et al. 2022), by fairlearn.

    Parameters
    ----------
    y_pred : array-like of shape (n_samples,)
        Predictions, 0 or 1.
    sensitive_features : array-like of shape (n_samples,)
        Group of each row.

    Returns
    -------
    float
        Largest difference between two groups' shares of positive predictions.

    Examples
    --------
    >>> import numpy as np
    >>> sex = np.array(['f', 'f', 'f', 'm', 'm', 'm'])
    >>> y = np.array([1, 1, 0, 1, 0, 0])
    >>> decided = np.array([1, 0, 0, 1, 1, 0])
    >>> from fairpca.metrics import delta_dp
    >>> round(delta_dp(decided, sex), 3)
    0.333
    """
    y_pred = _binary(y_pred, "y_pred")
    return float(
        _fairlearn().demographic_parity_difference(y_pred, y_pred, sensitive_features=np.asarray(sensitive_features))
    )


def delta_eop(y_true: Any, y_pred: Any, sensitive_features: Any, *, protocol: Protocol = "stated") -> float:
    """Return the equal opportunity difference (Definition 3 of Lee et al. 2022).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True labels and predictions, 0 or 1.
    sensitive_features : array-like of shape (n_samples,)
        Group of each row; two groups for "printed".
    protocol : {"stated", "printed"}, default="stated"
        "stated": difference of true positive rates, by fairlearn. "printed": as the authors' program does,
        which divides the true positives by the size of the whole group instead of its positives.

    Returns
    -------
    float
        Largest difference between two groups, between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> sex = np.array(['f', 'f', 'f', 'm', 'm', 'm'])
    >>> y = np.array([1, 1, 0, 1, 0, 0])
    >>> decided = np.array([1, 0, 0, 1, 1, 0])
    >>> from fairpca.metrics import delta_eop
    >>> delta_eop(y, decided, sex)
    0.5
    """
    check_choice("protocol", protocol, get_args(Protocol))
    y_pred = _binary(y_pred, "y_pred")
    y_true = _binary(y_true, "y_true", y_pred.size)
    if protocol == "stated":
        return float(
            _fairlearn().equal_opportunity_difference(y_true, y_pred, sensitive_features=np.asarray(sensitive_features))
        )
    groups = two_groups(sensitive_features, y_pred.size, "the authors' formula")
    hits = (y_true == 1) & (y_pred == 1)
    shares = [hits[groups.rows(g)].mean() for g in (0, 1)]
    return float(abs(shares[0] - shares[1]))


def delta_eod(y_true: Any, y_pred: Any, sensitive_features: Any, *, protocol: Protocol = "stated") -> float:
    """Return the equalized odds difference (Definition 4 of Lee et al. 2022).

    Parameters
    ----------
    y_true, y_pred, sensitive_features
        As in :func:`delta_eop`.
    protocol : {"stated", "printed"}, default="stated"
        "stated": the larger of the differences of true and of false positive rates, by fairlearn. "printed":
        as the authors' program does, the larger of its own equal opportunity value and the demographic parity
        difference.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> sex = np.array(['f', 'f', 'f', 'm', 'm', 'm'])
    >>> y = np.array([1, 1, 0, 1, 0, 0])
    >>> decided = np.array([1, 0, 0, 1, 1, 0])
    >>> from fairpca.metrics import delta_eod
    >>> delta_eod(y, decided, sex)
    0.5
    """
    check_choice("protocol", protocol, get_args(Protocol))
    if protocol == "printed":
        eop = delta_eop(y_true, y_pred, sensitive_features, protocol="printed")
        return max(eop, delta_dp(y_pred, sensitive_features))
    y_pred = _binary(y_pred, "y_pred")
    y_true = _binary(y_true, "y_true", y_pred.size)
    return float(
        _fairlearn().equalized_odds_difference(y_true, y_pred, sensitive_features=np.asarray(sensitive_features))
    )


@dataclass(frozen=True)
class SVMReport:
    """What Table 1 of Lee et al. (2022) says about the classifier.

    Attributes
    ----------
    accuracy : float
        Percentage of correct predictions on the test part.
    dp, eop, eod : float
        Group fairness differences, each by the formula of the protocol.
    predictions : ndarray of shape (n_test,)
        Predicted labels of the test part.
    protocol : str
        "printed" or "stated".
    """

    accuracy: float
    dp: float
    eop: float
    eod: float
    predictions: np.ndarray
    protocol: str


def rbf_svm_predictions(
    Z_test: Any, y_test: Any, Z_train: Any = None, y_train: Any = None, *, protocol: Protocol = "stated"
) -> np.ndarray:
    """Predict the labels of the projected test part with the RBF support vector machine of Lee et al. (2022).

    The machine has C = 1 and the kernel ``exp(-|x - y|^2)``, without scaling of the coordinates.

    Parameters
    ----------
    Z_test : array-like of shape (n_test, k)
        Projected test part.
    y_test : array-like of shape (n_test,)
        Its labels; used by "printed" only.
    Z_train, y_train : array-like
        Projected training part and labels; needed by "stated".
    protocol : {"stated", "printed"}, default="stated"
        "stated": fitted on the training part. "printed": fitted on the very test part that it is scored on,
        as the authors' program does.

    Returns
    -------
    ndarray of shape (n_test,)
        Predicted labels, of the type of those that were fitted; constant where these are all the same.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.standard_normal((200, 2))
    >>> groups = np.repeat(['a', 'b'], 100)
    >>> Z[groups == 'b', 0] += 1
    >>> from fairpca.metrics import rbf_svm_predictions
    >>> y = (Z[:, 1] > 0).astype(int)
    >>> test = np.arange(200) % 2 == 0
    >>> predicted = rbf_svm_predictions(Z[test], y[test], Z[~test], y[~test])
    >>> float((predicted == y[test]).mean())
    0.97
    """
    check_choice("protocol", protocol, get_args(Protocol))
    from sklearn.svm import SVC

    test = check_rows(Z_test, "Z_test")
    if protocol == "printed":
        train, labels = test, np.asarray(y_test).ravel()
    else:
        if Z_train is None or y_train is None:
            raise ValueError('protocol="stated" fits on the training part: give Z_train and y_train.')
        train, labels = check_rows(Z_train, "Z_train"), np.asarray(y_train).ravel()
    check_rows_match("the labels", labels.size, len(train))
    if np.all(labels == labels[0]):
        return np.full(len(test), labels[0])  # one class only: the constant prediction is what a machine would learn
    if max(np.abs(train).max(), np.abs(test).max()) > min(_FAR * np.ptp(train, axis=0).max(), _FARTHEST):
        centre = train.mean(axis=0)  # the kernel knows differences only, but libsvm takes them from squares
        train, test = train - centre, test - centre
        unit = min(1.0, _FARTHEST / max(np.abs(train).max(), 1.0))
        train, test = train * unit, np.clip(test * unit, -2 * _FARTHEST, 2 * _FARTHEST)
    return np.asarray(SVC(C=1.0, kernel="rbf", gamma=1.0).fit(train, labels).predict(test))


def rbf_svm_report(
    Z_test: Any,
    y_test: Any,
    sensitive_features: Any,
    Z_train: Any = None,
    y_train: Any = None,
    *,
    protocol: Protocol = "stated",
) -> SVMReport:
    """Return accuracy (%) and the three fairness differences of the RBF machine on the projected test part.

    Parameters
    ----------
    Z_test, y_test, Z_train, y_train, protocol
        As in :func:`rbf_svm_predictions`; `y_test` holds 0 and 1. `protocol` chooses the formulas of the
        differences too.
    sensitive_features : array-like of shape (n_test,)
        Group of each row of the test part.

    Returns
    -------
    SVMReport

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.standard_normal((200, 2))
    >>> groups = np.repeat(['a', 'b'], 100)
    >>> Z[groups == 'b', 0] += 1
    >>> from fairpca.metrics import rbf_svm_report
    >>> y = (Z[:, 1] > 0).astype(int)
    >>> test = np.arange(200) % 2 == 0
    >>> found = rbf_svm_report(Z[test], y[test], groups[test], Z[~test], y[~test])
    >>> found.accuracy, round(found.dp, 3)
    (97.0, 0.1)
    """
    y_test = _binary(y_test, "y_test")
    predictions = rbf_svm_predictions(Z_test, y_test, Z_train, y_train, protocol=protocol)
    return SVMReport(
        accuracy=100.0 * float(np.mean(predictions == y_test)),
        dp=delta_dp(predictions, sensitive_features),
        eop=delta_eop(y_test, predictions, sensitive_features, protocol=protocol),
        eod=delta_eod(y_test, predictions, sensitive_features, protocol=protocol),
        predictions=predictions,
        protocol=protocol,
    )
