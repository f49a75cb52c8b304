"""Certificates of orders of growth: weights that prove one, and those that do not."""

from typing import Any

from dpverify.symbolic.certify.checker import k
from tests.for_each import for_each
from tests.unit.symbolic.certify.examples import refusal
from tests.unit.symbolic.certify.test_false_certificates import (
    ONE,
    TWO,
    ZERO,
    certificate,
    fact,
    power,
    q,
)

REALS = dict.fromkeys("GNdx", "real")
LOG, SIGNS = (
    ["log", "x"],
    [["<=", ZERO, "G"], ["<", ZERO, "N"], ["<", ZERO, "d"], ["<", ZERO, "x"]],
)
LARGE = fact(">=", LOG, "instance", "rule", "log-monotone", {"a": ONE, "b": "x"})
OVER_1, OVER_2 = ["<=", ONE, "x"], ["<=", TWO, "x"]


def order(lhs: Any, relation: str, rhs: Any, *conditions: Any, right: Any = ("1",), bounded: Any = (), known: Any = (),
          hides: Any = ()) -> Any:  # fmt: skip
    """A certificate with the same weights for all terms."""
    terms = 1 + (lhs[0] == "+")
    said = {
        "last": lhs,
        "known": list(known),
        "weights": [[list(right), list(bounded)]] * terms,
    }
    parts = {"order": said, "hides": list(hides), "body": [LARGE] if conditions else []}
    return certificate(REALS, lhs, relation, rhs, *SIGNS, *conditions, statement=parts)


LOG_X = ["*", "x", LOG]
LESS = [["*", "d", LOG], ["*", "N", LOG]]
ROOTS = ["*", power("x", q("1/2")), power("N", q("1/2"))]
# one that is refused, and one like it that is accepted
CASES: dict[str, tuple[Any, Any]] = {
    "O hides no logarithm": (order(LOG_X, "O", "x", OVER_1), order(LOG_X, "O~", "x", OVER_1)),
    "a logarithm is not near 0": (order("x", "O", LOG_X, OVER_1), order("x", "O", LOG_X, OVER_1, OVER_2)),
    "nor is it negative": (order(LOG_X, "O~", "x"), order(LOG_X, "O~", "x", OVER_1)),
    "a constant is hidden": (
        order(["*", "G", "x"], "O", "x", OVER_1),
        order(["*", "G", "x"], "O", "x", OVER_1, hides="G"),
    ),
    "on the left only": (
        order("x", "O", ["*", "G", "x"], OVER_1, hides="G"),
        order(["*", power("G", TWO), "x"], "O", "x", OVER_1, hides="G"),
    ),
    "and not below": (
        order(power(["+", "G", "x"], q("-1")), "O", ONE, OVER_1, hides="G"),
        order(power("x", q("-1")), "O", ONE, OVER_1, known=[[ONE, "x"]], bounded=["1"]),
    ),
    "but below where it is not 0": (
        order(["*", "x", power("d", q("-1"))], "O", "x", OVER_1),
        order(["*", "x", power("d", q("-1"))], "O", "x", OVER_1, hides="d"),
    ),
    "and is not 0 in a sum": (
        order(power(["+", ["*", "G", "x"], ["*", "d", "x"]], q("-1")), "O", power("x", q("-1")), OVER_1, hides="Gd"),
        order(power(["+", ["*", TWO, "x"], ["*", "d", "x"]], q("-1")), "O", power("x", q("-1")), OVER_1, hides="d"),
    ),
    "weights add up": (order("x", "O", "x", OVER_1, right=["2"]), order("x", "O", "x", OVER_1)),
    "to 1 and no more": (
        order(power("x", TWO), "O", "x", OVER_1, right=["2"]),
        order(power("x", TWO), "O", power("x", TWO), OVER_1),
    ),
    "weights are not negative": (
        order(ROOTS, "O", ["+", "x", "N"], OVER_1, right=["3/2", "-1/2"]),
        order(ROOTS, "O", ["+", "x", "N"], OVER_1, right=["1/2", "1/2"]),
    ),
    "what is known is known": (
        order("x", "O", "d", OVER_1, known=[["x", "d"]], bounded=["1"]),
        order("x", "O", "d", OVER_1, ["<=", "x", "d"], known=[["x", "d"]], bounded=["1"]),
    ),
    "nothing is learned where both sides are 0": (
        order("d", "O", "N", OVER_1, ["<=", *LESS], known=[LESS], bounded=["1"]),
        order("d", "O", "N", ["<", ONE, "x"], ["<", ZERO, LOG], ["<=", *LESS], known=[LESS], bounded=["1"]),
    ),
    "of every term": (
        order(["+", "x", power("x", TWO)], "O", "x", OVER_1),
        order(["+", "x", ["*", TWO, "x"]], "O", "x", OVER_1),

    ),
    "nothing cancels": (
        order(["+", "x", ["*", q("-1"), "d"]], "O", "x", OVER_1),
        order(["*", TWO, "x"], "O", "x", OVER_1),
    ),
}  # fmt: skip
CASES["of every term"][1]["statement"]["order"]["weights"].pop()  # like terms are one


