"""Which statement of a claim is meant: printed or amended, and under which of its readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from dpverify.ledger import ClaimSpec
from dpverify.ledger.display import display
from dpverify.ledger.statements import Statement, Variant


def chosen_statement(spec: ClaimSpec, variant: Variant, reading: Mapping[str, str]) -> Statement:
    """The statement of a claim that is asked for; a ValueError says what there is to choose from.

    A reading that is not named is the first one, if it makes no difference; else it must be named.
    """
    if variant not in get_args(Variant):
        raise ValueError(f"variant must be one of {', '.join(get_args(Variant))}, got variant={variant!r}.")
    spec.complete(reading)  # complains of an unknown reading
    fitting = [complete_reading for complete_reading in spec.readings() if reading.items() <= complete_reading.items()]
    statements = [
        spec.statement(complete_reading, variant)
        for complete_reading in fitting
        if variant in _variants(spec, complete_reading)
    ]
    if not statements:
        offered = ", ".join(
            f"{name}{_listed(complete_reading)}"
            for complete_reading in spec.readings()
            for name in _variants(spec, complete_reading)
        )
        raise ValueError(f"{spec.key}: no {variant} statement is recorded{_listed(reading)}; available: {offered}.")
    different = {(*_without_reading(statement), _judged(spec, statement)) for statement in statements}
    if len(different) > 1:
        names = [offered_reading for offered_reading in spec.record.reading if offered_reading.name not in reading]
        choices = "; ".join(
            f"{offered_reading.name} = {' or '.join(offered_reading.choices)} ({offered_reading.meaning})"
            for offered_reading in names
        )
        raise ValueError(f"{spec.key}: its readings differ, choose one by keyword: {choices}.")
    return statements[0]


def _variants(spec: ClaimSpec, reading: Mapping[str, str]) -> Iterator[Variant]:
    """What there is of a claim under a reading."""
    verdict = spec.verdict(reading)
    yield "printed"
    if verdict is not None and verdict.amendment is not None:
        yield "amended"
    if verdict is not None and verdict.holds is not None:
        yield "held"


def _without_reading(statement: Statement) -> Iterator[str]:
    return (str(line) for line in display(statement) if line.word != "reading")


def _judged(spec: ClaimSpec, statement: Statement) -> str:
    """The pinned status of a statement, and what falls with it."""
    verdict = spec.verdict(statement.reading)
    severity = verdict.severity if verdict is not None and statement.variant == "printed" else None
    return f"{spec.pinned(statement.reading, statement.variant)} {severity}"


def _listed(reading: Mapping[str, str]) -> str:
    inside = ", ".join(f"{name} = {choice}" for name, choice in reading.items())
    return f" ({inside})" if inside else ""
