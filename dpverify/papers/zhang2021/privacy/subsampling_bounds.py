"""Values of the cited privacy theorems on concrete mechanisms, in ball arithmetic."""

from __future__ import annotations

from fractions import Fraction

from flint import acb, arb

from dpverify.symbolic.exact.numbers import ball

# standard deviations beyond the outermost mean;
# cutting off a positive integrand keeps a lower bound
REACH = 12


def opposite_divergence(q: Fraction, shift: arb) -> arb:
    """Return the Renyi divergence of order 2 under subsampling, if the replaced gradient becomes its opposite."""
    # All other gradients are 0. In units of the noise, the pair is (1-q) N(0, 1) + q
    # N(shift, 1) against (1-q) N(0, 1) + q N(-shift, 1). At q = 1 the divergence is 4
    # shift^2. Otherwise the result is a ball around the integral of p^2/p' over a
    # finite range: its lower end is a lower bound on the divergence.
    if q == 1:
        return 4 * shift**2
    weight, complement = ball(q), ball(1 - q)

    def integrand(x: acb, analytic: bool) -> acb:
        middle, up, down = ((-(x - m) * (x - m) / 2).exp() for m in (0, shift, -shift))
        return (complement * middle + weight * up) ** 2 / (
            complement * middle + weight * down
        )

    reach = REACH + 2 * shift
    integral = (
        acb.integral(integrand, -reach, reach, rel_tol=arb(2) ** -40).real
        / (2 * arb.pi()).sqrt()
    )
    return integral.log()


def pure_amplification(q: Fraction, epsilon: Fraction) -> arb:
    """Return the privacy loss of randomized response on a random subset: log of the largest ratio of probabilities."""
    # One example says yes or no; the mechanism answers "yes" with odds exp(epsilon) if
    # it drew a yes, and with odds exp(-epsilon) otherwise. The neighbour replaces the
    # only yes by a no.
    odds = ball(epsilon).exp()
    yes = odds / (1 + odds)
    no = 1 / (1 + odds)
    drawn = ball(q) * yes + ball(1 - q) * no
    return (drawn / no).log()


def half_way_delta(mu: arb) -> arb:
    """Return a Gaussian mechanism's exact delta at epsilon = mu^2/2: 1/2 - exp(mu^2/2) Phi(-mu). It grows with mu."""
    return arb(1) / 2 - (mu**2 / 2).exp() * (mu / arb(2).sqrt()).erfc() / 2
