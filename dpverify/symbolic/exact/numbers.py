"""The numbers that formulas evaluate to, and a meter of the work that evaluating them takes.

Numbers are exact rationals while that is possible, balls otherwise. Outside this package a rational is a
:class:`fractions.Fraction`; inside it is flint's ``fmpq``, which is ten times faster. A ball (``flint.arb``) is an
interval that certainly contains the true value.

Work is counted in parts of formulas, so that a limit means the same everywhere. A limit in seconds would give other
results on another machine. A part of a formula takes about a microsecond. What is cached is charged as if it were
computed, for what a process computed before must not change a result either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Final, TypeAlias, TypeVar, cast

from flint import arb, ctx, fmpq

Exact: TypeAlias = Fraction | arb
Value: TypeAlias = fmpq | arb

ZERO: Final = fmpq(0)
ONE: Final = fmpq(1)
OO: Final = arb.pos_inf()
MAX_BITS: Final = 2048
EXACT_BITS_PER_BIT: Final = 64


class EvaluationError(ArithmeticError):
    """A formula has no value at a point, or none that we can enclose."""


class DomainError(EvaluationError):
    """The point lies certainly outside the domain of the formula, as in a division by zero."""


class UndecidedError(EvaluationError):
    """Balls of this precision do not show whether the formula is defined; more bits may."""


class UnsupportedError(EvaluationError):
    """The value exists, perhaps, but we know no certain way to it (an unknown series, too many terms)."""


class Datum:
    """Base of the values of symbols that are not numbers: laws, vectors, sequences."""


class working_precision:  # noqa: N801  reads as a verb at its uses: with working_precision(bits)
    """Round balls to some bits inside the block."""

    # A class, for a generator made a context manager takes four times as long, and searches enter 10^5 blocks.
    __slots__ = ("before", "bits")

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def __enter__(self) -> None:
        self.before = ctx.prec
        ctx.prec = self.bits

    def __exit__(self, *_: object) -> None:
        ctx.prec = self.before


def exact_limit() -> int:
    """Size in bits above which a rational is rounded to a ball; it grows with the working precision."""
    return EXACT_BITS_PER_BIT * int(ctx.prec)


def to_value(number: Fraction | int | fmpq | arb) -> Value:
    """Convert a number from outside to the package's own type, without rounding."""
    if isinstance(number, (fmpq, arb)):
        return number
    if isinstance(number, (int, Fraction)):
        return fmpq(*number.as_integer_ratio())
    raise TypeError(f"a value must be a Fraction, an int or a ball, got {number!r} of type {type(number).__name__}.")


def to_exact(value: Value) -> Exact:
    """Convert back: a rational becomes a Fraction, a ball stays one."""
    return to_fraction(value) if isinstance(value, fmpq) else value


def to_fraction(value: fmpq) -> Fraction:
    """Convert a flint rational to a Fraction."""
    return Fraction(int(value.p), int(value.q))


def to_ball(value: Value) -> arb:
    """Enclose a value in a ball of the working precision."""
    return value if isinstance(value, arb) else arb(value)


def ball(number: Fraction | int | fmpq | arb) -> arb:
    """Enclose a number from outside in a ball of the working precision."""
    return to_ball(to_value(number))


def nearest_float(value: Exact) -> float:
    """Round a number to a float, a ball at its midpoint."""
    return float(value.mid()) if isinstance(value, arb) else float(value)


def power(base: Fraction, exponent: int, most_bits: int = 1024) -> Value:
    """Raise a number in [0, 1] to a power; ``0**0 = 1``."""
    value = to_value(base)
    if exponent * base.denominator.bit_length() <= most_bits:
        return value**exponent
    return to_ball(value) ** exponent


def is_integer(value: Value) -> bool:
    """Whether the value is an exact integer."""
    return isinstance(value, fmpq) and value.q == 1


def compare(left: Value, relation: str, right: Value) -> bool | None:
    """Decide a relation between two values; None if the balls overlap in a way that leaves it open."""
    if relation == "<=":
        return True if left <= right else (False if left > right else None)
    if relation == ">=":
        return True if left >= right else (False if left < right else None)
    if relation == "<":
        return True if left < right else (False if left >= right else None)
    if relation == ">":
        return True if left > right else (False if left <= right else None)
    if relation in {"=", "=="}:
        if left < right or left > right:
            return False
        return True if left <= right and left >= right else None
    raise ValueError(f"relation must be one of < <= > >= = ==, got {relation!r}.")


def conjunction(answers: Iterable[bool | None]) -> bool | None:
    """Join answers by "and", where None is undecided."""
    undecided = False
    for answer in answers:
        if answer is False:
            return False
        undecided = undecided or answer is None
    return None if undecided else True


T = TypeVar("T")

UNLIMITED = 10**12

_meters: list[Meter] = []  # those that are open, the outermost first


class WorkLimitError(UnsupportedError):
    """The value exists, perhaps, but to compute it takes more work than is left."""


class Meter:
    """Work that is left of a limit."""

    opened = 0  # how many were opened in this process: what is kept of neighbouring values begins anew with each

    def __init__(self, limit: int) -> None:
        self.left = limit
        self.paid = set[tuple[object, ...]]()  # what was computed in the block: to use it again there is free

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the work inside the block; more than is left of any open meter is a WorkLimitError."""
        _meters.append(self)
        Meter.opened += 1
        try:
            yield
        finally:
            _meters.pop()


def spend(parts: int) -> None:
    """Take work from all open meters before it is done."""
    for meter in _meters:
        if parts > meter.left:
            raise WorkLimitError(f"a value that takes {parts} steps, where {max(meter.left, 0)} are left.")
    for meter in _meters:
        meter.left -= parts


_charged: dict[tuple[object, ...], tuple[object, int]] = {}  # results with their work, by function and arguments
_MOST_CHARGED = 1024


def charged(function: Callable[..., T], *arguments: object) -> T:
    """Compute under all open meters, and charge the same work again where a result is used inside of another meter.

    Arguments without a hash, such as balls that are not exact, are computed anew.
    """
    key = (function, *arguments)
    try:
        earlier = _charged.get(key)
    except (TypeError, ValueError):
        return function(*arguments)
    paid = _meters[-1].paid if _meters else set()
    if earlier is not None:
        value, work = earlier
        spend(0 if key in paid else work)
        paid.add(key)
        return cast("T", value)
    meter = Meter(UNLIMITED)
    with meter.running():
        result = function(*arguments)
    if len(_charged) >= _MOST_CHARGED:
        _charged.clear()
    _charged[key] = (result, UNLIMITED - meter.left)
    paid.add(key)
    return result


def counted(compute: Callable[[], T]) -> tuple[T, int]:
    """Compute a value apart from all open meters, and how much work it took: to be spent each time it is used."""
    outer = _meters[:]
    meter = Meter(UNLIMITED)
    _meters[:] = [meter]
    Meter.opened += 1
    try:
        return compute(), UNLIMITED - meter.left
    finally:
        _meters[:] = outer
