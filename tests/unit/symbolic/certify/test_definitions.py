"""A certificate's definitions are those of functions that exist: else it could prove anything."""

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
    minus,
    power,
    sealed,
)

F_AT_T, F_BEFORE, G_AT_T = (
    ["apply", "f", "t"],
    ["apply", "f", minus("t", ONE)],
    ["apply", "g", "t"],
)
WHOLE, REAL = {"t": "integer"}, {"t": "real"}
FROM_ONE = ["<=", ONE, "t"]


def equation(lhs: Any, rhs: Any, letters: Any = None, *conditions: Any) -> Any:
    """A definition as a premise."""
    name = k.shown(k.read(lhs))
    said = {
        "kind": "definition",
        "name": name,
        "letters": letters or {},
        "conditions": list(conditions),
    }
    return said | {"lhs": lhs, "relation": "=", "rhs": rhs}


def used(*equations: Any, **statement: Any) -> Any:
    """A true statement from which nothing but the definitions is to be seen."""
    premises = {str(place): one for place, one in enumerate(equations)}
    local = {
        "letters": {"f": "sequence", "g": "sequence", "h": "sequence"},
        "conditions": [],
    }
    return certificate(
        {},
        ZERO,
        "<=",
        ONE,
        statement={"premises": premises, "local": local} | statement,
    )


START = equation(["apply", "f", ZERO], ONE)
STEP = equation(F_AT_T, ["*", TWO, F_BEFORE], WHOLE, FROM_ONE)
SOUND = {
    "nothing": (),
    "a formula": (equation(F_AT_T, power("t", TWO), REAL),),
    "the same formula twice": (
        equation(F_AT_T, "t", REAL),
        equation(F_AT_T, "t", REAL),
    ),
    "a formula of two places": (
        equation(["apply", "f", "s", "t"], ["*", "s", "t"], {"s": "real", "t": "real"}),
    ),
    "a value at one place": (START,),
    "a recursion": (START, STEP),
    "a recursion without a start": (STEP,),
    "one by another": (
        equation(F_AT_T, G_AT_T, REAL),
        equation(G_AT_T, ["apply", "h", "t"], REAL),
    ),
    "a sum of another": (
        equation(F_AT_T, ["sum", "i", ONE, "t", ["apply", "g", "i"]], WHOLE),
    ),
}
UNSOUND = {
    "two formulas": (equation(F_AT_T, ZERO, REAL), equation(F_AT_T, ONE, REAL)),
    "two values at one place": (START, equation(["apply", "f", ZERO], ZERO)),
    "a formula and a value": (equation(F_AT_T, ZERO, REAL), START),
    "a function by itself": (equation(F_AT_T, ["+", F_AT_T, ONE], REAL),),
    "a function by itself later": (
        equation(F_AT_T, ["+", ["apply", "f", ["+", "t", ONE]], ONE], WHOLE, FROM_ONE),
    ),
    "a function by itself at other places": (
        equation(F_AT_T, ["+", ["apply", "f", minus(ZERO, "t")], ONE], WHOLE),
    ),
    "a value for each of a letter": (
        equation(["apply", "f", ZERO], "s", {"s": "real"}),
    ),
    "a recursion beside one place": (
        equation(F_AT_T, ["max", F_BEFORE, ONE], WHOLE, ["!=", ZERO, "t"]),
    ),
    "a value by itself": (
        equation(["apply", "f", ZERO], ["+", ["apply", "f", ZERO], ONE]),
    ),
    "a circle of two": (
        equation(F_AT_T, ["+", G_AT_T, ONE], REAL),
        equation(G_AT_T, F_AT_T, REAL),
    ),
    "a circle through a start": (
        equation(["apply", "f", ZERO], ["+", ["apply", "g", ZERO], ONE]),
        equation(G_AT_T, F_AT_T, REAL),
    ),
    "a recursion that reaches its start": (
        START,
        equation(F_AT_T, ["*", TWO, F_BEFORE], WHOLE, ["<=", ZERO, "t"]),
    ),
    "a recursion that never starts": (equation(F_AT_T, ["+", F_BEFORE, ONE], WHOLE),),
    "a recursion over all reals": (
        START,
        equation(F_AT_T, ["+", F_BEFORE, ONE], REAL, FROM_ONE),
    ),
    "a recursion in a sum": (
        START,
        equation(F_AT_T, ["sum", "i", ZERO, "t", ["apply", "f", "i"]], WHOLE, FROM_ONE),
    ),
    "two steps": (
        START,
        STEP,
        equation(F_AT_T, ["*", ["q", "3"], F_BEFORE], WHOLE, FROM_ONE),
    ),
    "a letter that no place shows": (
        equation(F_AT_T, "s", {"s": "real", "t": "real"}),
    ),
    "a place that is no letter": (
        equation(["apply", "f", ["*", TWO, "t"]], "t", REAL),
    ),
    "one letter at two places": (equation(["apply", "f", "t", "t"], "t", REAL),),
    "a place of the statement": (equation(["apply", "f", "x"], ZERO),),
}


