"""Counterexamples to Theorem 3.2 that meet Assumptions 2.1 to 2.5 in the reading ``ball``.

The losses are those of :mod:`dpverify.problems.plateau`, d = 1. The ball around omega^0 = w_0 has the radius r - w_0;
it contains the minimizer 0 where w_0 <= r/2, and lies where F is the quadratic.
"""

from __future__ import annotations

from flint import arb

from dpverify.harness import Point, Property
from dpverify.problems.plateau import Plateau
from dpverify.symbolic.exact.numbers import ball


def plateau_of(point: Point) -> Plateau:
    """Return the losses of a point: curvature a, reach r, and offset sigma."""
    return Plateau(point["a"], point["r"], point["sigma"])


def _has_ball(point: Point) -> bool:
    """Whether the ball around omega^0 that ends at r contains the minimizer: w_0^2 = 2 gap/a is at most r^2/4."""
    return 8 * point["gap"] <= point["a"] * point["r"] ** 2


PROPERTIES = {
    "bounded-loss": Property("bound of the plateau losses", lambda p: plateau_of(p).bound <= 1),
    "lipschitz": Property("largest slope of the plateau losses", lambda p: plateau_of(p).lipschitz <= p["L"]),
    "smooth": Property("curvature of the plateau losses", lambda p: p["a"] <= p["beta"]),
    "bounded-variance": Property("offset of the plateau losses", lambda p: plateau_of(p).offset <= p["sigma"]),
    "polyak-lojasiewicz": Property(
        "curvature where |w| <= r, which has a ball around omega^0 with the minimizer 0",
        lambda p: p["mu"] <= p["a"] and _has_ball(p),
    ),
    "weakly-quasi-convex": Property(
        "theta of the quadratic where |w| <= r, which has a ball around omega^0 with the minimizer 0",
        lambda p: p["theta"] <= plateau_of(p).theta and _has_ball(p),
    ),
    "update-of-algorithm-1": Property("the recursion is that of Algorithms 1 and 2"),
}
"""By which property of the plateau losses each assumption holds, with its test at a point."""


def lost_by_leaving(point: Point, eta: arb, start: arb, variance: arb) -> arb:
    """Bound what runs on the quadratic contribute to its expected excess after they have left |w| <= r.

    Without momentum and with eta^1 a <= 1 an iterate is y + g, with |y| <= M = max(w_0, b/a), and g Gaussian with
    a variance of at most v, the noise of all steps. Hence E w^4 <= 8 (M^4 + 3 v^2), one of all T iterates is beyond r
    with a probability of at most 2 T exp(-(r - M)^2/(2 v)), and Cauchy and Schwarz give the rest.

    ``eta`` is eta^0, ``start`` is w_0, ``variance`` is that of the noise of a step.
    """
    a = ball(point["a"])
    r = ball(point["r"])
    if point["t_0"] != 0 or not bool(eta / 2 * a <= 1):
        raise ValueError("a point of the plateau losses must have t_0 = 0 and eta_0*a/2 <= 1.")
    farthest = start.max(ball(point["sigma"]) / a)
    v = variance * eta**2 * ball(point["T_0"])  # eta_k^2 T_k = 2^-k eta_0^2 T_0 in stage k
    if bool(v == 0):
        return arb(0)
    steps = ball(point["T_0"] * ((2 << int(point["K"])) - 2))
    leaving = (2 * steps * (-((r - farthest) ** 2) / (2 * v)).exp()).min(arb(1))
    fourth = 8 * (farthest**4 + 3 * v**2)
    return a / 2 * (fourth * leaving).sqrt()


def escape_excess(point: Point) -> arb:
    """Bound from below the expected excess of runs from the minimizer of plateau losses without offset.

    The output is omega = W - D. D adds up the gradients, each at most a r: |D| <= K T_0 eta_0 a r =: x. Given which
    iterates are handed on, W is Gaussian. With a probability of at least 1/2 that of the first stage is one of the last
    T_1/2, and the variance of W at least (T_1/2 - 1) eta_1^2 pi^2 =: s^2. Then W is in [-y, y] with a probability of
    at most 2 y/(s sqrt(2 pi)). Where |omega| >= 2 r, F = a r^2.
    """
    a = ball(point["a"])
    r = ball(point["r"])
    eta = ball(point["eta_0"])
    steps = ball(point["T_0"] * ((2 << int(point["K"])) - 2))
    scale = ball(point["c_2"] * point["L"] / (point["n"] * point["epsilon"]))
    variance = scale**2 * steps * -ball(point["delta"]).log()
    s = ((ball(point["T_0"]) - 1) * (eta / 2) ** 2 * variance).sqrt()
    x = ball(point["K"] * point["T_0"]) * eta * a * r
    inside = 2 * (2 * r + x) / (s * (2 * arb.pi()).sqrt())
    return a * r**2 * (1 - inside.min(arb(1))) / 2
