"""Claims, papers and the words about claims, as a command line takes them and as a shell completes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from dpverify.cli.output import BadInput


def _claims(_: object) -> Iterator[tuple[str, str]]:
    from dpverify.ledger import load_specs

    return ((claim.record.id, claim.record.where) for claim in load_specs().claims())


def _papers(_: object) -> Iterable[str]:
    from dpverify.ledger import load_specs

    return load_specs().papers


def _statuses(_: object) -> Iterable[str]:
    from dpverify.report.words import STATUSES

    return STATUSES


def _kinds(_: object) -> Iterable[str]:
    from typing import get_args

    from dpverify.ledger.records import Kind

    return get_args(Kind)


def _severities(_: object) -> Iterable[str]:
    from dpverify.ledger.records import SEVERITIES

    return SEVERITIES


ClaimName: TypeAlias = Annotated[str, Parameter(completer=_claims)]
PaperKey: TypeAlias = Annotated[str, Parameter(completer=_papers)]
Statuses: TypeAlias = Annotated[list[str], Parameter(completer=_statuses)]  # not a Literal: it would load the ledger
Kinds: TypeAlias = Annotated[list[str], Parameter(completer=_kinds)]

Severities: TypeAlias = Annotated[list[str], Parameter(completer=_severities)]


def chosen_severities(severities: Severities | None) -> frozenset[str] | None:
    """Read a filter of what falls; None where there is none."""
    return None if severities is None else _among("--severity", severities, _severities(None))


def chosen(statuses: Statuses | None, kinds: Kinds | None) -> tuple[frozenset[str], frozenset[str]]:
    """Read a filter: the statuses and the kinds that pass it; a word that is none is refused."""
    return _among("--status", statuses, _statuses(None)), _among("--kind", kinds, _kinds(None))


def _among(option: str, given: list[str] | None, known: Iterable[str]) -> frozenset[str]:
    words = [*known]
    for word in given or ():
        if word not in words:
            raise BadInput(option, repr(word), f"must be one of {', '.join(words)}")
    return frozenset(given or words)
