"""False statements with certificates that try to prove them: refused; with the condition that is missing, accepted."""

from typing import Any

from dpverify.symbolic.certify.checker import k
from tests.for_each import for_each
from tests.unit.symbolic.certify.examples import refusal

ONE, TWO, ZERO = ["q", "1"], ["q", "2"], ["q", "0"]


def q(text: str) -> Any:
    return ["q", text]


def minus(a: Any, b: Any) -> Any:
    return ["+", a, ["*", q("-1"), b]]


def power(a: Any, b: Any) -> Any:
    return ["^", a, b]


def certificate(
    letters: dict[str, Any],
    lhs: Any,
    relation: str,
    rhs: Any,
    *conditions: Any,
    **parts: Any,
) -> Any:
    """A certificate whose chain is one link, with some facts before it."""
    said = {
        "name": "example",
        "claim": "paper:example",
        "reading": {},
        "variant": "printed",
        "quantity": "",
    }
    said |= {"letters": letters, "conditions": list(conditions)}
    said |= {"lhs": lhs, "relation": relation, "rhs": rhs, "premises": {}, "body": []}
    said |= {"local": {"letters": {}, "conditions": []}}
    data = {
        "schema": 3,
        "table": [],
        "lemmas": [],
        "statement": said | parts.pop("statement", {}),
    } | parts
    return sealed(data)


def sealed(data: Any) -> Any:
    """The certificate with seals that fit what it says, and with names for the claims that it refers to."""
    for proof in (*data["lemmas"], data["statement"]):
        for premise in proof["premises"].values():
            if premise.get("kind") == "claim":
                premise.setdefault("claim", premise["name"])
                premise.setdefault("reading", {})
                premise.setdefault("variant", "printed")
        for part in (proof, *proof["premises"].values()):
            part["seal"] = k.seal(part, data["table"])
    return data


def body(*items: Any) -> dict[str, Any]:
    return {"statement": {"body": list(items)}}


def fact(relation: str, expr: Any, *by: Any) -> Any:
    return {"is": [relation, expr], "by": list(by)}


REAL, WHOLE = "real", "integer"
X, XY, XN = {"x": REAL}, {"x": REAL, "y": REAL}, {"x": REAL, "n": WHOLE, "m": WHOLE}
POSITIVE, NONNEGATIVE = ["<", ZERO, "x"], ["<=", ZERO, "x"]
HALF = q("1/2")


def bell(size: Any) -> Any:
    """The integral over all reals of the standard normal density at an expression in v."""
    density = ["exp", ["*", q("-1/2"), power(size, TWO)]]
    factor = ["*", HALF, ["sqrt", TWO], power(["sqrt", "pi"], q("-1"))]
    return ["integral", "v", "-oo", "oo", ["*", factor, density]]


#: A name, a certificate, and the conditions with which it would be true; none where it has no such.
PAIRS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "x <= x**2": ((X, "x", "<=", power("x", TWO)), ()),
    "x/x = 1": ((X, ["*", "x", power("x", q("-1"))], "=", ONE), (["!=", "x", ZERO],)),
    "sqrt(x**2) = x": ((X, power(power("x", TWO), HALF), "=", "x"), (NONNEGATIVE,)),
    "sqrt(x)**2 = x": ((X, power(["sqrt", "x"], TWO), "=", "x"), (NONNEGATIVE,)),
    "log(x*y)": ((XY, ["log", ["*", "x", "y"]], "=", ["+", ["log", "x"], ["log", "y"]]), (POSITIVE, ["<", ZERO, "y"])),
    "log(x**2) = 2*log(x)": ((X, ["log", power("x", TWO)], "=", ["*", TWO, ["log", "x"]]), (POSITIVE,)),
    "exp(log(x)) = x": ((X, ["exp", ["log", "x"]], "=", "x"), (POSITIVE,)),
    "x**n*x**m": ((XN, ["*", power("x", "n"), power("x", "m")], "=", power("x", ["+", "n", "m"])), (POSITIVE,)),
    "(x**n)**y": (
        ({"x": REAL, "n": WHOLE, "y": REAL}, power(power("x", "n"), "y"), "=", power("x", ["*", "n", "y"])),
        (POSITIVE,),
    ),
    "(x*y)**(1/2)": (
        (XY, power(["*", "x", "y"], HALF), "=", ["*", power("x", HALF), power("y", HALF)]),
        (NONNEGATIVE, ["<=", ZERO, "y"]),
    ),
    "sum of ones": (({"n": WHOLE}, ["sum", "i", ZERO, "n", ONE], "=", ["+", "n", ONE]), (["<=", q("-1"), "n"],)),
    "floor(x + y) = floor(x) + y": ((XY, ["floor", ["+", "x", "y"]], "=", ["+", ["floor", "x"], "y"]), ()),
    "floor(2**n) = 2**n": (({"n": WHOLE}, ["floor", power(TWO, "n")], "=", power(TWO, "n")), (["<=", ZERO, "n"],)),
    "max(x, y) = x": ((XY, ["max", "x", "y"], "=", "x"), (["<=", "y", "x"],)),
    "an index that is a letter": ((X, ["sum", "x", ZERO, TWO, "x"], "=", ["*", q("3"), "x"]), ()),
    "pi <= 355/113 - 1/10**6": (({}, "pi", "<=", q("354999887/113000000")), ()),
    "an undeclared letter": (({}, "x", "<=", "x"), ()),
    "a vector is no number": (({"x": "vector"}, ZERO, "<=", power("x", TWO)), ()),
    "a strict statement": ((X, "x", "<", "x"), ()),
}  # fmt: skip


