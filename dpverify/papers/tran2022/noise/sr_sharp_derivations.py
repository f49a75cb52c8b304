"""The noise of Algorithm 2 as Theorem 9 takes it: the five terms of Lemma 7's variance, none of them rounded."""

from __future__ import annotations

from typing import Final

from sympy import Eq, Rational, Symbol, log, sqrt

from dpverify.papers.tran2022.noise import sr_shares_derivations as shares
from dpverify.papers.tran2022.noise.decays_derivations import STEP
from dpverify.papers.tran2022.trees.compose_derivations import DOWN, UP
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import Log2, Moment
from dpverify.symbolic.expressions.ranges import FromPremises, GaussianNorm, Variable, integer, real

GAMMA, SIGMA, ALPHA, G, DELTA = (Symbol(name, positive=True) for name in ("gamma", "sigma", "alpha", "G", "delta"))
L, VARIANCE = (Symbol(name, nonnegative=True) for name in ("L", "variance"))
N, T, D = (Symbol(name, integer=True, positive=True) for name in ("N", "T", "d"))
FIRST = 3 * Log2(N)
LATER = 4 * (T / N) * Log2(N)
NOISE: Final = Symbol("noise")
FIVE_TERMS: Final = "the five terms"


def variance() -> Derivation:
    """Derive the total variance of one coordinate from the five terms, with gamma for eta N, for gamma < 1."""
    unit = ALPHA**2 * SIGMA**2
    way = 4 * GAMMA**2 * L**2
    citation = cite(
        shares.five_terms(),
        keep=1 - GAMMA,
        early=unit * 16 * G**2 * FIRST,
        drift=unit * way * LATER,
        later=unit * LATER * (16 * G**2 * GAMMA**2 + way * (1 - GAMMA) ** 2),
    )
    count = 2 * Log2(1 + N / 2)
    rate = GAMMA * (2 - GAMMA)
    early = 16 * G**2 * FIRST * (Log2(N) + count / shares.SHRUNK)
    windows = count * LATER * (16 * G**2 * GAMMA**2 + way * (1 - GAMMA) ** 2) / (rate * shares.SHRUNK)
    steps = (
        Step(citation.rhs, "<=", "premise", {}, (FIVE_TERMS,)),
        Step(unit * (early + windows + way * LATER * Log2(T + 1)), "="),
    )
    variables: dict[str, Variable] = {
        "N": integer(1, 8),
        "T": integer(1, 60),
        "t": integer(1, T),
        "q": integer(0, 5),
        "alpha": real(1 / N, 1),
        "gamma": real(0, Rational(1, 2), open_lo=True),
        "sigma": real(0, 3, open_lo=True),
        "G": real(0, 3, open_lo=True),
        "L": real(0, 3),
        "p": integer(1, N),
        "v": integer(N - UP, N - UP),
    }
    assumptions = (ALPHA * N >= 1, ALPHA <= 1, GAMMA < 1, STEP <= T, Eq(UP + DOWN, N))
    return Derivation(
        "the five terms, not rounded",
        "ours",
        variables,
        assumptions,
        citation.lhs,
        steps,
        {FIVE_TERMS: citation},
        local=("t", "q", "p", "v"),
    )


def norm() -> Derivation:
    """Derive the norm of Theorem 9's noise: T >= 4N, alpha = 1/N, gamma = sqrt(N/T), sigma as printed."""
    rho = sqrt(N / T)
    sigma = 4 * sqrt(log(1 / DELTA)) * N ** Rational(7, 4) / (T ** Rational(3, 4) * sqrt(D))
    total = cite(variance(), VARIANCE, alpha=1 / N, gamma=rho, sigma=sigma)
    windows = (6 * G**2 + 2 / rho * (4 * G**2 + (1 - rho) ** 2 * L**2) / (2 - rho)) * Log2(1 + N / 2)
    inside = 3 * G**2 * Log2(N) + windows / shares.SHRUNK + L**2 * Log2(T + 1)
    steps = (
        Step(sqrt(Moment(NOISE, 2)), "<=", "jensen-sqrt", {"X": NOISE}),
        Step(sqrt(D * VARIANCE), "=", "gaussian-second-moment", {"X": NOISE, "d": D, "v": VARIANCE}),
        Step(sqrt(D * total.rhs), "<=", "premise", {}, ("the variance",)),
        Step(16 * rho ** Rational(3, 2) * sqrt(log(1 / DELTA) * Log2(N) * inside), "="),
    )
    variables: dict[str, Variable] = {
        "N": integer(1, 60),
        "T": integer(4 * N, 900),
        "d": integer(1, 40),
        "delta": real(0, 1, open_lo=True, open_hi=True),
        "G": real(0, 3, open_lo=True),
        "L": real(0, 3),
        "variance": FromPremises(),
        "noise": GaussianNorm(D, VARIANCE),
    }
    return Derivation(
        "the noise of Theorem 9",
        "ours",
        variables,
        (T >= 4 * N, rho < 1, DELTA < 1),
        Moment(NOISE, 1),
        steps,
        {"the variance": total},
        local=("variance", "noise"),
    )
