"""Terms 2 to 4 of Lemma 7, derived: the windows' weights and decays, from ``sr_shares_derivations``.

Letters of ours: ``p`` and ``v``, the steps of a window's two runs of nodes; ``rho``, any number between (1-alpha)^N and
exp(-1); ``keep``, 1 - gamma; ``several``, 0 or 1, whether N may be more than 1 at a sample point (so that N = 1, where
log2 N = 0, is among the first). Nodes inside [1, 2N] get V_<=2N, which is below V_>2N wherever there is a window; they
are counted with V_>2N here, as in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import sympy
from sympy import Eq, Integer, Lambda, Max, Rational, Sum, Symbol, exp, floor

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise import sr_shares_derivations as shares
from dpverify.papers.tran2022.noise.sr_shares_derivations import KEEP, RHO
from dpverify.papers.tran2022.trees.compose_derivations import DOWN, UP, j
from dpverify.symbolic.derive.cited import Cited, cite
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_definitions, sympy_sides, sympy_symbols

SEVERAL: Final = Symbol("several", integer=True, nonnegative=True)
LETTERS: Final = {"keep": "u", "rho": r"\rho"}
LOCAL: Final = ("several", "p", "v")
TERM = "the term"
SERIES = "a geometric series"
FINITE = "the windows"
Full = Mapping[str, Any]


def var_2(statement: Statement) -> Derivation:
    """Derive the bound on the second term's variance: 1 - gamma <= 1, and Proposition 13."""
    full = sympy_definitions(statement)
    scale = 3 * full["alpha"] ** 2 * full["delta_G"] ** 2 * full["sigma"] ** 2
    citation = cite(shares.first_term(), scale=scale, windows=floor(full["t"] / full["N"]), **_common(full))
    return _chain("the first window", full, citation, ())


def var_2_step(statement: Statement) -> Derivation:
    """Derive the corrected first line of the second term: the square of the sum of the coefficients, and the count."""
    full, (_, printed) = sympy_definitions(statement), sympy_sides(statement)
    (coefficient,) = printed.atoms(Sum)
    scale = full["alpha"] ** 2 * full["delta_G"] ** 2 * full["sigma"] ** 2 * full["V_first"]
    citation = cite(shares.nodes(), scale=scale, c=coefficient, alpha=full["alpha"], N=full["N"])
    return _chain("sharp count", full, citation, ())


def var_3(statement: Statement) -> Derivation:
    """Derive the bound on the third term's variance: Young's inequality, and a geometric series."""
    full = sympy_definitions(statement)
    return _all_windows(full, _third(full), 0)


def var_4(statement: Statement) -> Derivation:
    """Derive the bound on the fourth term's variance: every Delta has a factor ``1 - gamma`` more."""
    full = sympy_definitions(statement)
    return _all_windows(full, _fourth(full), 1)


def _all_windows(full: Full, citation: Cited, shift: int) -> Derivation:
    """From a window term's variance to the printed bound."""
    gamma = full["gamma"]
    around = _around(citation.rhs)
    added = cite(shares.series(shift), keep=1 - gamma, windows=_before(full))
    steps = (
        Step.within(around, added.rhs, "premise", {}, (SERIES,)),
        Step(around.xreplace({HOLE: 1 / (gamma * (2 - gamma))}), "="),
        Step(around.xreplace({HOLE: 1 / gamma}), "<=", "reciprocal-monotone", {"a": Integer(1), "b": 2 - gamma}),
    )
    return _chain("Young's inequality", full, citation, steps, {SERIES: added})


def var_3_step(statement: Statement) -> Derivation:
    """Derive the third term's first line, with its finite sum over the windows."""
    full = sympy_definitions(statement)
    return _first_line(statement, full, _third(full), 0)


def var_4_step(statement: Statement) -> Derivation:
    """Derive the fourth term's first line."""
    full = sympy_definitions(statement)
    return _first_line(statement, full, _fourth(full), 1)


def _first_line(statement: Statement, full: Full, citation: Cited, shift: int) -> Derivation:
    """From a window term's variance to the printed first line."""
    windows = cite(shares.finite(shift), keep=1 - full["gamma"], q=floor(full["t"] / full["N"]))
    around, (_, printed) = _around(citation.rhs), sympy_sides(statement)
    steps = (Step.within(around, windows.rhs, "premise", {}, (FINITE,)), Step(printed, "="))
    return _chain("Young's inequality", full, citation, steps, {FINITE: windows})


def _third(full: Full) -> Cited:
    scale = (
        full["alpha"] ** 2 * full["gamma"] ** 2 * full["delta_G"] ** 2 * full["sigma"] ** 2 * 4 * full["T"] / full["N"]
    )
    return cite(shares.other_terms(0), scale=scale, windows=_before(full), **_common(full))


