"""Of each condition of what a statement may say, one that fails it alone, and is refused for it."""

from typing import Any

import pytest

from dpverify.symbolic.certify.checker import k
from tests.for_each import for_each
from tests.unit.symbolic.certify.examples import refusal
from tests.unit.symbolic.certify.test_false_certificates import (
    ONE,
    TWO,
    ZERO,
    certificate,
    minus,
    power,
    q,
)

LETTERS: dict[str, Any] = {
    "x": "real", "y": "real", "n": "integer", "m": "integer", "u": "vector", "w": "vector", "X": "random",
    "g": "sequence", "h": "sequence", "b": "bits",
}  # fmt: skip
POSITIVE, NONNEGATIVE, NOT_0, N = (
    ["<", ZERO, "x"],
    ["<=", ZERO, "x"],
    ["!=", "x", ZERO],
    ["<=", ZERO, "n"],
)
OVER, AT_1, HALF = power("x", q("-1")), ["apply", "g", ONE], q("1/2")


def same(e: Any, *conditions: Any) -> Any:
    """That an expression is itself: true, and to be refused where it may have no value."""
    return certificate(LETTERS, e, "=", e, *conditions)


def equal(a: Any, b: Any, *conditions: Any) -> Any:
    return certificate(LETTERS, a, "=", b, *conditions)


def total(body: Any, lo: Any, hi: Any, index: str = "i") -> Any:
    return ["sum", index, lo, hi, body]


def deep(*last: str) -> Any:
    """A sum over i in a sum over j up to m in one over k up to n."""
    return total(
        total(total(["apply", "g", "i", *last], ZERO, "n"), ZERO, "m", "j"),
        ZERO,
        "n",
        "k",
    )


def ints(*names: str) -> Any:
    return ["max", *names]


#: A certificate, some words of its refusal, and one that is accepted, if there is such.
CASES: dict[str, tuple[Any, str, Any]] = {
    "one over 0": (same(OVER), "a power may be undefined", same(OVER, NOT_0)),
    "one over 0 in a function": (
        same(["floor", OVER]),
        "a power may",
        same(["floor", OVER], NOT_0),
    ),
    "one over 0 on the left": (
        equal(["*", ZERO, OVER], ZERO),
        "a power may",
        equal(["*", ZERO, OVER], ZERO, NOT_0),
    ),
    "one over 0 on the right": (
        equal(ZERO, ["*", ZERO, OVER]),
        "a power may",
        equal(ZERO, ["*", ZERO, OVER], NOT_0),
    ),
    "a root": (
        same(power("x", HALF)),
        "a power may",
        same(power("x", HALF), NONNEGATIVE),
    ),
    "a root of what is not 0": (
        same(power("x", HALF), NOT_0),
        "a power may",
        same(power("x", HALF), POSITIVE),
    ),
    "a real power": (
        same(power("x", "y"), ["<=", ZERO, "y"]),
        "a power may",
        same(power("x", "y"), POSITIVE),
    ),
    "a real power of 0": (
        same(power("x", "y"), NONNEGATIVE),
        "a power may",
        same(power("x", "y"), NONNEGATIVE, ["<=", ZERO, "y"]),
    ),
    "a real power where neither is 0": (
        same(power("x", "y"), NOT_0, ["!=", "y", ZERO]),
        "a power may",
        same(power("x", "y"), POSITIVE),
    ),
    "a whole power": (
        same(power("x", "n")),
        "a power may",
        same(power("x", "n"), NOT_0),
    ),
    "a whole power of 0": (
        same(power("x", "n"), NONNEGATIVE),
        "a power may",
        same(power("x", "n"), N),
    ),
    "a whole power that is not 0": (
        same(power("x", "n"), ["!=", "n", ZERO]),
        "a power may",
        same(power("x", "n"), N),
    ),
    "a logarithm of a negative": (
        same(["log", "x"], NOT_0),
        "a logarithm may",
        same(["log", "x"], POSITIVE),
    ),
    "a floor that may be 0": (
        same(["log", ["floor", "x"]], POSITIVE),
        "a logarithm may",
        same(["log", ["floor", "x"]], ["<", ZERO, ["floor", "x"]]),
    ),
    "a term": (
        same(total(power("i", q("-1")), ZERO, "n"), N),
        "a power may",
        same(total(power("i", q("-1")), ONE, "n"), N),
    ),
    "an end": (
        equal(total(ONE, ["floor", OVER], ["+", ["floor", OVER], TWO]), q("3")),
        "a power may",
        equal(total(ONE, ["floor", OVER], ["+", ["floor", OVER], TWO]), q("3"), NOT_0),
    ),
    "ends that are not whole": (
        equal(total(ONE, "x", ["+", "x", TWO]), q("3")),
        "the ends of a range are not",
        equal(total(ONE, "n", ["+", "n", TWO]), q("3")),
    ),
    "a length that is not whole": (
        same(total("i", ZERO, "x")),
        "the length of a range is not",
        same(total("i", ZERO, "n")),
    ),
    "an endless sum": (same(total(power(TWO, "i"), ZERO, "oo")), "may diverge", None),
    "an endless sum of ones": (
        same(total("x", ZERO, "oo")),
        "does not hold its index",
        None,
    ),
    "half a line": (
        same(["integral", "v", ZERO, "oo", ["exp", ["*", q("-1"), "v"]]]),
        "only integrals over all reals",
        None,
    ),
    "indices of sums that are alike": (
        equal(deep("j", "k"), deep("k", "j")),
        "does not reach",
        same(deep("j", "k")),
    ),
    "0 where it is not": (
        equal("x", ZERO, NOT_0),
        "does not reach",
        equal("x", ZERO, ["=", "x", ZERO]),
    ),
    "0 where it is not above": (
        equal("x", ZERO, ["<=", "x", ZERO]),
        "does not reach",
        equal("x", "x"),
    ),
    "a function of any sign": (
        certificate(LETTERS, ZERO, "<=", AT_1),
        "does not reach",
        certificate(LETTERS, ZERO, "<=", ["apply", "b", ONE]),
    ),
    "a maximum that is not whole": (
        equal(["floor", ints("n", "x")], ints("n", "x")),
        "does not reach",
        equal(["floor", ints("n", "m")], ints("n", "m")),
    ),
    "a logarithm is not whole": (
        equal(["floor", ["log", "x"]], ["log", "x"], POSITIVE),
        "does not reach",
        equal(["floor", ["popcount", "n"]], ["popcount", "n"], N),
    ),
    "a root is not whole": (
        equal(["floor", power("n", HALF)], power("n", HALF), N),
        "does not reach",
        equal(["floor", power("n", TWO)], power("n", TWO)),
    ),
    "a power below 1": (
        equal(
            ["floor", power("n", "m")],
            power("n", "m"),
            ["!=", "n", ZERO],
            ["!=", "m", ZERO],
        ),
        "does not reach",
        equal(["floor", power("n", "m")], power("n", "m"), ["<=", ZERO, "m"]),
    ),
    "a number as a function": (
        same(["apply", "x", ONE]),
        "x is not declared as a function",
        same(AT_1),
    ),
    "the norm of a number": (
        same(["norm", "x"]),
        "norm of what is not random",
        same(["norm", "u"]),
    ),
    "the norm of a sum with a number": (
        same(["norm", ["+", "u", "x"]]),
        "no number",
        same(["norm", ["+", "u", "w"]]),
    ),
    "a vector and what is random": (
        same(["norm", ["+", "u", "X"]]),
        "no number",
        same(["moment", ["+", "X", "X"], ONE]),
    ),
    "a product of vectors": (
        same(["norm", ["*", "u", "w"]]),
        "no number",
        same(["norm", ["*", "x", "u"]]),
    ),
    "a function of a vector": (
        same(["norm", ["floor", "u"]]),
        "no number",
        same(["norm", ["*", q("-1"), "u"]]),
    ),
    "the larger of two vectors": (
        same(["norm", ["max", "u", "w"]]),
        "no number",
        same(["norm", "w"]),
    ),
    "vectors alone have inner products": (
        same(["inner", "u", "x"]),
        "inner of what",
        same(["inner", "u", "w"]),
    ),
    "a moment has one of them": (
        same(["moment", "X", "X"]),
        "moment of what",
        same(["moment", "X", ONE]),
    ),
    "a kind that there is not": (
        certificate({"x": "complex"}, "x", "=", "x"),
        "no complex",
        None,
    ),
    "a name that is an index": (
        certificate({"%0": "integer"}, "%0", "=", "%0"),
        "'%0' is no letter",
        None,
    ),
    "an assumption that is no relation": (
        same("n", ["integer", "n"]),
        "only relations can be assumed",
        None,
    ),
    "a relation that there is not": (
        certificate(LETTERS, "x", "~", "x"),
        "'~' is no relation",
        None,
    ),
    "a condition that there is not": (
        same("x", ["even", "n"]),
        "'even' is no condition",
        None,
    ),
    "another schema": (same("x") | {"schema": 1}, "the schema is not 3", same("x")),
}


