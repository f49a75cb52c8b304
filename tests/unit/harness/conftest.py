from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.harness.search.domain import Sampler, make_sampler
from dpverify.ledger import Specs, load_specs
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import parse_domain

DEMO = Path(__file__).parent / "demo" / "records"


@pytest.fixture(scope="session")
def demo() -> Specs:
    return load_specs(DEMO)


@pytest.fixture(scope="session")
def statements(demo: Specs) -> dict[str, Statement]:
    """Printed statements of the demonstration by claim id."""
    return {claim.record.id: claim.statement() for claim in demo.claims()}


@pytest.fixture
def context(statements: dict[str, Statement]) -> Context:
    return Context(statements["walk"], BUDGETS["smoke"], seed=0, check="test")


@pytest.fixture
def sampler(statements: dict[str, Statement]) -> Sampler:
    """Points (N, T, x) with x in (0, 1], 1 <= N <= T."""
    also = {"N": "integer, 1 <= N <= T", "T": "integer, T >= 1"}
    region = {"x": (None, Fraction(1))}
    return make_sampler(
        statements["root"],
        region,
        {name: parse_domain(text) for name, text in also.items()},
    )