def _fourth(full: Full) -> Cited:
    scale = (full["alpha"] * full["delta_Delta"] * full["sigma"]) ** 2 * 4 * full["T"] / full["N"]
    return cite(shares.other_terms(1), scale=scale, windows=_before(full), **_common(full))


def _common(full: Full) -> dict[str, Any]:
    return {"keep": 1 - full["gamma"], "alpha": full["alpha"], "N": full["N"]}


def _before(full: Full) -> Any:
    """Number of whole windows but the first."""
    return Max(floor(full["t"] / full["N"]) - 1, 0)


def _around(expr: Any) -> Any:
    """What stands around the sum over the windows."""
    (series,) = expr.atoms(Sum)
    return expr.xreplace({series: HOLE})


def _chain(
    name: str, full: Full, citation: Cited, steps: tuple[Step, ...], premises: Mapping[str, Cited] = {}
) -> Derivation:
    """The derivation that starts with what is cited."""
    n = full["N"]
    usual: dict[str, Variable] = {
        "several": integer(0, 1),
        "N": integer(1, 1 + 7 * SEVERAL),
        "alpha": real(1 / n, 1),
        "gamma": real(0, Rational(1, 2), open_lo=True),
        **{name: real(0, 3, open_lo=True) for name in ("delta_G", "delta_Delta", "sigma")},
        "T": integer(1, 600),
        "t": integer(1, sympy.Min(full.get("T", 600), 12 * n)),
        "p": integer(1, n),
        "v": integer(n - UP, n - UP),
    }
    variables = {name: usual[name] for name in usual if name in full or name in LOCAL}
    assumptions = (full["alpha"] <= 1, full["alpha"] * n >= 1, 2 * full["gamma"] <= 1, Eq(UP + DOWN, n))
    links = (Step(citation.rhs, "<=", "premise", {}, (TERM,)), *steps)
    return Derivation(
        name, "ours", variables, assumptions, citation.lhs, links, {TERM: citation, **premises}, local=LOCAL
    )


def coefficient(statement: Statement) -> Derivation:
    """Derive the corrected bound on a single weight: ``v <= exp(-1) < 1/2 <= u``."""
    symbols = sympy_symbols(statement)
    alpha, gamma, n, i = (symbols[name] for name in ("alpha", "gamma", "N", "window"))
    start, _ = sympy_sides(statement)
    at = KEEP ** (i - 1)
    back = i - 1 - j
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
        "several": integer(0, 1),
        "N": integer(1, 1 + 7 * SEVERAL),
        "alpha": real(1 / n, 1),
        "gamma": real(0, Rational(1, 2), open_lo=True),
        "window": integer(1, 12),
        "keep": real(1 - gamma, 1 - gamma),
        "rho": real((1 - alpha) ** n, Rational(3678, 10000)),
    }
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
        "several": integer(0, 1),
        "N": integer(1, 1 + 7 * SEVERAL),
        "alpha": real(1 / n, 1),
        "gamma": real(0, Rational(1, 2), open_lo=True),
        "q": integer(1, 12),
        "rho": real((1 - alpha) ** n, Rational(3678, 10000)),
    }
    assumptions = (alpha <= 1, gamma <= Rational(1, 2), q >= 1, (1 - alpha) ** n <= RHO, exp(-1) >= RHO)
    return Derivation(
        "a geometric series", "ours", variables, assumptions, start, steps, local=("several", "rho"), letters=LETTERS
    )


def var_3_sum(statement: Statement) -> Derivation:
    """Derive the bound on the sum over the windows: ``1/(gamma (2 - gamma))``, and 2 - gamma > 1."""
    symbols = sympy_symbols(statement)
    gamma = symbols["gamma"]
    q = symbols["q"]
    start, _ = sympy_sides(statement)
    square = (1 - gamma) ** 2
    finite = start.args[0].expr
    ((i, lo, hi),) = finite.limits
    steps = (
        Step(finite, "=", "guarded-sum", {"f": Lambda(i, finite.function), "lo": lo, "hi": hi}),
        Step(1 / (1 - square), "<=", "geometric-sum-bound", {"x": square, "m": q - 2}),
        Step(1 / (gamma * (2 - gamma)), "="),
        Step(1 / gamma, "<=", "reciprocal-monotone", {"a": Integer(1), "b": 2 - gamma}),
    )
    variables = {"gamma": real(0, 1, open_lo=True, open_hi=True), "q": integer(0, 40)}
    return Derivation("a geometric series", "ours", variables, (gamma < 1,), start, steps)
