"""The squared weights of the corrected Lemma 17 under fresh permutations: convolutions, summed by telescoping.

``keep`` u = 1 - gamma, ``block`` B = (1-alpha)^N, ``c_i = sum_{j<i} u^j B^(i-1-j)``; a window's share of the squared
decays is ``1 - B^2``, in units of ``1/(1-(1-alpha)^2)``. *Change*: gradients that move from anchor to anchor.
*Difference*: part (a). *Estimate*: part (b); *settled* and *early* split it for part (c). NOTES_identities.md has the
lemma.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sympy import Integer, Rational, Sum, Symbol

from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.rules.sequences import convolution

i, j = (Symbol(name, integer=True) for name in "ij")
KEEP: Final = Symbol("keep", positive=True)
BLOCK: Final = Symbol("block", nonnegative=True)
WINDOWS: Final = Symbol("windows", integer=True, nonnegative=True)
CUT: Final = Symbol("cut", nonnegative=True)
LETTERS: Final = {"keep": "u", "block": "B", "windows": "n"}
LOCAL: Final = ("windows", "cut")
EVERY: Final = {"u": KEEP, "v": BLOCK, "m": WINDOWS}
RANGES: Final[dict[str, Variable]] = {
    "keep": real(0, 1, open_lo=True, open_hi=True),
    "block": real(0, Rational(9, 10)),
    "windows": integer(0, 6),
    "cut": real(0, 1),
}
Wrap = Callable[[Any], Any]


def weight(count: Any) -> Any:
    """``c_count``."""
    return convolution(KEEP, BLOCK, count, j)


def total(term: Any) -> Any:
    """Sum over the windows but the first whole one."""
    return Sum(term, (i, 0, WINDOWS - 1))


OWN = weight(i)
POWER = BLOCK**i
SQUARES = total(OWN**2)
PRODUCTS = total(OWN * POWER)
POWERS = total(POWER**2)
LAST = weight(WINDOWS) ** 2
TAIL = BLOCK ** (2 * WINDOWS)
GROWN = total((KEEP**2 - 1) * OWN**2 + 2 * KEEP * OWN * POWER + BLOCK ** (2 * i))


def of_squares() -> dict[str, Any]:
    """Give the instance of ``convolution-squares`` for the sum of c_i^2."""
    first = 1 - KEEP**2
    inside = 1 - KEEP * BLOCK
    return {
        "p": Integer(1),
        "r": Integer(0),
        "s": Integer(0),
        "a": 1 / first,
        "b": 2 * KEEP / (first * inside),
        "d": (1 + KEEP * BLOCK) / (inside * first * (1 - BLOCK**2)),
    }


def _of_products() -> dict[str, Any]:
    """Instance of ``convolution-squares`` for the sum of ``c_i B^i``."""
    inside = 1 - KEEP * BLOCK
    return {
        "p": Integer(0),
        "r": Integer(1),
        "s": Integer(0),
        "a": Integer(0),
        "b": 1 / inside,
        "d": BLOCK / (inside * (1 - BLOCK**2)),
    }


def telescoped(wrap: Wrap, form: dict[str, Any]) -> tuple[Step, ...]:
    """Telescope a sum. From ``wrap(the sum)`` to ``wrap(d - d B^(2 windows))``."""
    a, b, d = (form[name] for name in "abd")
    power = BLOCK**WINDOWS
    return (
        Step(
            wrap(d - a * LAST - b * weight(WINDOWS) * power - d * TAIL), "=", "convolution-squares", {**EVERY, **form}
        ),
        Step.within(wrap(d - a * HOLE**2 - b * HOLE * power - d * TAIL), Integer(0), "convolution-nonnegative", EVERY),
    )


def to_all(wrap: Wrap, first: Any) -> Step:
    """Go from ``wrap(first - first B^(2 windows))`` to ``wrap(first)``."""
    dropped = first * TAIL
    return Step(wrap(first), "<=", "drop-nonnegative", {"a": first - dropped, "b": dropped}, context=wrap(HOLE))


def _without_squares(wrap: Wrap, expression: Any, factor: Any) -> Step:
    """Drop ``factor`` times the sum of c_i^2, which is taken from ``expression``."""
    squared = factor * total(HOLE**2)
    return Step(
        wrap(expression), "<=", "convolution-nonnegative", {**EVERY, "m": i}, context=wrap(expression - squared)
    )


def _chain(name: str, start: Any, *steps: Step) -> Derivation:
    variables = {key: RANGES[key] for key in RANGES if Symbol(key) in {Symbol(s.name) for s in start.free_symbols}}
    bounds = tuple(s <= 1 for s in start.free_symbols if s == CUT)
    return Derivation(
        name, "ours", variables, (KEEP < 1, BLOCK < 1, *bounds), start, steps, local=LOCAL, letters=LETTERS
    )


def change() -> Derivation:
    """Derive the squared weights of the changes, ``(1-gamma) c_i`` in the windows but the first whole one."""
    around = (1 - BLOCK**2) * KEEP**2
    inside = 1 - KEEP * BLOCK
    form = of_squares()
    lead = KEEP / (1 - KEEP)

    def wrap(e: Any) -> Any:
        return around * e

    return _chain(
        "the weights of the changes",
        wrap(SQUARES),
        *telescoped(wrap, form),
        to_all(wrap, form["d"]),
        Step(lead * KEEP / (1 + KEEP) * (1 + KEEP * BLOCK) / inside, "="),
        Step.order(lead * HOLE * (1 + KEEP * BLOCK) / inside, KEEP / (1 + KEEP), Rational(1, 2)),
        Step.order(HOLE * (1 + HOLE * BLOCK) / (2 * (1 - KEEP) * (1 - HOLE * BLOCK)), KEEP, Integer(1)),
    )


def difference() -> Derivation:
    """Derive the squared weights of m_hat_t - m_t: ``c_(i+1) - c_i``, and c_n in the first whole window, times u."""
    around = (1 - BLOCK**2) * KEEP**2
    form = _of_products()
    moved = total((KEEP * OWN + POWER - OWN) ** 2)
    combined = 2 * PRODUCTS + 2 * POWERS
    loose = 4 * (1 - KEEP)

    def wrap(e: Any) -> Any:
        return around * e

    def whole(e: Any) -> Any:
        return wrap(2 * e + 2 * POWERS)

    bound = 2 * BLOCK / ((1 - KEEP * BLOCK) * (1 - BLOCK**2)) + 2 / (1 - BLOCK**2)
    return _chain(
        "the weights of the difference",
        wrap(total((weight(i + 1) - OWN) ** 2) + LAST),
        Step(wrap(moved + LAST), "=", "convolution-next", {"u": KEEP, "v": BLOCK, "m": i}),
        Step(wrap(moved + GROWN), "=", "convolution-increments", EVERY, context=wrap(moved + HOLE)),
        Step(wrap(combined - loose * PRODUCTS - 2 * KEEP * (1 - KEEP) * SQUARES), "="),
        _without_squares(wrap, combined - loose * PRODUCTS, 2 * KEEP * (1 - KEEP)),
        Step(
            wrap(combined),
            "<=",
            "convolution-nonnegative",
            {**EVERY, "m": i},
            context=wrap(combined - loose * total(HOLE * POWER)),
        ),
        *telescoped(whole, form),
        to_all(whole, form["d"]),
        Step(wrap(bound), "<=", "geometric-sum-bound", {"x": BLOCK**2, "m": WINDOWS - 1}),
        Step(2 * KEEP**2 * (1 + BLOCK * (1 - KEEP)) / (1 - KEEP * BLOCK), "="),
        Step(
            2 * (1 + BLOCK * (1 - KEEP)) * KEEP / (1 - KEEP * BLOCK),
            "<=",
            "order",
            {"a": KEEP, "b": Integer(1)},
            context=2 * KEEP * HOLE * (1 + BLOCK * (1 - KEEP)) / (1 - KEEP * BLOCK),
        ),
        Step.order(2 * HOLE / (1 - KEEP * BLOCK), KEEP * (1 + BLOCK * (1 - KEEP)), Integer(1)),
        Step(2 / (1 - BLOCK), "<=", "order", {"a": KEEP, "b": Integer(1)}),
    )


def estimate() -> Derivation:
    """Derive the squared weights ``gamma c_i``; ``cut`` is (1-alpha)^(2r), r steps before the first whole window."""
    inner = (1 - KEEP) ** 2 * SQUARES
    combined = 2 * KEEP * PRODUCTS + POWERS
    form = _of_products()
    ratio = (1 + BLOCK) / (1 - BLOCK)

    def wrap(inside: Any) -> Any:
        return (1 - BLOCK**2) * inside + TAIL

    def products(e: Any) -> Any:
        return wrap(2 * KEEP * e + POWERS)

    less = 2 * KEEP * (form["d"] - form["d"] * TAIL)
    return _chain(
        "the weights of the estimate",
        (1 - BLOCK**2) * (LAST + inner) + TAIL * (1 - CUT),
        Step.within(
            (1 - BLOCK**2) * (LAST + inner) + TAIL * HOLE, Integer(1), "drop-nonnegative", {"a": 1 - CUT, "b": CUT}
        ),
        Step(wrap(GROWN + inner), "=", "convolution-increments", EVERY, context=wrap(HOLE + inner)),
        Step(wrap(combined - 2 * KEEP * (1 - KEEP) * SQUARES), "="),
        _without_squares(wrap, combined, 2 * KEEP * (1 - KEEP)),
        *telescoped(products, form),
        Step(wrap(less + (1 - TAIL) / (1 - BLOCK**2)), "=", "geometric-sum", {"x": BLOCK**2, "m": WINDOWS}),
        Step((1 - TAIL) * (1 + KEEP * BLOCK) / (1 - KEEP * BLOCK) + TAIL, "="),
        Step.order((1 - TAIL) * (1 + HOLE * BLOCK) / (1 - HOLE * BLOCK) + TAIL, KEEP, Integer(1)),
        Step.order((1 - TAIL) * ratio + TAIL * HOLE, Integer(1), ratio),
        Step(ratio, "="),
    )
