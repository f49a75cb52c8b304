"""The numbers that formulas evaluate to, and a meter for the work of evaluating them.

Numbers are exact rationals if possible, and balls otherwise. Outside this package a rational is a
:class:`fractions.Fraction`; inside it is flint's ``fmpq``, which is ten times faster. A ball (``flint.arb``) is an
interval that certainly contains the true value.

Work is counted in parts of formulas, so that a limit means the same everywhere. A limit in seconds would give other
results on another machine. A part of a formula takes about a microsecond. A cached result is charged as if it were
computed, so that results do not depend on earlier computations of the process.
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
    """A formula has no value at a point, or no value that the evaluator can enclose."""


class DomainError(EvaluationError):
    """The point lies certainly outside the domain of the formula, as in a division by zero."""


class UndecidedError(EvaluationError):
    """Balls of this precision do not show whether the formula is defined; more bits may."""


class UnsupportedError(EvaluationError):
    """The value may exist, but no rigorous method for it is implemented (an unknown series, too many terms)."""


class Datum:
    """Base of the values of symbols that are not numbers: laws, vectors, sequences."""


class working_precision:  # noqa: N801  reads as a verb at its uses: with working_precision(bits)
    """Context manager that sets the precision of balls in bits."""

    # This is a class because a ``contextmanager`` generator takes four times as long,
    # and searches enter 10^5 blocks.
    __slots__ = ("before", "bits")

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def __enter__(self) -> None:
        self.before = ctx.prec
        ctx.prec = self.bits

    def __exit__(self, *_: object) -> None:
        ctx.prec = self.before


def exact_limit() -> int:
    """Return the size in bits above which a rational is rounded to a ball; it grows with the working precision."""
    return EXACT_BITS_PER_BIT * int(ctx.prec)


def to_value(number: Fraction | int | fmpq | arb) -> Value:
    """Convert a number to ``fmpq`` or ``arb`` without rounding."""
    if isinstance(number, (fmpq, arb)):
        return number
    if isinstance(number, (int, Fraction)):
        return fmpq(*number.as_integer_ratio())
    raise TypeError(
        f"a value must be a Fraction, an int or a ball, got {number!r} of type {type(number).__name__}."
    )


def to_exact(value: Value) -> Exact:
    """Convert an ``fmpq`` to a Fraction. A ball is returned unchanged."""
    return to_fraction(value) if isinstance(value, fmpq) else value


def to_fraction(value: fmpq) -> Fraction:
    """Convert a flint rational to a Fraction."""
    return Fraction(int(value.p), int(value.q))


def to_ball(value: Value) -> arb:
    """Enclose a value in a ball of the working precision."""
    return value if isinstance(value, arb) else arb(value)


def ball(number: Fraction | int | fmpq | arb) -> arb:
    """Convert any supported number to a ball of the working precision."""
    return to_ball(to_value(number))


def nearest_float(value: Exact) -> float:
    """Return the nearest float of a number, or of the midpoint of a ball."""
    return float(value.mid()) if isinstance(value, arb) else float(value)


def power(base: Fraction, exponent: int, max_bits: int = 1024) -> Value:
    """Raise a number in [0, 1] to a power; ``0**0 = 1``."""
    value = to_value(base)
    if exponent * base.denominator.bit_length() <= max_bits:
        return value**exponent
    return to_ball(value) ** exponent


def is_integer(value: Value) -> bool:
    """Test whether the value is an exact integer."""
    return isinstance(value, fmpq) and value.q == 1


def compare(left: Value, relation: str, right: Value) -> bool | None:
    """Decide a relation between two values. Return None if the balls overlap such that it is undecided."""
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
    """Return the conjunction of answers, of which None means undecided."""
    undecided = False
    for answer in answers:
        if answer is False:
            return False
        undecided = undecided or answer is None
    return None if undecided else True


T = TypeVar("T")

UNLIMITED = 10**12

_meters: list[Meter] = []  # open meters, the outermost first


class WorkLimitError(UnsupportedError):
    """The value may exist, but its computation takes more work than is left."""


class Meter:
    """A limit of work, and how much of it is left."""

    # number of meters opened in this process; a new
    # one invalidates cached neighbouring values
    opened = 0

    def __init__(self, limit: int) -> None:
        self.remaining = limit
        # results charged in this block; reusing them in it is free
        self.charged_results = set[tuple[object, ...]]()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the work inside the block. Work beyond what is left of any open meter raises a WorkLimitError."""
        _meters.append(self)
        Meter.opened += 1
        try:
            yield
        finally:
            _meters.pop()


def spend(parts: int) -> None:
    """Charge work to all open meters before it is done."""
    for meter in _meters:
        if parts > meter.remaining:
            raise WorkLimitError(
                f"a value that takes {parts} steps, where {max(meter.remaining, 0)} are left."
            )
    for meter in _meters:
        meter.remaining -= parts


# results with their work, by function and arguments
_charged: dict[tuple[object, ...], tuple[object, int]] = {}
_MOST_CHARGED = 1024


def charged(function: Callable[..., T], *arguments: object) -> T:
    """Compute a result and cache it. A cached result is charged as if it were computed, once per innermost meter.

    Results are not cached for arguments without a hash, such as inexact balls.
    """
    key = (function, *arguments)
    try:
        earlier = _charged.get(key)
    except (TypeError, ValueError):
        return function(*arguments)
    charged_results = _meters[-1].charged_results if _meters else set()
    if earlier is not None:
        value, work = earlier
        spend(0 if key in charged_results else work)
        charged_results.add(key)
        return cast("T", value)
    meter = Meter(UNLIMITED)
    with meter.running():
        result = function(*arguments)
    if len(_charged) >= _MOST_CHARGED:
        _charged.clear()
    _charged[key] = (result, UNLIMITED - meter.remaining)
    charged_results.add(key)
    return result


def counted(compute: Callable[[], T]) -> tuple[T, int]:
    """Compute a value outside all open meters. Return it with the work it took, which callers spend at each use."""
    outer = _meters[:]
    meter = Meter(UNLIMITED)
    _meters[:] = [meter]
    Meter.opened += 1
    try:
        return compute(), UNLIMITED - meter.remaining
    finally:
        _meters[:] = outer
