"""The end of Lemma 7's proof, derived: the total variance, its root, and the numbers in front.

The total rests on what the derivations of the terms show (:mod:`dpverify.papers.tran2022.sr_noise_derivations`,
:mod:`dpverify.papers.tran2022.sr_window_derivations`); each comes in as a premise under its claim's id. Letters that
the statements do not have, in the order of the terms: ``prefix``, the squared decays of COMPOSE(1, r) times the decay
after r; ``weight``, the coefficient of the first whole window; ``decays``, the largest sum of squared decays over the
nodes of one window; ``squares``, the sum of the squared weights of the other windows; ``run``, the squared decays of
COMPOSE(1, t).
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Integer, Pow, Rational, Symbol, exp, expand_mul, floor, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.data import GaussianNorm
from dpverify.symbolic.derivation import Derivation, Premise, Step
from dpverify.symbolic.functions import Log2, Moment
from dpverify.symbolic.ranges import Variable, integer, real
from dpverify.symbolic.to_sympy import sympy_definitions, sympy_sides, sympy_symbols

PREFIX, WEIGHT, DECAYS, SQUARES, RUN = (
    Symbol(name, nonnegative=True) for name in ("prefix", "weight", "decays", "squares", "run")
)
NOISE: Final = Symbol("noise")
SHRUNK: Final = (1 - exp(-1)) ** 2


def ranges(statement: Statement) -> dict[str, Variable]:
    """Where the symbols of these statements are sampled."""
    known: dict[str, Variable] = {
        "alpha": real(0, 1, open_lo=True),
        "gamma": real(0, Rational(1, 2), open_lo=True),
        **{name: real(0, 3, open_lo=True) for name in ("G", "sigma", "epsilon", "delta_G", "delta_Delta")},
        "L": real(0, 3),
        "delta": real(0, 1, open_lo=True, open_hi=True),
        "d": integer(1, 40),
        "N": integer(1, 200),
        "T": integer(1, 600),
        "t": integer(1, 600),
        "variance": real(0, 9),
    }
    symbols = sympy_symbols(statement)
    found = {name: known[name] for name in known if name in symbols}
    if "eta" in symbols:
        found["eta"] = real(0, 1 / (2 * symbols["N"]), open_lo=True)
    return found


def identity(statement: Statement) -> Derivation:
    """Derive an identity: ``lemma-7-gamma``, ``lemma-7-sigma``, and ``lemma-7-var-numbers`` corrected."""
    start, printed = sympy_sides(statement)
    return Derivation("algebra", "ours", ranges(statement), (), start, (Step(printed, "="),))


def roots(statement: Statement) -> Derivation:
    """Derive ``tran2022:lemma-7-roots``: the square of a sum is at least the sum of the squares."""
    start, printed = sympy_sides(statement)
    d, alpha, sigma = (sympy_symbols(statement)[name] for name in ("d", "alpha", "sigma"))
    (total,) = (power.base for power in start.atoms(Pow) if power.exp == Rational(1, 2) and power.base.is_Add)
    reduced = expand_mul(total / (alpha * sigma) ** 2)
    whole = sum((sqrt(term) for term in reduced.args), Integer(0))
    steps = (
        Step(sqrt(d) * alpha * sigma * sqrt(reduced), "="),
        Step(sqrt(d) * alpha * sigma * whole, "<=", "sqrt-monotone", {"a": reduced, "b": whole**2}),
        Step(printed, "="),
    )
    return Derivation("five roots", "ours", ranges(statement), (), start, steps)


def numbers(statement: Statement) -> Derivation:
    """Derive the corrected ``tran2022:lemma-7-numbers``, whole numbers for 16 + 16/(1-1/e), 16/(1-1/e), 32/(1-1/e)."""
    start, printed = sympy_sides(statement)
    return Derivation(
        "rounded up", "ours", ranges(statement), (), start, (Step(printed, "<=", "order", {"a": start, "b": printed}),)
    )


def var(statement: Statement) -> Derivation:
    """Derive the corrected ``tran2022:lemma-7-var`` from the derivations of its terms."""
    full = sympy_definitions(statement)
    alpha, gamma, n, top, sigma = (full[name] for name in ("alpha", "gamma", "N", "T", "sigma"))
    dG, dD, dr = (full[name] for name in ("delta_G", "delta_Delta", "delta_r"))
    first, later, count = full["V_first"], full["V_later"], Log2(1 + n / 2)
    rate = gamma * (2 - gamma)
    _, printed = sympy_sides(statement)

    def total(prefix: Any, weight: Any, decays: Any, squares: Any, run: Any) -> Any:
        of_g = dG**2 * first * (prefix + decays * weight**2)
        windows = decays * squares * later * (gamma**2 * dG**2 + (1 - gamma) ** 2 * dD**2)
        return alpha**2 * sigma**2 * (of_g + windows + dr**2 * later * run)

    shares = (
        ("tran2022:lemma-7-var-1", PREFIX, Log2(n)),
        ("tran2022:lemma-7-var-2", WEIGHT, 1 / (1 - exp(-1))),
        ("tran2022:lemma-7-count-2", DECAYS, 2 * count),
        ("tran2022:lemma-7-var-3", SQUARES, 1 / (rate * SHRUNK)),
        ("tran2022:lemma-7-count-5", RUN, Log2(top + 1)),
    )
    parts: list[Any] = [letter for _, letter, _ in shares]
    start, steps = total(*parts), []
    for place, (claim, _, bound) in enumerate(shares):
        parts[place] = bound
        steps.append(Step(total(*parts), "<=", "premise", {}, (claim,)))
    variables: dict[str, Variable] = {
        **ranges(statement),
        "prefix": real(0, floor(Log2(n))),
        "weight": real(0, 1),
        "decays": real(0, 2 * floor(Log2(1 + n / 2))),
        "squares": real(0, 1 / rate),
        "run": real(0, floor(Log2(top + 1))),
    }
    return Derivation(
        "the five terms", "ours", variables, (gamma <= Rational(1, 2),), start, (*steps, Step(printed, "=")),
        {claim: Premise(letter, "<=", bound) for claim, letter, bound in shares},
        local=("prefix", "weight", "decays", "squares", "run"),
        letters={"prefix": "P", "weight": "c_q", "decays": "D", "squares": "S", "run": "F"},
    )  # fmt: skip


def norm(statement: Statement) -> Derivation:
    """Derive ``tran2022:lemma-7-norm`` for one order of the examples: Jensen's inequality for a Gaussian vector."""
    d, variance = (sympy_symbols(statement)[name] for name in ("d", "variance"))
    steps = (
        Step(sqrt(Moment(NOISE, 2)), "<=", "jensen-sqrt", {"X": NOISE}),
        Step(sqrt(d) * sqrt(variance), "=", "gaussian-second-moment", {"X": NOISE, "d": d, "v": variance}),
    )
    variables: dict[str, Variable] = {"d": integer(1, 40), "variance": real(0, 9), "noise": GaussianNorm(d, variance)}
    return Derivation("Jensen", "ours", variables, (), Moment(NOISE, 1), steps, local=("noise",))