@for_each("name", PAIRS)
def test_a_false_statement_has_no_certificate(name: str) -> None:
    statement, conditions = PAIRS[name]
    assert refusal(certificate(*statement))
    if conditions:
        assert refusal(certificate(*statement, *conditions)) == ""


def rule(name: str, **where: Any) -> list[Any]:
    return ["instance", "rule", name, where]


PAIR = {"n": WHOLE, "k": WHOLE}
CHOOSE, FOLLOWING = ["binomial", "n", "k"], ["binomial", "n", ["+", "k", ONE]]
NEXT = ["*", CHOOSE, minus("n", "k"), power(["+", "k", ONE], q("-1"))]
LEAK = {
    "within": "n",
    "facts": [
        fact(">=", "n", "combine", [], [["1", [minus("n", "%0")]], ["1", ["%0"]]])
    ],
}
SQUARED = power(power("x", TWO), HALF)
UNIT_BELL = fact(
    "=", minus(bell("v"), ONE), *rule("gaussian-integral", s=ONE, k=ZERO, c=ZERO)
)
SERIES = ["sum", "i", ZERO, "oo", power("x", "i")]
ROOTS, TERMS = (
    ["sum", "i", ZERO, "n", term]
    for term in (power(power(["+", "x", "i"], TWO), HALF), ["+", "x", "i"])
)


def identity(expr: Any) -> Any:
    """What is 0 as it stands, once it has been simplified."""
    return fact("=", expr, "combine", [], [])


def cases(
    by: Any,
    then: tuple[Any, ...],
    other: tuple[Any, ...],
    relation: str = ">=",
    expr: Any = ONE,
) -> Any:
    """Two cases that show a fact, by default one which needs none."""
    return {
        "split": by,
        "then": list(then),
        "else": list(other),
        "is": [relation, expr],
    }


