"""Of each condition of a way to prove a fact, one that fails it alone: refused for it, and accepted where it holds."""

from typing import Any

from tests.for_each import for_each
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
    rule,
)

LETTERS: dict[str, Any] = {
    "x": "real", "y": "real", "n": "integer", "m": "integer", "u": "vector", "w": "vector", "g": "sequence",
    "b": ["bits", "n"], "R": ["random", "n", "x"], "Z": ["gaussian", "n", "x"],
}  # fmt: skip
POSITIVE, NONNEGATIVE, NOT_0 = ["<", ZERO, "x"], ["<=", ZERO, "x"], ["!=", "x", ZERO]
HALF, OVER = q("1/2"), power("x", q("-1"))


def proof(
    lhs: Any, relation: str, rhs: Any, *conditions: Any, facts: Any, **parts: Any
) -> Any:
    return certificate(
        LETTERS, lhs, relation, rhs, *conditions, **body(*facts), **parts
    )


def noted(given: Any, *conditions: Any, **parts: Any) -> Any:
    """A fact besides a statement that is true anyway."""
    return proof(ZERO, "<=", ONE, *conditions, facts=[given], **parts)


def series(term: Any, ratio: Any, hi: Any = "oo") -> Any:
    return fact("converges", ["sum", "i", ZERO, hi, term], "ratio", ratio)


def split_series(*facts: Any) -> Any:
    """That the sum of two series is that of their terms' sums."""
    one, other = power(HALF, "i"), power(q("2/3"), "i")
    parts = [["sum", "i", ZERO, "oo", term] for term in (one, other)]
    whole = ["sum", "i", ZERO, "oo", ["+", one, other]]
    return noted_all(
        *facts, fact("=", minus(minus(whole, parts[0]), parts[1]), "combine", [], [])
    )


def noted_all(*facts: Any) -> Any:
    return certificate(LETTERS, ZERO, "<=", ONE, **body(*facts))


def ranged(other: Any) -> Any:
    """That sums up to a number of terms n - i are not negative, from n - i >= 0 for i up to n."""
    gap, lo = minus("n", "i"), ZERO
    within = {
        "within": "n",
        "facts": [
            fact(">=", minus("n", "%0"), "combine", [], [["1", [minus("n", "%0")]]])
        ],
    }
    total = ["sum", "i", lo, other, gap]
    used = fact(
        ">=", total, *rule("sum-termwise", f=["i", ZERO], g=["i", gap], lo=lo, hi=other)
    )
    return proof(ZERO, "<=", total, facts=[within, used])


def cited(
    letters: Any, lhs: Any, relation: str, rhs: Any, *conditions: Any, facts: Any = ()
) -> dict[str, Any]:
    lemma = certificate(letters, lhs, relation, rhs, *conditions, **body(*facts))[
        "statement"
    ]
    return {"lemmas": [lemma | {"name": "lemma"}]}


def use(relation: str, gap: Any, **where: Any) -> Any:
    return fact(relation, gap, "instance", "lemma", "lemma", where)


def of_gaussian(value: str, **kinds: Any) -> Any:
    """What a lemma says of the moments of one Gaussian vector, of another."""
    own, moment = (
        {"d": "integer", "v": "real", "Z": ["gaussian", "d", "v"]},
        ["moment", "Z", ONE],
    )
    used = use(
        "=", minus(["moment", "Y", ONE], ["moment", "Y", ONE]), d="n", v=value, Z="Y"
    )
    letters = LETTERS | {"Y": ["gaussian", "n", "x"]} | kinds
    return certificate(
        letters, ZERO, "<=", ONE, **body(used), **cited(own, moment, "=", moment)
    )


def second_moment(dimension: Any, variance: Any, letter: str = "Z") -> Any:
    given = fact("=", minus(["*", dimension, variance], ["moment", letter, TWO]),
                 *rule("gaussian-second-moment", X=letter, d=dimension, v=variance))  # fmt: skip
    return noted(given, ["<=", ONE, "n"], NONNEGATIVE, ["<=", ZERO, "y"])


