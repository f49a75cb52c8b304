"""Second moments of Algorithm 1 on quadratics, exactly, through all stages.

Each example has the loss ``a |w|^2/2 + <b_i, w>``, the b_i have mean 0 and mean square sigma^2. The mean of a batch is
a w plus what has mean 0 and does not depend on w, so that a coordinate's second moments of (omega_t, omega_t-1) follow
a linear recursion; a stage is a product of two powers of its matrix, and begins with omega_t-1 = omega_t. A quadratic
is smooth and has the constants beta = mu = a and theta = 2, hence also all smaller mu and theta and all larger beta.
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
        str  # one of OUTPUTS: omega_1 or omega_0 is a stage's start, and one of T iterates is handed on; or the last
    )

    def stage(self, k: int) -> tuple[arb, arb]:
        """Give (A, c): a second moment m of the start, and noise of variance v on the gradient, come to A m + c v."""
        steps = self.steps << k
        eta = self.eta / 2**k
        on = self.momentum_steps << k
        if self.output != "loop":
            on = min(on + 1, steps)  # momentum is on at t = 1, ..., t_Mon, and without effect at t = 0
        matrix = self._step(eta, Fraction(0)) ** (steps - on) * self._step(eta, self.rho) ** on
        start = arb_mat([[1, 0], [1, 0], [1, 0], [0, 0], [0, 1]])
        end = matrix * start
        row, by = (0, 1) if self.output == "last" else (3, steps)
        return end[row, 0] / by, end[row, 1] / by

    def _step(self, eta: arb, rho: Fraction) -> arb_mat:
        """Matrix of a step on (E w^2, E w w', E w'^2, sum of E w^2, v), w' the iterate before w."""
        keep = 1 - eta * ball(self.curvature) + ball(rho)
        carried = ball(rho)
        moved = [keep**2, -2 * keep * carried, carried**2, arb(0), eta**2]
        summed = [arb(1), arb(0), arb(0), arb(1), arb(0)] if self.output == "loop" else [*moved[:3], arb(1), moved[4]]
        return arb_mat([moved, [keep, -carried, 0, 0, 0], [1, 0, 0, 0, 0], summed, [0, 0, 0, 0, 1]])

    def excess(self, gap: arb, variance: arb) -> arb:
        """E[F(omega^K) - F*] from F(omega^0) - F* = gap, with noise of this variance on the whole gradient."""
        mean_excess = gap
        for k in range(1, self.stages + 1):
            factor, added = self.stage(k)
            mean_excess = factor * mean_excess + ball(self.curvature) / 2 * added * variance
        return mean_excess


def injected(steps: int, c_2: Fraction, dimension: int, L: Fraction, delta: Fraction, n_epsilon: Fraction) -> arb:
    """Give d pi^2, pi^2 being that of equation 4 at equality."""
    scale = ball(c_2**2 * L**2 * dimension * steps / n_epsilon**2)
    return scale * -ball(delta).log()
