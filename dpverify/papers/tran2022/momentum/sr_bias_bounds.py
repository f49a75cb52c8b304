"""Algorithm 4's error under fresh permutations, exactly, for the smallest data set that has one: two examples.

Equation 3 takes for the window before a window "the same examples at the anchor before". With fresh permutations these
are other examples, and m_hat_t - m_t keeps, besides the noise, b_t = sum over epochs e of X_e, ``X_e = alpha (1-gamma)
sum over steps s of e of D_s (c_{k-1} h_e(x_s) - c_k h_{e-1}(x_s))``, k = k(s) the window of s (1 the latest), D_s =
(1-alpha)^(last step of the window - s), c_0 = 0, and h_e(x) example x's gradient at the anchor of epoch e minus the
mean over all examples. Window q, the first, has only the part with c_{q-1}, and steps s <= r have none. The X_e are
uncorrelated, as each order is drawn afresh (NOTES_identities.md). Where gradients do not depend on w, b_t = sum over s
of w_s h(x_s) with the weights below.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from flint import arb

from dpverify.papers.tran2022.noise.sr_noise_bounds import check_parameters, power, shortened, window_weights
from dpverify.symbolic.exact.numbers import ZERO, Exact, Value, to_ball, to_exact, to_value

MOST_EPOCHS = 12  # Enumerations go through 2 to the power of this many orders.


def bias_weights(t: int, n_examples: int, alpha: Fraction, gamma: Fraction) -> list[Value]:
    """Weights of constant gradients in the bias: ``alpha (1-gamma) D_s (c_{k-1} - c_k)``."""
    # c_q is taken for 0 in the first whole window, and the weights are 0 before it.
    check_parameters(t, n_examples, alpha, gamma)
    q, r = divmod(t, n_examples)
    scale = to_value(alpha * (1 - gamma))
    decay = to_value(1 - alpha)
    c: list[Value] = [ZERO, *window_weights(q, n_examples, alpha, gamma)]
    steps: list[Value] = [ZERO] * r
    for k in range(q, 0, -1):
        change = c[k - 1] - (c[k] if k < q else ZERO)
        steps += [shortened(scale * change * power(decay, n_examples - p)) for p in range(1, n_examples + 1)]
    return steps


def mean_distance_of_two(t: int, alpha: Fraction, gamma: Fraction, lipschitz: Fraction, variance: Exact) -> Exact:
    """Mean of ``|b_t + noise|`` over all orders, for the gradients G and -G on a line; exact without noise."""
    weights = bias_weights(t, 2, alpha, gamma)
    epochs = (t + 1) // 2
    if epochs > MOST_EPOCHS:
        raise ValueError(f"t must have at most {MOST_EPOCHS} epochs of two steps, got t={t}.")
    weights += [ZERO] * (2 * epochs - t)
    swings = [to_value(lipschitz) * (weights[2 * e] - weights[2 * e + 1]) for e in range(epochs)]
    moving = [swing for swing in swings if swing != 0]
    total: Value = ZERO
    for signs in product((1, -1), repeat=max(len(moving) - 1, 0)):  # the sign of the first changes no distance
        bias = sum((sign * swing for sign, swing in zip((1, *signs), moving, strict=bool(moving))), ZERO)
        total = total + _mean_distance(bias, to_value(variance))
    return to_exact(total / (1 << max(len(moving) - 1, 0)))


def _mean_distance(mean: Value, variance: Value) -> Value:
    """Mean of |X| for X Gaussian."""
    if variance == 0:
        return mean if mean >= 0 else -mean
    mu = to_ball(mean)
    v = to_ball(variance)
    return (2 * v / arb.pi()).sqrt() * (-(mu**2) / (2 * v)).exp() + mu * (mu / (2 * v).sqrt()).erf()
