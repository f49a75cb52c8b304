"""The parts of a paper: its results, which have a number, and the lines and steps that belong to each of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dpverify.ledger.results import Result
from dpverify.report.collect import by_claim, claim_id

_NUMBERED = re.compile(r"([a-z]+)((?:-[a-z](?=-\d))?(?:-\d+)+)")
_PLACES = frozenset({"section", "appendix", "table", "figure"})
"""What has a number and is no result."""


def is_result(claim: str) -> bool:
    """Whether a claim is a result of the paper itself: ``lemma-12`` or one of the abstract, not ``lemma-12-var``."""
    found = _NUMBERED.fullmatch(claim)
    return claim.startswith("abstract-") or (found is not None and found[1] not in _PLACES)


def part_of(claim: str) -> str:
    """The part of the paper that a claim belongs to.

    ``Lemma 12`` for ``lemma-12-var``, ``Section 4`` for ``section-4-distance``, ``Abstract`` for ``abstract-rate``.
    """
    found = _NUMBERED.match(claim)
    if found is None:
        return claim.partition("-")[0].capitalize()
    return f"{found[1].capitalize()} {found[2][1:].replace('-', '.').upper()}"


def is_box(group: Sequence[Result]) -> bool:
    """Whether a claim is a line of an algorithm box, which somebody may copy."""
    return group[0].where.startswith("Algorithm ") or group[0].kind == "algorithm"


def by_part(results: Iterable[Result]) -> dict[str, list[list[Result]]]:
    """Claims with their readings, by the part they belong to, in the order of the paper."""
    parts: dict[str, list[list[Result]]] = {}
    for group in by_claim(results):
        parts.setdefault(part_of(claim_id(group[0])), []).append(group)
    return parts
