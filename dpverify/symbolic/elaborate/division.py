"""Division with remainder, as a proof writes it: ``T = epochs*N + rest``."""

from __future__ import annotations

import re

from dpverify.symbolic.derive.steps import Division

_NAME = "[A-Za-z][A-Za-z0-9_]*"
_DIVISION = re.compile(
    rf"(?P<letter>{_NAME}) = (?P<quotient>{_NAME})\*(?P<by>{_NAME}) \+ (?P<rest>{_NAME})"
    rf"(?:, (?P=quotient) >= (?P<least>\d+))?(?:, (?P=rest) >= (?P<first>\d+))?"
)


def read_division(text: str) -> Division | None:
    """Read a division; nothing where there is none, and a `ValueError` where it is written otherwise."""
    if not text:
        return None
    match = _DIVISION.fullmatch(" ".join(text.split()))
    if match is None:
        raise ValueError(f"a division is written as T = epochs*N + rest, or T = epochs*N + rest, epochs >= 1: {text}")
    letter, by, quotient, rest = (match[name] for name in ("letter", "by", "quotient", "rest"))
    return Division(letter, by, quotient, rest, first=int(match["first"] or 0), least=int(match["least"] or 0))
