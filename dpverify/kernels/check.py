"""Checks of arguments: each takes its value by keyword, so that the message cannot name the wrong variable."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_STEPS = 1 << 62  # Ends of intervals of steps stay below this, so that no sum of two of them leaves 64 bits


class ArgumentError(ValueError):
    """An argument outside its domain; ``str(error)`` is one line with variable, rule and value."""

    def __init__(self, variable: str, value: object, rule: str) -> None:
        self.variable, self.value, self.rule = variable, _short(value), rule
        super().__init__(f"{variable} {rule}, got {variable}={self.value}.")


def whole(least: int, most: int | None = None, /, **named: Any) -> int:
    """Take an integer (of Python or numpy, but no bool) in a range."""
    ((variable, value),) = named.items()
    upper = "" if most is None else f" and at most {most}"
    rule = f"must be an integer, at least {least}{upper}"
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(variable, value, rule) from None
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        raise ArgumentError(variable, value, rule)
    return number


def weight(**named: Any) -> float:
    """Take a number in (0, 1], such as the momentum weight alpha."""
    return _number(named, "must lie in (0, 1]", lambda x: 0.0 < x <= 1.0)


def proportion(**named: Any) -> float:
    """Take a number in [0, 1], such as the cross-batch weight gamma."""
    return _number(named, "must lie in [0, 1]", lambda x: 0.0 <= x <= 1.0)


def positive(**named: Any) -> float:
    """Take a finite number above 0."""
    return _number(named, "must be finite and above 0", lambda x: 0.0 < x < math.inf)


def not_negative(**named: Any) -> float:
    """Take a finite number of at least 0."""
    return _number(named, "must be finite and at least 0", lambda x: 0.0 <= x < math.inf)


def array(*shape: int | None, **named: Any) -> NDArray[np.float64]:
    """Take a finite array of a given shape, as contiguous float64.

    The value itself where it already is such an array, else a copy.
    """
    ((variable, value),) = named.items()
    lengths = ", ".join("any" if length is None else str(length) for length in shape)
    required_shape = f"({lengths},)" if len(shape) == 1 else f"({lengths})"
    try:
        result = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(variable, value, f"must be an array of numbers of shape {required_shape}") from None
    fits = np.ndim(value) == len(shape) and all(
        have == want or (want is None and have > 0) for have, want in zip(result.shape, shape, strict=True)
    )
    if not fits:
        raise ArgumentError(variable, f"an array of shape {np.shape(value)}", f"must have shape {required_shape}")
    if not np.isfinite(result).all():
        place = np.unravel_index(int(np.argmin(np.isfinite(result))), result.shape)
        where = ", ".join(str(int(index)) for index in place)
        raise ArgumentError(variable, f"{result[place]} at [{where}]", "must be finite everywhere")
    return result


def room(*shape: int, apart: Iterable[NDArray[Any]] = (), **named: Any) -> NDArray[np.float64]:
    """Take an array that can receive a result while those of ``apart`` are read; None makes a new one."""
    ((variable, value),) = named.items()
    if value is None:
        return np.empty(shape)
    if not isinstance(value, np.ndarray) or value.shape != shape or value.dtype != np.float64:
        raise ArgumentError(variable, _form(value), f"must be an array of float64 of shape {shape}")
    if not (value.flags.c_contiguous and value.flags.aligned and value.flags.writeable):
        raise ArgumentError(variable, _form(value), "must be contiguous, aligned and writeable")
    if any(np.may_share_memory(value, operand) for operand in apart):
        raise ArgumentError(variable, _form(value), "must not share memory with what is read")
    return value


def memory(floats: int, **named: int) -> None:
    """Refuse sizes whose arrays cannot fit in this machine's memory, before anything is allocated."""
    have = physical_bytes()
    if 8 * floats > have:
        sizes = ", ".join(f"{variable}={value}" for variable, value in named.items())
        rule = f"must fit in memory: {8 * floats / 1e9:.3g} GB are needed, the machine has {have / 1e9:.3g} GB"
        raise ArgumentError(" and ".join(named), f"({sizes})", rule)


def physical_bytes() -> int:
    """Tell how much memory the machine has. Bytes; where the system does not say, what 48 bits of address can reach."""
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
    return f"an array of {value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."
