"""Equations that follow since one function stands at two places that are equal, and those that do not."""

from collections.abc import Callable
from typing import Any

from dpverify.symbolic.certify.checker import Form, k, rules
from dpverify.symbolic.certify.comparisons import by_equal_places, by_one_root, by_value
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import ExpressionProof, FactList
from tests.for_each import for_each
from tests.unit.symbolic.certify.test_false_certificates import (
    HALF,
    ONE,
    TWO,
    ZERO,
    certificate,
    minus,
    power,
    q,
)

LETTERS = {"x": "real", "y": "real", "z": "real"}
POSITIVE = [["<", ZERO, name] for name in "xyz"]
SUM = ["+", "y", "z"]
SAME, OTHER = (
    ["=", minus("x", SUM), ZERO],
    ["=", minus("x", ["+", "y", ["*", TWO, "z"]]), ZERO],
)
PLUS_1, PLUS_2 = ["+", "x", ONE], ["+", "x", TWO]
PRODUCT = ["+", power("x", TWO), ["*", q("3"), "x"], TWO]  # of these two
LOG_X, LOG_SUM = ["log", "x"], ["log", SUM]
Way = Callable[[Any, FactList, Form], bool]


def root(expr: Any) -> Any:
    return power(expr, HALF)


def proves(way: Way, expr: Any, *conditions: Any) -> bool:
    """Whether a way proves that an expression is 0; what it writes is then known to the checker as well."""
    data = certificate(LETTERS, expr, "=", ZERO, *POSITIVE, *conditions)["statement"]
    proof = ExpressionProof(k.Checker(rules()), data)
    place = FactList(proof, proof.scope, data["body"])
    form = place.form(k.read(expr))
    assert not place.scope.holds("=", form)
    found = way(Goals(), place, form)
    assert not found or place.scope.holds("=", form)
    return found


@for_each(
    ("way", "expr", "conditions", "follows"),
    [
        (by_equal_places, minus(LOG_X, LOG_SUM), [SAME], True),
        (by_equal_places, minus(LOG_X, LOG_SUM), [OTHER], False),
        (by_equal_places, minus(LOG_X, LOG_SUM), [], False),
        (by_equal_places, minus(["*", TWO, LOG_X], LOG_SUM), [SAME], False),
        (
            by_equal_places,
            minus(["*", "z", power(LOG_X, TWO)], ["*", "z", power(LOG_SUM, TWO)]),
            [SAME],
            True,
        ),
        (by_equal_places, minus(["floor", "x"], ["floor", SUM]), [SAME], True),
        (by_equal_places, minus(["floor", "x"], LOG_SUM), [SAME], False),
        (
            by_equal_places,
            minus(root(["+", "x", ONE]), root(["+", SUM, ONE])),
            [SAME],
            True,
        ),
        (
            by_equal_places,
            minus(root(["+", "x", ONE]), root(["+", SUM, TWO])),
            [SAME],
            False,
        ),
        (
            by_one_root,
            minus(["*", root(PLUS_1), root(PLUS_2)], root(PRODUCT)),
            [],
            True,
        ),
        (
            by_one_root,
            minus(["*", TWO, root(PLUS_1), root(PLUS_2)], root(PRODUCT)),
            [],
            False,
        ),
        (
            by_one_root,
            minus(["*", root(PLUS_1), root(PLUS_2)], root(["+", PRODUCT, ONE])),
            [],
            False,
        ),
        (by_one_root, ["+", root(PLUS_1), root(PLUS_2), root(PRODUCT)], [], False),
        (by_value, minus(["*", "x", ["floor", root(TWO)]], "x"), [], True),
        (by_value, minus(["*", "x", ["floor", root(TWO)]], ["*", TWO, "x"]), [], False),
        (by_value, minus(["floor", "x"], ONE), [], False),
    ],
)
def test_an_equation_is_proved_where_it_follows(
    way: Way, expr: Any, conditions: list[Any], follows: bool
) -> None:
    assert proves(way, expr, *conditions) == follows