def apart(name: str, s: Any) -> Any:
    """That the k-th position of a number's bits is at least k - 1."""
    gap = minus(["apply", name, ONE], ZERO)
    given = fact(">=", gap, *rule("set-bits-apart", pos=name, k=ONE, s=s))
    return noted(given, ["<=", ZERO, "n"], ["<=", ZERO, "m"], ["<=", ONE, ["popcount", "n"]],
                 ["<=", ONE, ["popcount", "m"]])  # fmt: skip


def halved(kind: str) -> Any:
    """That a number is not above 0, from the same of its half."""
    used = fact(
        ">=",
        ["*", q("-1/2"), "z"],
        "instance",
        "induction",
        "z",
        {"z": ["*", HALF, "z"]},
    )
    gap = ["*", q("-1"), "z"]
    last = fact(">=", gap, "combine", [], [["2", [["*", q("-1/2"), "z"]]]])
    split = {"split": gap, "then": [], "else": [used, last], "is": [">=", gap]}
    return certificate({"z": kind}, "z", "<=", ZERO, ["<=", ZERO, "z"], **body(split))


def descent(value: Any, *conditions: Any, **parts: Any) -> Any:
    """That 1 <= 0, from the same of another integer."""
    used = fact(">=", q("-1"), "instance", "induction", "n", {"n": value})
    said = {"body": [used], **parts}
    return certificate({"n": "integer"}, ONE, "<=", ZERO, *conditions, statement=said)


def defined(lhs: Any, relation: str, rhs: Any, letters: Any = None) -> Any:
    said = {"name": "p", "kind": "definition", "letters": letters or {"t": "integer"}, "conditions": [], "lhs": lhs,
            "relation": relation, "rhs": rhs}  # fmt: skip
    return certificate(LETTERS, "x", "<=", "x", statement={"premises": {"p": said}})


LINE, FLOOR_GAP = (
    minus(["exp", ["*", q("-1"), "x"]], minus(ONE, "x")),
    ["+", ["floor", "x"], ONE, ["*", q("-1"), "x"]],
)
POLE = minus(["exp", ["*", q("-1"), OVER]], minus(ONE, OVER))
WHOLE_FLOOR = cited({"k": "integer"}, ["floor", "k"], "=", "k")
RATIO = power(HALF, ["+", "%0", "%0", ONE])
SQUARED = minus(["*", "x", "y"], power("y", TWO))
NORM = ["norm", "u"]
AT_T = ["apply", "g", "t"]

