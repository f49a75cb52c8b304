"""Certificates of falsehoods that hide what they take for granted: refused, or what they take is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dpverify.harness.recorded_proof import CERTIFICATES
from dpverify.ledger.load import bundled
from dpverify.symbolic.certify.checker import k, rules
from tests.for_each import for_each
from tests.unit.symbolic.certify.examples import refusal
from tests.unit.symbolic.certify.test_false_certificates import (
    ONE,
    ZERO,
    body,
    certificate,
    fact,
    minus,
    power,
    q,
)

FIVE, N = q("5"), {"n": "integer"}
FALSE = fact(">=", minus(ZERO, ONE), "instance", "premise", "p", {})


def local(**parts: Any) -> dict[str, Any]:
    return {"local": {"letters": {}, "conditions": []} | parts}


def given(kind: str) -> Any:
    """That 1 <= 0, from a premise of some kind."""
    said = {
        "name": "p",
        "kind": kind,
        "letters": {},
        "conditions": [],
        "lhs": ONE,
        "relation": "<=",
        "rhs": ZERO,
    }
    return certificate(
        {}, ONE, "<=", ZERO, statement={"premises": {"p": said}, "body": [FALSE]}
    )


def lemma(
    letters: Any, lhs: Any, relation: str, rhs: Any, *conditions: Any, facts: Any = ()
) -> Any:
    return certificate(letters, lhs, relation, rhs, *conditions, **body(*facts))[
        "statement"
    ] | {"name": "lemma"}


def captured() -> Any:
    """From sum(x*i) = sum(x*n/2), which holds for all x, the same for the sum's own index in the place of x."""
    term, mean = ["*", "x", "i"], ["*", q("1/2"), "x", "n"]
    total, other = ["sum", "i", ZERO, "n", term], ["sum", "i", ZERO, "n", mean]
    half = ["*", q("1/2"), "n", ["+", "n", ONE]]
    plain = minus(half, ["sum", "i", ZERO, "n", "i"])
    facts = [fact("=", plain, "instance", "premise", "sum", {}),
             fact("=", minus(other, total), "combine", [], [["1", ["x", plain]]])]  # fmt: skip
    proven = lemma(
        {**N, "x": "real"}, total, "=", other, ["<=", ZERO, "n"], facts=facts
    )
    proven["premises"] = {"sum": {"name": "sum", "kind": "fact", "letters": {}, "conditions": [], "rhs": half,
                                  "lhs": ["sum", "i", ZERO, "n", "i"], "relation": "="}}  # fmt: skip
    square = ["sum", "i", ZERO, "n", power("i", q("2"))]
    wrong = ["sum", "i", ZERO, "n", ["*", q("1/2"), "i", "n"]]
    used = fact(
        "=", minus(wrong, square), "instance", "lemma", "lemma", {"n": "n", "x": "%0"}
    )
    return certificate(
        N, square, "=", wrong, ["<=", ZERO, "n"], lemmas=[proven], **body(used)
    )


def captured_letter() -> Any:
    """From sum(x, i, 0, n) = (n + 1) x the same for a letter that is called as the sum's index."""
    held = {**N, "x": "real"}
    times = ["*", ["+", "n", ONE], "x"]
    proven = lemma(held, ["sum", "i", ZERO, "n", "x"], "=", times, ["<=", ZERO, "n"])
    mine, said = ["sum", "j", ZERO, "n", "j"], ["*", ["+", "n", ONE], "i"]
    used = fact(
        "=", minus(said, mine), "instance", "lemma", "lemma", {"n": "n", "x": "i"}
    )
    return certificate(
        {**N, "i": "real"},
        mine,
        "=",
        said,
        ["<=", ZERO, "n"],
        lemmas=[proven],
        **body(used),
    )


def other_bits() -> Any:
    """From the sign of positions of bits, that of any function."""
    proven = lemma({"b": "bits"}, ZERO, "<=", ["apply", "b", ONE])
    used = fact(">=", q("-5"), "instance", "lemma", "lemma", {"b": ["i", q("-5")]})
    return certificate({}, FIVE, "<=", ZERO, lemmas=[proven], **body(used))


def other_function() -> Any:
    """From a claim about a function that a definition says, the same about another."""
    said = {"name": "p", "kind": "claim", "letters": {"g": "sequence"}, "conditions": [], "relation": "<=",
            "lhs": ["apply", "g", ONE], "rhs": ZERO}  # fmt: skip
    used = fact(">=", minus(ZERO, FIVE), "instance", "premise", "p", {"g": ["i", FIVE]})
    return certificate(
        {}, FIVE, "<=", ZERO, statement={"premises": {"p": said}, "body": [used]}
    )


SHIFTED = ["sum", "i", ZERO, "n", minus("%0", "i")]  # 0, if the index is captured
REFUSED: dict[str, Any] = {
    "an index that another sum captures": captured(),
    "a letter that a sum's index captures": captured_letter(),
    "an index in the place of a letter": certificate(N, SHIFTED, "=", ZERO),
    "bits that are any function": other_bits(),
    "a function that a claim is about": other_function(),
    "a letter of another kind": certificate(
        {"x": "real"}, ["floor", "x"], "=", "x", statement=local(letters={"x": "integer"})
    ),
    "a definition that is an inequality": given("definition"),
}  # fmt: skip


