"""Terms 2 to 4 of Lemma 7, derived: the windows' weights; for the letters see ``sr_window_steps_derivations``."""

from __future__ import annotations

from typing import Any, Final

import sympy
from sympy import Eq, Integer, Lambda, Rational, Sum, Symbol, exp

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise.sr_window_steps_derivations import (
    DECAYS,
    KEEP,
    LETTERS,
    LOCAL,
    RHO,
    SEVERAL,
    SHRUNK,
    SQUARES,
    WINDOWS,
    WITH_RHO,
    YOUNG,
    AboutWindows,
    Wrap,
    about_windows,
    count,
    counted,
    j,
    k,
    kept,
    premises,
    series,
    squares,
    to_log2_n,
    weight,
    with_rho,
    young,
)
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step
from dpverify.symbolic.derive.steps import Link
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols


def var_3(statement: Statement) -> Derivation:
    """Derive the bound on the third term's variance; see the steps' module."""
    at = about_windows(statement, "delta_G", "sigma")
    alpha, gamma, later = (at.full[name] for name in ("alpha", "gamma", "V_later"))
    return _all_windows(at, alpha**2 * gamma**2 * at.full["delta_G"] ** 2 * at.full["sigma"] ** 2 * later, False)


def var_4(statement: Statement) -> Derivation:
    """Derive the bound on the fourth term's variance; see the steps' module."""
    at = about_windows(statement, "delta_Delta", "sigma")
    alpha, later = at.full["alpha"], at.full["V_later"]
    return _all_windows(at, alpha**2 * at.full["delta_Delta"] ** 2 * at.full["sigma"] ** 2 * later, True)


def _all_windows(at: AboutWindows, scale: Any, kept_once_more: bool) -> Derivation:
    """From a window term's variance to the printed bound; every Delta has a factor ``1 - gamma`` more."""
    gamma, n = at.full["gamma"], at.full["N"]
    own = KEEP**2 if kept_once_more else Integer(1)
    rate = gamma * (2 - gamma) * SHRUNK
    steps: tuple[Link, ...] = (
        Step(own * scale * DECAYS * kept() / SHRUNK, "<=", "premise", {}, (YOUNG,)),
        *series(gamma, lambda e: own * scale * DECAYS * e / SHRUNK),
    )
    if kept_once_more:
        steps += (Step(scale * DECAYS / rate, "<=", "power-at-most-one", {"x": KEEP, "p": Integer(2)}),)
    steps += (
        count(n, lambda e: scale * e / rate),
        to_log2_n(n, lambda e: scale * e / rate),
        Step(4 * Log2(n) * scale / (gamma * SHRUNK), "<=", "reciprocal-monotone", {"a": Integer(1), "b": 2 - gamma}),
    )
    return Derivation(
        "Young's inequality for the weights", "ours", at.variables, at.assumptions,
        own * scale * DECAYS * SQUARES, steps, premises(n), local=LOCAL, letters=LETTERS,
    )  # fmt: skip


def total_weight(alpha: Any, n: Any) -> Any:
    """Coefficient of the first whole window: ``sum_{i<q} (1-alpha)^{Ni} u^{q-1-i}``, with q windows."""
    return Sum((1 - alpha) ** (n * j) * KEEP ** (WINDOWS - 1 - j), (j, 0, WINDOWS - 1))


def var_2(statement: Statement) -> Derivation:
    """Derive the bound on the second term's variance: 1 - gamma <= 1, and Proposition 13."""
    at = with_rho(about_windows(statement, "delta_G", "sigma"))
    alpha, n = (at.full[name] for name in ("alpha", "N"))
    scale = alpha**2 * at.full["delta_G"] ** 2 * at.full["sigma"] ** 2 * at.full["V_first"]

    def wrap(e: Any) -> Any:
        return scale * DECAYS * e**2

    steps: tuple[Link, ...] = (
        Step(wrap(weight(RHO, WINDOWS)), "<=", "power-monotone", {"a": (1 - alpha) ** n, "b": RHO, "p": j}),
        Step(wrap(Sum(RHO**j, (j, 0, WINDOWS - 1))), "<=", "power-at-most-one", {"x": KEEP, "p": WINDOWS - 1 - j}),
        Step(wrap(1 / (1 - RHO)), "<=", "geometric-sum-bound", {"x": RHO, "m": WINDOWS - 1}),
        Step(wrap(1 / (1 - exp(-1))), "<=", "order", {"a": RHO, "b": exp(-1)}),
        count(n, lambda e: scale * e / SHRUNK),
        to_log2_n(n, lambda e: scale * e / SHRUNK),
    )
    return Derivation(
        "the weights of the first window add up", "ours", at.variables, at.assumptions,
        wrap(total_weight(alpha, n)), steps, counted(n), local=WITH_RHO, letters=LETTERS,
    )  # fmt: skip


