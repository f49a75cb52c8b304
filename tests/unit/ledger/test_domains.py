from __future__ import annotations

import pytest

from dpverify.ledger.errors import FormulaError
from dpverify.ledger.formula import parse_relation
from dpverify.ledger.vocabulary import Domain, parse_domain
from tests.for_each import for_each


def test_kind_and_comparisons() -> None:
    assert parse_domain("integer") == Domain("integer")
    assert parse_domain("real, 0 < alpha <= 1") == Domain(
        "real", (parse_relation("0 < alpha <= 1"),)
    )
    two = parse_domain(" integer , t >= 1 , t <= min(T, 2*N)")
    assert two.constraints == (
        parse_relation("t >= 1"),
        parse_relation("t <= min(T, 2*N)"),
    )
    assert two.names == {"t", "T", "N"}


def test_text_round_trip() -> None:
    for text in ("real", "integer, N >= 1", "real, 0 < x < 1, x < min(a, b)"):
        assert str(parse_domain(text)) == text


@for_each(
    ("text", "rule"),
    [
        ("", "begins with real or integer"),
        ("intger, N >= 1", "did you mean 'integer'"),
        ("real 0 < x", "begins with real or integer"),
        ("real,", "must not be empty"),
        ("real, x", "a condition is a comparison"),
        ("real, x > (1, 2)", "+ - * / **"),
        ("real, x > 1)", "never opened"),
        ("real, x > lambda", "a word of Python"),
    ],
)
def test_refused(text: str, rule: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse_domain(text)
    assert rule in caught.value.rule
    assert caught.value.value == text
