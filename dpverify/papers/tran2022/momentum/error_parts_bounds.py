"""What makes up the error of the momentum, part by part, each on the worst problem known for it.

All are of ``E |m_hat_t - grad F(w_t)|`` under fresh permutations, exactly:

*Start-up.* A slope: m_0 = 0 lacks the share (1-alpha)^t of G. *Sampling.* Antipodes, gradients G and -G: root mean
square, which the mean is not above. *Drift.* A ramp walked straight along: gradients at the iterates against those at
the epochs' anchors (the bound counts this twice, for an example and for F). *Lag.* The same ramp:
weighted old gradients against the one of today, without the start-up.
*Reconstruction.* Algorithm 4 on antipodes, noise off: root mean square of m_hat_t - m_t. *Noise.* Mean norm of
Algorithm 1's noise.

Source: ``tran2022:lemma-11``, ``lemma-12`` and ``lemma-7``, corrected. Rationals and balls; no kernel is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from flint import arb

from dpverify.papers.tran2022.momentum.momentum_error_bounds import attained_drift, slope_error
from dpverify.papers.tran2022.noise.tree_noise_bounds import expected_noise_norm
from dpverify.papers.tran2022.reorder.reorder_bias_bounds import constant_spread, mean_square
from dpverify.symbolic.exact.numbers import Exact, to_ball, to_exact, to_value

PARTS = ("start-up", "sampling", "drift", "lag", "reconstruction", "noise")
LEMMA_11 = PARTS[:4]
"""The parts that Lemma 11 adds up."""


@dataclass(frozen=True)
class ErrorRun:
    """A run of either algorithm; d = 1."""

    n_examples: int  # N and T
    steps: int
    alpha: Fraction  # weights and length of a step; the corrected Lemma 7 needs alpha >= 1/N and gamma = eta N <= 1/2
    gamma: Fraction
    eta: Fraction
    sigma: Fraction  # noise multiplier and V of Algorithm 1
    v: Fraction
    lipschitz: Fraction = Fraction(1)  # G and L
    smoothness: Fraction = Fraction(1)


class Part(NamedTuple):
    """A part of the error on its problem, and its corrected bound; in units of the gradient."""

    attained: Exact
    bound: Exact


def lag_error(t: int, alpha: Fraction, eta: Fraction, smoothness: Fraction) -> Fraction:
    """Weighted way of full gradients up to step t on a ramp: ``eta L (1-alpha)(1-(1-alpha)^(t-1))/alpha``."""
    beta = 1 - alpha
    return eta * smoothness * beta * (1 - beta ** (t - 1)) / alpha


def error_parts(t: int, run: ErrorRun) -> dict[str, Part]:
    """All parts at a step."""
    n, alpha, eta, slope, curve = run.n_examples, run.alpha, run.eta, run.lipschitz, run.smoothness
    antipodes = constant_spread(slope**2)
    return {
        "start-up": Part(slope_error(t, alpha, slope), (1 - alpha) ** t * slope),
        "sampling": Part(
            _root(mean_square("momentum", t, n, alpha, run.gamma, antipodes)), _root(slope**2 * alpha / (2 - alpha))
        ),
        "drift": Part(
            attained_drift(t, n, alpha, eta, curve, "one-based"), 2 * eta * curve * Fraction((n - 1) ** 2, n)
        ),
        "lag": Part(lag_error(t, alpha, eta, curve), eta * curve * (1 - alpha) / alpha),
        "reconstruction": Part(
            _root(mean_square("difference", t, n, alpha, run.gamma, antipodes)),
            to_exact(
                to_ball(to_value(_root(4 * slope**2 * alpha)))
                + to_ball(to_value(_root(Fraction(121, 100) * curve**2 * alpha * eta * n)))
            ),
        ),
        "noise": Part(
            expected_noise_norm(t, alpha, slope, run.sigma, run.v, 1),
            to_ball(to_value(4 * alpha * slope * run.sigma)) * (to_ball(to_value(run.v)) * _log2(run.steps + 1)).sqrt(),
        ),
    }


def printed_parts(run: ErrorRun) -> dict[str, Exact]:
    """Printed bounds of the parts that have one, the same at every step: Lemma 11's three terms, and Lemma 12."""
    slope, way = run.lipschitz, run.eta * run.smoothness
    noise = to_ball(to_value(4 * run.alpha * slope * run.sigma))
    return {
        "sampling": _root(4 * slope**2 * run.alpha),
        "drift": 2 * way * run.n_examples,
        "lag": way / run.alpha,
        "noise": noise * (to_ball(to_value(run.v)) * _log2(run.steps)).sqrt(),
    }


def _root(square: Exact) -> arb:
    """Square root; the square of a ball that reaches below 0 by rounding is taken as its upper end."""
    ball = to_ball(to_value(square))
    return ball.sqrt() if ball >= 0 else ball.abs_upper().sqrt()


def _log2(n: int) -> arb:
    return arb(n).log() / arb(2).log()
