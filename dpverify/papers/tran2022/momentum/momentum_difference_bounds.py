"""How far m_t - m_{t-N} moves if one example is replaced, what was released before held fixed.

m_t weighs the gradient of step i by alpha (1-alpha)^(t-i). A visit at step i <= t - N occurs in both momenta. Under one
permutation for all epochs the visit at i of m_t and the visit at i - N of m_{t-N} have the same weight, so that their
gradients, N steps apart, are subtracted; the visit of the first epoch has no partner. Under fresh permutations the two
visits have different weights, and nothing small is left.

Source: ``tran2022:section-4-momentum-difference``; the paper says that "we can show" it and does not.
"""

from __future__ import annotations

from fractions import Fraction

ZERO = Fraction(0)


def attained_once(t: int, N: int, alpha: Fraction, lipschitz: Fraction) -> Fraction:
    """A movement that occurs under one permutation, however small eta and L are.

    The replaced example's gradient is G u wherever the run goes, and -G u for the neighbour, and it comes last in every
    epoch: all partners cancel, and the first epoch's visit stays.

    ``2*alpha*G*(1-alpha)**(t - N)``.
    """
    return 2 * alpha * lipschitz * (1 - alpha) ** (t - N)


def largest_once(t: int, N: int, alpha: Fraction, lipschitz: Fraction, drift: Fraction) -> Fraction:
    """Bound the movement under one permutation over all places; gradients change by ``drift`` within N steps."""
    beta = 1 - alpha
    largest = ZERO
    for place in range(1, min(N, t) + 1):
        pairs = sum((beta ** (t - i) for i in range(place + N, t + 1, N)), ZERO)
        largest = max(largest, alpha * (drift * pairs + 2 * lipschitz * beta ** (t - place)))
    return largest


def attained_fresh(t: int, N: int, alpha: Fraction, lipschitz: Fraction) -> Fraction:
    """A movement under fresh permutations, from gradients +-G u: the example comes first, in the last epoch last."""
    beta = 1 - alpha
    visits = [*range(1, t - N + 1, N), t]
    now = sum((beta ** (t - i) for i in visits), ZERO)
    before = sum((beta ** (t - N - i) for i in visits if i <= t - N), ZERO)
    apart: Fraction = abs(now - before)
    return 2 * alpha * lipschitz * apart
