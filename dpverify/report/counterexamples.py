"""Counterexamples as text for pages and terminals: select informative ones, and show both sides if they help."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from dpverify.ledger.check_results import AmendmentResult, Counterexample
from dpverify.ledger.results import Result
from dpverify.report import markdown as md
from dpverify.report.collect import counterexamples
from dpverify.report.numbers import (
    ratio,
    readable_side,
    show_float,
    show_point,
    show_side,
    to_float,
)

KINDS = {
    "practical": "at a practical size",
    "smallest": "smallest",
    "interior": "away from boundaries",
    "largest-ratio": "largest ratio",
}
SENTENCES = {  # how the line of a counterexample begins
    "practical": "At a practical size",
    "smallest": "Smallest counterexample",
    "interior": "Away from boundaries",
    "largest-ratio": "Largest ratio",
}
ORDER = (*KINDS,)

# if both kinds exist, the other kinds are left out
PREFERRED_KINDS = ("smallest", "practical")
# a search at practical sizes needs at least one of these letters
SIZES = {"N", "n", "T", "epsilon"}
# only ratios of sides above this are shown; smaller ratios are obvious from the sides
MIN_RATIO = 2.0
MAX_SHOWN = 2  # counterexamples per statement that are shown; the data has the others
_RELATION = re.compile(r" (?:<=|>=|=|<|>) ")
_LETTER = re.compile("[A-Za-z]")
CLOSE_DIFFERENCE = 1e-7  # sides with a smaller relative difference count as close
LIMIT_VALUE = 1e30  # a larger parameter represents a limit
# the largest ratio is shown only if all numbers
# are between the inverse of this and this
MAX_PLAIN = 1e9


def is_limit(example: Counterexample) -> bool:
    """Test whether a counterexample describes a limit: with exponents as parameters, or with huge parameters."""
    beyond = (
        abs(to_float(number)) > LIMIT_VALUE for number in example.parameters.values()
    )
    return any(name.startswith("exponent_of_") for name in example.parameters) or any(
        beyond
    )


def informative(source: Result | AmendmentResult) -> list[Counterexample]:
    """Return the counterexamples to show, each point once.

    Close sides, and a largest ratio at absurdly large or small numbers, are left out if there are better examples.
    """
    examples = counterexamples(source)
    clear = [example for example in examples if not _is_close(example)] or examples
    # sides may agree as floats
    clear = [
        example for example in clear if example.note or has_sides(example)
    ] or clear
    ordered = sorted(clear, key=lambda example: ORDER.index(example.kind))
    distinct = {
        (show_point(e.parameters), e.note): e
        for e in reversed(ordered)
        if not _is_contained(e, ordered)
    }.values()
    plain = [
        example
        for example in distinct
        if example.kind != "largest-ratio" or _is_plain(example)
    ]
    preferred = [example for example in plain if example.kind in PREFERRED_KINDS]
    preferred = preferred or [
        example for example in plain if example.kind != "largest-ratio"
    ]
    chosen = sorted(
        preferred if len(preferred) > 1 else plain or distinct,
        key=lambda example: ORDER.index(example.kind),
    )
    practical = [example for example in chosen if example.kind == "practical"][:1]
    return (
        practical
        + [example for example in chosen if example.kind != "practical"][
            : MAX_SHOWN - len(practical)
        ]
    )


def _is_close(example: Counterexample) -> bool:
    """Test whether the sides differ only in late digits, and there is no note."""
    left = to_float(example.lhs)
    right = to_float(example.rhs)
    return (
        not example.note
        and left != 0
        and abs(left - right) < CLOSE_DIFFERENCE * abs(left)
    )


def _is_contained(example: Counterexample, candidates: list[Counterexample]) -> bool:
    """Test whether another example of the same kind has the same sides with fewer parameters."""
    same = (
        candidate
        for candidate in candidates
        if (candidate.kind, candidate.lhs, candidate.rhs)
        == (example.kind, example.lhs, example.rhs)
    )
    return any(
        candidate.parameters.items() < example.parameters.items() for candidate in same
    )


def _shows_ratio(example: Counterexample, quotient: float) -> bool:
    """Test whether the ratio of the sides is worth showing."""
    return math.isfinite(quotient) and (
        quotient > MIN_RATIO or (quotient > 0 and example.kind == "practical")
    )


def _is_plain(example: Counterexample) -> bool:
    numbers = [
        *map(to_float, example.parameters.values()),
        to_float(example.lhs),
        to_float(example.rhs),
    ]
    return all(
        value == 0 or 1 / MAX_PLAIN <= abs(value) <= MAX_PLAIN for value in numbers
    )


def has_sides(example: Counterexample) -> bool:
    """Test whether both sides are worth showing: they are different numbers, and not exponents given in a note."""
    values = to_float(example.lhs), to_float(example.rhs)
    return (
        not any(map(math.isnan, values))
        and values[0] != values[1]
        and not (example.note and is_limit(example))
    )


def sides(example: Counterexample) -> tuple[str, str]:
    """Return both sides, with enough digits to tell them apart; empty texts if they are not worth showing."""
    if not has_sides(example):
        return "", ""
    pairs = (
        (show_side(example.lhs, digits), show_side(example.rhs, digits))
        for digits in range(4, 18)
    )
    left, right = next(
        (two for two in pairs if two[0] != two[1]),
        (str(example.lhs.float), str(example.rhs.float)),
    )
    return readable_side(left), readable_side(right)


MAX_NAME = 48  # characters of a formula that is written before its value
NO_NAMES = ("left", "right")
# names of the left and the right side, by kind of claim, for upper bounds
SIDE_NAMES = {
    "dp": ("the true delta", "the promised one"),
    "rdp": ("the true divergence", "the promised one"),
    "sensitivity": ("the true sensitivity", "the printed one"),
    "expectation-bound": ("the true value", "the printed bound"),
    "utility-rate": ("the true value", "the printed bound"),
    "count": ("the true number", "the printed one"),
}


def meaning_words(example: Counterexample, kind: str) -> str:
    """Return the ratio of the sides in words for a practical counterexample to an upper bound, else an empty text."""
    quotient = ratio(example.lhs, example.rhs)
    if (
        example.kind != "practical"
        or not has_sides(example)
        or not 1 < quotient < math.inf
    ):
        return ""
    measured, printed = SIDE_NAMES.get(kind, ("the left side", "the right side"))
    return f"{measured} is {show_float(quotient)} times {printed}"


def side_names(
    source: Result | AmendmentResult, write: Callable[[str], str] = str
) -> tuple[str, str]:
    """Return names for both sides: the formula or the quantity, or "left" and "right" if it is long or a number.

    ``write`` typesets a formula.
    """
    text = (
        source.display[0].text if source.display and not source.display[0].word else ""
    )
    parts = _RELATION.split(text, maxsplit=1)
    if len(parts) != len(NO_NAMES):
        return NO_NAMES
    left, right = (
        f"{write(formula)} ="
        if len(formula) <= MAX_NAME and _LETTER.search(formula)
        else plain
        for formula, plain in zip(parts, NO_NAMES, strict=True)
    )
    return left, right


def example_words(
    example: Counterexample,
    names: tuple[str, str] = NO_NAMES,
    *,
    meaning: str = "",
    markdown: bool = False,
) -> str:
    """Return a counterexample in one line: the point, and both sides with their names and meaning, or its note."""
    quoted, plain = (md.code, md.explanation) if markdown else (str, str)
    point = (
        f"at {quoted(show_point(example.parameters))}: " if example.parameters else ""
    )
    if example.note and is_limit(example):
        return f"in the limit {plain(example.note)}"
    left, right = sides(example)
    explanation = f" ({meaning})" if meaning and left else ""
    values = f"{names[0]} {left}, {names[1]} {right}{explanation}".replace("= ≈", "≈ ")
    return point + (values if left else plain(example.note))


def counterexample_list(source: Result | AmendmentResult) -> str:
    """Return the counterexamples as a list: for each its kind, its point, both sides with their ratio, and its note."""
    of = source.claim.partition(":")[2] if isinstance(source, Result) else ""
    kind = source.kind if isinstance(source, Result) else ""
    return md.bullets(_sentence(example, of, kind) for example in informative(source))


def none_at_run_line(result: Result, budget: str) -> str:
    """Return a sentence if a search at practical sizes found no counterexample although others exist; else nothing.

    Such a search runs if both sides are formulas and one of the letters ``SIZES`` occurs, at every budget but smoke.
    """
    lines = [line for line in result.display if line.word in ("where", "measured:")]
    letters = {line.text.split()[0] for line in lines if line.word == "where"}
    looked = any(
        check.method == "search" and check.status == "refuted"
        for check in result.checks
    )
    formulas = bool(result.latex) and all(line.word != "measured:" for line in lines)
    has_practical = any(
        example.kind == "practical" for example in result.counterexamples
    )
    if (
        has_practical
        or budget == "smoke"
        or not (looked and formulas and letters & SIZES)
    ):
        return ""
    return "A search for a counterexample at practical sizes found none."


def _sentence(example: Counterexample, claim: str, kind_of_claim: str = "") -> str:
    limit, (left, right) = is_limit(example), sides(example)
    by_exponents = any(name.startswith("exponent_of_") for name in example.parameters)
    point = md.code(show_point(example.parameters))
    where = (
        ""
        if by_exponents or not example.parameters
        else f"{' at' if limit else ','} {point}"
    )
    if example.kind == "practical" and claim:
        replayed = f'dpverify explain {claim} --at "{show_point(example.parameters, exact=True)}"'
        where = f", {md.code(replayed)}"
    quotient = ratio(example.lhs, example.rhs)
    explanation = meaning_words(example, kind_of_claim)
    times = (
        f" ({show_float(quotient)} times)"
        if left and not explanation and _shows_ratio(example, quotient)
        else ""
    )
    sides_text = f": {left} against {right}{times}" if left else ""
    sides_text += f"; {explanation}" if explanation else ""
    kind = "In the limit" if limit else SENTENCES[example.kind]
    return f"{kind}{where}{sides_text}{f'; {md.explanation(example.note)}' if example.note else ''}.".replace(
        "..", "."
    )
