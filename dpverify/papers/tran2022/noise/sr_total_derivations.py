"""The end of Lemma 7's proof, derived: the total variance, its root, and the numbers in front.

The five terms are in ``sr_shares_derivations``. Letters of ours: ``p`` and ``v``, the steps of a window's two runs of
nodes; ``several``, 0 or 1, whether N and T may be more than 1 at a sample point.
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Add, Eq, Integer, Pow, Rational, Symbol, floor, log, sqrt

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise import sr_shares_derivations as shares
from dpverify.papers.tran2022.noise.sr_shares_derivations import SHRUNK
from dpverify.papers.tran2022.trees.compose_derivations import DOWN, UP
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Step
from dpverify.symbolic.derive.referenced import refer
from dpverify.symbolic.derive.steps import Link
from dpverify.symbolic.expressions.functions import HOLE, Log2, Moment
from dpverify.symbolic.expressions.ranges import FromPremises, GaussianNorm, Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_definitions, sympy_sides, sympy_symbols

NOISE: Final = Symbol("noise")
SEVERAL: Final = Symbol("several", integer=True, nonnegative=True)
SIZES: Final = ("several",)
FIVE: Final = "the five terms"


def ranges(statement: Statement) -> dict[str, Variable]:
    """Where symbols are sampled; N = T = 1, where logarithms are 0, comes first, so a false sign is seen at once."""
    all_ranges: dict[str, Variable] = {
        "alpha": real(0, 1, open_lo=True),
        "gamma": real(0, Rational(1, 2), open_lo=True),
        **{name: real(0, 3, open_lo=True) for name in ("G", "sigma", "epsilon", "delta_G", "delta_Delta")},
        "L": real(0, 3),
        "delta": real(0, 1, open_lo=True, open_hi=True),
        "d": integer(1, 40),
        "N": integer(1, 1 + 199 * SEVERAL),
        "T": integer(1, 1 + 599 * SEVERAL),
        "t": integer(1, 600),
        "variance": real(0, 9),
    }
    symbols = sympy_symbols(statement)
    selected = {"several": integer(0, 1), **{name: all_ranges[name] for name in all_ranges if name in symbols}}
    if "eta" in symbols:
        selected["eta"] = real(0, 1 / (2 * symbols["N"]), open_lo=True)
    return selected


def identity(statement: Statement) -> Derivation:
    """Derive an identity: ``lemma-7-gamma``, ``lemma-7-sigma``, and ``lemma-7-var-numbers`` corrected."""
    start, printed = sympy_sides(statement)
    granted = sympy_conditions(statement)
    steps = (Step(printed, "="),)
    return Derivation("algebra", "ours", ranges(statement), granted, start, steps, local=SIZES)


def roots(statement: Statement) -> Derivation:
    """Derive ``tran2022:lemma-7-roots``: the root of a sum is at most the sum of the roots, one term at a time."""
    start, printed = sympy_sides(statement)
    d = sympy_symbols(statement)["d"]
    (total,) = (power.base for power in start.atoms(Pow) if power.exp == Rational(1, 2) and power.base.is_Add)
    terms = total.args
    root_sum = Integer(0)
    steps: list[Step] = []
    for place, term in enumerate(terms[:-1], start=1):
        remaining = Add(*terms[place:])
        parts = {"a": term, "b": remaining}
        around = sqrt(d) * (root_sum + HOLE)
        root_sum = root_sum + sqrt(term)
        steps.append(Step(sqrt(d) * (root_sum + sqrt(remaining)), "<=", "sqrt-subadditive", parts, context=around))
    steps.append(Step(printed, "="))
    return Derivation("five roots", "ours", ranges(statement), (), start, tuple(steps), local=SIZES)


def numbers(statement: Statement) -> Derivation:
    """Derive the corrected ``tran2022:lemma-7-numbers``, whole numbers for 16 + 16/(1-1/e), 16/(1-1/e), 32/(1-1/e)."""
    start, printed = sympy_sides(statement)
    steps = (Step(printed, "<=", "order", {"a": start, "b": printed}),)
    return Derivation("rounded up", "ours", ranges(statement), (), start, steps, local=SIZES)


def var(statement: Statement) -> Derivation:
    """Derive the corrected ``tran2022:lemma-7-var`` from its five terms."""
    full = sympy_definitions(statement)
    alpha, gamma, n, top, t = (full[name] for name in ("alpha", "gamma", "N", "T", "t"))
    squared = {name: full[name] ** 2 for name in ("delta_G", "delta_Delta", "delta_r")}
    log_n = Log2(n)
    rate = gamma * (2 - gamma)
    unit = alpha**2 * full["sigma"] ** 2
    later = unit * full["V_later"]
    citation = cite(
        shares.five_terms(),
        alpha=alpha,
        N=n,
        T=top,
        t=t,
        q=floor(t / n),
        keep=1 - gamma,
        early=unit * squared["delta_G"] * full["V_first"],
        drift=later * squared["delta_r"],
        later=later * (squared["delta_G"] * gamma**2 + squared["delta_Delta"] * (1 - gamma) ** 2),
    )
    _, printed = sympy_sides(statement)

    count = 2 * Log2(1 + n / 2)

    def simpler(of_g: Any, of_delta: Any, nodes: Any = count) -> Any:
        early = unit * squared["delta_G"] * full["V_first"] * (log_n + nodes / SHRUNK)
        windows = nodes * later * (squared["delta_G"] * of_g + squared["delta_Delta"] * of_delta) / SHRUNK
        return early + windows + later * squared["delta_r"] * Log2(top + 1)

    exact = gamma**2 / rate
    delta = (1 - gamma) ** 2 / rate
    of_g = 2 * gamma / 3
    of_delta = 1 / (2 * gamma)
    last = simpler(of_g, of_delta, 2 * log_n)
    several = Step(last, "<=", "log2-monotone", {"a": 1 + n / 2, "b": n})
    single = (
        Step(Integer(0), "<=", "log2-monotone", {"a": n, "b": Integer(1)}, note="there is no noise at N = 1"),
        Step(last, "<=", "drop-nonnegative", {"a": Integer(0), "b": last}),
    )
    steps: tuple[Link, ...] = (
        Step(citation.rhs, "<=", "premise", {}, (FIVE,)),
        Step(simpler(exact, delta), "="),
        Step(simpler(of_g, delta), "<=", "order", {"a": exact, "b": of_g}, context=simpler(HOLE, delta)),
        Step(simpler(of_g, of_delta), "<=", "order", {"a": delta, "b": of_delta}, context=simpler(of_g, HOLE)),
        Cases(last, "<=", (Case(n >= 2, (several,)), Case(n <= 1, single))),
        Step(printed, "="),
    )
    first: dict[str, Variable] = {
        "several": integer(0, 1),
        "N": integer(1, 1 + 7 * SEVERAL),
        "T": integer(1, 60),
        "t": integer(1, top),
        "alpha": real(1 / n, 1),
        "p": integer(1, n),
        "v": integer(n - UP, n - UP),
    }
    variables = first | {name: usual for name, usual in ranges(statement).items() if name not in first}
    assumptions = (*sympy_conditions(statement), alpha <= 1, alpha * n >= 1, 2 * gamma <= 1, Eq(UP + DOWN, n))
    return Derivation(
        "the five terms",
        "ours",
        variables,
        assumptions,
        citation.lhs,
        steps,
        {FIVE: citation},
        local=(*SIZES, "p", "v"),
    )


def norm(statement: Statement) -> Derivation:
    """Derive ``tran2022:lemma-7-norm`` (one order, or the noise's part): Jensen for a Gaussian vector."""
    d, variance = (sympy_symbols(statement)[name] for name in ("d", "variance"))
    steps = (
        Step(sqrt(Moment(NOISE, 2)), "<=", "jensen-sqrt", {"X": NOISE}),
        Step(sqrt(d) * sqrt(variance), "=", "gaussian-second-moment", {"X": NOISE, "d": d, "v": variance}),
    )
    variables: dict[str, Variable] = {"d": integer(1, 40), "variance": real(0, 9), "noise": GaussianNorm(d, variance)}
    return Derivation("Jensen", "ours", variables, (), Moment(NOISE, 1), steps, local=("noise",))


def lemma_7(statement: Statement) -> Derivation:
    """Derive the corrected Lemma 7 (one order, or the noise's part) by Jensen and the corrected total variance.

    Where the statement does not tie gamma to eta, the bound ends with the variance.
    """
    full = sympy_definitions(statement)
    gamma, n, top, d = (full[name] for name in ("gamma", "N", "T", "d"))
    eta = full["eta"]
    G = full["G"]
    L = full["L"]
    log_n = Log2(n)
    variance = Symbol("variance", nonnegative=True)
    drift = 4 * eta**2 * n**2 * L**2
    windows = 8 * (top / n) * (2 * gamma * 16 * G**2 / 3 + drift / (2 * gamma))
    bound = (
        full["alpha"] ** 2
        * full["sigma"] ** 2
        * log_n
        * (48 * G**2 * log_n + (96 * G**2 + windows) * log_n / SHRUNK + 4 * (top / n) * drift * Log2(top + 1))
    )
    inside = 3 * G**2 * log_n + (6 * G**2 + eta * top * (16 * G**2 / 3 + L**2)) * log_n / SHRUNK
    inside += eta**2 * n * top * L**2 * Log2(top + 1)
    last = 16 * full["alpha"] * sqrt(d * log(1 / full["delta"]) * log_n * inside) / full["epsilon"]
    if "gamma" not in statement.let_names:
        last = sympy_sides(statement)[1]
    claim = "tran2022:lemma-7-var"
    where = {name: full[name] for name in ("gamma", "sigma", "delta_G", "delta_Delta")}
    total = refer(statement, claim, variance, "amended", **where)
    steps = (
        Step(sqrt(Moment(NOISE, 2)), "<=", "jensen-sqrt", {"X": NOISE}),
        Step(sqrt(d * variance), "=", "gaussian-second-moment", {"X": NOISE, "d": d, "v": variance}),
        Step(sqrt(d * bound), "<=", "premise", {}, (claim,)),
        Step(last, "="),
    )
    variables: dict[str, Variable] = {
        **ranges(statement),
        "variance": FromPremises(),
        "noise": GaussianNorm(d, variance),
    }
    return Derivation(
        "Jensen and the total variance",
        "ours",
        variables,
        sympy_conditions(statement),
        Moment(NOISE, 1),
        steps,
        {claim: total},
        local=(*SIZES, "noise", "variance"),
    )