def lemma_7(statement: Statement) -> Derivation:
    """Derive the corrected Lemma 7 for one order of the examples, from the corrected total variance."""
    full = sympy_definitions(statement)
    alpha, gamma, n, top, sigma, d = (full[name] for name in ("alpha", "gamma", "N", "T", "sigma", "d"))
    eta, G, L = (full[name] for name in ("eta", "G", "L"))
    _, printed = sympy_sides(statement)
    variance = Symbol("variance", nonnegative=True)
    drift, count = 4 * eta**2 * n**2 * L**2, Log2(1 + n / 2)
    windows = 8 * (top / n) * (gamma**2 * 16 * G**2 + (1 - gamma) ** 2 * drift) / (gamma * (2 - gamma))
    bound = alpha**2 * sigma**2 * Log2(n) * (
        48 * G**2 * Log2(n) + (96 * G**2 + windows) * count / SHRUNK + 4 * (top / n) * drift * Log2(top + 1)
    )  # fmt: skip
    claim = "tran2022:lemma-7-var"
    steps = (
        Step(sqrt(Moment(NOISE, 2)), "<=", "jensen-sqrt", {"X": NOISE}),
        Step(sqrt(d * variance), "=", "gaussian-second-moment", {"X": NOISE, "d": d, "v": variance}),
        Step(sqrt(d * bound), "<=", "premise", {}, (claim,)),
        Step(printed, "="),
    )
    variables: dict[str, Variable] = {**ranges(statement), "variance": real(0, 0), "noise": GaussianNorm(d, variance)}
    return Derivation(
        "Jensen and the total variance", "ours", variables, (eta * n <= Rational(1, 2), full["delta"] < 1),
        Moment(NOISE, 1), steps, {claim: Premise(variance, "<=", bound)}, local=("noise", "variance"),
    )  # fmt: skip
