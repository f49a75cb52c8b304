"""What N/(N-1), 2 - alpha and (1-alpha)^N come to in the corrected Lemma 17, for alpha N >= 1, N >= 2.

``1/(2-alpha)`` is the sum of the squared decays, in units of 1/alpha; N/(N-1) the price of drawing without replacement.
For N = 2 a polynomial on [1/2, 1] decides; for N >= 3, (1-alpha)^N is at most 1/8 or exp(-1), alpha above or below 1/2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sympy import Integer, Rational, Symbol, exp

from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Variable, integer, real

ALPHA: Final = Symbol("alpha", positive=True)
N: Final = Symbol("N", integer=True, positive=True)
HALF: Final = Rational(1, 2)
RANGES: Final[dict[str, Variable]] = {"N": integer(2, 60), "alpha": real(1 / N, 1)}
CONDITIONS: Final = (ALPHA <= 1, ALPHA * N >= 1, N >= 2)
SUM, DIFFERENCE = Rational(9, 4), Integer(2)
"""Bounds on ``N/((N-1)(2-alpha)) (1+B)/(1-B)`` (exactly 20/9) and on ``N/((N-1)(2-alpha)) /(1-B)`` (exactly 2)."""

Form = Callable[[Any], Any]


def of_sum(block: Any) -> Any:
    """``(1+B)/(1-B)``."""
    return (1 + block) / (1 - block)


def of_difference(block: Any) -> Any:
    """``1/(1-B)``."""
    return 1 / (1 - block)


def sum_rate() -> Derivation:
    """Derive ``N/((N-1)(2-alpha)) (1+B)/(1-B) <= 9/4``: for parts (b), and the change of gradients."""
    x = 1 - ALPHA
    return _rate("(1+B)/(1-B), for N = 2 and from 3 on", of_sum, SUM, 2 * (1 + x**2), SUM * (2 - ALPHA) * (1 - x**2))


def difference_rate() -> Derivation:
    """Derive ``N/((N-1)(2-alpha)) /(1-B) <= 2``, for part (a); equal at N = 2, alpha = 1."""
    return _rate(
        "1/(1-B), for N = 2 and from 3 on", of_difference, DIFFERENCE, Integer(1), (2 - ALPHA) * (1 - (1 - ALPHA) ** 2)
    )


def plain_rate() -> Derivation:
    """Derive ``N/((N-1)(2-alpha)) <= 2``, for part (c)."""
    return Derivation(
        "without windows",
        "ours",
        RANGES,
        CONDITIONS,
        N / (N - 1) / (2 - ALPHA),
        (
            Step(2 / (2 - ALPHA), "<=", "order", {"a": N / (N - 1), "b": Integer(2)}),
            Step(Integer(2), "<=", "reciprocal-monotone", {"a": Integer(1), "b": 2 - ALPHA}),
        ),
    )


def block_rate() -> Derivation:
    """Derive ``(1-alpha)^N <= exp(-1)``."""
    return Derivation("alpha N >= 1", "ours", RANGES, CONDITIONS, (1 - ALPHA) ** N, _to_exp(lambda block: block))


def _rate(name: str, form: Form, goal: Any, small: Any, large: Any) -> Derivation:
    """Bound a form that rises with the block; for N = 2 it is ``goal small/large``, polynomials in alpha."""
    many = N / (N - 1)
    block = (1 - ALPHA) ** N
    on_interval = {"a": small, "b": large, "x": ALPHA, "low": HALF, "high": Integer(1)}
    two = (
        Step(2 / (2 - ALPHA) * form(block), "<=", "order", {"a": many, "b": Integer(2)}),
        _to_power(2, lambda e: 2 / (2 - ALPHA) * form(e)),
        Step(goal * small / large, "="),
        Step(goal, "<=", "bernstein", on_interval, context=goal * HOLE / large),
    )
    wide = Rational(3, 2) * form(Rational(1, 8))
    cube = {"a": 1 - ALPHA, "b": HALF, "p": Integer(3)}
    short = (
        Step(Rational(3, 2) * form(block), "<=", "reciprocal-monotone", {"a": Integer(1), "b": 2 - ALPHA}),
        _to_power(3, lambda e: Rational(3, 2) * form(e)),
        Step.within(Rational(3, 2) * form(HOLE), HALF**3, "power-monotone", cube),
        Step(goal, "<=", "order", {"a": wide, "b": goal}),
    )
    long = (
        Step(
            form(block),
            "<=",
            "reciprocal-monotone",
            {"a": Rational(3, 2), "b": 2 - ALPHA},
            context=Rational(3, 2) * HOLE * form(block),
        ),
        *_to_exp(form),
        Step(goal, "<=", "order", {"a": form(exp(-1)), "b": goal}),
    )
    three = (
        Step(Rational(3, 2) / (2 - ALPHA) * form(block), "<=", "order", {"a": many, "b": Rational(3, 2)}),
        Cases(goal, "<=", (Case(ALPHA >= HALF, short), Case(ALPHA <= HALF, long))),
    )
    split = Cases(goal, "<=", (Case(N <= 2, two), Case(N >= 3, three)))
    return Derivation(name, "ours", RANGES, CONDITIONS, many / (2 - ALPHA) * form(block), (split,))


def _to_power(power: int, wrap: Form) -> Step:
    """From ``wrap((1-alpha)^N)`` to ``wrap((1-alpha)^power)``, for N >= power."""
    smaller = {"x": 1 - ALPHA, "p": N, "q": Integer(power)}
    return Step(wrap((1 - ALPHA) ** power), "<=", "power-decreasing", smaller, context=wrap(HOLE), note=f"N >= {power}")


def _to_exp(wrap: Form) -> tuple[Step, ...]:
    """From ``wrap((1-alpha)^N)`` to ``wrap(exp(-1))``."""
    least = {"a": -ALPHA * N, "b": Integer(-1)}
    return (
        Step(wrap(exp(-ALPHA * N)), "<=", "one-minus-exp", {"x": ALPHA}, context=wrap(HOLE**N)),
        Step(wrap(exp(-1)), "<=", "exp-monotone", least, context=wrap(HOLE)),
    )
