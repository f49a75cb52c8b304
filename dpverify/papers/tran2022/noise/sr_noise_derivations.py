"""Terms 1 and 5 of Lemma 7 and the counts of nodes, derived.

The prefix [1, r] has one node per set bit i of r, whose noise enters with ``(1-alpha)^(r mod 2^i)``; likewise [1, t]
(NOTES.md, "COMPOSE in closed form"). A letter of ours: ``several``, 0 or 1, whether alpha may be below 1 at a sample
point (so that alpha = 1 is among the first).
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Eq, Mod, Rational, Sum, Symbol, floor

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise import decays_derivations as decays
from dpverify.papers.tran2022.trees.compose_derivations import DOWN, UP, by_concavity, k, set_bits_in_order
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2, PopCount
from dpverify.symbolic.expressions.ranges import SetBits, Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_definitions, sympy_sides, sympy_symbols

NODES: Final = "the nodes of the prefix"
SEVERAL: Final = Symbol("several", integer=True, nonnegative=True)


def count_1(statement: Statement) -> Derivation:
    """Derive ``tran2022:lemma-7-count-1``: COMPOSE(1, r) has popcount(r) nodes."""
    r = sympy_symbols(statement)["r"]
    digits = 1 + Log2(r)
    steps = (
        Step(1 + floor(Log2(r)), "<=", "popcount-width", {"n": r}),
        Step(digits, "<=", "floor-below", {"x": Log2(r)}),
        Step(2 * digits, "<=", "drop-nonnegative", {"a": digits, "b": digits}),
    )
    variables: dict[str, Variable] = {"N": integer(2, 4000), "r": integer(1, 3999)}
    return Derivation("set bits of r", "ours", variables, sympy_conditions(statement), PopCount(r), steps)


def count_1_log(statement: Statement) -> Derivation:
    """Derive ``tran2022:lemma-7-count-1-log``: 2r <= 2(N - 1) <= N^2."""
    n, r = (sympy_symbols(statement)[name] for name in "Nr")
    steps = (
        Step(2 * Log2(2 * r), "="),
        Step(2 * Log2(n**2), "<=", "log2-monotone", {"a": 2 * r, "b": n**2}),
        Step(4 * Log2(n), "="),
    )
    variables: dict[str, Variable] = {"N": integer(2, 4000), "r": integer(1, n - 1)}
    return Derivation("2(N - 1) <= N^2", "ours", variables, sympy_conditions(statement), 2 * (1 + Log2(r)), steps)


def count_2(statement: Statement) -> Derivation:
    """Derive the corrected ``tran2022:lemma-7-count-2``: log2 is concave."""
    n = sympy_symbols(statement)["N"]
    variables: dict[str, Variable] = {"N": integer(1, 4000), "p": integer(1, n), "v": integer(n - UP, n - UP)}
    start = PopCount(UP) + PopCount(DOWN)
    return Derivation(
        "two runs of nodes", "ours", variables, (Eq(UP + DOWN, n),), start, by_concavity(n), local=("p", "v")
    )


def count_5(statement: Statement) -> Derivation:
    """Derive the corrected ``tran2022:lemma-7-count-5``: a number with c set bits is at least 2^c - 1."""
    t, top = (sympy_symbols(statement)[name] for name in "tT")
    steps = (
        Step(floor(Log2(t + 1)), "<=", "popcount-log2", {"n": t}, context=floor(HOLE)),
        Step(floor(Log2(top + 1)), "<=", "log2-monotone", {"a": t + 1, "b": top + 1}),
    )
    variables: dict[str, Variable] = {"T": integer(1, 4000), "t": integer(1, top)}
    return Derivation("set bits of t", "ours", variables, (t <= top,), PopCount(t), steps)


def _prefix(statement: Statement, least: int) -> tuple[dict[str, Any], Any, dict[str, Variable]]:
    """Symbols, the nodes' scale, and the ranges."""
    full = sympy_definitions(statement)
    scale = full["alpha"] ** 2 * full["delta_G"] ** 2 * full["sigma"] ** 2 * full["V_first"]
    variables: dict[str, Variable] = {
        "several": integer(0, 1),
        "N": integer(least, 40),
        "alpha": real(1 - SEVERAL * (1 - 1 / full["N"]), 1),
        "delta_G": real(0, 3, open_lo=True),
        "sigma": real(0, 3, open_lo=True),
        "T": integer(1, 120),
        "t": integer(1, full["T"]),
    }
    return full, scale, variables


