from __future__ import annotations

import re

import pytest

from dpverify.ledger import load_specs
from dpverify.ledger.errors import FormulaError, SpecError
from dpverify.ledger.vocabulary import ASSUMPTIONS, CERTIFIED, Tag, parse_tag
from tests.for_each import for_each
from tests.unit.ledger.conftest import Write


def test_tags() -> None:
    assert parse_tag("fresh-permutation") == Tag("fresh-permutation")
    assert parse_tag(" lipschitz( G )") == Tag("lipschitz", ("G",))
    assert str(parse_tag("smooth(L)")) == "smooth(L)"
    assert str(parse_tag("noise-off")) == "noise-off"


@for_each(
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


OWN = """
[assumptions.weakly-convex]
meaning = "f(w, x) + rho |w|^2/2 is convex in w, for every x"
arguments = 1
"""


def test_a_paper_may_declare_tags_of_its_own(write: Write) -> None:
    use = ('assumes = ["lipschitz(G)",', 'assumes = ["weakly-convex(G)",')
    with pytest.raises(SpecError, match="unknown assumption 'weakly-convex'"):
        load_specs(write(use))
    loaded = load_specs(write(use, extra=OWN))
    assert any(
        "weakly-convex(G)" in map(str, s.assumes)
        for claim in loaded.claims()
        for s in claim.statements()
    )


@for_each(
    ("old", "new", "rule"),
    [
        ("weakly-convex", "Weakly_convex", "small letters, digits and single hyphens"),
        ("weakly-convex", "lipschitz", "there for all papers: the gradient"),
        ("arguments = 1", "arguments = -1", "0 symbols or more"),
        (
            '"f(w, x) + rho |w|^2/2 is convex in w, for every x"',
            '" "',
            "must not be empty",
        ),
    ],
)
def test_a_tag_that_cannot_be_is_refused(
    write: Write, old: str, new: str, rule: str
) -> None:
    with pytest.raises(SpecError, match=rule):
        load_specs(write(extra=OWN.replace(old, new)))
