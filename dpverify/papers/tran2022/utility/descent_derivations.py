"""Lemma 5, derived without cases and with 1, 1/2 and 2 for 3/2, 3/4 and 3, two thirds of what is printed.

With u = m_hat/|m_hat| and e = m_hat - g: ``<g, u> = |m_hat| - <e, u> >= (|g| - |e|) - |e|``, the paper's "either way"
with 1 for 2/3; smoothness and a sum give the lemma.
"""

from __future__ import annotations

from typing import Final

from sympy import Rational, Symbol, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.define import meant_by
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Premise, Step
from dpverify.symbolic.expressions.functions import HOLE, Inner, Norm
from dpverify.symbolic.expressions.ranges import AnyVector, Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

GRAD, ERROR = Symbol("g"), Symbol("e")  # The vectors grad F(w_t) and m_hat - grad F(w_t).
g, e, LENGTH = Norm(GRAD), Norm(ERROR), Norm(GRAD + ERROR)  # The last is |m_hat|.
BOTH: Final = {"u": GRAD, "w": ERROR}
MEAN = Symbol("mean", nonnegative=True)  # Mean gradient norm.
ALIGNED = Symbol("aligned", real=True)  # Mean of <g_t, u_t> over the run.
MEAN_OF_CASES: Final = "the mean over the run of the amended lemma-5-cases"
MEAN_OF_FALLS: Final = "the mean over the run of the amended lemma-5-smoothness"


def _about_angle(name: str, statement: Statement, *steps: Step | Cases) -> Derivation:
    """Chain from ``-<g, u>`` for vectors g and e, by the law of cosines."""
    dot, square = Inner(GRAD, ERROR), g**2 + 2 * Inner(GRAD, ERROR) + e**2
    cosines = (
        Step(-(g**2 + dot) / LENGTH, "=", "inner-of-sum", BOTH, context=-HOLE / LENGTH),
        Step((e**2 - g**2 - square) / (2 * LENGTH), "="),
        Step((e**2 - g**2 - LENGTH**2) / (2 * LENGTH), "=", "norm-square", BOTH,
             context=(e**2 - g**2 - HOLE) / (2 * LENGTH)),
    )  # fmt: skip
    variables: dict[str, Variable] = {"g": AnyVector(), "e": AnyVector()}
    start = -Inner(GRAD, GRAD + ERROR) / LENGTH
    return Derivation(name, "ours", variables, sympy_conditions(statement), start, (*cosines, *steps))


def _along() -> tuple[Step, ...]:
    """From the law of cosines to ``|e| - |m_hat|``: ``-<g, u> = <e, u> - |m_hat|`` and Cauchy-Schwarz."""
    turned = {"u": ERROR, "w": GRAD}
    rest, along = (e**2 - g**2 + HOLE - 2 * LENGTH**2) / (2 * LENGTH), (HOLE - LENGTH**2) / LENGTH
    return (
        Step(rest.xreplace({HOLE: e**2 + 2 * Inner(ERROR, GRAD) + g**2}), "=", "norm-square", turned, context=rest),
        Step(along.xreplace({HOLE: e**2 + Inner(ERROR, GRAD)}), "="),
        Step(along.xreplace({HOLE: Inner(ERROR, ERROR + GRAD)}), "=", "inner-of-sum", turned, context=along),
        Step.within(along, e * LENGTH, "cauchy-schwarz", {"u": ERROR, "w": ERROR + GRAD}),
        Step(e - LENGTH, "="),
    )


def alignment(statement: Statement) -> Derivation:
    """Derive ``-<g, u> <= -|g| + 2|e|`` and from it a printed ``-c|g| + k|e|`` with c <= 1 and k >= 2."""
    _, printed = sympy_sides(statement)
    line = (Step(-g + 2 * e, "<=", "norm-difference", BOTH, context=e - HOLE),)
    last = () if printed == -g + 2 * e else (Step(printed, "<=", "order", {"a": -g + 2 * e, "b": printed}),)
    return _about_angle("one line for both cases", statement, *_along(), *line, *last)


def large_error(statement: Statement) -> Derivation:
    """Derive ``-<g, u> <= -2/3 |g| + 5/3 |e|``, the corrected ``lemma-5-case-2``, for |e| <= |g| and for |e| >= |g|."""
    _, printed = sympy_sides(statement)
    small = (
        Step(-g + 2 * e, "<=", "norm-difference", BOTH, context=e - HOLE),
        Step(printed, "<=", "order", {"a": -g + 2 * e, "b": printed}),
    )
    large = (
        Step(e, "<=", "drop-nonnegative", {"a": e - LENGTH, "b": LENGTH}),
        Step(printed, "<=", "order", {"a": e, "b": printed}),
    )
    cases = Cases(printed, "<=", (Case(e <= g, small), Case(e >= g, large)))
    return _about_angle("two cases", statement, *_along(), cases)


def angle(statement: Statement) -> Derivation:
    """Derive the corrected ``lemma-5-case-2-sign``, |e| <= |g|, from ``|m_hat|^2 + |g|^2 - |e|^2``."""
    far, printed = sqrt(g**2 - e**2), sympy_sides(statement)[1]
    steps = (
        Step(-(LENGTH**2 + (g**2 - e**2)) / (2 * LENGTH), "="),
        Step(-(2 * LENGTH * far) / (2 * LENGTH), "<=", "am-gm", {"a": LENGTH, "b": far}),
        Step(printed, "="),
    )
    return _about_angle("the law of cosines", statement, *steps)


def smoothness(statement: Statement) -> Derivation:
    """Derive the corrected ``lemma-5-smoothness``: the loss leaves its tangent by at most ``L eta^2/2``."""
    meant = meant_by(statement)
    if meant is None:
        raise ValueError(f"{statement.key} must have a definition of what it measures.")
    eta, L = (sympy_symbols(statement)[name] for name in ("eta", "L"))
    bend, most = meant.letters["bend"], L * eta**2 / 2
    ranges: dict[str, Variable] = {
        "loss": real(-3, 3),
        "alignment": real(-3, 3),
        "eta": real(0, 3, open_lo=True),
        "L": real(0, 3),
        "bend": real(-most, most),
    }
    known = (*sympy_conditions(statement), *meant.conditions)
    step = Step.order(meant.formula.subs(bend, HOLE), bend, most)
    return Derivation("smoothness", "ours", ranges, known, meant.formula, (step,), local=("bend",))


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