def var_2_step(statement: Statement) -> Derivation:
    """Derive the corrected first line of the second term: the square of the sum of the coefficients, and the count."""
    at = about_windows(statement, "delta_G", "sigma")
    full, (_, printed) = at.full, sympy_sides(statement)
    (coefficient,) = printed.atoms(Sum)
    weighed = Symbol("weight", nonnegative=True)
    scale = full["alpha"] ** 2 * full["delta_G"] ** 2 * full["sigma"] ** 2 * full["V_first"]
    steps = (
        count(full["N"], lambda e: scale * weighed**2 * e),
        Step(printed, "<=", "order", {"a": weighed, "b": coefficient}, note="the coefficient of the window's nodes"),
    )
    return Derivation(
        "sharp count", "ours", {**at.variables, "weight": real(coefficient, coefficient)},
        (weighed <= coefficient,), scale * weighed**2 * DECAYS, steps,
        counted(full["N"]), local=(*LOCAL, "weight"), letters=LETTERS,
    )  # fmt: skip


DEFINITION: Final = "windows = max(q - 1, 0)"  # Not a claim of the paper: what the letter ``windows`` means


def var_3_step(statement: Statement) -> Derivation:
    """Derive the third term's first line, with its finite sum over the windows; see the steps' module."""
    at = with_rho(about_windows(statement, "delta_G", "sigma"))
    alpha, gamma, n, dG, sigma = (at.full[name] for name in ("alpha", "gamma", "N", "delta_G", "sigma"))
    scale = alpha**2 * gamma**2 * dG**2 * sigma**2 * at.full["V_later"]
    squared = young(alpha, n, lambda e: scale * DECAYS * e)
    start = scale * DECAYS * squares(alpha, n)
    return _first_line(statement, at, start, squared, lambda u: u ** (2 * (k - 1)) / SHRUNK)


def var_4_step(statement: Statement) -> Derivation:
    """Derive the fourth term's first line; see the steps' module."""
    at = about_windows(statement, "delta_Delta", "sigma")
    alpha, dD, sigma = (at.full[name] for name in ("alpha", "delta_Delta", "sigma"))
    scale = alpha**2 * KEEP**2 * dD**2 * sigma**2 * at.full["V_later"]
    squared = (Step(scale * DECAYS * kept() / SHRUNK, "<=", "premise", {}, (YOUNG,)),)
    return _first_line(statement, at, scale * DECAYS * SQUARES, squared, lambda u: alpha**2 * u ** (2 * k) / SHRUNK)


def _first_line(
    statement: Statement, at: AboutWindows, start: Any, squared: tuple[Step, ...], summand: Wrap
) -> Derivation:
    """From a window term's variance, by way of ``squared``, to the printed first line with its ``summand`` of u."""
    gamma, n = at.full["gamma"], at.full["N"]
    _, printed = sympy_sides(statement)
    (written,) = printed.atoms(sympy.Piecewise)
    in_u, own = (Sum(summand(u), (k, 1, WINDOWS)) for u in (KEEP, 1 - gamma))
    outside = printed.xreplace({written: own}) / own / (4 * Log2(n))
    steps: tuple[Link, ...] = (
        *squared,
        Step(outside * DECAYS * in_u, "="),
        Step(outside * DECAYS * own, "<=", "order", {"a": KEEP, "b": 1 - gamma}),
        count(n, lambda e: outside * e * own),
        to_log2_n(n, lambda e: outside * e * own),
        Step(printed, "<=", "premise", {}, (DEFINITION,)),
    )
    present = sympy.Max(sympy.floor(at.full["t"] / n) - 1, 0)
    return Derivation(
        "Young's inequality for the weights",
        "ours",
        {**at.variables, "windows": integer(present, present)},
        (*at.assumptions, gamma < 1),
        start,
        steps,
        {DEFINITION: Premise(own, "<=", written), **(premises if squared[0].premises else counted)(n)},
        local=WITH_RHO if "rho" in at.variables else LOCAL,
        letters=LETTERS,
    )


