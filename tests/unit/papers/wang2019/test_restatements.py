"""A table cell, or a sentence that repeats a theorem, is never pinned better than the theorem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from dpverify.ledger import Specs, load_specs
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.records import HOLDS, ORDERS, Status
from tests.for_each import for_each

RESTATED = (
    ("table-1-dp-srm-utility", "theorem-4-4"),
    ("abstract-utility", "theorem-4-4"),
    ("section-1-utility", "theorem-4-4"),
    ("remark-4-5-utility", "theorem-4-4"),
    ("table-1-distributed-utility", "theorem-5-2"),
    ("section-5-2-rate", "theorem-5-2"),
)


@dataclass(frozen=True)
class Pin:
    """A claim that measures the quantity of a theorem that it uses, and the pinned words of both."""

    claim: str
    theorem: str
    own: Status
    inherited: Status


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def restatements(specs: Specs) -> Iterator[Pin]:
    """Every order of a quantity whose order, under the same conditions, is a theorem that the claim uses."""
    for key, paper in specs.papers.items():
        for claim in paper.claims.values():
            record = claim.record
            for name in claim.uses:
                used: ClaimSpec = specs.claim(name)
                orders = record.relation in ORDERS and used.record.relation in ORDERS
                same = (
                    orders
                    and record.quantity is not None
                    and record.quantity == used.record.quantity
                )
                if (
                    same
                    and record.requires == used.record.requires
                    and record.assumes == used.record.assumes
                ):
                    own, inherited = (c.pinned(c.readings()[0]) for c in (claim, used))
                    yield Pin(f"{key}:{record.id}", name, own, inherited)


def better_than_its_theorem(pin: Pin) -> bool:
    """Whether a restatement is said to hold although its theorem is refuted."""
    return pin.own in HOLDS and pin.inherited == "refuted"


def test_no_restatement_is_pinned_better_than_its_theorem(specs: Specs) -> None:
    assert not [pin for pin in restatements(specs) if better_than_its_theorem(pin)]


def test_a_cell_that_is_pinned_better_is_found() -> None:
    assert better_than_its_theorem(Pin("cell", "theorem", "proved", "refuted"))
    assert not better_than_its_theorem(Pin("cell", "theorem", "refuted", "refuted"))


@for_each(("cell", "theorem"), RESTATED)
def test_a_cell_is_judged_as_its_theorem_is(
    specs: Specs, cell: str, theorem: str
) -> None:
    found = {(pin.claim, pin.theorem) for pin in restatements(specs)}
    assert (f"wang2019:{cell}", f"wang2019:{theorem}") in found
