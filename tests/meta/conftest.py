from __future__ import annotations

from pathlib import Path

import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.ledger import Specs, load_specs

DEMO = Path(__file__).parents[1] / "unit" / "harness" / "demo" / "records"


@pytest.fixture(scope="session")
def demo() -> Specs:
    return load_specs(DEMO)


@pytest.fixture
def context(demo: Specs) -> Context:
    return Context(
        demo.claim("demo:walk").statement(), BUDGETS["smoke"], seed=0, check="test"
    )