def var_1_step(statement: Statement) -> Derivation:
    """Derive ``tran2022:lemma-7-var-1-step``: the decays inside the prefix are at most 1, and are counted."""
    full, scale, variables = _prefix(statement, 2)
    alpha = full["alpha"]
    t = full["t"]
    r = Mod(t, full["N"])
    after = (1 - alpha) ** (2 * (t - r))
    digits = 1 + Log2(r)
    citation = cite(decays.prefix_digits(), alpha=alpha, s=r)
    slower = {"x": 1 - alpha, "p": 2 * (t - r), "q": t - r}
    steps = (
        Step(after * digits * scale, "<=", "premise", {}, (NODES,)),
        Step.within(after * scale * HOLE, 2 * digits, "drop-nonnegative", {"a": digits, "b": digits}),
        Step(
            2 * (1 - alpha) ** (t - r) * digits * scale,
            "<=",
            "power-decreasing",
            slower,
            note="the printed exponent is half of what squaring gives",
        ),
    )
    return Derivation(
        "decays at most one",
        "ours",
        variables,
        sympy_conditions(statement),
        after * citation.lhs * scale,
        steps,
        {NODES: citation},
        local=("several",),
    )


def var_1(statement: Statement) -> Derivation:
    """Derive ``tran2022:lemma-7-var-1``: popcount(r) <= log2(r + 1) <= log2 N."""
    full, scale, variables = _prefix(statement, 1)
    alpha, n, t = (full[name] for name in ("alpha", "N", "t"))
    citation = cite(decays.prefix_after(), alpha=alpha, N=n, t=t)
    steps = (
        Step(citation.rhs * scale, "<=", "premise", {}, (NODES,)),
        Step(
            4 * citation.rhs * scale, "<=", "drop-nonnegative", {"a": Log2(n), "b": 3 * Log2(n)}, context=HOLE * scale
        ),
    )
    return Derivation(
        "set bits of r",
        "ours",
        variables,
        (alpha <= 1,),
        citation.lhs * scale,
        steps,
        {NODES: citation},
        local=("several",),
    )


def var_5(statement: Statement) -> Derivation:
    """Derive the corrected ``tran2022:lemma-7-var-5``, as Proposition 16 is derived: the set bits of t in order."""
    full = sympy_definitions(statement)
    alpha, t, top = (full[name] for name in ("alpha", "t", "T"))
    scale = alpha**2 * full["delta_r"] ** 2 * full["sigma"] ** 2 * full["V_later"]
    decay = 1 - alpha
    _, printed = sympy_sides(statement)
    by_rank = decay ** (2 * (2 ** (k - 1) - 1))
    up_to = scale * Sum(by_rank, (k, 1, floor(HOLE)))
    steps = (
        *set_bits_in_order(decay, t, t, lambda e: scale * e),
        Step.within(up_to, Log2(t + 1), "popcount-log2", {"n": t}),
        Step.within(up_to, Log2(top + 1), "log2-monotone", {"a": t + 1, "b": top + 1}),
        Step(printed, "=", note="k = i + 1"),
    )
    variables: dict[str, Variable] = {
        "alpha": real(0, 1, open_lo=True),
        "delta_r": real(0, 3, open_lo=True),
        "sigma": real(0, 3, open_lo=True),
        "N": integer(1, 200),
        "T": integer(1, 60),
        "t": integer(1, top),
        "pos": SetBits(t),
    }
    start = scale * decays.decays(t, alpha)
    return Derivation("set bits in order", "ours", variables, (alpha <= 1, t <= top), start, steps, local=("pos",))


def var_5_plugged(statement: Statement) -> Derivation:
    """Derive the corrected ``tran2022:lemma-7-var-5-plugged``: an identity, as long as log2 N stays.

    Where N <= T the printed log2 T is no less.
    """
    start, printed = sympy_sides(statement)
    n, top = (sympy_symbols(statement)[name] for name in ("N", "T"))
    held = statement.variant == "held"
    last = Step(printed, "<=", "log2-monotone", {"a": n, "b": top}) if held else Step(printed, "=")
    variables: dict[str, Variable] = {
        "L": real(0, 3),
        "N": integer(1, 200),
        "T": integer(1, 500),
        "alpha": real(0, 1, open_lo=True),
        "eta": real(0, Rational(1, 2), open_lo=True),
        "sigma": real(0, 3, open_lo=True),
    }
    conditions = sympy_conditions(statement)
    return Derivation("plugged in", "ours", variables, conditions, start, (last,))
