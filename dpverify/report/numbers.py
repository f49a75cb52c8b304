"""Numbers in words: exact where they are exact, with few digits where they are not."""

from __future__ import annotations

import math

from dpverify.ledger.results import Counterexample, Number, Slack

LONGEST_EXACT = 40  # characters; a longer exact number is shown by its float; the whole of it is in the JSON


def to_float(number: Number) -> float:
    """The number as a float; infinities and NaN come back from their strings."""
    return float(number.float)


def show_float(value: float, digits: int = 4) -> str:
    """A float with ``digits`` significant digits, more where it would look like 1: ``0.4286``, ``1.2e-6``, ``∞``."""
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 10**6:
        return str(int(value))
    text = next((t for more in range(digits, 18) if float(t := f"{value:.{more}g}") != 1), "1")
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else text


def show(number: Number, digits: int = 4) -> str:
    """The shortest honest form: the exact number where it is a short integer, else the float."""
    if number.exact is not None and "/" not in number.exact and len(number.exact) <= 12:
        return number.exact
    return show_float(to_float(number), digits)


def show_both(number: Number) -> str:
    """Exact and float: ``3/7 ≈ 0.4286``; ``5``; ``≈ 0.4286`` where no exact form is known."""
    value = show_float(to_float(number), 6)
    if number.exact is None:
        return f"≈ {value}" if math.isfinite(to_float(number)) else value
    if len(number.exact) > LONGEST_EXACT:
        return f"≈ {value} (exact in the data)"
    return number.exact if number.exact == value else f"{number.exact} ≈ {value}"


def show_slack(slack: Slack | None) -> str:
    """``smallest / typical``, or "" where there is no slack."""
    return f"{show(slack.min)} / {show(slack.typical, 3)}" if slack else ""


def show_count(number: int) -> str:
    """An integer with its digits in threes: ``12 000``."""
    return f"{number:,}".replace(",", "\u2009")


def show_point(parameters: dict[str, Number]) -> str:
    """A point, as ``N = 1, T = 3, alpha = 1/2``."""
    parts = []
    for name, number in sorted(parameters.items()):
        short = number.exact is not None and len(number.exact) <= LONGEST_EXACT
        parts.append(f"{name} = {number.exact if short else show_float(to_float(number), 6)}")
    return ", ".join(parts)


def ratio(lhs: Number, rhs: Number) -> float:
    """Left side divided by right side, as floats; infinite where the right side is zero."""
    top, bottom = to_float(lhs), to_float(rhs)
    if bottom == 0:
        return math.nan if top == 0 else math.copysign(math.inf, top)
    return math.nan if math.isinf(top) and math.isinf(bottom) else top / bottom


def show_sides(example: Counterexample) -> str:
    """Both sides of a counterexample; for a statement in words, which has none, what is wrong there."""
    if example.note and {str(example.lhs.float), str(example.rhs.float)} == {"nan"}:
        return example.note
    return f"left {show_both(example.lhs)}, right {show_both(example.rhs)}"