def assumed_of_a_lemma() -> Any:
    """From 1 <= y, which a lemma assumes, the same of y - 4: then 5 <= y would be proved given 1 <= y."""
    proven = lemma({"y": "real"}, ONE, "<=", "y") | local(conditions=[["<=", ONE, "y"]])
    used = fact(
        ">=",
        minus(minus("y", q("4")), ONE),
        "instance",
        "lemma",
        "lemma",
        {"y": minus("y", q("4"))},
    )
    return certificate(
        {"y": "real"}, FIVE, "<=", "y", ["<=", ONE, "y"], lemmas=[proven], **body(used)
    )


def assumed_of_an_induction() -> Any:
    """For n >= 5, which is assumed besides, a statement from itself at n - 1, of which that is not assumed."""
    before = fact(
        ">=", minus("n", ONE), "combine", [], [["1", [minus("n", FIVE)]], ["4", []]]
    )
    used = fact(
        ">=",
        minus(ZERO, ONE),
        "instance",
        "induction",
        "example",
        {"n": minus("n", ONE)},
    )
    said = local(conditions=[[">=", "n", FIVE]]) | body(before, used)["statement"]
    return certificate(N, ONE, "<=", ZERO, [">=", "n", ZERO], statement=said)


def captured_through_the_table() -> Any:
    """From sum(f(i)*k) = k*sum(f(j)), for the function of k that is the sum itself: its index would be captured."""
    table = [["sum", "i", ZERO, "n", ["*", ["apply", "f", "i"], "k"]]]
    total = ["sum", "j", ZERO, "n", ["apply", "f", "j"]]
    letters = {**N, "k": "real", "f": "sequence"}
    proven = certificate(letters, 0, "=", ["*", "k", total], table=table)[
        "statement"
    ] | {"name": "lemma"}
    wrong = [
        "*",
        ["+", "n", ONE],
        ["sum", "j", ZERO, "n", ["*", ["apply", "f", "j"], "j"]],
    ]
    right = ["sum", "j", ZERO, "n", ["*", "j", total]]
    used = fact(
        "=",
        minus(right, wrong),
        "instance",
        "lemma",
        "lemma",
        {"n": "n", "k": ONE, "f": ["k", 0]},
    )
    parts = {"lemmas": [proven], "table": table, **body(used)}
    return certificate(
        {**N, "f": "sequence"}, wrong, "=", right, [">=", "n", ZERO], **parts
    )


def stepped(letter: str, other: str, *known: Any) -> list[Any]:
    """1 <= 0 by induction at one letter less 1, of which both conditions follow from what is known."""
    smaller = minus(letter, ONE)
    return [
        fact(
            ">=", minus(smaller, minus(other, ONE)), "combine", [], [["1", list(known)]]
        ),
        fact(
            ">=",
            minus(other, minus(smaller, ONE)),
            "combine",
            [],
            [["1", [minus(other, smaller)]], ["1", []]],
        ),
        fact(
            ">=",
            minus(ZERO, ONE),
            "instance",
            "induction",
            letter,
            {letter: smaller, other: other},
        ),
    ]


def induction_over_two_letters() -> Any:
    """For integers with n >= m - 1 and m >= n - 1: the larger one is lowered each time, and this never ends."""
    then, otherwise = (
        stepped("n", "m", minus("n", "m")),
        stepped("m", "n", minus("m", "n")),
    )
    split = {
        "is": [">=", minus(ZERO, ONE)],
        "split": minus("n", "m"),
        "then": then,
        "else": otherwise,
    }
    conditions = [[">=", "n", minus("m", ONE)], [">=", "m", minus("n", ONE)]]
    return certificate(
        {**N, "m": "integer"}, ONE, "<=", ZERO, *conditions, **body(split)
    )


SQUARES = ["integral", "v", "-oo", "oo", power("v", q("2"))]
TWICE = ["integral", "v", "-oo", "oo", ["*", q("2"), power("v", q("2"))]]
REFUSED |= {
    "an induction over two letters that bound each other": induction_over_two_letters(),
    "an index that is captured through the table": captured_through_the_table(),
    "an integral that diverges": certificate({}, TWICE, "=", ["*", q("2"), SQUARES]),
    "a moment that need not exist": certificate(
        {"u": "vector"}, ZERO, "<=", ["moment", "u", q("-1")]
    ),
    "what a lemma assumes of its letters, for other values": assumed_of_a_lemma(),
    "what an induction assumes of its letter, for a smaller one": assumed_of_an_induction(),
    "a binomial of a negative number": certificate(
        N, ZERO, "<=", ["binomial", "n", ONE]
    ),
    "bits of a fraction": certificate({"x": "real"}, ZERO, "<=", ["popcount", "x"]),
    "a bit at a fraction": certificate({"x": "real"}, ZERO, "<=", ["bit", ONE, "x"]),
    "digits of another alphabet": certificate({}, ONE, "<=", ["q", "\u0662"]),
}


