"""A branch-free power of two that LLVM can vectorise inside numba loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from scipy.special import iv

__all__ = ["CONTRACT", "exp2_negative"]

# Contraction to fused multiply-adds is wanted, reassociation would undo the rounding trick below.
CONTRACT = {"contract"}

# 2**f on [-1/2, 1/2]: the Chebyshev series exp(a t) = I_0(a) + 2 Σ I_k(a) T_k(t), cut at degree 11 (error below 1e-17).
_SERIES = iv(np.arange(12), 0.5 * np.log(2.0)) * np.array([1.0] + [2.0] * 11)
_POLYNOMIAL = np.polynomial.chebyshev.cheb2poly(_SERIES)
_C0, _C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11 = (float(c * 2.0**i) for i, c in enumerate(_POLYNOMIAL))

_ROUNDER = 1.5 * 2.0**52  # adding it leaves the nearest integer in the low bits of the mantissa
_LOWEST = -1021.0  # 2**-1021 is the smallest normal result; anything below is as good as zero


@intrinsic
def _scale_by_low_bits(typing_context: Any, value: Any, rounded: Any) -> Any:
    """Return ``value * 2**k`` where k sits in the low bits of ``rounded`` (integer addition to the exponent)."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = ir.IntType(64)
        bits = builder.bitcast(arguments[0], integer)
        shift = builder.shl(builder.bitcast(arguments[1], integer), ir.Constant(integer, 52))
        return builder.bitcast(builder.add(bits, shift), ir.DoubleType())

    return types.float64(types.float64, types.float64), codegen


@njit(inline="always", fastmath=CONTRACT)
def exp2_negative(t: float) -> float:  # pragma: no cover - compiled
    """Return 2**t for t <= 0, relative error below 5e-16 (2**-1021 for anything smaller)."""
    t = max(t, _LOWEST)
    rounded = t + _ROUNDER
    f = t - (rounded - _ROUNDER)
    f2 = f * f
    f4 = f2 * f2
    # Estrin's scheme: short dependency chains keep both multipliers busy.
    low = (_C0 + _C1 * f) + (_C2 + _C3 * f) * f2
    middle = (_C4 + _C5 * f) + (_C6 + _C7 * f) * f2
    high = (_C8 + _C9 * f) + (_C10 + _C11 * f) * f2
    return _scale_by_low_bits(low + f4 * (middle + f4 * high), rounded)  # type: ignore[call-arg]
