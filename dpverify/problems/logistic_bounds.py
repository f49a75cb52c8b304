"""Constants of logistic and softmax regression with the nonconvex regularizer, derived and rounded up.

Two classes, logistic regression. For one example (x, y) with ``‖x‖ <= B`` and y in {0,
1}, the loss of ``problems.logistic`` is

    f(w) = log(1 + exp(s z)) + lam * sum_j psi(w_j),    z = <x, w>,  s = 1 - 2y,  psi(t) = t**2 / (1 + t**2).

**Lipschitz constant.** The gradient is ``(sigmoid(z) - y) x + lam * (psi'(w_j))_j``.

* ``|sigmoid(z) - y| < 1``; the supremum is 1, approached as s z grows.
* ``psi'(t) = 2t/(1+t**2)**2``, and ``psi''(t) = 2(1-3t**2)/(1+t**2)**3`` vanishes at ``|t| = 1/sqrt(3)`` only, so
  ``|psi'| <= psi'(1/sqrt(3)) = 3*sqrt(3)/8``; a vector of d such terms has norm at most
  ``sqrt(d)*3*sqrt(3)/8``.

Hence ``G = B + lam*sqrt(27 d)/8``. It is approached for ``|w_j| = 1/sqrt(3)``, x with
equal entries, and large d.

**Smoothness.** The Hessian is ``sigmoid'(z) x x^T + lam * diag(psi''(w_j))`` with
``0 < sigmoid' <= 1/4`` (at z = 0), and the derivative of psi'' is
``24 t (t**2-1)/(1+t**2)**4``. So psi'' has its extremes at 0 and at |t| = 1, and
``-1/2 <= psi'' <= 2``. The eigenvalues lie in ``[-lam/2, B**2/4 + 2 lam]``, so
``L = B**2/4 + 2 lam``, attained at w = 0 along x with ``‖x‖ = B``.

**Gap.** ``F >= 0``, and ``F(0) = log 2`` for all data, so ``F(0) - inf F <= log 2``.

All three hold for every example with ``‖x‖ <= B``, not only for the examples in the
data. Neighbouring data sets therefore have the same constants.

Two or more classes, softmax regression. For one example (x, y) with ``‖x‖ <= B`` and y
in 0..K-1, the loss of ``problems.softmax_regression`` is

    f(W) = log(sum_k exp(z_k)) - z_y + lam * sum_kj psi(W_kj),    z_k = <w_k, x>,  psi(t) = t**2 / (1 + t**2).

Let ``p_k = exp(z_k) / sum_l exp(z_l)`` and let e_y be the unit vector of the label.

**Lipschitz constant.** The first part has the gradient ``(p - e_y) x^T``, of norm ``‖p
- e_y‖ ‖x‖``. With ``r = 1 - p_y``, the other p_k are positive and sum to r, so ``‖p -
e_y‖**2 = r**2 + sum_{k != y} p_k**2 <= 2 r**2``. This is below 2, and approaches 2 when
all of p is on one wrong class. The regularizer's gradient has norm at most ``sqrt(K p)
3 sqrt(3)/8`` (see above), where p is the number of features. Hence
``G = sqrt(2) B + lam*sqrt(27 K p)/8``.

**Smoothness.** The first part's Hessian is ``(diag(p) - p p^T) (x) x x^T``. For a unit
vector v the quadratic form of ``diag(p) - p p^T`` is the variance of v_k where k has
the law p, at most ``(max v - min v)**2 / 4`` (Popoviciu), and
``(a - b)**2 <= 2 (a**2 + b**2) <= 2``. So its eigenvalues lie in [0, B**2/2]. The
eigenvalues of the regularizer lie between -lam/2 and 2 lam, hence
``L = B**2/2 + 2 lam``. For K = 2 it is attained at W = 0. For more classes it is
approached when all of p is on two classes.

**Gap.** ``F >= 0`` and ``F(0) = log K``, so ``F(0) - inf F <= log K``.

**Rounding.** Let u = 2**-53. The kernel computes ``e_k = exp(z_k - max z)``, one of which is 1, their sum S, and the
quotients. For any rounding of the z_k, the quotients are at most 1, and their sum is at most
``(1 + u) / (1 - u)**(K - 1)``. So ``‖p - e_y‖**2 <= 2 (1 + u)/(1 - u)**(K - 1)`` for the computed p. A coordinate takes
at most 10 more roundings. The factor ``1 + (K + 20) 2**-52`` covers all of this for any K below 2**50.
"""

from __future__ import annotations

import math

from flint import arb, ctx

PRECISION = 128  # in bits; a float has 53
# A coordinate of the gradient kernel takes at most 9 roundings and (1 + 2**-53)**9 <
# 1 + 2**-48: G bounds its output.
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


def _check_softmax(radius: float, lam: float, features: int, classes: int) -> None:
    for name, value in (("radius", radius), ("lam", lam)):
        if not 0 <= value < math.inf:
            raise ValueError(
                f"{name} must be finite and at least 0, got {name}={value}."
            )
    for name, count, least in (("features", features, 1), ("classes", classes, 2)):
        if not least <= count < 1 << 50:
            raise ValueError(
                f"{name} must lie in [{least}, 2**50), got {name}={count}."
            )


def softmax_lipschitz(radius: float, lam: float, features: int, classes: int) -> float:
    """Return ``sqrt(2) B + lam*sqrt(27 K p)/8``, increased for rounding, a bound on the kernel's gradients."""
    _check_softmax(radius, lam, features, classes)
    with ctx.workprec(PRECISION):
        exact = (
            arb(2).sqrt() * arb(radius)
            + arb(lam) * arb(27 * classes * features).sqrt() / 8
        )
        return upward(exact * (1 + arb(classes + 20) * arb(2) ** -52))


def softmax_smoothness(radius: float, lam: float) -> float:
    """Return ``L = B**2/2 + 2*lam``, rounded up, a bound on the norm of every per-example Hessian."""
    _check_softmax(radius, lam, 1, 2)
    with ctx.workprec(PRECISION):
        return upward(arb(radius) ** 2 / 2 + 2 * arb(lam))


def softmax_gap_at_zero(classes: int) -> float:
    """Return ``log K``, rounded up, a bound on ``F(0) - inf F``."""
    _check_softmax(0.0, 0.0, 1, classes)
    with ctx.workprec(PRECISION):
        return upward(arb(classes).log())
