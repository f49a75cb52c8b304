"""Numbers as text: short exact numbers in full, floats with few digits."""

from __future__ import annotations

import math

from dpverify.ledger.check_results import Number, Slack

NEAR_ONE = 1e-8  # a number nearer to 1 is shown by its difference from 1
# characters; a longer exact number is shown as a float (the JSON has the exact number)
SHORT = 12


def to_float(number: Number) -> float:
    """Return the number as a float. Infinities and NaN are read from their strings."""
    return float(number.float)


def show_float(value: float, digits: int = 4) -> str:
    """Return a float with ``digits`` digits, or more if it would look like 1: ``0.4286``, ``1.2e-6``, ``∞``."""
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 10**6:
        return str(int(value))
    text = next(
        (
            t
            for precision in range(digits, 18)
            if float(t := f"{value:.{precision}g}") != 1
        ),
        "1",
    )
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else text


def show(number: Number, digits: int = 4) -> str:
    """Return the exact number if it is a short integer, otherwise the float."""
    if number.exact is not None and "/" not in number.exact and len(number.exact) <= 12:
        return number.exact
    return show_float(to_float(number), digits)


def show_side(number: Number, digits: int = 4) -> str:
    """Return a side of a counterexample: ``3/7`` if the fraction is short, ``≈0.4286`` if it is long or a float."""
    exact = number.exact
    if exact is not None and len(exact) <= SHORT and not _is_float(exact):
        return exact
    value = show_float(to_float(number), digits)
    return f"≈{value}" if math.isfinite(to_float(number)) else value


def readable_side(side: str) -> str:
    """Return a shorter text of a side: ``1e-6`` for 1/1000000, ``≈1 - 1e-16`` for a float close to 1."""
    above, _, below = side.partition("/")
    if len(below) > 2 and below.strip("0") == "1":
        return show_float(int(above) / int(below), SHORT)
    off = float(side[1:]) - 1 if side.startswith("≈") else 0.0
    return (
        f"≈1 {'+' if off > 0 else '-'} {show_float(abs(off), 1)}"
        if 0 < abs(off) < NEAR_ONE
        else side
    )


def _is_float(exact: str) -> bool:
    """Test whether a fraction comes from a float: its denominator is a large power of two."""
    below = int(exact.partition("/")[2] or 1)
    return below > 2**10 and below & (below - 1) == 0


# a slack outside this range shows only that a bound is false or very loose
INFORMATIVE = (1e-3, 1e6)


def is_informative(value: Number) -> bool:
    """Test whether a slack is in the informative range ``INFORMATIVE``."""
    return INFORMATIVE[0] <= to_float(value) <= INFORMATIVE[1]


def show_slack(slack: Slack | None) -> str:
    """Return ``smallest / typical`` (only the smallest if they agree), or "" without an informative slack."""
    if slack is None or not is_informative(slack.min):
        return ""
    smallest = show(slack.min)
    typical = show(slack.typical, 3)
    is_different = (
        typical != smallest
        and abs(to_float(slack.typical) - to_float(slack.min)) > NEAR_ONE
    )
    return (
        f"{smallest} / {typical}"
        if is_informative(slack.typical) and is_different
        else smallest
    )


def show_count(number: int) -> str:
    """Return an integer with its digits in groups of three: ``12 000``."""
    return f"{number:,}".replace(",", "\u2009")


def show_point(parameters: dict[str, Number], *, exact: bool = False) -> str:
    """Return a point as text, such as ``N=1, T=3, alpha=1/2``.

    Long exact numbers are shown as floats, unless ``exact`` is set and all numbers are exact.
    """
    if exact and all(number.exact for number in parameters.values()):
        return ", ".join(
            f"{name}={number.exact}" for name, number in sorted(parameters.items())
        )
    values = (
        (name, show_side(number, 6).removeprefix("≈"))
        for name, number in sorted(parameters.items())
    )
    return ", ".join(f"{name}={value}" for name, value in values)


def ratio(lhs: Number, rhs: Number) -> float:
    """Return the left side divided by the right side as a float, or infinity if the right side is zero."""
    top = to_float(lhs)
    bottom = to_float(rhs)
    if bottom == 0:
        return math.nan if top == 0 else math.copysign(math.inf, top)
    return math.nan if math.isinf(top) and math.isinf(bottom) else top / bottom
