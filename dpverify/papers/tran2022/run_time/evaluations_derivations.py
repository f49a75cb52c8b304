"""How many gradients Algorithms 1 and 2 evaluate, from the definition of the count to a bound of its order."""

from __future__ import annotations

from typing import Any

from sympy import Integer, Max, Sum, Symbol, floor

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.define import meant_by
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_symbols

i = Symbol("i", integer=True)
k = Symbol("k", integer=True)


def _chain(name: str, statement: Statement, *steps: Step) -> Derivation:
    ranges = {
        "N": integer(1, 30),
        "T": integer(2, 60),
        "d": integer(1, 20),
        "delta": real(0, Integer(1) / 2, open_lo=True),
    }
    variables = {name: ranges[name] for name in sympy_symbols(statement)}
    return Derivation(name, "ours", variables, sympy_conditions(statement), _count(statement), steps)


def _count(statement: Statement) -> Any:
    definition = meant_by(statement)
    if definition is None:
        raise ValueError(f"{statement.key} must have a definition of what it counts.")
    return definition.formula


def steps_of_algorithm_1(statement: Statement) -> Derivation:
    """Take T as it stands: one gradient a step."""
    return _chain("one gradient a step", statement)


def one_pass(statement: Statement) -> Derivation:
    """Derive 3T: two gradients a step, and a third after the first epoch."""
    s = sympy_symbols(statement)
    T = s["T"]
    N = s["N"]
    return _chain("three gradients a step", statement, Step.order(2 * T + HOLE, Max(T - N, 0), T))


def node_by_node(statement: Statement) -> Derivation:
    """Derive ``5 T (floor(log2 T) + 1)``; where an order is claimed, with ``log2 T`` for its whole part."""
    s = sympy_symbols(statement)
    T = s["T"]
    N = s["N"]
    levels = floor(Log2(T))
    length = 2**k
    after = Max(0, (i - 1) * length + 1 - N)

    def nodes(context: Any) -> Any:
        return Sum(context, (k, 0, levels))

    inner = Sum(length * (3 + 2 * HOLE), (i, 1, floor(T / length)))
    steps = [
        Step.within(nodes(inner), Integer(1), "above-min", {"a": Integer(1), "b": after}),
        Step(
            nodes(5 * length * floor(T / length)),
            "=",
            "sum-constant",
            {"lo": 1, "hi": floor(T / length), "c": 5 * length},
            context=nodes(HOLE),
        ),
        Step.within(nodes(5 * length * HOLE), T / length, "floor-below", {"x": T / length}),
        Step(5 * T * (levels + 1), "=", "sum-constant", {"lo": 0, "hi": levels, "c": 5 * T}, context=HOLE),
    ]
    if statement.relation == "O~":
        steps.append(Step.within(5 * T * (HOLE + 1), Log2(T), "floor-below", {"x": Log2(T)}))
    return _chain("five for each step of each node", statement, *steps)
