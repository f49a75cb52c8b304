"""Where the variables of a derivation are sampled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any, Literal

from flint import fmpq

from dpverify.symbolic.exact.numbers import EvaluationError, Value, to_fraction
from dpverify.symbolic.expressions.data import Declared, numbers_of
from dpverify.symbolic.expressions.from_sympy import compile_expr

_TRIES_PER_POINT = 60


@dataclass(frozen=True)
class Range:
    """An interval of reals or integers. Points are drawn from it; proofs rest on assumptions and never use it."""

    kind: Literal["real", "integer"]  # ``real`` or ``integer``
    lo: Any  # ends; an expression may use variables that are declared before
    hi: Any
    open_lo: bool = False  # whether an end is left out (reals only)
    open_hi: bool = False

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Fraction:
        """Draw a rational: often an end or close to it, otherwise uniform or spread over the orders of magnitude."""
        lo: Fraction = _end(self.lo, point, upwards=True)
        hi: Fraction = _end(self.hi, point, upwards=False)
        if self.kind == "integer":
            return Fraction(_integer(rng, -(-lo // 1), hi // 1))
        return self._real(rng, lo, hi)

    def _real(self, rng: Random, lo: Fraction, hi: Fraction) -> Fraction:
        style = rng.random()
        width = hi - lo
        if style < 0.05 and not self.open_lo:
            return lo
        if style < 0.1 and not self.open_hi:
            return hi
        share = Fraction(rng.randint(1, 9998), 9999)
        if style < 0.3:
            return lo + width * share * Fraction(1, 10 ** rng.randint(1, 6))
        if style < 0.4:
            return hi - width * share * Fraction(1, 10 ** rng.randint(1, 6))
        if style < 0.7:
            small = rng.randint(2, 12)
            return lo + width * Fraction(rng.randint(1, small - 1), small)
        return lo + width * share


def _integer(rng: Random, lo: int, hi: int) -> int:
    style = rng.random()
    if hi - lo < 4 or style < 0.25:
        return rng.randint(lo, hi)
    if style < 0.45:
        return min(hi, lo + rng.randint(0, 3))
    if style < 0.5:
        return hi
    step = 1 << rng.randint(0, (hi - lo).bit_length() - 1)
    return min(hi, max(lo, lo + step + rng.choice((-1, 0, 0, 1, rng.randint(0, step)))))


def _end(end: Any, point: Mapping[str, Any], *, upwards: bool) -> Fraction:
    """Value of an end; an irrational one is rounded into the range, by less than a billionth of itself."""
    if isinstance(end, int | Fraction):
        return Fraction(end)
    value = compile_expr(end)(numbers_of(point), 64)
    if isinstance(value, fmpq):
        return to_fraction(value)
    mantissa, exponent = (value.upper() if upwards else value.lower()).man_exp()
    size = int(mantissa).bit_length() - 40
    rounded = -(-int(mantissa) >> size) if upwards else int(mantissa) >> size
    return Fraction(rounded) * Fraction(2) ** (size + int(exponent))


def real(lo: Any, hi: Any, *, open_lo: bool = False, open_hi: bool = False) -> Range:
    """Range of reals, closed unless said otherwise; see :class:`Range`."""
    return Range("real", lo, hi, open_lo, open_hi)


def integer(lo: Any, hi: Any) -> Range:
    """Range of integers, both ends included; see :class:`Range`."""
    return Range("integer", lo, hi)


Variable = Range | Declared


class Points:
    """Rational points of a domain at which all conditions are True, the same for the same seed."""

    def __init__(
        self, variables: Mapping[str, Variable], conditions: Iterable[Any], count: int, seed: int | str
    ) -> None:
        self.wanted = count
        self.found: list[dict[str, Any]] = []
        rng = Random(f"points {seed}")
        tests = tuple(conditions)
        for _ in range(count * _TRIES_PER_POINT):
            if len(self.found) == count:
                break
            point: dict[str, Any] = {}
            for name, variable in variables.items():
                point[name] = variable.draw(rng, point)
            env = numbers_of(point)
            if all(_holds(test, env) for test in tests):
                self.found.append(env)

    @property
    def enough(self) -> bool:
        """Whether as many points were found as were wanted."""
        return len(self.found) >= self.wanted


def _holds(test: Any, env: Mapping[str, Value]) -> bool:
    try:
        return test(dict(env)) is True
    except EvaluationError:
        return False
