"""Attained errors of the momentum in Lemma 11: closed forms on problems on a line.

*Slope*: identical examples with a constant gradient of length G. After t steps m_t
still lacks the fraction ``(1-alpha)^t`` of it. *Ramp*: identical examples with the
gradient ``L w``. The momentum lags behind. *Antipodes*: gradients G and -G. F is flat,
and all of the momentum is sampling error. These problems attain the parts of ``E
|m_hat_t - grad F(w_t)|`` (NOTES_utility_lemmas.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal, NamedTuple, TypeAlias

from flint import arb

from dpverify.papers.tran2022.noise.noise_bounds import expected_noise_norm
from dpverify.papers.tran2022.reorder.reorder_bias_bounds import (
    constant_spread,
    mean_square,
)
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import Exact, to_ball, to_exact, to_value

Epochs: TypeAlias = Literal["one-based", "quotient", "shifted"]

MOST_STEPS = 12  # Antipodes are enumerated up to this step: 2^6 orders.


def slope_error(t: int, alpha: Fraction, lipschitz: Fraction) -> Fraction:
    """Return the error of the momentum on a slope, for every order: ``|m_t - grad F(w_t)| = (1-alpha)^t G``."""
    return (1 - alpha) ** t * lipschitz


def ramp_error(
    t: int, alpha: Fraction, eta: Fraction, smoothness: Fraction, lipschitz: Fraction
) -> Fraction:
    """Return the error of the momentum of full gradients on a ramp that begins ``(t-1) eta`` above the minimum."""
    # ``eta L ((1-alpha)(1-(1-alpha)^(t-1))/alpha - (t-1)(1-alpha)^t)``: the lag,
    # reduced by the effect of m_0 = 0. The result is 0 where the ramp would be steeper
    # than G.
    if (t - 1) * eta * smoothness > lipschitz:
        return Fraction(0)
    beta = 1 - alpha
    return eta * smoothness * (beta * (1 - beta ** (t - 1)) / alpha - (t - 1) * beta**t)


def antipodes_error(
    t: int, alpha: Fraction, lipschitz: Fraction, ordering: Ordering
) -> Fraction:
    """Return the mean of ``|m_t|`` over all orders for the gradients G and -G; 0 beyond ``MOST_STEPS`` (unknown)."""
    if t > MOST_STEPS:
        return Fraction(0)
    beta = 1 - alpha
    epochs = -(-t // 2)
    total = Fraction(0)
    orders = 0
    for first in product((1, -1), repeat=epochs if ordering == "fresh" else 1):
        signs = [
            s
            for e in range(epochs)
            for s in (first[e % len(first)], -first[e % len(first)])
        ]
        total += abs(
            sum((beta ** (t - i) * signs[i - 1] for i in range(1, t + 1)), Fraction(0))
        )
        orders += 1
    return alpha * lipschitz * total / orders


def attained_error(
    t: int,
    n_examples: int,
    alpha: Fraction,
    eta: Fraction,
    smoothness: Fraction,
    lipschitz: Fraction,
    ordering: Ordering,
) -> Fraction:
    """Return the largest ``E|m_t - grad F(w_t)|`` that the three problems attain; antipodes need N = 2."""
    errors = [
        slope_error(t, alpha, lipschitz),
        ramp_error(t, alpha, eta, smoothness, lipschitz),
    ]
    if n_examples == 2:
        errors.append(antipodes_error(t, alpha, lipschitz, ordering))
    return max(errors)


def anchor_distance(i: int, n_examples: int, epochs: Epochs) -> int:
    """Return the number of steps between w_i and the anchor of its epoch; w_0 means w_1."""
    # one-based: epoch q has the steps qN + 1 .. (q+1)N and the anchor w_{qN+1}.
    # quotient: it has the steps qN .. qN + N - 1 and the anchor w_{qN}. shifted: it has
    # the steps qN + 1 .. (q+1)N and the anchor w_{qN}.
    if epochs == "one-based":
        return (i - 1) % n_examples
    epoch = i // n_examples if epochs == "quotient" else (i - 1) // n_examples
    return i - max(epoch * n_examples, 1)


def attained_drift(
    t: int,
    n_examples: int,
    alpha: Fraction,
    eta: Fraction,
    smoothness: Fraction,
    epochs: Epochs,
) -> Fraction:
    """Return the largest weighted drift, on a ramp: ``alpha eta L sum over i of (1-alpha)^(t-i) |i - anchor|``."""
    beta = 1 - alpha
    total = Fraction(0)
    for i in range(1, t + 1):
        total = total * beta + anchor_distance(i, n_examples, epochs)
    return alpha * eta * smoothness * total


PARTS = ("start-up", "sampling", "drift", "lag", "reconstruction", "noise")
LEMMA_11 = PARTS[:4]  # The parts that Lemma 11 adds up.


@dataclass(frozen=True)
class ErrorRun:
    """Parameters of a run of either algorithm, with d = 1."""

    n_examples: int  # N and T
    steps: int
    # weights and step length; the corrected Lemma
    # 7 needs alpha >= 1/N and gamma = eta N <= 1/2
    alpha: Fraction
    gamma: Fraction
    eta: Fraction
    sigma: Fraction  # noise multiplier and V of Algorithm 1
    v: Fraction
    lipschitz: Fraction = Fraction(1)  # G and L
    smoothness: Fraction = Fraction(1)


class Part(NamedTuple):
    """Attained value of a part of the error on its problem, and its corrected bound; in units of the gradient."""

    attained: Exact
    bound: Exact


def lag_error(t: int, alpha: Fraction, eta: Fraction, smoothness: Fraction) -> Fraction:
    """Return the weighted lag of full gradients at step t on a ramp: ``eta L (1-alpha)(1-(1-alpha)^(t-1))/alpha``."""
    beta = 1 - alpha
    return eta * smoothness * beta * (1 - beta ** (t - 1)) / alpha


def error_parts(t: int, run: ErrorRun) -> dict[str, Part]:
    """Return all parts of the error at step t."""
    n = run.n_examples
    alpha = run.alpha
    eta = run.eta
    slope = run.lipschitz
    curve = run.smoothness
    antipodes = constant_spread(slope**2)
    return {
        "start-up": Part(slope_error(t, alpha, slope), (1 - alpha) ** t * slope),
        "sampling": Part(
            _root(mean_square("momentum", t, n, alpha, run.gamma, antipodes)),
            _root(slope**2 * alpha / (2 - alpha)),
        ),
        "drift": Part(
            attained_drift(t, n, alpha, eta, curve, "one-based"),
            2 * eta * curve * Fraction((n - 1) ** 2, n),
        ),
        "lag": Part(lag_error(t, alpha, eta, curve), eta * curve * (1 - alpha) / alpha),
        "reconstruction": Part(
            _root(mean_square("difference", t, n, alpha, run.gamma, antipodes)),
            to_exact(
                to_ball(to_value(_root(4 * slope**2 * alpha)))
                + to_ball(
                    to_value(_root(Fraction(121, 100) * curve**2 * alpha * eta * n))
                )
            ),
        ),
        "noise": Part(
            expected_noise_norm(t, alpha, slope, run.sigma, run.v, 1),
            to_ball(to_value(4 * alpha * slope * run.sigma))
            * (to_ball(to_value(run.v)) * _log2(run.steps + 1)).sqrt(),
        ),
    }


def printed_parts(run: ErrorRun) -> dict[str, Exact]:
    """Return the printed bounds, equal at every step, of the parts that have one: Lemma 11's terms and Lemma 12."""
    slope = run.lipschitz
    way = run.eta * run.smoothness
    noise = to_ball(to_value(4 * run.alpha * slope * run.sigma))
    return {
        "sampling": _root(4 * slope**2 * run.alpha),
        "drift": 2 * way * run.n_examples,
        "lag": way / run.alpha,
        "noise": noise * (to_ball(to_value(run.v)) * _log2(run.steps)).sqrt(),
    }


def _root(square: Exact) -> arb:
    """Return the square root; a ball that reaches below 0 by rounding is replaced by its upper end."""
    ball = to_ball(to_value(square))
    return ball.sqrt() if ball >= 0 else ball.abs_upper().sqrt()


def _log2(n: int) -> arb:
    return arb(n).log() / arb(2).log()
