"""Argument checks. Each check takes its value by keyword, so that the error message names the right variable."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# upper bound on step numbers, so that the sum of two of them fits in 64 bits
MOST_STEPS = 1 << 62


class ArgumentError(ValueError):
    """An argument is outside its domain; ``str(error)`` is one line with the variable, the rule and the value."""

    def __init__(self, variable: str, value: object, rule: str) -> None:
        self.variable, self.value, self.rule = variable, _short(value), rule
        super().__init__(f"{variable} {rule}, got {variable}={self.value}.")


def whole(least: int, most: int | None = None, /, **named: Any) -> int:
    """Return an integer in a range (a Python or numpy integer, not a bool), or raise an ArgumentError."""
    ((variable, value),) = named.items()
    upper = "" if most is None else f" and at most {most}"
    rule = f"must be an integer, at least {least}{upper}"
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(variable, value, rule) from None
    if (
        isinstance(value, bool)
        or number < least
        or (most is not None and number > most)
    ):
        raise ArgumentError(variable, value, rule)
    return number


def weight(**named: Any) -> float:
    """Return a number in (0, 1], such as the momentum weight alpha."""
    return _number(named, "must lie in (0, 1]", lambda x: 0.0 < x <= 1.0)


def proportion(**named: Any) -> float:
    """Return a number in [0, 1], such as the cross-batch weight gamma."""
    return _number(named, "must lie in [0, 1]", lambda x: 0.0 <= x <= 1.0)


def positive(**named: Any) -> float:
    """Return a finite number above 0."""
    return _number(named, "must be finite and above 0", lambda x: 0.0 < x < math.inf)


def not_negative(**named: Any) -> float:
    """Return a finite number that is at least 0."""
    return _number(
        named, "must be finite and at least 0", lambda x: 0.0 <= x < math.inf
    )


def array(*shape: int | None, **named: Any) -> NDArray[np.float64]:
    """Return a finite array of the given shape as contiguous float64.

    The array is copied only if it does not already have this form. None in ``shape`` allows any positive length.
    """
    ((variable, value),) = named.items()
    lengths = ", ".join("any" if length is None else str(length) for length in shape)
    required_shape = f"({lengths},)" if len(shape) == 1 else f"({lengths})"
    try:
        result = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(
            variable, value, f"must be an array of numbers of shape {required_shape}"
        ) from None
    fits = np.ndim(value) == len(shape) and all(
        have == want or (want is None and have > 0)
        for have, want in zip(result.shape, shape, strict=True)
    )
    if not fits:
        raise ArgumentError(
            variable,
            f"an array of shape {np.shape(value)}",
            f"must have shape {required_shape}",
        )
    if not np.isfinite(result).all():
        place = np.unravel_index(int(np.argmin(np.isfinite(result))), result.shape)
        where = ", ".join(str(int(index)) for index in place)
        raise ArgumentError(
            variable, f"{result[place]} at [{where}]", "must be finite everywhere"
        )
    return result


def output_array(
    *shape: int, inputs: Iterable[NDArray[Any]] = (), **named: Any
) -> NDArray[np.float64]:
    """Return an output array that shares no memory with the arrays in ``apart``; None allocates a new array."""
    ((variable, value),) = named.items()
    if value is None:
        return np.empty(shape)
    if (
        not isinstance(value, np.ndarray)
        or value.shape != shape
        or value.dtype != np.float64
    ):
        raise ArgumentError(
            variable, _form(value), f"must be an array of float64 of shape {shape}"
        )
    if not (value.flags.c_contiguous and value.flags.aligned and value.flags.writeable):
        raise ArgumentError(
            variable, _form(value), "must be contiguous, aligned and writeable"
        )
    if any(np.may_share_memory(value, operand) for operand in inputs):
        raise ArgumentError(
            variable, _form(value), "must not share memory with what is read"
        )
    return value


def memory(floats: int, **named: int) -> None:
    """Raise an ArgumentError if arrays of these sizes cannot fit in this machine's memory."""
    have = physical_bytes()
    if 8 * floats > have:
        sizes = ", ".join(f"{variable}={value}" for variable, value in named.items())
        rule = f"must fit in memory: {8 * floats / 1e9:.3g} GB are needed, the machine has {have / 1e9:.3g} GB"
        raise ArgumentError(" and ".join(named), f"({sizes})", rule)


def physical_bytes() -> int:
    """Return the machine's memory in bytes, or 2^48 if the operating system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 48


def _number(named: dict[str, Any], rule: str, fits: Callable[[float], bool]) -> float:
    ((variable, value),) = named.items()
    try:
        if isinstance(value, str | bytes | bool):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(variable, value, rule) from None
    if not fits(number):
        raise ArgumentError(variable, number, rule)
    return number


def _form(value: object) -> str:
    return (
        f"an array of {value.dtype} of shape {value.shape}"
        if isinstance(value, np.ndarray)
        else repr(value)
    )


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."
