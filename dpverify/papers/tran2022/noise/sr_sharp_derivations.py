"""The noise of Algorithm 2 as Theorem 9 takes it: the five terms of Lemma 7's variance, none of them rounded."""

from __future__ import annotations

from typing import Any, Final

from sympy import Rational, Symbol, floor, log, sqrt

from dpverify.papers.tran2022.noise import sr_total_derivations as lemma_7
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step
from dpverify.symbolic.expressions.functions import Log2, Moment
from dpverify.symbolic.expressions.ranges import FromPremises, GaussianNorm, Variable, integer, real

GAMMA, SIGMA, ALPHA, G, DELTA = (Symbol(name, positive=True) for name in ("gamma", "sigma", "alpha", "G", "delta"))
L, VARIANCE = (Symbol(name, nonnegative=True) for name in ("L", "variance"))
N, T, D = (Symbol(name, integer=True, positive=True) for name in ("N", "T", "d"))
FIRST, LATER = 3 * Log2(N), 4 * (T / N) * Log2(N)
LOCAL: Final = ("prefix", "weight", "decays", "squares", "run")
FIVE_TERMS: Final = "the variances of the five terms add up"


def _total(prefix: Any, weight: Any, decays: Any, squares: Any, run: Any) -> Any:
    """Total variance of one coordinate, with gamma for eta N."""
    early = 16 * G**2 * FIRST * (prefix + decays * weight**2)
    way = 4 * GAMMA**2 * L**2
    windows = decays * LATER * (16 * G**2 * GAMMA**2 + way * (1 - GAMMA) ** 2) * squares
    return ALPHA**2 * SIGMA**2 * (early + windows + way * LATER * run)


def variance() -> Derivation:
    """Derive the total variance from the five terms, none of them rounded, for alpha N >= 1 and gamma <= 1/2."""
    rate = GAMMA * (2 - GAMMA)
    shares = lemma_7.term_shares(N, T, GAMMA)
    letters = {letter: letter for _, letter, _ in shares}

    def now() -> Any:
        return _total(
            letters[lemma_7.PREFIX],
            letters[lemma_7.WEIGHT],
            letters[lemma_7.DECAYS],
            letters[lemma_7.SQUARES],
            letters[lemma_7.RUN],
        )

    premises = {FIVE_TERMS: Premise(VARIANCE, "<=", now())}
    steps = [Step(now(), "<=", "premise", {}, (FIVE_TERMS,))]
    for claim, letter, bound in shares:
        premises[claim] = Premise(letter, "<=", bound)
        letters[letter] = bound
        steps.append(Step(now(), "<=", "premise", {}, (claim,)))
    variables: dict[str, Variable] = {
        "N": integer(1, 60), "T": integer(1, 400), "alpha": real(1 / N, 1),
        "gamma": real(0, Rational(1, 2), open_lo=True),
        "sigma": real(0, 3, open_lo=True), "G": real(0, 3, open_lo=True), "L": real(0, 3),
        "prefix": real(0, floor(Log2(N))), "weight": real(0, 1), "decays": real(0, 2 * floor(Log2(1 + N / 2))),
        "squares": real(0, 1 / rate), "run": real(0, floor(Log2(T + 1))), "variance": FromPremises(),
    }  # fmt: skip
    return Derivation(
        "the five terms, not rounded", "ours", variables, (ALPHA * N >= 1, ALPHA <= 1, GAMMA < 1, 4 * GAMMA**2 <= 1),
        VARIANCE, tuple(steps), premises, local=(*LOCAL, "variance"),
    )  # fmt: skip


def norm() -> Derivation:
    """Derive the norm of Theorem 9's noise: T >= 4N, alpha = 1/N, gamma = sqrt(N/T), sigma as printed."""
    rho = sqrt(N / T)
    sigma = 4 * sqrt(log(1 / DELTA)) * N ** Rational(7, 4) / (T ** Rational(3, 4) * sqrt(D))
    total = cite(variance(), VARIANCE, alpha=1 / N, gamma=rho, sigma=sigma)
    windows = (6 * G**2 + 2 / rho * (4 * G**2 + (1 - rho) ** 2 * L**2) / (2 - rho)) * Log2(1 + N / 2)
    inside = 3 * G**2 * Log2(N) + windows / lemma_7.SHRUNK + L**2 * Log2(T + 1)
    steps = (
        Step(sqrt(Moment(lemma_7.NOISE, 2)), "<=", "jensen-sqrt", {"X": lemma_7.NOISE}),
        Step(sqrt(D * VARIANCE), "=", "gaussian-second-moment", {"X": lemma_7.NOISE, "d": D, "v": VARIANCE}),
        Step(sqrt(D * total.rhs), "<=", "premise", {}, ("the variance",)),
        Step(16 * rho ** Rational(3, 2) * sqrt(log(1 / DELTA) * Log2(N) * inside), "="),
    )
    variables: dict[str, Variable] = {
        "N": integer(1, 60), "T": integer(4 * N, 900), "d": integer(1, 40),
        "delta": real(0, 1, open_lo=True, open_hi=True),
        "G": real(0, 3, open_lo=True), "L": real(0, 3), "variance": FromPremises(), "noise": GaussianNorm(D, VARIANCE),
    }  # fmt: skip
    return Derivation(
        "the noise of Theorem 9", "ours", variables, (T >= 4 * N, rho < 1, DELTA < 1), Moment(lemma_7.NOISE, 1), steps,
        {"the variance": total}, local=("variance", "noise"),
    )  # fmt: skip
