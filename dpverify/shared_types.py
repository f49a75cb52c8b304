"""Types that every layer may use. This module imports only the standard library."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final, Literal, TypeAlias

Ordering: TypeAlias = Literal["fresh", "once"]
"""Order of the examples: a new permutation in each epoch, or one permutation for all epochs."""

ORDERINGS: Final[tuple[Ordering, ...]] = ("fresh", "once")

Values: TypeAlias = dict[str, int | str | Fraction]
"""A point of a claim's domain: the value of each symbol, as a number or as text such as ``1/100``."""

ReportProgress: TypeAlias = Callable[[int, int, str], None]
"""``report(done, total, label)``: called after each piece of work."""
