"""Lemma 5, derived without cases and with 1, 1/2 and 2 for 3/2, 3/4 and 3, two thirds of what is printed.

With u = m_hat/|m_hat| and e = m_hat - g: ``<g, u> = |m_hat| - <e, u> >= (|g| - |e|) - |e|``, the paper's "either way"
with 1 for 2/3; smoothness and a sum give the lemma.
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Rational, Symbol, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Premise, Step
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

LENGTH = Symbol("length", positive=True)  # |m_hat|.
ALONG = Symbol("along", real=True)  # <e, u>.
MEAN = Symbol("mean", nonnegative=True)  # Mean gradient norm.
ALIGNED = Symbol("aligned", real=True)  # Mean of <g_t, u_t> over the run.
NEXT = Symbol("next_loss", real=True)
CASES: Final = "the line for both cases as in the amended lemma-5-cases"
MEAN_OF_CASES: Final = "the mean over the run of the amended lemma-5-cases"
MEAN_OF_FALLS: Final = "the mean over the run of the amended lemma-5-smoothness"


def _lengths(statement: Statement) -> tuple[Any, Any, dict[str, Variable], tuple[Any, ...]]:
    """Lengths of g and e, their ranges, and what Cauchy-Schwarz and the triangle inequality say of them."""
    symbols = sympy_symbols(statement)
    g = symbols.get("grad_norm", Symbol("grad_norm", nonnegative=True))
    e = symbols.get("error_norm", Symbol("error_norm", nonnegative=True))
    ranges: dict[str, Variable] = {
        "grad_norm": real(0, 9),
        "error_norm": real(0, 9),
        "length": real(sqrt((g - e) ** 2), g + e, open_lo=True),
        "along": real(-e, e),
    }
    return g, e, ranges, (*sympy_conditions(statement), e >= ALONG, g - e <= LENGTH)


def alignment(statement: Statement) -> Derivation:
    """Derive ``-<g, u> <= -|g| + 2|e|`` and from it a printed ``-c|g| + k|e|`` with c <= 1 and k >= 2."""
    g, e, ranges, known = _lengths(statement)
    _, printed = sympy_sides(statement)
    steps = [
        Step(-LENGTH + e, "<=", "order", {"a": ALONG, "b": e}, note="Cauchy-Schwarz: |u| = 1"),
        Step(-g + 2 * e, "<=", "order", {"a": -LENGTH, "b": -g + e}, note="the triangle inequality"),
    ]
    if printed != -g + 2 * e:
        steps.append(Step(printed, "<=", "order", {"a": -g + 2 * e, "b": printed}))
    return Derivation(
        "one line for both cases", "ours", ranges, known, -LENGTH + ALONG, tuple(steps), local=("length", "along")
    )


def large_error(statement: Statement) -> Derivation:
    """Derive ``-<g, u> <= -2/3 |g| + 5/3 |e|``, the corrected ``lemma-5-case-2``, for |e| <= |g| and for |e| >= |g|."""
    g, e, ranges, _ = _lengths(statement)
    _, printed = sympy_sides(statement)
    reach = Symbol("turned", real=True)
    small = (
        Step(-g + 2 * e, "<=", "order", {"a": reach, "b": -g + 2 * e}, (CASES,)),
        Step(printed, "<=", "order", {"a": -g + 2 * e, "b": printed}),
    )
    large = (
        Step(g, "<=", "order", {"a": reach, "b": g}, note="Cauchy-Schwarz"),
        Step(printed, "<=", "order", {"a": g, "b": printed}),
    )
    kept = {name: ranges[name] for name in ("grad_norm", "error_norm")}
    return Derivation(
        "two cases",
        "ours",
        {**kept, "turned": real(-g, 9)},
        (*sympy_conditions(statement), reach <= g, reach <= -g + 2 * e),
        reach,
        (Cases(printed, "<=", (Case(e <= g, small), Case(e >= g, large))),),
        local=("turned",),
    )


def angle(statement: Statement) -> Derivation:
    """Derive the corrected ``lemma-5-case-2-sign``, |e| <= |g|, from ``|e|^2 = |m_hat|^2 - 2 <m_hat, g> + |g|^2``."""
    g, e, ranges, _ = _lengths(statement)
    far, printed = sqrt(g**2 - e**2), sympy_sides(statement)[1]
    start = -(LENGTH**2 + (g**2 - e**2)) / (2 * LENGTH)
    steps = (
        Step(-(2 * LENGTH * far) / (2 * LENGTH), "<=", "am-gm", {"a": LENGTH, "b": far}),
        Step(printed, "="),
    )
    kept = {name: ranges[name] for name in ("grad_norm", "error_norm", "length")}
    return Derivation("the law of cosines", "ours", kept, sympy_conditions(statement), start, steps, local=("length",))


def smoothness(statement: Statement) -> Derivation:
    """Derive the corrected ``lemma-5-smoothness`` from the definition of smoothness; the step is ``-eta u``."""
    loss, slope, eta, smooth = (sympy_symbols(statement)[name] for name in ("loss", "alignment", "eta", "L"))
    product, size = Symbol("product", real=True), Symbol("size", nonnegative=True)
    bound = loss + product + smooth * size**2 / 2
    steps = (
        Step(bound, "<=", "order", {"a": NEXT, "b": bound}, note="smoothness: <grad F(w_t), step> and |step|"),
        Step(loss - eta * slope + smooth * size**2 / 2, "<=", "order", {"a": product, "b": -eta * slope}),
        Step(
            loss - eta * slope + smooth * eta**2 / 2, "<=", "power-monotone", {"a": size, "b": eta, "p": 2},
            note="the step is -eta u, and |u| = 1",
        ),
    )  # fmt: skip
    ranges: dict[str, Variable] = {
        "loss": real(-3, 3),
        "alignment": real(-3, 3),
        "eta": real(0, 3, open_lo=True),
        "L": real(0, 3),
        "product": real(-eta * slope, -eta * slope),
        "size": real(eta, eta),
        "next_loss": real(bound - 1, bound),
    }
    return Derivation(
        "smoothness", "ours", ranges, (bound >= NEXT, product <= -eta * slope, size <= eta), NEXT, steps,
        local=("product", "size", "next_loss"),
    )  # fmt: skip


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