@for_each("name", CASES)
def test_weights_prove_an_order(name: str) -> None:
    refused, accepted = CASES[name]
    assert refusal(refused)
    assert refusal(accepted) == ""


OVER_X = power("x", q("-1"))
LOG_DX = ["log", ["*", "d", "x"]]
# one that would be accepted without a condition, or for another reason refused
REASONS: dict[str, tuple[Any, str]] = {
    "weights below 0 that cancel": (
        order(["*", power("x", TWO), power("N", q("-1"))], "O", ["+", "x", "N"], OVER_1, right=["2", "-1"]),
        "are negative"
    ),
    "a sum in a denominator on the right": (
        order(OVER_X, "O", power(["+", "x", "d"], q("-1")), OVER_1, right=["1", "0"]), "a sum below 1"
    ),
    "a difference on the right": (
        order("x", "O", ["+", "x", ["*", q("-1"), "d"]], OVER_1, right=["1", "0"]), "a constant that may be negative"
    ),
    "a logarithm that is not 1": (order("x", "O", LOG_X, OVER_1, ["!=", "x", TWO]), "no product of the right side's"),
    "a letter that is no logarithm": (order(["*", "d", "x"], "O~", "x", OVER_1), "no product of the right side's"),
    "a hidden letter on the right": (
        order("x", "O", ["+", "x", "G"], OVER_1, right=["1", "0"], hides="G"), "letters that the constant depends on"
    ),
    "a hidden letter in a logarithm": (
        order(LOG_DX, "O~", LOG, OVER_1, OVER_2, ["<=", ZERO, LOG_DX], hides="d"), "a logarithm that may be negative"
    ),
    "a logarithm of what may be near 0": (
        order("x", "O", ["log", ["*", "x", power(LOG, q("-1"))]], OVER_1, ["<", ZERO, LOG]),
        "a logarithm of what may be near 0"
    ),
    "a power that changes": (order("x", "O", power("x", "N"), OVER_1), "a power that changes"),
    "what may be 0": (order("G", "O", "G", OVER_1), "no product of powers"),
    "another function": (order(["floor", "x"], "O", ["floor", "x"], OVER_1), "no product of powers"),
}  # fmt: skip


@for_each("name", REASONS)
def test_each_condition_of_an_order_is_asked_for(name: str) -> None:
    refused, words = REASONS[name]
    assert words in refusal(refused)


def test_the_left_side_must_be_below_what_is_compared() -> None:
    made = order("x", "O", "x", OVER_1)
    made["statement"]["lhs"] = power("x", TWO)
    made["statement"]["seal"] = k.seal(made["statement"], [])
    assert "does not reach" in refusal(made)


def test_an_order_is_no_inequality() -> None:
    made = order(["*", TWO, "x"], "O", "x", OVER_1)
    made["statement"]["relation"] = "<="
    made["statement"]["seal"] = k.seal(made["statement"], [])
    assert "does not reach" in refusal(made)
    lemma = order(["*", TWO, "x"], "O", "x", OVER_1)["statement"] | {"name": "lemma"}
    gap = ["+", "x", ["*", q("-2"), "x"]]
    used = fact(">=", gap, "instance", "lemma", "lemma", {name: name for name in REALS})
    false = certificate(REALS, ["*", TWO, "x"], "<=", "x", *SIGNS, OVER_1,
                        lemmas=[lemma], statement={"body": [used]})  # fmt: skip
    assert "another thing" in refusal(false)


def test_what_the_constant_depends_on_is_sealed() -> None:
    made = order(["*", "G", "x"], "O", "x", OVER_1, hides="G")
    made["statement"]["hides"] = []
    assert "seal" in refusal(made)
