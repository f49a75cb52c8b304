"""Lemma 5, derived without cases and with 1, 1/2 and 2 for 3/2, 3/4 and 3, two thirds of what is printed.

Its two premises are proved in proofs.toml, of one step: ``-<g, u> <= -|g| + 2|e|``, and smoothness.
"""

from __future__ import annotations

from typing import Final

from sympy import Rational, Symbol

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols

MEAN = Symbol("mean", nonnegative=True)  # Mean gradient norm.
ALIGNED = Symbol("aligned", real=True)  # Mean of <g_t, u_t> over the run.
MEAN_OF_CASES: Final = "the mean over the run of the amended lemma-5-cases"
MEAN_OF_FALLS: Final = "the mean over the run of the amended lemma-5-smoothness"


def telescoped(statement: Statement) -> Derivation:
    """Derive Lemma 5, as printed or with smaller constants; M is at most two thirds of the printed side."""
    # The premises are the means over the run of the corrected lemma-5-cases and lemma-5-smoothness.
    drop, eta, top, smooth, errors = (sympy_symbols(statement)[name] for name in ("drop", "eta", "T", "L", "error_sum"))
    _, printed = sympy_sides(statement)
    turned = ALIGNED + 2 * errors / top
    fall = drop / (eta * top) + smooth * eta / 2
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
            times * (fall + 2 * errors / top),
            "<=",
            "premise",
            {},
            (MEAN_OF_FALLS,),
            note="the mean over the run; the losses telescope",
        ),
        Step(printed, "="),
    )
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
