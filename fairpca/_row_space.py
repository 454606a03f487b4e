"""Coordinates for tables with fewer rows than features: every problem is as small as the number of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import qr
from scipy.linalg.blas import dtrsm

from fairpca.linalg import fix_signs

__all__ = ["RowSpace"]

_ALONG_FEATURES = ("predictor_", "removed_", "shifts_", "coefficients_", "excluded_")
_UNITS = 1e4  # the largest column over the smallest
_ROUNDING = 8 * np.finfo(np.float64).eps
_INDEPENDENT = 1e-4  # least distance of a row, relative to its length, from the span of those before it
_COLUMNS = ("decoder", "excluded", "basis")  # of result_.extra


@dataclass(frozen=True)
class RowSpace:
    """Rows in an orthonormal basis of their span and of directions without variance.

    Attributes
    ----------
    basis : ndarray of shape (p, r)
        Orthonormal columns.
    rows : ndarray of shape (n, r)
        Coordinates of the rows, exact but for rounding: ``rows @ basis.T`` are the rows.
    """

    basis: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, n_components: Any) -> RowSpace | None:
        """Return the coordinates, or None where they are not fewer than the features or would cost digits.

        Columns of very different units would mix, and the small ones lose their digits: then None, too. A fair subspace
        may hold directions without variance, of which as many as it has dimensions are enough.
        """
        n, p = X.shape
        if not isinstance(n_components, (int, np.integer)) or n_components < 0 or n + 1 + n_components >= p:
            return None
        sizes = np.sqrt(np.einsum("ij,ij->j", X, X, dtype=np.float64))
        if sizes.max() > _UNITS * sizes[sizes > 0].min(initial=np.inf):
            return None
        centre = X.mean(axis=0, dtype=np.float64)
        others = np.random.RandomState(0).standard_normal((n_components, p))
        rows = np.empty((n + n_components, p))  # filled in place: fresh memory costs as much as the products
        np.subtract(X[:-1], centre, out=rows[: n - 1])  # the centred rows sum to zero
        rows[n - 1], rows[n:] = centre, others
        found = _cholesky_qr(rows)
        if found is not None:
            Q, L = found
            return cls(Q.T, np.vstack((L[: n - 1], -L[: n - 1].sum(axis=0))) + L[n - 1])
        basis, R = qr(np.vstack((X - centre, centre[None], others)).T, mode="economic", check_finite=False)
        size = np.abs(R[:, :n]).max(axis=1)
        R[size <= _ROUNDING * n * size.max(initial=0.0), :n] = 0.0  # directions without variance, exactly
        return cls(basis, R[:, :n].T + R[:, n])

    def lift(self, model: Any) -> None:
        """Turn what `model` found in these coordinates into attributes along the features."""
        model.mean_ = self.basis @ model.mean_
        for name in _ALONG_FEATURES:
            if name in vars(model):
                setattr(model, name, getattr(model, name) @ self.basis.T)
        if "components_" not in vars(model):
            return
        found = model.components_ @ self.basis.T
        components = fix_signs(found)
        if "decoder_" in vars(model):
            same = model.decoder_ is model.components_
            signs = np.sign(np.einsum("kp,kp->k", found, components))[:, None]
            model.decoder_ = components if same else signs * (model.decoder_ @ self.basis.T)
        model.components_ = components
        extra = {name: self.basis @ value if name in _COLUMNS else value for name, value in model.result_.extra.items()}
        if "P" in extra:  # as large as features by features
            extra["coordinates"] = self.basis
        model.result_ = replace(model.result_, V=components.T, extra=extra)


def _cholesky_qr(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return orthonormal Q, in the place of `rows`, and triangular L with `rows` = LQ, or None if nearly dependent.

    Products of matrices are several times as fast as reflections. The first factor leaves Q orthonormal up to the
    squared condition number times rounding, and the second, of a matrix near the identity, up to rounding
    (Yamamoto et al. 2015).
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    if not lengths.all():
        return None
    rows /= lengths[:, None]
    Q, L = rows, np.diag(lengths)
    for _ in range(2):
        try:
            factor = np.linalg.cholesky(Q @ Q.T)
        except np.linalg.LinAlgError:
            return None
        if not factor.diagonal().min() > _INDEPENDENT:
            return None
        Q, L = dtrsm(1.0, factor.T, Q.T, side=1, overwrite_b=1).T, L @ factor
    return Q, L
