from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from dpverify.ledger.formula import parse, parse_relation
from dpverify.ledger.records import Symbol
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import parse_domain

MakeStatement = Callable[..., Statement]


@pytest.fixture
def make_statement() -> MakeStatement:
    """Build a statement from text, as the ledger does from a claim."""

    def make(
        lhs: str | None,
        relation: str,
        rhs: str,
        domains: Mapping[str, str],
        requires: tuple[str, ...] = (),
        let: tuple[tuple[str, str], ...] = (),
    ) -> Statement:
        return Statement(
            key="test2022:claim",
            variant="printed",
            kind="inequality",
            reading={},
            quantity=None if lhs is not None else "a_quantity",
            lhs=None if lhs is None else parse(lhs),
            relation=relation,  # type: ignore[arg-type]  # the tests pass one of the five
            rhs=parse(rhs),
            words=None,
            requires=tuple(parse_relation(condition) for condition in requires),
            let=tuple((name, parse(value)) for name, value in let),
            assumes=(),
            domains={name: parse_domain(text) for name, text in domains.items()},
            symbols={
                name: Symbol(latex=name, domain=text, meaning=name)
                for name, text in domains.items()
            },
        )

    return make
