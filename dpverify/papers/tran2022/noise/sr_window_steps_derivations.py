"""Steps of derivations about the windows of the reconstruction: their weights, and how many nodes they have.

The weights ``c_k = sum_{j<k} v^j u^{k-1-j}``, with ``u = 1 - gamma`` and ``v = (1-alpha)^N``, are a convolution of two
geometric sequences. The paper bounds each of them by Corollary 15, which needs alpha N well above 1. Their squares are
bounded here together (Young's inequality for convolutions), which needs only ``v < 1``: ``c_k = u^{k-1} + v c_{k-1}``
gives ``c_k^2 <= v c_{k-1}^2 + u^{2(k-1)}/(1-v)``, and the sum over k of the first part is at most v times what is
bounded.

The derivation of ``tran2022:lemma-7-var-3-step`` goes through this; the others take it from there, and the number of
nodes of a window from ``tran2022:lemma-7-count-2``.

Letters of these chains that the statements do not have: ``rho``, any number between v and exp(-1), of which there is
one because 1 - x < exp(-x); ``decays``, the largest sum of squared decays over the nodes of one window, at most the
number of its nodes; ``windows``, how many there are; ``squares``, the sum of their squared weights; ``several``, 0 or
1, whether N may be more than 1 at a sample point (so that N = 1, where log2 N = 0, is among the first). Nodes inside
[1, 2N] get V_<=2N, which is below V_>2N wherever there is a window; they are counted with V_>2N here, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import sympy
from sympy import Eq, Integer, Lambda, Rational, Sum, Symbol, exp

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Case, Cases, Premise, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_definitions

j, k = (Symbol(name, integer=True) for name in "jk")
KEEP: Final = Symbol("keep", positive=True)
RHO: Final = Symbol("rho", positive=True)
WINDOWS: Final = Symbol("windows", integer=True, nonnegative=True)
DECAYS: Final = Symbol("decays", nonnegative=True)
SQUARES: Final = Symbol("squares", nonnegative=True)
SEVERAL: Final = Symbol("several", integer=True, nonnegative=True)

LOCAL: Final = ("several", "decays", "keep", "windows", "squares")
WITH_RHO: Final = (*LOCAL, "rho")
LETTERS: Final = {"keep": "u", "rho": r"\rho", "windows": "n", "decays": "D", "squares": "S"}
SHRUNK: Final = (1 - exp(-1)) ** 2

COUNT: Final = "the decays of a window's nodes as in lemma-7-count-2: at most one each"
YOUNG: Final = "Young's inequality for the squared weights as in lemma-7-var-3-step"

Wrap = Callable[[Any], Any]


class AboutWindows(NamedTuple):
    """Symbols of a statement, where they are sampled, and what is assumed of the letters above."""

    full: Mapping[str, Any]
    variables: dict[str, Variable]
    assumptions: tuple[Any, ...]


def about_windows(statement: Statement, *extra: str) -> AboutWindows:
    """Symbols and ranges for a statement about windows; ``extra`` are positive symbols sampled up to 3."""
    full = sympy_definitions(statement)
    alpha, gamma, n = full["alpha"], full["gamma"], full["N"]
    variables: dict[str, Variable] = {
        "several": integer(0, 1),
        "N": integer(1, 1 + 7 * SEVERAL),
        "alpha": real(0, 1, open_lo=True),
        "gamma": real(0, Rational(1, 2), open_lo=True),
        **{name: real(0, 3, open_lo=True) for name in extra},
        "T": integer(1, 600),
        "t": integer(1, sympy.Min(full["T"], 12 * n)) if "T" in full else integer(1, 600),
        "decays": real(0, 2 * sympy.floor(Log2(1 + n / 2))),
        "keep": real(1 - gamma, 1 - gamma),
        "windows": integer(0, 8),
        "squares": real(0, Rational(5, 2) * kept()),
    }
    return AboutWindows(full, variables, (alpha <= 1, KEEP < 1, Eq(KEEP, 1 - gamma)))


def with_rho(at: AboutWindows) -> AboutWindows:
    """The same, with the letter ``rho``."""
    alpha, n = at.full["alpha"], at.full["N"]
    least = 1 - sympy.exp(-1 / n)
    variables = {**at.variables, "alpha": real(least, 1), "rho": real((1 - alpha) ** n, Rational(3678, 10000))}
    return AboutWindows(at.full, variables, (*at.assumptions, (1 - alpha) ** n <= RHO, exp(-1) >= RHO))


def premises(n: Any) -> dict[str, Premise]:
    """What other derivations show: how many nodes a window has, and what the squared weights add up to."""
    return {
        COUNT: Premise(DECAYS, "<=", 2 * Log2(1 + n / 2)),
        YOUNG: Premise(SQUARES, "<=", kept() / SHRUNK),
    }


def weight(base: Any, count: Any) -> Any:
    """``sum_{j<count} base^j u^{count-1-j}``."""
    return Sum(base**j * KEEP ** (count - 1 - j), (j, 0, count - 1))


def squares(alpha: Any, n: Any) -> Any:
    """Sum of the squared weights, as Algorithm 4 has them."""
    inner = Sum((1 - alpha) ** (n * j) * KEEP ** (k - 1 - j), (j, 0, k - 1))
    return Sum(inner**2, (k, 1, WINDOWS))


def kept() -> Any:
    """Sum of ``u^(2 (k-1))`` over the windows."""
    return Sum(KEEP ** (2 * (k - 1)), (k, 1, WINDOWS))


def young(alpha: Any, n: Any, wrap: Wrap) -> tuple[Step, ...]:
    """From ``wrap(squares(alpha, n))`` to ``wrap(kept()/(1-exp(-1))^2)``."""
    all_squares = Sum(weight(RHO, k) ** 2, (k, 1, WINDOWS))
    before = weight(RHO, k - 1)
    latest = KEEP ** (k - 1)
    shifted = Sum(before**2, (k, 1, WINDOWS))
    rest = Sum(RHO**j * KEEP ** (k - 1 - j), (j, 1, k - 1))

    def minus(part: Any) -> Any:
        return wrap((part - RHO * all_squares) / (1 - RHO))

    def crossed(product: Any) -> Any:
        return minus(Sum(latest**2 + RHO**2 * before**2 + 2 * RHO * product, (k, 1, WINDOWS)))

    def joined(part: Any) -> Any:
        return minus(RHO * part + kept() / (1 - RHO))

    square = Lambda(k, weight(RHO, k) ** 2)
    mean = (1 - RHO) * before**2 / 2 + latest**2 / (2 * (1 - RHO))
    longer = {"lo": 0, "hi": WINDOWS - 1, "more": WINDOWS, "f": square}
    split = {"lo": 0, "hi": k - 1, "f": Lambda(j, RHO**j * KEEP ** (k - 1 - j))}
    return (
        Step(wrap(all_squares), "<=", "power-monotone", {"a": (1 - alpha) ** n, "b": RHO, "p": j}),
        Step(minus(all_squares), "=", note="x = (x - rho x)/(1 - rho)"),
        Step(
            minus(Sum((latest + rest) ** 2, (k, 1, WINDOWS))),
            "=",
            "sum-split-first",
            split,
            context=minus(Sum(HOLE**2, (k, 1, WINDOWS))),
        ),
        Step(minus(Sum((latest + RHO * before) ** 2, (k, 1, WINDOWS))), "=", note="c_k = u^(k-1) + rho c_(k-1)"),
        Step.within(crossed(HOLE), mean, "young", {"a": before, "b": latest, "c": 1 - RHO}),
        Step(joined(shifted), "="),
        Step(joined(Sum(weight(RHO, k) ** 2, (k, 0, WINDOWS - 1))), "="),
        Step.within(joined(HOLE), Sum(weight(RHO, k) ** 2, (k, 0, WINDOWS)), "sum-extend", longer),
        Step(
            joined(weight(RHO, 0) ** 2 + all_squares),
            "=",
            "sum-split-first",
            {"lo": 0, "hi": WINDOWS, "f": square},
            note="the weight 0 is an empty sum",
        ),
        Step(wrap(kept() / (1 - RHO) ** 2), "="),
        Step(wrap(kept() / SHRUNK), "<=", "order", {"a": RHO, "b": exp(-1)}),
    )


def series(gamma: Any, wrap: Wrap) -> tuple[Step, ...]:
    """From ``wrap(kept())`` to ``wrap(1/(gamma (2 - gamma)))``."""
    return (
        Step(wrap(1 / (1 - KEEP**2)), "<=", "geometric-sum-bound", {"x": KEEP**2, "m": WINDOWS - 1}),
        Step(wrap(1 / (1 - (1 - gamma) ** 2)), "<=", "order", {"a": KEEP, "b": 1 - gamma}),
        Step(wrap(1 / (gamma * (2 - gamma))), "="),
    )


def count(n: Any, wrap: Wrap) -> Step:
    """From ``wrap(DECAYS)`` to ``wrap(2 log2(1 + N/2))``."""
    return Step(wrap(2 * Log2(1 + n / 2)), "<=", "premise", {}, (COUNT,))


def to_log2_n(n: Any, wrap: Wrap) -> Cases:
    """From ``wrap(2 log2(1 + N/2))`` to ``wrap(4 log2 N)``, where a factor log2 N stands around it."""
    bound = wrap(4 * Log2(n))
    several = (
        Step(wrap(2 * Log2(n)), "<=", "log2-monotone", {"a": 1 + n / 2, "b": n}),
        Step(bound, "<=", "drop-nonnegative", {"a": wrap(2 * Log2(n)), "b": wrap(2 * Log2(n))}),
    )
    one = (
        Step(Integer(0), "<=", "log2-monotone", {"a": n, "b": Integer(1)}, note="there is no noise at N = 1"),
        Step(bound, "<=", "drop-nonnegative", {"a": Integer(0), "b": bound}),
    )
    return Cases(bound, "<=", (Case(n >= 2, several), Case(n <= 1, one)))
