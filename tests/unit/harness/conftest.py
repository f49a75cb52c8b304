from __future__ import annotations

from pathlib import Path

import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.ledger import Specs, load_specs
from dpverify.ledger.statements import Statement

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