#: A certificate, some words of its refusal, and one that is accepted, if there is such.
CASES: dict[str, tuple[Any, str, Any]] = {
    "a divisor of an equation that may be 0": (
        proof(
            "x",
            "=",
            "y",
            ["=", SQUARED, ZERO],
            facts=[fact("=", minus("x", "y"), "combine", ["y"], [["1", [SQUARED]]])],
        ),
        "a divisor of unknown sign",
        proof(
            "x",
            "=",
            "y",
            ["=", SQUARED, ZERO],
            ["!=", "y", ZERO],
            facts=[fact("=", minus("x", "y"), "combine", ["y"], [["1", [SQUARED]]])],
        ),
    ),
    "a divisor of an inequality that may be 0": (
        proof(
            ZERO,
            "<=",
            "y",
            ["<=", ZERO, ["*", "x", "y"]],
            NONNEGATIVE,
            facts=[fact(">=", "y", "combine", ["x"], [["1", [["*", "x", "y"]]]])],
        ),
        "a divisor of unknown sign",
        proof(
            ZERO,
            "<=",
            "y",
            ["<=", ZERO, ["*", "x", "y"]],
            POSITIVE,
            facts=[fact(">=", "y", "combine", ["x"], [["1", [["*", "x", "y"]]]])],
        ),
    ),
    "a term that is not 0": (
        noted(fact(">=", "x", "combine", [], [["1", ["x"]]]), NOT_0),
        "a term that may be negative",
        noted(fact(">=", "x", "combine", [], [["1", ["x"]]]), POSITIVE),
    ),
    "a term of an equation that is not negative": (
        noted(fact("=", "x", "combine", [], [["1", ["x"]]]), NONNEGATIVE),
        "or is not 0",
        noted(fact("=", "x", "combine", [], [["1", ["x"]]]), ["=", "x", ZERO]),
    ),
    "another combination": (
        noted(fact(">=", "y", "combine", [], [["1", ["x"]]]), POSITIVE),
        "not what it is said",
        None,
    ),
    "a floor that is something else": (
        noted(fact(">", "x", "fraction", "x")),
        "something else",
        None,
    ),
    "a fraction is not 0": (
        noted(fact("=", FLOOR_GAP, "fraction", "x")),
        "it is positive",
        noted(fact(">", FLOOR_GAP, "fraction", "x")),
    ),
    "a whole number is not above 0": (
        noted(fact(">", "n", "whole"), ["<=", ZERO, "n"]),
        "above -1",
        noted(fact(">=", "n", "whole"), ["<=", ZERO, "n"]),
    ),
    "a whole number that is not -1": (
        noted(fact(">=", "n", "whole"), ["!=", ["+", "n", ONE], ZERO]),
        "above -1",
        noted(fact(">=", "n", "whole"), ["<", q("-1"), "n"]),
    ),
    "a ratio below -1": (
        noted(series(power(q("-2"), "i"), q("-2"))),
        "not in [0, 1)",
        noted(series(power(HALF, "i"), HALF)),
    ),
    "a ratio above 1": (noted(series(power(TWO, "i"), TWO)), "not in [0, 1)", None),
    "a ratio that changes": (
        noted(series(power(HALF, power("i", TWO)), RATIO)),
        "the ratio changes",
        None,
    ),
    "a sum that ends": (
        noted(series(power(HALF, "i"), HALF, "n"), ["<=", ZERO, "n"]),
        "no series",
        None,
    ),
    "a letter that is no series": (
        noted(fact("converges", "x", "ratio", HALF)),
        "no series",
        None,
    ),
    "convergence by another way": (
        noted(
            fact(
                "converges",
                ["sum", "i", ZERO, "oo", power(TWO, "i")],
                "combine",
                [],
                [],
            )
        ),
        "does not prove that",
        None,
    ),
    "a sign by a ratio": (
        noted(fact(">=", ["sum", "i", ZERO, "oo", power(HALF, "i")], "ratio", HALF)),
        "does not prove",
        None,
    ),
    "a series taken apart": (
        split_series(series(power(HALF, "i"), HALF)),
        "not what it is said",
        None,
    ),
    "places of another difference": (
        noted(fact("=", "x", "congruent", "h", "h", "y", "y")),
        "not this difference",
        None,
    ),
    "a difference above 0": (
        noted(fact(">", minus("x", "x"), "congruent", "h", "h", "x", "x")),
        "it is 0",
        noted(fact("=", minus("x", "x"), "congruent", "h", "h", "x", "x")),
    ),
    "a fact of another range": (ranged("m"), "condition 0 is not known", ranged("n")),
    "a fact of a vector": (
        noted(fact("=", minus("u", "u"), "combine", [], [])),
        "no number",
        None,
    ),
    "a relation that there is not": (
        noted(fact("<=", "x", "combine", [], [])),
        "no relation to 0",
        None,
    ),
    "a rule the other way": (
        noted(fact(">=", ["*", q("-1"), LINE], *rule("one-minus-exp", x="x"))),
        "another thing",
        noted(fact(">=", LINE, *rule("one-minus-exp", x="x"))),
    ),
    "a rule where a letter has no value": (
        noted(fact(">=", POLE, *rule("one-minus-exp", x=OVER))),
        "a power may be undefined",
        noted(fact(">=", POLE, *rule("one-minus-exp", x=OVER)), NOT_0),
    ),
    "a rule of one letter more": (
        noted(fact(">=", LINE, *rule("one-minus-exp", x="x", y="y"))),
        "need values",
        None,
    ),
    "a rule of a vector": (
        noted(fact(">=", LINE, *rule("one-minus-exp", x="u"))),
        "u is no real",
        None,
    ),
    "a rule of vectors by numbers": (
        noted(
            fact(
                ">=",
                minus(["*", NORM, NORM], ["inner", "u", "u"]),
                *rule("cauchy-schwarz", u="x", w="u"),
            )
        ),
        "is no vector",
        None,
    ),
    "a rule that declares": (
        noted(
            fact(
                ">=", "x", *rule("bernstein", a=ZERO, b="x", x=HALF, low=ZERO, high=ONE)
            )
        ),
        "is not checked here",
        None,
    ),
    "a rule of a whole number": (
        noted(
            fact(
                ">=",
                minus(power(TWO, "x"), ["+", "x", ONE]),
                *rule("power-of-two-grows", k="x"),
            ),
            NONNEGATIVE,
        ),
        "not known to be an integer",
        noted(
            fact(
                ">=",
                minus(power(TWO, "n"), ["+", "n", ONE]),
                *rule("power-of-two-grows", k="n"),
            ),
            ["<=", ZERO, "n"],
        ),
    ),
    "a lemma of a whole number": (
        noted(use("=", minus("x", ["floor", "x"]), k="x"), **WHOLE_FLOOR),
        "not known to be an integer",
        noted(use("=", minus("n", ["floor", "n"]), k="n"), **WHOLE_FLOOR),
    ),
    "a lemma of what is random": (
        noted(
            use("=", ZERO, X="u"),
            **cited({"X": "random"}, ["moment", "X", ONE], "=", ["moment", "X", ONE]),
        ),
        "is no random",
        None,
    ),
    "a lemma of bits": (
        noted(
            use(">=", ["apply", "g", ONE], c="g"),
            **cited({"c": "bits"}, ZERO, "<=", ["apply", "c", ONE]),
        ),
        "g is no function",
        None,
    ),
    "a lemma of a Gaussian": (
        of_gaussian("y"),
        "Z is declared otherwise",
        of_gaussian("x"),
    ),
    "a Gaussian of another variance": (
        second_moment("n", "y"),
        "condition 0 is not known",
        second_moment("n", "x"),
    ),
    "a Gaussian of another dimension": (
        second_moment(ONE, "x"),
        "condition 0 is not known",
        second_moment("n", "x"),
    ),
    "a random vector that is declared like a Gaussian": (
        second_moment("n", "x", "R"),
        "condition 0 is not known",
        second_moment("n", "x"),
    ),
    "positions of another number's bits": (
        apart("b", "m"),
        "condition 0 is not known",
        apart("b", "n"),
    ),
    "an induction over real numbers": (halved("real"), "smaller integer", None),
    "an induction upwards": (
        descent(["+", "n", ONE], ["<=", ZERO, "n"]),
        "smaller integer",
        None,
    ),
    "an induction without a start": (descent(minus("n", ONE)), "smaller integer", None),
    "an induction with letters of its own": (
        descent(minus("n", ONE), local={"letters": {"z": "real"}, "conditions": []}),
        "about other letters",
        None,
    ),
    "a definition that is a bound": (
        defined(AT_T, "<=", "x"),
        "says what a function is",
        defined(AT_T, "=", "x"),
    ),
    "a definition of no function": (
        defined(["+", AT_T, ONE], "=", "x"),
        "says what a function is",
        None,
    ),
    "a definition of any function": (
        defined(AT_T, "=", "x", {"t": "integer", "g": "sequence"}),
        "says what a function",
        None,
    ),
}


@for_each("name", CASES)
def test_each_condition_is_asked_for(name: str) -> None:
    refused, words, accepted = CASES[name]
    assert words in refusal(refused)
    assert accepted is None or refusal(accepted) == ""
