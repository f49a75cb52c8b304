"""Constants of softmax regression with the nonconvex regularizer, derived and rounded up.

For one example (x, y) with ``‖x‖ <= B`` and y in 0..K-1, the loss of
``problems.softmax_regression`` is

    f(W) = log(sum_k exp(z_k)) - z_y + lam * sum_kj psi(W_kj),    z_k = <w_k, x>,  psi(t) = t**2 / (1 + t**2).

Let ``p_k = exp(z_k) / sum_l exp(z_l)`` and let e_y be the unit vector of the label.

**Lipschitz constant.** The first part has the gradient ``(p - e_y) x^T``, of norm ``‖p
- e_y‖ ‖x‖``. With ``r = 1 - p_y``, the other p_k are positive and sum to r, so ``‖p -
e_y‖**2 = r**2 + sum_{k != y} p_k**2 <= 2 r**2``. This is below 2, and approaches 2 when
all of p is on one wrong class. The regularizer's gradient has norm at most ``sqrt(K p)
3 sqrt(3)/8`` (``problems.logistic_bounds``), where p is the number of features. Hence
``G = sqrt(2) B + lam*sqrt(27 K p)/8``.

**Smoothness.** The first part's Hessian is ``(diag(p) - p p^T) (x) x x^T``. For a unit
vector v the quadratic form of ``diag(p) - p p^T`` is the variance of v_k where k has
the law p, at most ``(max v - min v)**2 / 4`` (Popoviciu), and ``(a - b)**2 <= 2 (a**2 +
b**2) <= 2``. So its eigenvalues lie in [0, B**2/2]. The eigenvalues of the regularizer
lie between -lam/2 and 2 lam, hence ``L = B**2/2 + 2 lam``. For K = 2 it is attained at
W = 0. For more classes it is approached when all of p is on two classes.

**Gap.** ``F >= 0`` and ``F(0) = log K``, so ``F(0) - inf F <= log K``.

**Rounding.** Let u = 2**-53. The kernel computes ``e_k = exp(z_k - max z)``, one of which is 1, their sum S, and the
quotients. For any rounding of the z_k, the quotients are at most 1, and their sum is at most
``(1 + u) / (1 - u)**(K - 1)``. So ``‖p - e_y‖**2 <= 2 (1 + u)/(1 - u)**(K - 1)`` for the computed p. A coordinate takes
at most 10 more roundings. The factor ``1 + (K + 20) 2**-52`` covers all of this for any K below 2**50.
"""

from __future__ import annotations

import math

from flint import arb, ctx

from dpverify.problems.logistic_bounds import PRECISION, upward


def _check(radius: float, lam: float, features: int, classes: int) -> None:
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


def lipschitz(radius: float, lam: float, features: int, classes: int) -> float:
    """Return ``sqrt(2) B + lam*sqrt(27 K p)/8``, increased for rounding, a bound on the kernel's gradients."""
    _check(radius, lam, features, classes)
    with ctx.workprec(PRECISION):
        exact = (
            arb(2).sqrt() * arb(radius)
            + arb(lam) * arb(27 * classes * features).sqrt() / 8
        )
        return upward(exact * (1 + arb(classes + 20) * arb(2) ** -52))


def smoothness(radius: float, lam: float) -> float:
    """Return ``L = B**2/2 + 2*lam``, rounded up, a bound on the norm of every per-example Hessian."""
    _check(radius, lam, 1, 2)
    with ctx.workprec(PRECISION):
        return upward(arb(radius) ** 2 / 2 + 2 * arb(lam))


def gap_at_zero(classes: int) -> float:
    """Return ``log K``, rounded up, a bound on ``F(0) - inf F``."""
    _check(0.0, 0.0, 1, classes)
    with ctx.workprec(PRECISION):
        return upward(arb(classes).log())
