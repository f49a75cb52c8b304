"""Lemmas, names for what they start from, induction, series, and what a certificate is given."""

from typing import Any

from dpverify.symbolic.certify.checker import k
from tests.unit.symbolic.certify.examples import refusal
from tests.unit.symbolic.certify.test_false_certificates import (
    ONE,
    TWO,
    ZERO,
    body,
    certificate,
    fact,
    minus,
    power,
    q,
)

N = {"n": "integer"}
GAP = minus(power(TWO, "n"), ["+", "n", ONE])
BEFORE = minus(power(TWO, ["+", "n", q("-1")]), "n")


def grown(*conditions: Any, at: Any = ("+", "n", ["q", "-1"])) -> Any:
    """That n + 1 <= 2**n, by induction."""
    equal = minus(power(TWO, "n"), power(TWO, ZERO))
    first = [fact("=", equal, "congruent", "h", power(TWO, "h"), "n", ZERO),
             fact(">=", GAP, "combine", [], [["1", [equal]], ["-1", ["n"]]])]  # fmt: skip
    less = ["+", "n", q("-1")]
    after = [fact(">=", less, "whole"), fact(">=", BEFORE, "instance", "induction", "n", {"n": list(at)}),
             fact(">=", GAP, "combine", [], [["2", [BEFORE]], ["1", [less]]])]  # fmt: skip
    split = {
        "split": ["*", q("-1"), "n"],
        "then": first,
        "else": after,
        "is": [">=", GAP],
    }
    return certificate(
        N, ["+", "n", ONE], "<=", power(TWO, "n"), *conditions, **body(split)
    )


def test_an_induction_needs_a_start_and_goes_down() -> None:
    assert refusal(grown(["<=", ZERO, "n"])) == ""
    assert refusal(grown())
    assert refusal(grown(["<=", ZERO, "n"], at=("+", "n", ZERO)))
    assert refusal(grown(["<=", ZERO, "n"], at=("+", "n", ONE)))
    real = grown(["<=", ZERO, "n"])
    real["statement"]["letters"] = {"n": "real"}
    real["statement"]["seal"] = k.seal(real["statement"], [])
    assert refusal(real)


def test_an_induction_does_not_start_from_what_it_proves() -> None:
    used = fact(">=", q("-1"), "instance", "induction", "n", {"n": "n"})
    assert "smaller integer" in refusal(
        certificate(N, ["+", "n", ONE], "<=", "n", ["<=", ZERO, "n"], **body(used))
    )


def series(ratio: Any) -> Any:
    total = ["sum", "i", ZERO, "oo", power(q("1/2"), "i")]
    converges = fact("converges", total, "ratio", ratio)
    return certificate({}, total, "=", total, **body(converges))


def test_a_series_needs_a_ratio_below_1() -> None:
    assert refusal(series(q("1/2"))) == ""
    assert "ratio" in refusal(series(q("1/3")))
    ones = ["sum", "i", ZERO, "oo", power("x", "i")]
    for bound, wrong in ((["<", "x", ONE], ""), (["<=", "x", ONE], "body")):
        made = certificate({"x": "real"}, ones, "=", ones, ["<=", ZERO, "x"], bound,
                           **body(fact("converges", ones, "ratio", "x")))  # fmt: skip
        assert refusal(made).startswith("example: " * bool(wrong) + wrong)


def halves(root: Any) -> Any:
    """Of a square, which is nonnegative since 2ab <= a**2 + b**2."""
    return {"a": ["*", q("1/2"), root], "b": ["*", q("-1/2"), root]}


def with_name(value: Any = None) -> Any:
    """That s <= 1 for s = 4*y*(1 - y): of each s of which a lemma says that, a second lemma says it again."""
    start = ["*", q("4"), "y", minus(ONE, "y")]
    root = minus(["*", TWO, "y"], ONE)
    squared = body(
        fact(">=", minus(ONE, start), "instance", "rule", "am-gm", halves(root))
    )
    first = certificate({"y": "real"}, start, "<=", ONE, **squared)["statement"] | {
        "name": "first"
    }
    second = certificate({"s": "real"}, "s", "<=", ONE, ["<=", "s", ONE])[
        "statement"
    ] | {"name": "second"}
    value = value or start
    facts = [fact(">=", minus(ONE, start), "instance", "lemma", "first", {"y": "y"}),
             fact(">=", minus(ONE, value), "instance", "lemma", "second", {"s": value})]  # fmt: skip
    return certificate(
        {"y": "real"}, value, "<=", ONE, lemmas=[first, second], **body(*facts)
    )


def test_a_name_becomes_what_its_conditions_hold_of() -> None:
    assert refusal(with_name()) == ""
    assert k.given_in(with_name()) == {}
    broken = with_name()
    broken["lemmas"][0]["body"] = []
    assert "first: body does not reach" in refusal(broken)
    assert "condition 0 is not known" in refusal(with_name("y"))
    without = with_name()
    del without["statement"]["body"][0]
    assert "condition 0 is not known" in refusal(without)