FACTS: dict[str, Any] = {
    "a negative weight": certificate(
        X, ZERO, "<=", ["*", q("-1"), "x"], NONNEGATIVE,
        **body(fact(">=", ["*", q("-1"), "x"], "combine", [], [["-1", ["x"]]])),
    ),
    "a factor of unknown sign": certificate(
        XY, ZERO, "<=", "y", **body(fact(">=", "y", "combine", [], [["1", ["y"]]]))
    ),
    "a divisor that may be negative": certificate(
        XY, ZERO, "<=", "y", ["<=", ZERO, ["*", "x", "y"]],
        **body(fact(">=", "y", "combine", ["x"], [["1", [["*", "x", "y"]]]])),
    ),
    "a divisor that is not 0 and may be negative": certificate(
        XY, ZERO, "<=", "y", ["<=", ZERO, ["*", "x", "y"]], ["!=", "x", ZERO],
        **body(fact(">=", "y", "combine", ["x"], [["1", [["*", "x", "y"]]]])),
    ),
    "strict from what is not": certificate(
        X, power("x", q("-1")), "<=", power("x", q("-1")), NONNEGATIVE,
        **body(fact(">", "x", "combine", [], [["1", ["x"]]])),
    ),
    "strict by a rule that is not": certificate(
        X, minus(ONE, "x"), "<", ["exp", ["*", q("-1"), "x"]],
        **body(fact(">", minus(["exp", ["*", q("-1"), "x"]], minus(ONE, "x")), *rule("one-minus-exp", x="x"))),
    ),
    "strict by nothing": certificate(
        X, ["log", "x"], "<=", ["log", "x"], NONNEGATIVE,
        **body(fact(">", "x", "combine", [], [["1", ["x"]], ["0", [ONE]]])),
    ),
    "a zero that is none": certificate(
        XY, "x", "=", "y", **body(fact("=", minus("x", "y"), "combine", [], [["1", [minus("x", "y")]]]))
    ),
    "a square that may be 0": certificate(
        X, ["log", power("x", TWO)], "<=", ["log", power("x", TWO)],
        **body(fact(">", power("x", TWO), "combine", [], [["1", ["x", "x"]]])),
    ),
    "a real number as a whole one": certificate(
        X, ZERO, "<=", "x", ["<", q("-1"), "x"], **body(fact(">=", "x", "whole"))
    ),
    "a range's fact outside of it": certificate({"n": WHOLE}, ZERO, "<=", "n", **body(LEAK)),
    "an index outside of its range": certificate({"n": WHOLE}, ZERO, "<=", "%0", **body(LEAK)),
    "terms of unknown sign": certificate(
        {"n": WHOLE, "x": REAL}, ZERO, "<=", ["sum", "i", ZERO, "n", "x"],
        **body(fact(">=", ["sum", "i", ZERO, "n", "x"],
                    *rule("sum-termwise", f=["i", ZERO], g=["i", "x"], lo=ZERO, hi="n"))),
    ),
    "terms of which the last alone is nonnegative": certificate(
        {"n": WHOLE}, ZERO, "<=", ["sum", "i", ZERO, "n", minus("i", "n")], ["<=", ZERO, "n"],
        **body(fact(">=", ["sum", "i", ZERO, "n", minus("i", "n")],
                    *rule("sum-termwise", f=["i", ZERO], g=["i", minus("i", "n")], lo=ZERO, hi="n"))),
    ),
    "a divisor that may be 0": certificate(
        XY, "x", "=", "y", ["=", ["*", "x", "y"], power("y", TWO)],
        **body(fact("=", minus("x", "y"), "combine", ["y"], [])),
    ),
    "unequal places": certificate(
        XY, ["floor", "x"], "=", ["floor", "y"],
        **body(fact("=", minus(["floor", "x"], ["floor", "y"]), "congruent", "h", ["floor", "h"], "x", "y")),
    ),
    "one case only": certificate(
        X, ZERO, "<=", "x",
        **body(cases("x", (), (), ">=", "x")),
    ),
    "what one case makes of an expression": certificate(
        X, 0, "=", "x", table=[SQUARED], **body(cases("x", (identity(minus(0, "x")),), ()))
    ),
    "what one case assumes": certificate(X, ZERO, "<=", "x", **body(cases("x", (), ()), {"within": "oo", "facts": []})),
    "a series that converges in one case": certificate(
        X, 0, "=", 0, NONNEGATIVE, table=[SERIES],
        **body(cases(minus(HALF, "x"), (
            fact(">", minus(ONE, "x"), "combine", [], [["1", [minus(HALF, "x")]], ["1", [HALF]]]),
            fact("converges", 0, "ratio", "x"),
        ), ())),
    ),
    "what one case knows of a range": certificate(
        {"n": WHOLE, "x": REAL}, 0, "=", 1, ["<=", ZERO, "n"], table=[ROOTS, TERMS],
        **body(
            fact(">=", ONE, "combine", [], [["1", []]]),
            identity(minus(TERMS, TERMS)),
            cases("x", (), ({"within": "n", "facts": [
                fact(">=", ["+", "x", "%0"], "combine", [], [["1", ["x"]], ["1", ["%0"]]]),
                identity(minus(power(power(["+", "x", "%0"], TWO), HALF), ["+", "x", "%0"])),
            ]},), "=", minus(0, 1)),
        ),
    ),
    "a rule whose condition fails": certificate(
        X, power("x", TWO), "<=", "x", NONNEGATIVE,
        **body(fact(">=", minus("x", power("x", TWO)), *rule("power-decreasing", x="x", p=TWO, q=ONE))),
    ),
    "bernoulli with a real exponent": certificate(
        {"x": REAL, "n": REAL}, ["+", ONE, ["*", "n", "x"]], "<=", power(["+", ONE, "x"], "n"), POSITIVE,
        ["<=", ZERO, "n"],
        **body(
            fact(
                ">=",
                minus(power(["+", ONE, "x"], "n"), ["+", ONE, ["*", "n", "x"]]),
                *rule("bernoulli", x="x", n="n"),
            )
        ),
    ),
    "a divergent series": certificate(
        {"n": WHOLE}, ZERO, "<=", ONE,
        **body(
            {"within": "oo", "facts": []},
            fact("=", minus(["sum", "i", ZERO, "oo", power(TWO, "i")], q("-1")), *rule("geometric-series", x=TWO)),
        ),
    ),
    "jensen for a number": certificate(
        X, ["moment", "x", ONE], "<=", ["sqrt", ["moment", "x", TWO]],
        **body(fact(">=", minus(["sqrt", ["moment", "x", TWO]], ["moment", "x", ONE]), *rule("jensen-sqrt", X="x"))),
    ),
    "a lemma that is the statement": certificate(
        X, ZERO, "<=", "x", **body(fact(">=", "x", "instance", "lemma", "example", {"x": "x"}))
    ),
    "a premise whose condition fails": certificate(
        XY, "x", "<=", "y",
        statement={
            "premises": {"p": {"name": "p", "kind": "given", "letters": X, "conditions": [POSITIVE],
                               "lhs": "x", "relation": "<=", "rhs": "y"}},
            "body": [fact(">=", minus("y", "x"), "instance", "premise", "p", {"x": "x"})],
        },
    ),
    "a power of 0 that cancels": certificate(
        X, ONE, "<=", ZERO, ["=", "x", ZERO],
        **body(fact(">=", q("-1"), "combine", [], [["-1", ["x", power("x", q("-1"))]]])),
    ),
    "a whole number that may be -1": certificate(
        {"n": WHOLE}, ZERO, "<=", "n", ["<=", q("-1"), "n"], **body(fact(">=", "n", "whole"))
    ),
    "a power of what may be 0, taken out of a sum": certificate(
        {"x": REAL, "n": WHOLE, "m": WHOLE}, ZERO, "<=", ONE, ["<=", ZERO, "m"],
        **body(fact("=", minus(["sum", "i", ZERO, "m", power("x", ["+", "n", "i"])],
                               ["*", power("x", "n"), ["sum", "i", ZERO, "m", power("x", "i")]]), "combine", [], [])),
    ),
    "a maximum that may be 0": certificate(
        XY, ["*", ["max", "x", "y"], power(["max", "x", "y"], q("-1"))], "=", ONE, ["!=", "x", ZERO]
    ),
    "a logarithm of 0": certificate(X, ["log", "x"], "=", ["log", "x"], NONNEGATIVE),
    "a logarithm of a square": certificate(X, ["log", power("x", TWO)], "=", ["log", power("x", TWO)]),
    "a binomial that may be 0": certificate(
        PAIR, ["log", CHOOSE], "=", ["log", CHOOSE], ["<=", ZERO, "n"], ["<=", ZERO, "k"]
    ),
    "a binomial of a real number": certificate(
        {"n": WHOLE, "k": REAL}, FOLLOWING, "<=", NEXT, ["<=", ZERO, "n"], ["<=", ZERO, "k"],
        **body(fact("=", minus(NEXT, FOLLOWING), *rule("binomial-next", n="n", k="k"))),
    ),
    "a binomial of fewer than no things": certificate(
        PAIR, ["binomial", "n", ZERO], "=", ONE,
        **body(fact("=", minus(ONE, ["binomial", "n", ZERO]), *rule("binomial-zero", n="n"))),
    ),
    "an integral over positive numbers": certificate({}, bell(["max", "v", ZERO]), "=", ONE, **body(UNIT_BELL)),
    "an integral over whole numbers": certificate({}, bell(["floor", "v"]), "=", ONE, **body(UNIT_BELL)),
    "a method that does not exist": certificate(X, ZERO, "<=", "x", **body(fact(">=", "x", "conclude"))),
}  # fmt: skip


def test_the_density_of_a_normal_number_integrates_to_1() -> None:
    assert refusal(certificate({}, bell("v"), "=", ONE, **body(UNIT_BELL))) == ""


@for_each("name", FACTS)
def test_a_false_fact_is_refused(name: str) -> None:
    assert refusal(FACTS[name])
    assert "malformed" not in refusal(FACTS[name])
    assert (
        "no way to prove" not in refusal(FACTS[name])
        or name == "a method that does not exist"
    )
