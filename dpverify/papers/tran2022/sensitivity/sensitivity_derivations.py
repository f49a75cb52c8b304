"""Bounds on the sensitivity of a node, derived from the exact law of the worst visits.

A node's sensitivity is that of one term times the sum of the weights of its visits (NOTES_sensitivity.md, section 2):

    once    sum over j = 0 .. k-1 of (1-alpha)^(jN)
    fresh   1 + (1-alpha)^p * sum over j = 0 .. k-1 of (1-alpha)^(jN),    1 <= p <= N

where p is the place of the node's last step in its epoch. In r nodes the terms are p - 1 and N - 1 steps away from
their anchors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sympy import Integer, Lambda, Sum, Symbol, exp, floor

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Range, integer, real
from dpverify.symbolic.expressions.to_sympy import guarded_sum, sympy_conditions, sympy_symbols

j = Symbol("j", integer=True)
VISITS = Symbol("k", integer=True, nonnegative=True)  # Visits whose weights form the geometric sum
PLACE = Symbol("p", integer=True, positive=True)  # Place in its epoch: of the last step of the node, or of the visits
SHIFT = Symbol("shift", integer=True, nonnegative=True)  # Steps from the last visit to the end of the node

N = Symbol("N", integer=True, positive=True)
ALPHA = Symbol("alpha", positive=True)
RANGES: dict[str, Range] = {
    "N": integer(1, 60),
    "alpha": real(0, 1, open_lo=True),
    "k": integer(0, 9),
    "p": integer(1, N),
    "shift": integer(0, N),
    "G": real(0, 5, open_lo=True),
    "eta": real(0, 5, open_lo=True),
    "L": real(0, 5),
}


def derive_terms(statement: Statement) -> Derivation:
    """Derive the number of visits in a node: one an epoch, or one every N steps (appendix D.1)."""
    first, last = _visits(statement)
    steps = (Step(last - first + 1, "=", "sum-constant", {"c": Integer(1), "lo": first, "hi": last}),)
    return _about_node("one by one", statement, Sum(Integer(1), (j, first, last)), steps)


def derive_sum(statement: Statement) -> Derivation:
    """Derive a node's sensitivity as the sum over its latest visits, from the same sum in the other order (D.1).

    Under "fresh" the visits are the last steps jN of the epochs that end before the node does, and the node's last
    step, of weight 1; under "once" they are N steps apart.
    """
    (first, last), (_, end) = _visits(statement), _node(statement)
    unit = _unit(statement, sympy_symbols(statement))
    if statement.reading["ordering"] == "once":
        weights = Lambda(j, (1 - ALPHA) ** ((last - j) * N))
        last_weight = Integer(0)
    else:
        first += 1
        weights = Lambda(j, (1 - ALPHA) ** (end - (first + last - j) * N))
        last_weight = Integer(1)
    start, reversed_sum = (guarded_sum(body, j, first, last) for body in (weights(j), weights(first + last - j)))
    steps = (Step(unit * (last_weight + reversed_sum), "=", "sum-reverse", {"lo": first, "hi": last, "f": weights}),)
    return _about_node("latest visits, one by one", statement, unit * (last_weight + start), steps)


def _node(statement: Statement) -> tuple[Any, Any]:
    """First and last step of the node."""
    symbols = sympy_symbols(statement)
    names = ("node_start", "node_end") if "node_start" in symbols else ("a", "b")
    return symbols[names[0]], symbols[names[1]]


def _visits(statement: Statement) -> tuple[Any, Any]:
    """Range of the numbers of the visits: epochs under "fresh", periods back from the end under "once"."""
    start, end = _node(statement)
    if statement.reading["ordering"] == "once":
        return Integer(0), floor((end - start) / N)
    return floor((start - 1) / N), floor((end - 1) / N)


def _about_node(name: str, statement: Statement, start: Any, steps: Sequence[Step]) -> Derivation:
    first, last = _node(statement)
    ranges = {**RANGES, str(first): integer(1, 90), str(last): integer(first, first + 90)}
    used = {symbol.name for symbol in start.free_symbols}
    order = ("N", "alpha", "G", str(first), str(last))
    return Derivation(
        name, "ours", {n: ranges[n] for n in order if n in used}, sympy_conditions(statement), start, tuple(steps)
    )


def derive_sensitivity(statement: Statement) -> Derivation:
    """Derive a bound on f, G or Delta nodes (appendix D.1); a constant where ``alpha >= 1/N`` is granted."""
    symbols = sympy_symbols(statement)
    unit = _unit(statement, symbols)
    ratio = (1 - ALPHA) ** N
    total = Sum(ratio**j, (j, 0, VISITS - 1))
    bound = {"x": ratio, "m": VISITS - 1}
    if statement.reading["ordering"] == "once":
        start = unit * total
        steps = [Step(unit / (1 - ratio), "<=", "geometric-sum-bound", bound)]
        if _grants_alpha(statement):
            steps += _put_alpha_in(lambda series: unit * series)
    else:
        start = unit * (1 + (1 - ALPHA) ** PLACE * total)
        nearer = {"x": 1 - ALPHA, "p": PLACE, "q": 1}
        steps = [
            Step(unit * (1 + (1 - ALPHA) * total), "<=", "power-decreasing", nearer),
            Step(unit * (1 + (1 - ALPHA) / (1 - ratio)), "<=", "geometric-sum-bound", bound),
        ]
        if _grants_alpha(statement):
            steps.append(Step(unit * (1 + 1 / (1 - ratio)), "<=", "order", {"a": 1 - ALPHA, "b": 1}))
            steps += _put_alpha_in(lambda series: unit * (1 + series))
    return _chain("latest visits", statement, start, steps)


def derive_drift(statement: Statement) -> Derivation:
    """Derive a bound on r nodes, ``2 eta L (N-1)/(1 - (1-alpha)^N)`` or a constant (appendix E.1).

    Under "fresh" the last visit may be at any place p, nearer to its anchor and heavier; that this does not help is
    Bernoulli's inequality and 1 - x <= exp(-x), twice.
    """
    symbols = sympy_symbols(statement)
    unit = 2 * symbols["eta"] * symbols["L"]
    ratio = (1 - ALPHA) ** N
    total = Sum(ratio**j, (j, 0, VISITS - 1))
    bound = {"x": ratio, "m": VISITS - 1}
    if statement.reading["ordering"] == "once":
        start = unit * (PLACE - 1) * (1 - ALPHA) ** SHIFT * total
        steps = [
            Step(unit * (PLACE - 1) * total, "<=", "power-at-most-one", {"x": 1 - ALPHA, "p": SHIFT}),
            Step(unit * (PLACE - 1) / (1 - ratio), "<=", "geometric-sum-bound", bound),
            Step(unit * (N - 1) / (1 - ratio), "<=", "order", {"a": PLACE, "b": N}),
        ]
    else:
        start = unit * (PLACE - 1 + (N - 1) * (1 - ALPHA) ** PLACE * total)
        steps = _nearer_is_no_gain(unit, ratio, bound)
    if _grants_alpha(statement):
        steps += _put_alpha_in(lambda series: unit * (N - 1) * series)
    return _chain("worst visits", statement, start, steps)


def _nearer_is_no_gain(unit: Any, ratio: Any, bound: Any) -> list[Step]:
    """From the place p of the last visit to N: ``(p-1)(1 - b^N) + (N-1) b^p <= N - 1`` for b = 1 - alpha."""
    left = unit / (1 - ratio)
    decay = (1 - ALPHA) ** PLACE
    later = (N - PLACE) * decay
    lighter = left * (PLACE - 1 + (N - 1) * decay - (PLACE - 1) * decay * HOLE)
    growth = PLACE * ALPHA
    fading = (N - PLACE) * exp(-PLACE * ALPHA)
    slower = left * (PLACE - 1 + (N - PLACE) * HOLE**PLACE * (1 + growth))
    return [
        Step(unit * (PLACE - 1 + (N - 1) * decay / (1 - ratio)), "<=", "geometric-sum-bound", bound),
        Step(left * ((PLACE - 1) * (1 - ratio) + (N - 1) * decay), "="),
        Step.within(lighter, 1 - (N - PLACE) * ALPHA, "bernoulli", {"x": -ALPHA, "n": N - PLACE}),
        Step(left * (PLACE - 1 + later * (1 + (PLACE - 1) * ALPHA)), "="),
        Step(left * (PLACE - 1 + later * (1 + PLACE * ALPHA)), "<=", "order", {"a": (PLACE - 1) * ALPHA, "b": growth}),
        Step(left * (PLACE - 1 + fading * (1 + growth)), "<=", "one-minus-exp", {"x": ALPHA}, context=slower),
        Step.within(left * (PLACE - 1 + fading * HOLE), exp(PLACE * ALPHA), "one-minus-exp", {"x": -PLACE * ALPHA}),
        Step(unit * (N - 1) / (1 - ratio), "="),
    ]


def _unit(statement: Statement, symbols: Any) -> Any:
    """Sensitivity of one term with weight 1."""
    match statement.quantity:
        case "node_sensitivity":
            return 2 * ALPHA * symbols["G"]
        case "node_sensitivity_g":
            return 2 * symbols["G"]
        case _:
            return 2 * symbols["eta"] * N * symbols["L"]


def _grants_alpha(statement: Statement) -> bool:
    """Whether the statement assumes ``alpha >= 1/N``: those about the boxes do not."""
    return not statement.key.split(":")[1].startswith("algorithm")


def _put_alpha_in(around: Any) -> list[Step]:
    """From ``1/(1 - (1-alpha)^N)`` to ``1/(1 - exp(-1))``."""
    return [
        Step(around(1 / (1 - exp(-ALPHA * N))), "<=", "one-minus-exp", {"x": ALPHA}),
        Step(around(1 / (1 - exp(-1))), "<=", "exp-monotone", {"a": -ALPHA * N, "b": -Integer(1)}),
    ]


def _chain(name: str, statement: Statement, start: Any, steps: Sequence[Step]) -> Derivation:
    used = {symbol.name for symbol in start.free_symbols}
    granted = [c for c in sympy_conditions(statement) if {symbol.name for symbol in c.free_symbols} <= used]
    if _grants_alpha(statement):
        granted = [ALPHA * N >= 1]  # as the record has it, times N: the prover is quicker with a product
    inside = [PLACE <= N] if "p" in used else []
    ranges = {name: RANGES[name] for name in RANGES if name in used}
    return Derivation(
        name, "ours", ranges, (ALPHA <= 1, *granted, *inside), start, tuple(steps), local=("k", "p", "shift")
    )