@for_each("name", CASES)
def test_each_condition_is_asked_for(name: str) -> None:
    refused, words, accepted = CASES[name]
    assert words in refusal(refused)
    assert accepted is None or refusal(accepted) == ""


NO_EXPRESSIONS: dict[str, Any] = {
    "a row after this one": 1,
    "a row before the first": -1,
    "true is no row": True,
    "nothing": [],
    "no operator": [["x"]],
    "a word that is no letter": "x y",
    "an index of its own": "~0",
    "a digit": "1",
    "an operator that there is not": ["if", "x"],
    "one argument too many": ["floor", "x", "y"],
    "one too few": ["^", "x"],
    "a sum of nothing": ["+"],
    "two roots": ["sqrt", "x", "y"],
    "a division by 0": ["q", "1/0"],
    "a decimal": ["q", "1.5"],
    "two numbers": ["q", "1", "2"],
    "a letter in quotes": ["q", "x"],
    "a function without a place": ["apply", "g"],
    "a function without a name": ["apply", "%0", "x"],
    "an object": {"x": 1},
    "an index that has no name": ["sum", "%0", ["q", "0"], ["q", "9"], "%0"],
}


@for_each("name", NO_EXPRESSIONS)
def test_what_is_no_expression_is_refused(name: str) -> None:
    with pytest.raises(k.Refused):
        k.read(NO_EXPRESSIONS[name], (k.letter("x"),))
    assert k.read(0, (k.letter("x"),)) is k.letter("x")


@for_each("why", ["on a function", "on a sum"])
def test_what_is_assumed_of_more_than_one_letter_of_its_own_is_named(why: str) -> None:
    said = {"on a function": AT_1, "on a sum": minus("z", "x")}[why]
    local = {
        "letters": {"g": "sequence", "z": "real"},
        "conditions": [[">=", said, ZERO]],
    }
    assert (
        len(
            k.given_in(
                certificate({"x": "real"}, "x", "<=", "x", statement={"local": local})
            )
        )
        == 1
    )
