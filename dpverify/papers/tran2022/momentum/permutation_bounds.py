"""Effect of the permutations on the momentum, exactly: one replaced example, one permutation, and fresh permutations.

``attained_once``, ``largest_once`` and ``attained_fresh`` are about the movement of
m_t - m_{t-N} if one example is replaced and all earlier releases are held fixed
(``tran2022:section-4-momentum-difference``). Under one permutation, the visit at i in
m_t and the visit at i - N in m_{t-N} have the same weight, and only the first epoch's
visit has no partner. Under fresh permutations, the weights differ and the movement is
not small.

One permutation breaks Lemma 11's proof. The problems that show this are small enough to
enumerate every order (no kernels). *Pair*: two examples on a line with the gradients 3
and -1. The start of the second epoch depends on the order of the first, so the anchor
reveals the order. *Ridges*: example k has the loss ``G h(<a_k, w>)`` with
``a_k = (e_0 + s e_k)/sqrt(1 + s^2)``, where h' is a clipped line, -1 below b and 1
above it. In the first epoch all gradients are ``-G a_k``. The earlier an example is
drawn, the further the run has gone along e_k. At the second anchor, a threshold b
separates the examples that have crossed it from those drawn late, so the order aligns
the centred gradients of the second epoch. Relabelling the examples permutes the axes,
so one order gives the mean over all orders.

Algorithm 4's error under fresh permutations is computed exactly for two examples, the
smallest data set that has one.

Equation 3 assumes that the window before a window has "the same examples at the anchor before". With fresh permutations
it has other examples, and m_hat_t - m_t contains, besides the noise, b_t = sum over epochs e of X_e, ``X_e = alpha
(1-gamma) sum over steps s of e of D_s (c_{k-1} h_e(x_s) - c_k h_{e-1}(x_s))``. Here k = k(s) is the window of s
(1 the latest), D_s = (1-alpha)^(last step of the window - s), c_0 = 0, and h_e(x) is the gradient of example x at the
anchor of epoch e minus the mean over all examples. Window q, the first, has only the part with c_{q-1}, and steps
s <= r have none. The X_e are uncorrelated, because the orders are drawn independently (NOTES_identities.md). If
gradients do not depend on w, b_t = sum over s of w_s h(x_s) with the weights of ``bias_weights``.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpverify.papers.tran2022.noise.noise_bounds import (
    check_parameters,
    power,
    shortened,
    window_weights,
)
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import (
    ZERO,
    Exact,
    Value,
    to_ball,
    to_exact,
    to_value,
)

FRACTION_ZERO = Fraction(0)


def attained_once(t: int, N: int, alpha: Fraction, lipschitz: Fraction) -> Fraction:
    """Return ``2*alpha*G*(1-alpha)**(t - N)``, a movement that occurs for every eta and L."""
    # The replaced example has the gradient G u, its replacement
    # -G u, and it comes last in every epoch. All visits with a
    # partner cancel, and the first epoch's visit remains.
    return 2 * alpha * lipschitz * (1 - alpha) ** (t - N)


def largest_once(
    t: int, N: int, alpha: Fraction, lipschitz: Fraction, drift: Fraction
) -> Fraction:
    """Return a bound on the movement under one permutation, for gradients that change by ``drift`` within N steps."""
    beta = 1 - alpha
    largest = FRACTION_ZERO
    for place in range(1, min(N, t) + 1):
        pairs = sum(
            (beta ** (t - i) for i in range(place + N, t + 1, N)), FRACTION_ZERO
        )
        largest = max(
            largest, alpha * (drift * pairs + 2 * lipschitz * beta ** (t - place))
        )
    return largest


def attained_fresh(t: int, N: int, alpha: Fraction, lipschitz: Fraction) -> Fraction:
    """Return the movement for gradients +-G u if the example comes last in the last epoch and first in all others."""
    beta = 1 - alpha
    visits = [*range(1, t - N + 1, N), t]
    now = sum((beta ** (t - i) for i in visits), FRACTION_ZERO)
    before = sum((beta ** (t - N - i) for i in visits if i <= t - N), FRACTION_ZERO)
    difference: Fraction = abs(now - before)
    return 2 * alpha * lipschitz * difference


TILT = 0.01  # s: how far a ridge is turned towards its own axis.


def pair_anchor(
    order: tuple[int, int],
    alpha: Fraction,
    eta: Fraction,
    slope: Fraction = Fraction(0),
) -> Fraction:
    """Return where the second epoch begins, for two examples with the gradients 3 + slope w and -1, and w_1 = 0."""
    m = Fraction(0)
    w = Fraction(0)
    for k in order:
        m = (1 - alpha) * m + alpha * ((3 + slope * w) if k == 0 else -1)
        w -= eta * ((m > 0) - (m < 0))
    return w


def pair_bias(
    alpha: Fraction, eta: Fraction, position: int, ordering: Ordering
) -> Fraction:
    """Return the mean of ``grad f(w_3, x) - grad F(w_3)``; near the path the two gradients are 3 + w/2 and -1."""
    slope = Fraction(1, 2)
    drawn = Fraction(0)
    full = Fraction(0)
    cases = 0
    for before in permutations((0, 1)):
        w = pair_anchor((before[0], before[1]), alpha, eta, slope)
        gradients = (3 + slope * w, Fraction(-1))
        for order in permutations((0, 1)) if ordering == "fresh" else (before,):
            drawn += gradients[order[position]]
            full += sum(gradients, Fraction(0)) / 2
            cases += 1
    return (drawn - full) / cases


def ridge_gradients(n_examples: int, alpha: float, late: int) -> NDArray[np.float64]:
    """Return ``grad f(w_{N+1}, x) - grad F(w_{N+1})`` of the examples, in the order of drawing, G = 1."""
    if not 1 <= late < n_examples:
        raise ValueError(f"late must lie in [1, N), got late={late}, N={n_examples}.")
    ridges = np.hstack([np.ones((n_examples, 1)), TILT * np.eye(n_examples)]) / np.sqrt(
        1 + TILT**2
    )
    w = np.zeros(n_examples + 1)
    m = np.zeros(n_examples + 1)
    projections = np.zeros(n_examples)
    for k in range(n_examples):
        projections[k] = ridges[k] @ w
        m = (1 - alpha) * m - alpha * ridges[k]
        w -= m / np.linalg.norm(m)
    reached = ridges @ w
    crossing = reached[: n_examples - late].min()
    staying = reached[n_examples - late :].max()
    threshold = (crossing + staying) / 2
    if not (staying < crossing and projections.max() < threshold):
        raise ValueError(
            f"the order does not show with N={n_examples}, alpha={alpha}, late={late}."
        )
    gradients = np.where(reached > threshold, 1.0, -1.0)[:, None] * ridges
    centred: NDArray[np.float64] = gradients - gradients.mean(axis=0)
    return centred


def ridge_sampling(n_examples: int, alpha: float, late: int) -> float:
    """Return the mean square ``alpha^2 |sum of c_i A_i|^2`` at t = 2N on ridges under one permutation, G = 1."""
    second = ridge_gradients(n_examples, alpha, late)
    first = (
        -TILT
        * np.hstack([np.zeros((n_examples, 1)), np.eye(n_examples) - 1 / n_examples])
        / np.sqrt(1 + TILT**2)
    )
    decays = (1 - alpha) ** np.arange(2 * n_examples - 1, -1, -1.0)
    total: Any = alpha * decays @ np.vstack([first, second])
    return float(total @ total)


MOST_EPOCHS = 12  # At most this many epochs, with two orders each, are enumerated.


def bias_weights(
    t: int, n_examples: int, alpha: Fraction, gamma: Fraction
) -> list[Value]:
    """Return the weights of constant gradients in the bias: ``alpha (1-gamma) D_s (c_{k-1} - c_k)``."""
    # In the first whole window c_q is replaced by
    # 0, and before that window the weights are 0.
    check_parameters(t, n_examples, alpha, gamma)
    q, r = divmod(t, n_examples)
    scale = to_value(alpha * (1 - gamma))
    decay = to_value(1 - alpha)
    c: list[Value] = [ZERO, *window_weights(q, n_examples, alpha, gamma)]
    steps: list[Value] = [ZERO] * r
    for k in range(q, 0, -1):
        change = c[k - 1] - (c[k] if k < q else ZERO)
        steps += [
            shortened(scale * change * power(decay, n_examples - p))
            for p in range(1, n_examples + 1)
        ]
    return steps


def mean_distance_of_two(
    t: int, alpha: Fraction, gamma: Fraction, lipschitz: Fraction, variance: Exact
) -> Exact:
    """Return the mean of ``|b_t + noise|`` over all orders, for gradients G and -G on a line; exact without noise."""
    weights = bias_weights(t, 2, alpha, gamma)
    epochs = (t + 1) // 2
    if epochs > MOST_EPOCHS:
        raise ValueError(
            f"t must have at most {MOST_EPOCHS} epochs of two steps, got t={t}."
        )
    weights += [ZERO] * (2 * epochs - t)
    swings = [
        to_value(lipschitz) * (weights[2 * e] - weights[2 * e + 1])
        for e in range(epochs)
    ]
    moving = [swing for swing in swings if swing != 0]
    total: Value = ZERO
    # the sign of the first changes no distance
    for signs in product((1, -1), repeat=max(len(moving) - 1, 0)):
        bias = sum(
            (
                sign * swing
                for sign, swing in zip((1, *signs), moving, strict=bool(moving))
            ),
            ZERO,
        )
        total = total + _mean_distance(bias, to_value(variance))
    return to_exact(total / (1 << max(len(moving) - 1, 0)))


def _mean_distance(mean: Value, variance: Value) -> Value:
    """Return the mean of |X| for X Gaussian."""
    if variance == 0:
        return mean if mean >= 0 else -mean
    mu = to_ball(mean)
    v = to_ball(variance)
    return (2 * v / arb.pi()).sqrt() * (-(mu**2) / (2 * v)).exp() + mu * (
        mu / (2 * v).sqrt()
    ).erf()
