"""Chains of proofs: lines, reasons, cases; what is no chain is refused, with the rule that it breaks."""

from __future__ import annotations

import pytest

from dpverify.ledger.formula import FormulaError, to_text
from dpverify.ledger.proof_chains import formulas_of, parse_chain, read_reason
from tests.for_each import for_each

CHAIN = """
   a + b
<= c + d          # both are larger
   + 1            by sum-of(f(i) = 2**i, c = max(1, 2))
 = d + c + 1
"""


def test_a_line_has_a_relation_a_formula_a_reason_and_a_note() -> None:
    chain = parse_chain(CHAIN)
    first, second = chain.lines
    assert to_text(chain.start) == "a + b"
    assert [to_text(line.formula) for line in chain.lines] == ["c + d + 1", "d + c + 1"]
    assert [(line.number, line.relation, line.note) for line in chain.lines] == [
        (2, "<=", "both are larger"),
        (3, "=", ""),
    ]
    assert second.reason is None
    assert first.reason is not None
    assert [
        (one.name, one.index, to_text(one.value)) for one in first.reason.arguments
    ] == [
        ("f", "i", "2**i"),
        ("c", "", "max(1, 2)"),
    ]


def test_a_reason_cites_a_rule_a_lemma_or_a_record() -> None:
    assert read_reason("log2-monotone").name == "log2-monotone"
    claim = read_reason("amended claim lemma-12-var(quantity = v)")
    assert (claim.kind, claim.variant, claim.name) == (
        "claim",
        "amended",
        "lemma-12-var",
    )
    sibling = read_reason(
        "claim lemma-7(quantity = v) under ordering = once within 2*here"
    )
    assert (sibling.name, sibling.reading, len(sibling.arguments)) == (
        "lemma-7",
        (("ordering", "once"),),
        1,
    )
    assert claim.reading == ()
    assert read_reason("definition momentum.start").name == "momentum.start"
    placed = read_reason("order(a = x, b = y) within 2*here + 1")
    assert placed.place is not None
    assert to_text(placed.place) == "2*here + 1"


def test_cases_hold_lines_and_end_where_the_split_does() -> None:
    chain = parse_chain(
        "a\n<= b  by cases\ncase a <= 1\n<= b by order\ncase a >= 1\n<= c by one\n<= b by two\nend\n<= d by three\n"
    )
    split, last = chain.lines
    assert [len(lines) for _, lines in split.cases] == [1, 2]
    assert last.reason is not None
    assert last.reason.name == "three"
    assert split.reason is None


def test_an_induction_has_a_base_and_a_step() -> None:
    chain = parse_chain(
        "a\n= b  by induction(s = 0)\nbase\n= c by one\nstep\n= d by hypothesis\n= e\nend\n<= f by two\n"
    )
    induction, last = chain.lines
    assert induction.induction is not None
    base, step = induction.induction
    assert (
        [to_text(line.formula) for line in base],
        [to_text(line.formula) for line in step],
    ) == (["c"], ["d", "e"])
    assert [to_text(formula) for formula in formulas_of(chain.lines)] == [
        "b",
        "c",
        "d",
        "e",
        "f",
    ]
    assert last.number == 9


@for_each(
    ("text", "rule"),
    [
        ("", "a chain begins with an expression"),
        ("<= a by order", "without a relation before it"),
        ("a\n<= b by order(", "a reason is a name"),
        ("a\n<= b by order(a)", "a reason is a name"),
        ("a\n<= b by order(a = 1, a = 2)", "a is given twice"),
        (
            "a\n<= b by order(a = 1) under ordering = once",
            "only a claim is cited under a reading",
        ),
        ("a\n<= b by claim lemma-7 under once", "a reason is a name"),
        ("a\n<= b by __import__('os')", "a reason is a name"),
        ("a\n<= __import__('os') by order", "a name begins with a letter"),
        ("a\n<= b.real by order", "attributes are not part of the language"),
        ("a\n<= b by cases\n<= c by order", "two cases or more"),
        ("a\n<= b by order\nend", "below a line whose reason is cases"),
        (
            "a\n<= b by order\nstep\n= c",
            "below a line whose reason is cases or induction",
        ),
        ("a\n= b by induction(s = 0)\nbase\n= c", "an induction has a part step"),
        ("a\n" + "<= b by order\n" * 200, "at most 200 lines"),
    ],
)
def test_what_is_no_chain_is_refused(text: str, rule: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse_chain(text)
    assert rule in caught.value.rule