@for_each("name", SOUND)
def test_definitions_of_functions_that_exist_are_accepted(name: str) -> None:
    assert refusal(used(*SOUND[name])) == ""


@for_each("name", UNSOUND)
def test_definitions_that_no_function_has_are_refused(name: str) -> None:
    assert refusal(used(*UNSOUND[name]))
    assert "malformed" not in refusal(used(*UNSOUND[name]))


@for_each("name", UNSOUND)
def test_they_are_refused_in_a_lemma_too(name: str) -> None:
    """One of the equations in a lemma, the others in the statement."""
    lemma = used(UNSOUND[name][0])["statement"] | {"name": "lemma"}
    assert refusal(sealed(used(*UNSOUND[name][1:]) | {"lemmas": [lemma]}))


@for_each("name", UNSOUND)
def test_they_are_refused_where_a_statement_or_a_claim_says_them(name: str) -> None:
    first, *others = UNSOUND[name]
    assert refusal(used(*others, definitions=[first]))
    claim = {
        "kind": "claim",
        "name": "p",
        "letters": {},
        "conditions": [],
        "relation": "<=",
        "lhs": ZERO,
        "rhs": ONE,
    }
    data = used(*others)
    data["statement"]["premises"]["p"] = claim | {"definitions": [first]}
    assert refusal(sealed(data))


def at_zero(value: Any, **premises: Any) -> Any:
    """That a value is at most 0, from f(0) = value and what premises say."""
    definition = equation(F_AT_T, value, REAL)
    gap = minus(value, ["apply", "f", ZERO])
    facts = [fact("=", gap, "instance", "premise", "d", {"t": ZERO})]
    local = {"letters": {"f": "sequence"}, "conditions": []}
    statement = {
        "premises": {"d": definition} | premises,
        "local": local,
        "body": facts,
        "definitions": [definition],
    }
    return certificate({}, ["apply", "f", ZERO], "<=", ZERO, statement=statement)


def test_a_claim_about_a_function_that_is_defined_otherwise_is_not_proved_by_another_certificate() -> (
    None
):
    """From f(0) <= 0, where f is 0, and f(0) = 5, where f is 5: that 5 <= 0."""
    proven = at_zero(ZERO)
    claim = {
        name: proven["statement"][name]
        for name in ("letters", "conditions", "lhs", "relation", "rhs", "local")
    }
    claim |= {"kind": "claim", "name": "c", "claim": "paper:example", "quantity": ""}
    told = minus(ZERO, ["apply", "f", ZERO])
    data = at_zero(["q", "5"], c=claim)
    data["statement"] |= {"lhs": ["q", "5"], "claim": "paper:other"}
    data["statement"]["body"] += [
        fact(">=", told, "instance", "premise", "c", {}),
        fact(
            ">=",
            ["q", "-5"],
            "combine",
            [],
            [["-1", [minus(["q", "5"], ["apply", "f", ZERO])]], ["1", [told]]],
        ),
    ]
    seals = {proven["statement"]["seal"]: k.given_in(proven)}
    assert refusal(sealed(data)) == ""
    assert k.open_premises(seals, k.given_in(data)) == ["paper:example (printed)"]
    data["statement"]["premises"]["c"]["definitions"] = proven["statement"][
        "definitions"
    ]
    assert refusal(sealed(data)) == "f is defined twice"


@for_each("field", ["claim", "variant", "reading", "definitions"])
def test_a_seal_covers_whose_statement_it_is_and_its_definitions(field: str) -> None:
    said = at_zero(ZERO)["statement"]
    others = {
        "claim": "paper:other",
        "variant": "amended",
        "reading": {"order": "once"},
        "definitions": [],
    }
    assert k.seal(said, []) != k.seal(said | {field: others[field]}, [])