@for_each("name", REFUSED)
def test_an_attack_is_refused(name: str) -> None:
    assert refusal(REFUSED[name])
    assert "malformed" not in refusal(REFUSED[name])


@for_each("kind", ["given", "fact", "claim", "trust", ""])
def test_a_premise_of_any_kind_is_named(kind: str) -> None:
    assert refusal(given(kind)) == ""
    assert list(k.given_in(given(kind))) == ["p (printed)" if kind == "claim" else "p"]


def test_a_premise_does_not_hide_behind_a_proven_one_of_its_name() -> None:
    false = given("claim")["statement"] | {"name": "lemma"}
    false["premises"]["p"]["claim"] = "paper:example"
    true = {
        "name": "p",
        "claim": "paper:example",
        "quantity": "",
        "kind": "claim",
        "letters": {"x": "real"},
        "conditions": [],
        "lhs": "x",
        "relation": "<=",
        "rhs": "x",
    }
    cited = fact(">=", minus(ZERO, ONE), "instance", "lemma", "lemma", {})
    data = certificate(
        {},
        ONE,
        "<=",
        ZERO,
        lemmas=[false],
        statement={"premises": {"p": true}, "body": [cited]},
    )
    assert "two things are given as 'paper:example (printed)'" in refusal(data)
    data["lemmas"][0]["premises"] = {}
    data["lemmas"][0]["body"] = []
    assert "two things" not in refusal(data)


@for_each(
    "condition",
    [
        ["<=", ONE, ZERO],
        ["<=", "z", ZERO],
        [">=", "x", ZERO],
        ["=", "z", ZERO],
        [">=", "z", "x"],
    ],
)
def test_what_is_assumed_besides_the_conditions_is_named(condition: Any) -> None:
    assumed = local(letters={"z": "real"}, conditions=[[">", "z", ZERO], condition])
    data = certificate({"x": "real"}, "x", "<=", "x", statement=assumed)
    assert refusal(data) == ""
    assert len(k.given_in(data)) == 1
    inside = certificate(
        {}, ZERO, "<=", ONE, lemmas=[data["statement"] | {"name": "lemma"}]
    )
    assert len(k.given_in(inside)) == 1


def test_a_letter_of_a_kind_is_no_other_statement() -> None:
    kinds = [local(letters={"x": kind}) for kind in ("integer", "real")]
    whole, real = (certificate({}, "x", "<=", "x", statement=said) for said in kinds)
    assert whole["statement"]["seal"] != real["statement"]["seal"]
    said = {
        key: real["statement"][key]
        for key in ("letters", "conditions", "lhs", "relation", "rhs")
    }
    assert k.seal({**said, **local(letters={"x": "integer"})}, []) != k.seal(said, [])


def test_what_is_assumed_of_letters_of_its_own_is_sealed_with_a_statement() -> None:
    plain, narrow = (
        certificate(
            {"x": "real"},
            "x",
            "<=",
            "x",
            statement=local(letters={"z": "real"}, conditions=conditions),
        )
        for conditions in ([], [["<=", "z", "x"]])
    )
    assert plain["statement"]["seal"] != narrow["statement"]["seal"]
    narrow["statement"]["seal"] = plain["statement"]["seal"]
    assert "the seal of example is broken" in refusal(narrow)


@for_each("key", ["letters", "conditions", "lhs", "relation", "rhs", "hides"])
def test_whatever_a_statement_says_is_sealed(key: str) -> None:
    said = certificate({"x": "real"}, "x", "<=", "y", ["<=", "x", ONE])["statement"]
    others: dict[str, Any] = {
        "letters": {"x": "integer"}, "conditions": [["<", "x", ONE]], "lhs": "y", "relation": ">=", "rhs": "x",
        "hides": ["x"],
    }  # fmt: skip
    assert k.seal(said, []) != k.seal(said | {key: others[key]}, [])


@for_each(
    "file",
    [
        "tran2022-lemma-5-telescoped-amended",
        "tran2022-theorem-6-once-height-amended",
        "wang2019-note-utility-printed",
    ],
)
def test_what_is_given_cannot_hide_under_the_name_of_something_else_that_is_given(
    file: str,
) -> None:
    text = (bundled("reports") / CERTIFICATES / f"{file}.json").read_text(
        encoding="utf-8"
    )
    names = list(k.given_in(json.loads(text)))
    hidden = 0
    for name in names:
        data = json.loads(text)
        proofs = [*data["lemmas"], data["statement"]]
        premises = [
            one
            for proof in proofs
            for one in proof["premises"].values()
            if one["name"] != name
        ]
        for premise in (one for one in premises if one["kind"] == "given"):
            changed = json.loads(text)
            for proof in (*changed["lemmas"], changed["statement"]):
                for one in proof["premises"].values():
                    one["name"] = (
                        name if one["name"] == premise["name"] else one["name"]
                    )
                    one["seal"] = k.seal(one, changed["table"])
                proof["seal"] = k.seal(proof, changed["table"])
            hidden += 1
            with pytest.raises(k.Refused, match="two things are given as"):
                k.run(changed, rules())
    assert hidden