def coefficient(statement: Statement) -> Derivation:
    """Derive the corrected bound on a single weight: ``v <= exp(-1) < 1/2 <= u``."""
    symbols = sympy_symbols(statement)
    alpha, gamma, n, i = (symbols[name] for name in ("alpha", "gamma", "N", "window"))
    start, _ = sympy_sides(statement)
    at, back = KEEP ** (i - 1), i - 1 - j
    ratio = RHO / KEEP
    steps = (
        Step(
            Sum(KEEP**j * (1 - alpha) ** (n * back), (j, 0, i - 1)),
            "<=",
            "power-monotone",
            {"a": 1 - gamma, "b": KEEP, "p": j},
        ),
        Step(
            Sum(KEEP**j * RHO**back, (j, 0, i - 1)),
            "<=",
            "power-monotone",
            {"a": (1 - alpha) ** n, "b": RHO, "p": back},
        ),
        Step(at * Sum(ratio**back, (j, 0, i - 1)), "="),
        Step(
            at * Sum(ratio**j, (j, 0, i - 1)), "=", "sum-reverse", {"lo": 0, "hi": i - 1, "f": Lambda(j, ratio**back)}
        ),
        Step(at / (1 - ratio), "<=", "geometric-sum-bound", {"x": ratio, "m": i - 1}),
        Step(at / (1 - exp(-1) / KEEP), "<=", "order", {"a": RHO, "b": exp(-1)}),
        Step(KEEP**i / (KEEP - exp(-1)), "="),
        Step.within(KEEP**i / (HOLE - exp(-1)), 1 - gamma, "order", {"a": 1 - gamma, "b": KEEP}),
        Step((1 - gamma) ** i / (1 - gamma - exp(-1)), "<=", "order", {"a": KEEP, "b": 1 - gamma}),
    )
    variables: dict[str, Variable] = {
        "several": integer(0, 1), "N": integer(1, 1 + 7 * SEVERAL),
        "alpha": real(1 / n, 1), "gamma": real(0, Rational(1, 2), open_lo=True),
        "window": integer(1, 12), "keep": real(1 - gamma, 1 - gamma),
        "rho": real((1 - alpha) ** n, Rational(3678, 10000)),
    }  # fmt: skip
    assumptions = (alpha <= 1, gamma <= Rational(1, 2), (1 - alpha) ** n <= RHO, exp(-1) >= RHO, Eq(KEEP, 1 - gamma))
    return Derivation(
        "two geometric sequences",
        "ours",
        variables,
        assumptions,
        start,
        steps,
        local=("several", "keep", "rho"),
        letters=LETTERS,
    )


def var_2_sum(statement: Statement) -> Derivation:
    """Derive the bound on the printed sum of squares: 1 - gamma <= 1, and a geometric series."""
    symbols = sympy_symbols(statement)
    alpha, gamma, n, q = (symbols[name] for name in ("alpha", "gamma", "N", "q"))
    start, printed = sympy_sides(statement)
    (i,) = start.variables
    steps = (
        Step(
            Sum((1 - alpha) ** (2 * n * i), (i, 0, q - 1)),
            "<=",
            "power-at-most-one",
            {"x": 1 - gamma, "p": 2 * q - 2 * (i + 1)},
        ),
        Step(Sum(RHO ** (2 * i), (i, 0, q - 1)), "<=", "power-monotone", {"a": (1 - alpha) ** n, "b": RHO, "p": 2 * i}),
        Step(1 / (1 - RHO**2), "<=", "geometric-sum-bound", {"x": RHO**2, "m": q - 1}),
        Step(1 / (1 - exp(-2)), "<=", "order", {"a": RHO, "b": exp(-1)}),
        Step(printed, "<=", "order", {"a": 1 / (1 - exp(-2)), "b": printed}),
    )
    variables: dict[str, Variable] = {
        "several": integer(0, 1), "N": integer(1, 1 + 7 * SEVERAL),
        "alpha": real(1 / n, 1), "gamma": real(0, Rational(1, 2), open_lo=True),
        "q": integer(1, 12), "rho": real((1 - alpha) ** n, Rational(3678, 10000)),
    }  # fmt: skip
    assumptions = (alpha <= 1, gamma <= Rational(1, 2), q >= 1, (1 - alpha) ** n <= RHO, exp(-1) >= RHO)
    return Derivation(
        "a geometric series", "ours", variables, assumptions, start, steps, local=("several", "rho"), letters=LETTERS
    )


def var_3_sum(statement: Statement) -> Derivation:
    """Derive the bound on the sum over the windows: ``1/(gamma (2 - gamma))``, and 2 - gamma > 1."""
    symbols = sympy_symbols(statement)
    gamma, q = symbols["gamma"], symbols["q"]
    start, _ = sympy_sides(statement)
    square = (1 - gamma) ** 2
    own = Sum((1 - gamma) ** (2 * (k - 1)), (k, 1, WINDOWS))
    steps = (
        Step(own, "<=", "premise", {}, (DEFINITION,)),
        Step(1 / (1 - square), "<=", "geometric-sum-bound", {"x": square, "m": WINDOWS - 1}),
        Step(1 / (gamma * (2 - gamma)), "="),
        Step(1 / gamma, "<=", "reciprocal-monotone", {"a": Integer(1), "b": 2 - gamma}),
    )
    present = sympy.Max(q - 1, 0)
    variables: dict[str, Variable] = {
        "gamma": real(0, 1, open_lo=True, open_hi=True), "q": integer(0, 40), "windows": integer(present, present),
    }  # fmt: skip
    premises = {DEFINITION: Premise(start, "<=", own)}
    return Derivation("a geometric series", "ours", variables, (gamma < 1,), start, steps, premises, local=("windows",))
