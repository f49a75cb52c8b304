"""The sum that derivations begin with is that of the code: squared decays of the nodes that make up a prefix."""

from __future__ import annotations

from fractions import Fraction

from sympy import Rational

from dpverify.papers.tran2022.noise.decays_derivations import S, decays
from dpverify.papers.tran2022.noise.sr_noise_bounds import squared_decays
from dpverify.symbolic.exact.numbers import ZERO, to_value
from tests.for_each import for_each

A = Fraction(1, 3)


@for_each("s", [0, 1, 2, 3, 6, 11, 13, 16, 21])
def test_it_sums_the_squared_decays_of_the_binary_digits(s: int) -> None:
    by_hand, end = Fraction(0), 0
    for level in reversed(range(s.bit_length())):
        if s >> level & 1:
            end += 1 << level  # the node of this length ends here, and decays until s
            by_hand += (1 - A) ** (2 * (s - end))
    found = decays(S, Rational(1, 3)).subs(S, s).doit()
    assert Fraction(int(found.p), int(found.q)) == by_hand
    assert to_value(by_hand) == (squared_decays(1, s, A) if s else ZERO)
