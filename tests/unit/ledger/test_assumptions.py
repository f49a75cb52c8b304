from __future__ import annotations

import re

import pytest

from dpverify.ledger.errors import FormulaError
from dpverify.ledger.vocabulary import ASSUMPTIONS, CERTIFIED, Tag, parse_tag


def test_tags() -> None:
    assert parse_tag("fresh-permutation") == Tag("fresh-permutation")
    assert parse_tag(" lipschitz( G )") == Tag("lipschitz", ("G",))
    assert str(parse_tag("smooth(L)")) == "smooth(L)"
    assert str(parse_tag("noise-off")) == "noise-off"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("lipshitz(G)", "did you mean 'lipschitz'"),
        ("lipschitz", "lipschitz names 1 symbol(s), got 0"),
        ("lipschitz(G, L)", "got 2"),
        ("noise-off(G)", "noise-off names 0 symbol(s), got 1"),
        ("noise-off()", "got 1"),
        ("", "an assumption is a tag"),
        ("smooth(f(L))", "an assumption is a tag"),
        ("smooth(L", "an assumption is a tag"),
    ],
)
def test_refused(text: str, rule: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse_tag(text)
    assert rule in caught.value.rule


def test_the_list_is_sound() -> None:
    for name, assumption in ASSUMPTIONS.items():
        assert re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", name)
        assert assumption.meaning
        assert set(assumption.problems) <= set(CERTIFIED)
