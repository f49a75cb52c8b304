"""Lemma 5, derived without cases and with 1, 1/2 and 2 for 3/2, 3/4 and 3, two thirds of what is printed.

With u = m_hat/|m_hat| and e = m_hat - g: ``<g, u> = |m_hat| - <e, u> >= (|g| - |e|) - |e|``, the paper's "either way"
with 1 for 2/3; smoothness and a sum give the lemma.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sympy import Rational, Symbol, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.define import meant_by
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Premise, Step
from dpverify.symbolic.derive.steps import Link
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

MEAN = Symbol("mean", nonnegative=True)  # Mean gradient norm.
ALIGNED = Symbol("aligned", real=True)  # Mean of <g_t, u_t> over the run.
MEAN_OF_CASES: Final = "the mean over the run of the amended lemma-5-cases"
MEAN_OF_FALLS: Final = "the mean over the run of the amended lemma-5-smoothness"


_RANGES: Final[dict[str, Variable]] = {
    "grad_norm": real(0, 9, open_lo=True),
    "error_norm": real(0, 9, open_lo=True),
    "loss": real(-3, 3),
    "alignment": real(-3, 3),
    "eta": real(0, 3, open_lo=True),
    "L": real(0, 3),
}


def _measured(
    name: str, statement: Statement, steps: Callable[[Any, dict[str, Any]], tuple[Link, ...]], **more: Variable
) -> Derivation:
    """Make a chain from what the statement measures by its definition, in the letters of both."""
    meant = meant_by(statement)
    if meant is None:
        raise ValueError(f"{statement.key} must have a definition of what it measures.")
    symbols = sympy_symbols(statement) | meant.letters
    variables = {name: _RANGES[name] for name in _RANGES if name in symbols} | more
    known = (*sympy_conditions(statement), *meant.conditions)
    chain = steps(meant.formula, symbols)
    return Derivation(name, "ours", variables, known, meant.formula, chain, local=tuple(meant.letters))


def _drawn(statement: Statement) -> dict[str, Variable]:
    """Lengths of a momentum that an error of this length can give, and then the error along it."""
    s = sympy_symbols(statement)
    g, e = (s.get(name, Symbol(name, nonnegative=True)) for name in ("grad_norm", "error_norm"))
    length = Symbol("length", positive=True)
    along = (length**2 + e**2 - g**2) / (2 * length)
    return {"length": real(sqrt((g - e) ** 2), g + e, open_lo=True), "along": real(along, along)}


def _sum_of_norms(s: dict[str, Any]) -> tuple[Step, ...]:
    """``<e, u> - |m_hat| <= -|g| + 2|e|``: Cauchy-Schwarz, and ``|g| <= |m_hat| + |e|``."""
    g, e, length, along = (s[name] for name in ("grad_norm", "error_norm", "length", "along"))
    around, square = 2 * e - HOLE, length**2 - 2 * length * along + e**2
    return (
        Step.order(HOLE - length, along, e),
        Step(
            around.subs(HOLE, sqrt(square)), "<=", "sqrt-monotone", {"a": square, "b": (length + e) ** 2},
            context=around,
        ),
        Step(around.subs(HOLE, g), "<=", "sqrt-monotone", {"a": g**2, "b": square}, context=around),
    )  # fmt: skip


def alignment(statement: Statement) -> Derivation:
    """Derive ``-<g, u> <= -|g| + 2|e|`` and from it a printed ``-c|g| + k|e|`` with c <= 1 and k >= 2."""
    printed = sympy_sides(statement)[1]

    def steps(_: Any, s: dict[str, Any]) -> tuple[Link, ...]:
        chain = _sum_of_norms(s)
        return chain if printed == chain[-1].expr else (*chain, Step.order(HOLE, chain[-1].expr, printed))

    return _measured("one line for both cases", statement, steps, **_drawn(statement))


def large_error(statement: Statement) -> Derivation:
    """Derive ``-<g, u> <= -2/3 |g| + 5/3 |e|``, the corrected ``lemma-5-case-2``, for |e| <= |g| and for |e| >= |g|."""
    printed = sympy_sides(statement)[1]

    def steps(start: Any, s: dict[str, Any]) -> tuple[Link, ...]:
        g, e = s["grad_norm"], s["error_norm"]
        small = _sum_of_norms(s)
        large = (
            Step.order(HOLE, start, sqrt(start**2)),
            Step(g, "<=", "sqrt-monotone", {"a": start**2, "b": g**2}, note="Cauchy-Schwarz"),
        )
        cases = (
            Case(e <= g, (*small, Step.order(HOLE, small[-1].expr, printed))),
            Case(e >= g, (*large, Step.order(HOLE, g, printed))),
        )
        return (Cases(printed, "<=", cases),)

    return _measured("two cases", statement, steps, **_drawn(statement))


def angle(statement: Statement) -> Derivation:
    """Derive the corrected ``lemma-5-case-2-sign``, |e| <= |g|, from ``|g|^2 = |m_hat u - e|^2``."""

    def steps(_: Any, s: dict[str, Any]) -> tuple[Link, ...]:
        g, e, length, along = (s[name] for name in ("grad_norm", "error_norm", "length", "along"))
        far, twice = sqrt(g**2 - e**2), 2 * length
        return (
            Step.order(HOLE, along - length, -(length**2 + far**2) / twice),
            Step(-twice * far / twice, "<=", "am-gm", {"a": length, "b": far}, context=-HOLE / twice),
        )

    return _measured("the law of cosines", statement, steps, **_drawn(statement))


def smoothness(statement: Statement) -> Derivation:
    """Derive the corrected ``lemma-5-smoothness`` from the definition of smoothness; the step is ``-eta u``."""

    def steps(start: Any, s: dict[str, Any]) -> tuple[Link, ...]:
        return (Step.order(start.subs(s["bend"], HOLE), s["bend"], s["L"] * s["eta"] ** 2 / 2),)

    s = sympy_symbols(statement)
    most = s["L"] * s["eta"] ** 2 / 2
    return _measured("smoothness", statement, steps, bend=real(-most, most))


def telescoped(statement: Statement) -> Derivation:
    """Derive Lemma 5, as printed or with smaller constants; M is at most two thirds of the printed side."""
    # The premises are the means over the run of the corrected lemma-5-cases and lemma-5-smoothness.
    drop, eta, top, smooth, errors = (sympy_symbols(statement)[name] for name in ("drop", "eta", "T", "L", "error_sum"))
    _, printed = sympy_sides(statement)
    turned, fall = ALIGNED + 2 * errors / top, drop / (eta * top) + smooth * eta / 2
    premises = {
        MEAN_OF_CASES: Premise(MEAN, "<=", turned),
        MEAN_OF_FALLS: Premise(ALIGNED, "<=", fall),
    }
    sharp = statement.variant == "amended"
    times = 1 if sharp else Rational(3, 2)
    first = () if sharp else (Step(times * MEAN, "<=", "drop-nonnegative", {"a": MEAN, "b": MEAN / 2}),)
    steps = (
        *first,
        Step(times * turned, "<=", "premise", {}, (MEAN_OF_CASES,), note="the mean over the run"),
        Step(
            times * (fall + 2 * errors / top), "<=", "premise", {}, (MEAN_OF_FALLS,),
            note="the mean over the run; the losses telescope",
        ),
        Step(printed, "="),
    )  # fmt: skip
    ranges: dict[str, Variable] = {
        "eta": real(0, 3, open_lo=True),
        "T": integer(1, 60),
        "L": real(0, 3),
        "error_sum": real(0, 9),
        "drop": real(-eta * (top * smooth * eta / 2 + 2 * errors), 9),
        "aligned": real(-2 * errors / top, fall),
        "mean": real(0, turned),
    }
    return Derivation("both premises, added up", "ours", ranges, (), MEAN, steps, premises, local=("mean", "aligned"))
