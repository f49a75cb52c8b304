"""Nodes that a step makes, cross terms of one epoch, and the difference of two momenta an epoch apart, derived."""

from __future__ import annotations

from dataclasses import replace

from sympy import Abs, Lambda, Max, Sum, Symbol, floor

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.boxes.box_derivations import RANGES, chain, sides
from dpverify.papers.tran2022.identities.sum_steps import full_grad
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols
from dpverify.symbolic.expressions.whole_functions import AnyFunction

i = Symbol("i", integer=True)
N = Symbol("N", integer=True, positive=True)
K = Symbol("k", integer=True, nonnegative=True)
SHIFT = Symbol("shift", integer=True, nonnegative=True)


def derive_node_range(statement: Statement) -> Derivation:
    """Derive ``2**f <= t < 2**(f+1)`` for f = floor(log2 t), and that 2**k divides both t and t - 2**k, or neither."""
    symbols = sympy_symbols(statement)
    t = symbols["t"]
    top = floor(Log2(symbols["t"]))
    _, end = sides(statement)
    above = 2 * t + 1 - 2 ** (top + 1)
    high = 2 ** Log2(t)
    return chain(
        statement,
        Step(
            Max(high, above, t), "<=", "power-increasing", {"x": 2, "p": top, "q": Log2(t)}, context=Max(HOLE, above, t)
        ),
        Step(Max(t, 2 * t + 1 - (t + 1)), "<=", "below-next-power", {"n": t}, context=Max(t, 2 * t + 1 - HOLE)),
        Step(end, "="),
    )


def derive_difference_once(statement: Statement) -> Derivation:
    """Derive a geometric series for the visits that have a partner, and the weight of the first visit."""
    _, end = sides(statement)
    symbols = sympy_symbols(statement)
    alpha, size, eta, smooth, t = (symbols[name] for name in ("alpha", "G", "eta", "L", "t"))
    decay = 1 - alpha
    drift = 2 * smooth * eta * N
    first = 2 * size * decay ** (SHIFT + K * N)
    series = Sum(decay ** (i * N), (i, 0, K - 1))
    return chain(
        statement,
        Step(alpha * (drift * series + first), "<=", "power-decreasing", {"x": decay, "p": SHIFT + i * N, "q": i * N}),
        Step(
            alpha * (drift * series + 2 * size * decay ** (t - N)),
            "<=",
            "power-decreasing",
            {"x": decay, "p": SHIFT + K * N, "q": t - N},
        ),
        Step(
            alpha * (drift / (1 - decay**N) + 2 * size * decay ** (t - N)),
            "<=",
            "geometric-sum-bound",
            {"x": decay**N, "m": K - 1},
            context=alpha * (drift * HOLE + 2 * size * decay ** (t - N)),
        ),
        Step(end, "="),
    )


def derive_difference_fresh(statement: Statement) -> Derivation:
    """Derive it by telescoping: both sums have the terms 2 .. q - 1 in common."""
    _, end = sides(statement)
    symbols = sympy_symbols(statement)
    alpha, size, q = (symbols[name] for name in ("alpha", "G", "q"))
    term = Lambda(i, (1 - alpha) ** (i * N - 1))
    unit = 2 * alpha * size
    earlier, later = ({"f": term, "lo": lo, "hi": hi} for lo, hi in ((1, q - 1), (2, q)))
    common = Sum(term(i), (i, 2, q - 1))
    proof = chain(
        statement,
        Step(unit * (1 + Sum(term(i), (i, 2, q)) - term(1) - common), "=", "sum-split-first", earlier),
        Step(unit * (1 + common + Sum(term(i), (i, q, q)) - term(1) - common), "=", "sum-split", {**later, "m": q - 1}),
        Step(unit * (1 - term(1)) + unit * term(q), "="),
        Step(end, ">=", "drop-nonnegative", {"a": unit * (1 - term(1)), "b": unit * term(q)}),
    )
    ranges = {name: proof.variables[name] for name in proof.variables if name != "t"}  # it is q N, and no step has it
    return replace(proof, variables=ranges, assumptions=tuple(a for a in proof.assumptions if not a.has(symbols["t"])))


def derive_split(statement: Statement) -> Derivation:
    """Derive that the two sums differ by ``(1-alpha)^t`` of the last gradient, for the weights add up to the rest."""
    start, end = sympy_sides(statement)
    alpha, t = (sympy_symbols(statement)[name] for name in ("alpha", "t"))
    multiples = _multiples_apart()
    decay = 1 - alpha
    last = full_grad(t)
    lag = alpha * Sum(decay ** (t - i) * (full_grad(i) - last), (i, 1, t))
    around = Abs(lag + last * alpha * HOLE - last)
    total = (1 - decay**t) / (1 - decay)
    weights = {"f": Lambda(i, decay ** (t - i)), "lo": 1, "hi": t}
    steps = (
        Step(around.xreplace({HOLE: Sum(decay ** (t - i), (i, 1, t))}), "="),
        Step(around.xreplace({HOLE: Sum(decay ** (i - 1), (i, 1, t))}), "=", "sum-reverse", weights, context=around),
        Step(around.xreplace({HOLE: total}), "=", "geometric-sum", {"x": decay, "m": t}, context=around),
        Step(Abs(lag - decay**t * last), "="),
        Step(end, "<=", "premise", {}, (multiples.name,)),
    )
    ranges: dict[str, Variable] = {"alpha": RANGES["alpha"], "t": integer(1, 12), "full_grad": AnyFunction()}
    premises = {multiples.name: cite(multiples, p=alpha, u=lag / alpha, q=decay**t, v=last)}
    return Derivation("the weights add up", "ours", ranges, sympy_conditions(statement), start, steps, premises)


def _multiples_apart() -> Derivation:
    """Derive ``|p u - q v| <= p |u| + q |v|`` for p and q that are not negative."""
    p, q = (Symbol(name, nonnegative=True) for name in "pq")
    u, v = (Symbol(name, real=True) for name in "uv")
    ranges: dict[str, Variable] = {"p": real(0, 3), "q": real(0, 3), "u": real(-3, 3), "v": real(-3, 3)}
    step = Step(p * Abs(u) + q * Abs(v), "<=", "triangle", {"a": p * u, "b": -q * v})
    return Derivation("multiples apart", "ours", ranges, (), Abs(p * u - q * v), (step,))
