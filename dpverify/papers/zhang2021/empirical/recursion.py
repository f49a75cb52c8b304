"""Exact second moments of Algorithm 1 on quadratics, through all stages.

Each example has the loss ``a |w|^2/2 + <b_i, w>``; the b_i have mean 0 and mean square sigma^2. The mean gradient of a
batch is a w plus a term that has mean 0 and does not depend on w. So a coordinate's second moments of (omega_t,
omega_t-1) follow a linear recursion. A stage begins with omega_t-1 = omega_t. It is a product of two matrix powers: of
the steps with momentum and of the steps without. A quadratic is smooth and has the constants beta = mu = a and theta =
2, hence also all smaller mu and theta and all larger beta.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_mat

from dpverify.symbolic.exact.numbers import ball


@dataclass(frozen=True)
class Quadratic:
    """A run of Algorithm 1 with the schedule of Theorem 3.2 on a quadratic of this curvature."""

    curvature: Fraction
    stages: int  # K
    steps: int  # T^0
    momentum_steps: int  # t_Mon^0
    rho: Fraction
    eta: arb  # eta^0
    output: (
        # Iterate that a stage returns. "loop" and "arguments": a random one of omega_1
        # .. omega_T, where the stage starts at omega_1 for "loop", and at omega_0 for
        # "arguments". "last": the last one.
        str
    )

    def stage(self, k: int) -> tuple[arb, arb]:
        """Return (A, c): from second moment m, stage k leads to A m + c v, for gradient noise of variance v."""
        steps = self.steps << k
        eta = self.eta / 2**k
        momentum_on = self.momentum_steps << k
        if self.output != "loop":
            # momentum is on at t = 1, ..., t_Mon, and has no effect at t = 0
            momentum_on = min(momentum_on + 1, steps)
        matrix = (
            self._step(eta, Fraction(0)) ** (steps - momentum_on)
            * self._step(eta, self.rho) ** momentum_on
        )
        start = arb_mat([[1, 0], [1, 0], [1, 0], [0, 0], [0, 1]])
        end = matrix * start
        row, by = (0, 1) if self.output == "last" else (3, steps)
        return end[row, 0] / by, end[row, 1] / by

    def _step(self, eta: arb, rho: Fraction) -> arb_mat:
        """Return the matrix of a step on (E w^2, E w w', E w'^2, sum of E w^2, v), where w' is the iterate before w."""
        keep = 1 - eta * ball(self.curvature) + ball(rho)
        carried = ball(rho)
        moved = [keep**2, -2 * keep * carried, carried**2, arb(0), eta**2]
        summed = (
            [arb(1), arb(0), arb(0), arb(1), arb(0)]
            if self.output == "loop"
            else [*moved[:3], arb(1), moved[4]]
        )
        return arb_mat(
            [moved, [keep, -carried, 0, 0, 0], [1, 0, 0, 0, 0], summed, [0, 0, 0, 0, 1]]
        )

    def excess(self, gap: arb, variance: arb) -> arb:
        """Return E[F(omega^K) - F*] for F(omega^0) - F* = gap, with noise of this variance on the whole gradient."""
        mean_excess = gap
        for k in range(1, self.stages + 1):
            factor, added = self.stage(k)
            mean_excess = (
                factor * mean_excess + ball(self.curvature) / 2 * added * variance
            )
        return mean_excess


def added_noise_power(
    steps: int,
    c_2: Fraction,
    dimension: int,
    L: Fraction,
    delta: Fraction,
    n_epsilon: Fraction,
) -> arb:
    """Return d pi^2, the mean square of the added noise, if equation 4 holds with equality."""
    scale = ball(c_2**2 * L**2 * dimension * steps / n_epsilon**2)
    return scale * -ball(delta).log()
