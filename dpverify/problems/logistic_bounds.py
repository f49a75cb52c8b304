r"""Constants of nonconvex-regularized logistic regression, derived and rounded up.

For one example (x, y) with ``‖x‖ <= B`` and y in {0, 1}, the loss of
``problems.logistic`` is

    f(w) = log(1 + exp(s z)) + lam * sum_j psi(w_j),    z = <x, w>,  s = 1 - 2y,  psi(t) = t**2 / (1 + t**2).

**Lipschitz constant.** The gradient is ``(sigmoid(z) - y) x + lam * (psi'(w_j))_j``.

* ``|sigmoid(z) - y| < 1``; the supremum is 1, approached as s z grows.
* ``psi'(t) = 2t/(1+t**2)**2``, and ``psi''(t) = 2(1-3t**2)/(1+t**2)**3`` vanishes at ``|t| = 1/sqrt(3)`` only, so
  ``|psi'| <= psi'(1/sqrt(3)) = 3*sqrt(3)/8``; a vector of d such terms has norm at most
  ``sqrt(d)*3*sqrt(3)/8``.

Hence ``G = B + lam*sqrt(27 d)/8``. It is approached for ``|w_j| = 1/sqrt(3)``, x with
equal entries, and large d.

**Smoothness.** The Hessian is ``sigmoid'(z) x x^T + lam * diag(psi''(w_j))`` with ``0 <
sigmoid' <= 1/4`` (at z = 0), and the derivative of psi'' is ``24 t
(t**2-1)/(1+t**2)**4``. So psi'' has its extremes at 0 and at |t| = 1, and ``-1/2 <=
psi'' <= 2``. The eigenvalues lie in ``[-lam/2, B**2/4 + 2 lam]``, so ``L = B**2/4 + 2
lam``, attained at w = 0 along x with ``‖x‖ = B``.

**Gap.** ``F >= 0``, and ``F(0) = log 2`` for all data, so ``F(0) - inf F <= log 2``.

All three hold for every example with ``‖x‖ <= B``, not only for the examples in the data. Neighbouring data sets
therefore have the same constants.
"""

from __future__ import annotations

import math

from flint import arb, ctx

PRECISION = 128  # in bits; a float has 53
# A coordinate of the gradient kernel takes at most 9 roundings and (1 + 2**-53)**9 < 1
# + 2**-48: G bounds its output.
KERNEL_ROUNDING = math.ldexp(1.0, -48)


def _check(radius: float, lam: float, d: int) -> None:
    if not 0 <= radius < math.inf:
        raise ValueError(f"radius must be finite and at least 0, got radius={radius}.")
    if not 0 <= lam < math.inf:
        raise ValueError(f"lam must be finite and at least 0, got lam={lam}.")
    if d < 1:
        raise ValueError(f"d must be at least 1, got d={d}.")


def lipschitz(radius: float, lam: float, d: int) -> float:
    """Return ``(B + lam*sqrt(27 d)/8) * (1 + 2**-48)``, rounded up, a bound on the kernel's rounded gradients."""
    _check(radius, lam, d)
    with ctx.workprec(PRECISION):
        exact = arb(radius) + arb(lam) * arb(27 * d).sqrt() / 8
        return upward(exact * (1 + arb(KERNEL_ROUNDING)))


def smoothness(radius: float, lam: float) -> float:
    """Return ``L = B**2/4 + 2*lam``, rounded up, a bound on the norm of every per-example Hessian."""
    _check(radius, lam, 1)
    with ctx.workprec(PRECISION):
        return upward(arb(radius) ** 2 / 4 + 2 * arb(lam))


def gap_at_zero() -> float:
    """Return ``log 2``, rounded up, a bound on ``F(0) - inf F``."""
    with ctx.workprec(PRECISION):
        return upward(arb(2).log())


def upward(value: arb) -> float:
    """Return the smallest float that is at least every number in a ball, or the next float above it."""
    if not value.is_finite():
        raise ValueError(f"value must be finite, got value={value}.")
    top = value.upper()
    near = float(top)
    rounded = near if arb(near) >= top else math.nextafter(near, math.inf)
    if math.isinf(rounded):
        raise ValueError(
            f"value must be within the range of floats, got value={value}."
        )
    return rounded