def test_premises_that_run_in_a_circle_stay_given() -> None:
    seals: dict[str, dict[str, str | None]] = {
        "a": {"of b": "b"},
        "b": {"of a": "a"},
        "c": {},
    }
    assert k.open_premises(seals, seals["a"]) == ["of b"]
    assert k.open_premises(seals, {"of c": "c"}) == []
    assert k.open_premises(seals, {"of d": "d", "fact": None}) == ["of d", "fact"]


def about_a_function(weight: Any = "a", kind: str = "definition") -> Any:
    """That g(1) <= a where g(t) = a for all t, by a lemma that rests on what g is."""
    letters = {"a": "real", "g": "sequence"}
    g = ["apply", "g", "t"]
    said = {"name": "g", "kind": kind, "letters": {"t": "integer"}, "conditions": [], "lhs": g,
            "relation": "=", "rhs": "a"}  # fmt: skip
    at = ["apply", "g", ONE]
    first = fact("=", minus("a", at), "instance", "premise", "g", {"t": ONE})
    lemma = certificate(
        letters, at, "<=", "a", statement={"premises": {"g": said}, "body": [first]}
    )["statement"]
    used = fact(
        ">=", minus(weight, at), "instance", "lemma", "lemma", {"a": weight, "g": "g"}
    )
    return certificate(
        {**letters, "b": "real"},
        at,
        "<=",
        weight,
        lemmas=[lemma | {"name": "lemma"}],
        **body(used),
    )


def test_what_a_definition_is_about_stays_what_it_is() -> None:
    assert refusal(about_a_function()) == ""
    assert "a is what a premise is about" in refusal(about_a_function("b"))
    assert "what a premise is about" in refusal(about_a_function("b", "claim"))


def test_a_lemma_is_not_about_letters_of_its_own() -> None:
    lemma = certificate({"x": "real"}, "x", "<=", "z")["statement"] | {"name": "lemma"}
    lemma["local"] = {"letters": {"z": "real"}, "conditions": [["<=", "x", "z"]]}
    used = fact(">=", minus("z", "x"), "instance", "lemma", "lemma", {"x": "x"})
    assert "letters of its own" in refusal(certificate({"x": "real", "z": "real"}, "x", "<=", "z",
                                                       lemmas=[lemma], **body(used)))  # fmt: skip


def doubled(other: Any) -> Any:
    """That x*n <= x*2**n for n >= 0 and x >= 0, by induction, where the statement before is used with another x."""
    letters = {"n": "integer", "x": "real"}
    gap = minus(["*", "x", power(TWO, "n")], ["*", "x", "n"])
    used = {"n": minus("n", ONE), "x": other}
    before = minus(["*", other, power(TWO, used["n"])], ["*", other, used["n"]])
    split = {"split": ["*", q("-1"), "n"], "is": [">=", gap], "then": [], "else": [
        fact(">=", used["n"], "whole"), fact(">=", before, "instance", "induction", "n", used)]}  # fmt: skip
    return certificate(letters, ["*", "x", "n"], "<=", ["*", "x", power(TWO, "n")], ["<=", ZERO, "n"],
                       ["<=", ZERO, "x"], **body(split))  # fmt: skip


def test_an_induction_is_about_the_same_letters() -> None:
    assert "then does not reach" in refusal(doubled("x"))
    swapped = doubled(["*", TWO, "x"])
    swapped["statement"]["body"][0]["then"] = swapped["statement"]["body"][0].pop(
        "else"
    )[1:]
    swapped["statement"]["body"][0] |= {"split": minus("n", ONE), "else": []}
    assert "about other letters" in refusal(swapped)


def test_no_induction_runs_over_what_a_premise_of_a_lemma_is_about() -> None:
    """That f(1) <= 1, from f(1) <= n of one n, on which f may depend."""
    letters, at = {**N, "f": "sequence"}, ["apply", "f", ONE]
    said = {
        "name": "p",
        "kind": "claim",
        "letters": {},
        "conditions": [],
        "lhs": at,
        "relation": "<=",
        "rhs": "n",
    }
    first = fact(">=", minus("n", at), "instance", "premise", "p", {})
    lemma = certificate(
        letters, at, "<=", "n", statement={"premises": {"p": said}, "body": [first]}
    )["statement"]
    gap = minus(ONE, at)
    before = fact(
        ">=", gap, "instance", "induction", "n", {"n": minus("n", ONE), "f": "f"}
    )
    start = [fact(">=", minus(ONE, "n"), "whole"),
             fact(">=", minus("n", at), "instance", "lemma", "lemma", {"n": "n", "f": "f"}),
             fact(">=", gap, "combine", [], [["1", [minus("n", at)]], ["1", [minus(ONE, "n")]]])]  # fmt: skip
    split = {
        "split": minus("n", TWO),
        "then": [before],
        "else": start,
        "is": [">=", gap],
    }
    made = certificate(
        letters,
        at,
        "<=",
        ONE,
        ["<=", ONE, "n"],
        lemmas=[lemma | {"name": "lemma"}],
        **body(split),
    )
    assert refusal(made) == "an induction over what a premise is about"
