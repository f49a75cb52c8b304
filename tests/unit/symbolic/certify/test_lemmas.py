"""Lemmas, names for what they start from, induction, series, and what a certificate is given."""

import copy
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
    split = {"split": ["*", q("-1"), "n"], "then": first, "else": after, "is": [">=", GAP]}
    return certificate(N, ["+", "n", ONE], "<=", power(TWO, "n"), *conditions, **body(split))


def test_an_induction_needs_a_start_and_goes_down() -> None:
    assert refusal(grown(["<=", ZERO, "n"])) == ""
    assert refusal(grown())
    assert refusal(grown(["<=", ZERO, "n"], at=("+", "n", ZERO)))
    assert refusal(grown(["<=", ZERO, "n"], at=("+", "n", ONE)))
    real = grown(["<=", ZERO, "n"])
    real["statement"]["letters"]["n"] = "real"
    real["statement"]["seal"] = k.seal(real["statement"], [])
    assert refusal(real)


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


def with_lemma(name: Any = "s") -> Any:
    """That s <= 1 for s the name of x*(1 - x)*4, by a lemma."""
    start = ["*", q("4"), "x", minus(ONE, "x")]
    root = minus(["*", TWO, "x"], ONE)
    squared = body(fact(">=", minus(ONE, start), "instance", "rule", "am-gm", halves(root)))
    lemma = certificate({"x": "real"}, start, "<=", ONE, **squared)["statement"] | {"name": "lemma"}
    named = {"name": "p", "kind": "named", "lemma": "lemma", "where": {"x": "y"}, "lhs": name}
    said = fact(">=", minus(ONE, name), "instance", "premise", "p", {})
    used = fact(">=", minus(ONE, q("1/2")), "combine", [], [["1/2", []]])
    letters = {"letters": {"s": "real"}, "conditions": [], "given": []}
    data = certificate({"y": "real"}, q("1/2"), "<=", ONE, lemmas=[lemma],
                       statement={"premises": {}, "local": letters, "body": [said, used]})  # fmt: skip
    data["statement"]["premises"] = {"p": named}
    return data


def test_a_name_says_what_its_lemma_says() -> None:
    assert refusal(with_lemma()) == ""
    assert k.given_in(with_lemma()) == {}
    broken = with_lemma()
    broken["lemmas"][0]["body"] = []
    assert "lemma: body does not reach" in refusal(broken)
    twice = with_lemma()
    other = copy.deepcopy(twice["statement"]["premises"]["p"]) | {"where": {"x": ["*", TWO, "y"]}}
    twice["statement"]["premises"]["q"] = other
    assert "one name for two things" in refusal(twice)
    stronger = with_lemma()
    stronger["statement"]["body"][0]["is"][1] = minus(q("1/2"), "s")
    assert "another thing" in refusal(stronger)


def test_premises_that_run_in_a_circle_stay_given() -> None:
    seals: dict[str, dict[str, str | None]] = {"a": {"of b": "b"}, "b": {"of a": "a"}, "c": {}}
    assert k.open_premises(seals, seals["a"], ("a",)) == ["of a"]
    assert k.open_premises(seals, {"of c": "c"}) == []
    assert k.open_premises(seals, {"of d": "d", "fact": None}) == ["of d", "fact"]


def opened(value: Any, name: str = "s") -> Any:
    """That 1/2 <= 1, after a lemma about a name was used with a value for that name."""
    data = with_lemma()
    start = data["lemmas"][0]["lhs"]
    said = fact(">=", minus(ONE, name), "instance", "premise", "p", {})
    second = certificate({"s": "real", "y": "real"}, name, "<=", ONE, **body(said))["statement"] | {"name": "second"}
    second["premises"] = data["statement"]["premises"]
    used = {"s": value or k_put(start), "y": "y"}
    first = fact(">=", minus(ONE, used["s"]), "instance", "lemma", "second", used)
    data["lemmas"].append(second)
    data["statement"] |= {"premises": {}, "body": [first, data["statement"]["body"][1]]}
    return data


def k_put(start: Any) -> Any:
    """What the lemma starts from, in the letter y."""
    return ["y" if part == "x" else k_put(part) for part in start] if isinstance(start, list) else start


def test_a_name_becomes_what_it_means_and_nothing_else() -> None:
    assert refusal(opened(None)) == ""
    assert refusal(opened("s")) == ""
    assert "means something else" in refusal(opened(q("5")))
    other = opened("s")
    other["statement"]["body"].insert(0, copy.deepcopy(other["statement"]["body"][0]))
    assert refusal(other) == ""
    other["statement"]["body"][0]["by"][3]["y"] = q("2")
    assert "one name for two things" in refusal(other)


def about_a_function(weight: Any = "a", kind: str = "definition") -> Any:
    """That a*g(1) <= 1 where g(t) = 1/a for all t, by a lemma that rests on what g is."""
    letters = {"a": "real", "g": "sequence"}
    g = ["apply", "g", "t"]
    said = {"name": "g", "kind": kind, "letters": {"t": "integer"}, "conditions": [], "lhs": ["*", "a", g],
            "relation": "=", "rhs": ONE}  # fmt: skip
    at, weighed = ["apply", "g", ONE], ["*", "a", ["apply", "g", ONE]]
    first = fact("=", minus(ONE, weighed), "instance", "premise", "g", {"t": ONE})
    lemma = certificate(letters, weighed, "<=", ONE, statement={"premises": {"g": said}, "body": [first]})["statement"]
    new = ["*", weight, at]
    used = fact(">=", minus(ONE, new), "instance", "lemma", "lemma", {"a": weight, "g": "g"})
    return certificate({**letters, "b": "real"}, new, "<=", ONE, lemmas=[lemma | {"name": "lemma"}], **body(used))


def test_what_a_definition_is_about_stays_what_it_is() -> None:
    assert refusal(about_a_function()) == ""
    assert "a is what a premise is about" in refusal(about_a_function("b"))
    assert "what a premise is about" in refusal(about_a_function("b", "claim"))


def test_a_lemma_is_not_about_letters_of_its_own() -> None:
    lemma = certificate({"x": "real"}, "x", "<=", "z")["statement"] | {"name": "lemma"}
    lemma["local"] = {"letters": {"z": "real"}, "conditions": [["<=", "x", "z"]], "given": []}
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
    swapped["statement"]["body"][0]["then"] = swapped["statement"]["body"][0].pop("else")[1:]
    swapped["statement"]["body"][0] |= {"split": minus("n", ONE), "else": []}
    assert "about other letters" in refusal(swapped)
