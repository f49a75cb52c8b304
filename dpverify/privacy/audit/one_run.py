"""A lower bound of epsilon from one run, in which coins decide for each of many examples whether it takes part.

An auditor guesses the coins of some examples from what the run released (Steinke, Nasr and Jagielski 2023). Let m
examples have independent fair coins, let r of them be guessed, and let the run be (epsilon, delta)-DP when one example
is added or removed. With B binomial of r guesses with chance 1/(1 + exp(-epsilon)), theorem 5.2 there says that the
number of right guesses is at most B + F in distribution, where F is a whole number with a mean of at most 2 m delta.
So for every v

    P[right >= v] <= P[B >= v] + sum over i of P[F = i] P[v > B >= v - i]
                  <= P[B >= v] + 2 m delta max over i of P[B >= v - i] / i.

The last step bounds P[v > B >= v - i] from above, so that the whole rises with epsilon. Then the epsilon at which it
reaches 1 - confidence is a lower confidence bound: it is above the truth only if the bound for the true epsilon is
below 1 - confidence. `counting.py` has a second bound of the same chance, which is smaller for few guesses; the
smaller of the two counts. It also bounds the chance under a whole curve of privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np
from scipy.special import bdtrc

from dpverify.foreign import ForeignError, foreign_code
from dpverify.ledger.records import Record
from dpverify.privacy.audit.counting import chance_under, curve_tradeoff, gaussian_tradeoff, is_rarer, largest_refuted
from dpverify.privacy.audit.records import AuditClaim, AuditError, Bits, Floats, Law, Verdict
from dpverify.privacy.gaussian import epsilon_of, mu_of

OneRun: TypeAlias = Callable[[Bits, np.random.Generator], Any]
Scores: TypeAlias = Callable[[Any], Any]

SHARES = (1.0, 0.25, 0.05)  # of the examples that are guessed by default; each has a third of the chance of an error
LARGEST = 64.0  # epsilon and mu; no run of at most a million examples shows as much
MOST_EXAMPLES = 1_000_000
SAFE = 1.0 + 1e-9  # more than the rounding errors of the chances


class Guesses(Record, frozen=True, kw_only=True):
    """Guesses of one size, and the bound that follows from them."""

    guesses: int
    right: int
    epsilon: float  # lower bound, with the share of the chance of an error that these guesses have
    mu: float | None  # lower bound of the mu of Gaussian privacy; with the law "gaussian" only
    largest_epsilon: float  # what it would be if all guesses were right
    chance: float | None  # of so many right guesses if the claim is true, at most; None without a claim


class OneRunAudit(Record, frozen=True, kw_only=True):
    """An audit by one run.

    Examples
    --------
    >>> import dpverify as dv
    >>> result = dv.audit_one_run(lambda included, rng: included + 0.5 * rng.normal(size=included.size), epsilon=1.0)
    >>> result.verdict
    'refuted'
    """

    verdict: Verdict
    claim: AuditClaim | None
    curve: list[AuditClaim] | None = None  # all claims that are tested together, if a curve was given
    p_value: float | None = None  # smallest chance of an error at which the claim is refuted, at most
    law: Law = "any"
    epsilon: float  # lower bound
    mu: float | None = None  # lower bound of the mu of Gaussian privacy; with the law "gaussian" only
    delta: float
    confidence: float  # chance that the bound is not above the truth, at least
    examples: int
    tried: list[Guesses]
    seed: int
    schema: int = 1


def audit_one_run(
    run: OneRun,
    scores: Scores | None = None,
    *,
    examples: int = 1000,
    guesses: int | Sequence[int] | None = None,
    epsilon: float | None = None,
    delta: float = 1e-5,
    curve: Sequence[tuple[float, float]] | None = None,
    law: Law = "any",
    confidence: float = 0.95,
    seed: int = 0,
) -> OneRunAudit:
    """Bound the epsilon of a run from below, for neighbours that add or remove one example.

    Parameters
    ----------
    run : callable
        ``run(included, rng) -> released``. ``included`` (examples,) says which examples take part.
    scores : callable, optional
        ``scores(released) -> (examples,)`` numbers, larger for examples that are more likely included. It must use
        nothing but what was released. By default the released array itself.
    examples : int
        Number of examples whose inclusion coins decide, from 2 to 1,000,000.
    guesses : int or sequence of int, optional
        How many examples are guessed: half of them, those with the largest scores, as included, and half as left out.
        With several numbers each has an equal share of the chance of an error. By default all examples, a quarter,
        and a twentieth.
    epsilon : float, optional
        The claim, at least 0: with it the verdict is "refuted" or "not refuted".
    delta : float
        At which epsilon is bounded, in [0, 1).
    curve : sequence of (float, float), optional
        A claim instead of ``epsilon``: the run is (epsilon, delta)-DP for each of these pairs. All are tested together,
        with one chance of an error. A point at a small delta alone needs far more examples to be refuted.
    law : {"any", "gaussian"}
        "gaussian" if the run is as private as a Gaussian mechanism of some mu. The bound is then of mu, and of the
        epsilon that this mu has; it is far larger, and wrong if the assumption is.
    confidence : float
        Chance that the bound is not above the truth, at least; in (0, 1).
    seed : int
        At least 0; the same seed gives the same result.

    Returns
    -------
    OneRunAudit
        ``epsilon`` is the bound, ``verdict`` what becomes of the claim, ``p_value`` the smallest chance of an error at
        which it is refuted. ``tried`` has the guesses of each size, with the largest epsilon that they could have
        shown.

    Raises
    ------
    AuditError
        If an argument is out of range, the code raises, or scores are not finite numbers.

    Examples
    --------
    >>> import dpverify as dv
    >>> result = dv.audit_one_run(lambda included, rng: rng.normal(size=included.size), epsilon=1.0)
    >>> result.verdict
    'not refuted'
    """
    sizes = _checked_sizes(examples, guesses)
    _check_numbers(epsilon, delta, confidence, seed)
    _check_assumptions(epsilon, delta, curve, law)
    rng = np.random.default_rng([seed, examples])
    included = rng.random(examples) < 0.5
    values = _scores(run, scores, included, rng)
    order = np.argsort(values + 0.0, kind="stable")[::-1]
    level = (1.0 - confidence) / len(sizes)
    chance_of = _chance_under_claim(epsilon, delta, curve, law)
    tried = [_guess(included[order], size, delta, level, law, chance_of) for size in sizes]
    chances = [guess.chance for guess in tried if guess.chance is not None]
    p_value = min(1.0, len(sizes) * min(chances)) if chances else None
    return OneRunAudit(
        verdict="no claim" if p_value is None else "refuted" if p_value <= 1.0 - confidence else "not refuted",
        claim=None if epsilon is None else AuditClaim(epsilon=epsilon, delta=delta),
        curve=None if curve is None else [AuditClaim(epsilon=point[0], delta=point[1]) for point in curve],
        p_value=p_value,
        law=law,
        epsilon=max(guess.epsilon for guess in tried),
        mu=max((guess.mu for guess in tried if guess.mu is not None), default=None),
        delta=delta,
        confidence=confidence,
        examples=examples,
        tried=tried,
        seed=seed,
    )


def _chance_under_claim(
    epsilon: float | None, delta: float, curve: Sequence[tuple[float, float]] | None, law: Law
) -> Callable[[int, int, int], float] | None:
    """Return what bounds the chance of so many right guesses among examples if the claim is true; None without one."""
    if curve is not None:
        return partial(chance_under, curve_tradeoff(curve))
    if epsilon is None:
        return None
    if law == "gaussian":
        return partial(chance_under, gaussian_tradeoff(mu_of(epsilon, delta)))
    tradeoff = curve_tradeoff([(epsilon, delta)])

    def chance_of(examples: int, guesses: int, right: int) -> float:
        binomial = one_run_chance(examples, guesses, right, epsilon, delta)
        return min(binomial, chance_under(tradeoff, examples, guesses, right))

    return chance_of


def _guess(
    included: Bits,
    guesses: int,
    delta: float,
    level: float,
    law: Law,
    chance_of: Callable[[int, int, int], float] | None,
) -> Guesses:
    """Guess the first examples as included and the last as left out; they are sorted by falling scores."""
    ahead = -(-guesses // 2)
    behind = guesses - ahead
    right = int(included[:ahead].sum()) + int((~included[len(included) - behind :]).sum())
    examples = len(included)
    mu = None
    if law == "gaussian":
        mu = one_run_mu(examples, guesses, right, level)
        epsilon = epsilon_of(mu, delta)
        largest = epsilon_of(one_run_mu(examples, guesses, guesses, level), delta)
    else:
        epsilon = one_run_epsilon(examples, guesses, right, delta, level)
        largest = one_run_epsilon(examples, guesses, guesses, delta, level)
    return Guesses(
        guesses=guesses,
        right=right,
        epsilon=epsilon,
        mu=mu,
        largest_epsilon=largest,
        chance=None if chance_of is None else chance_of(examples, guesses, right),
    )


def one_run_chance(examples: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Bound the chance of at least so many right guesses, if the run is (epsilon, delta)-DP; it rises with epsilon."""
    chance = 1.0 / (1.0 + math.exp(-epsilon))
    if right == 0:
        return 1.0
    above = float(bdtrc(right - 1, guesses, chance))
    if delta == 0.0:
        return min(1.0, above * SAFE)
    missing = np.arange(1, right + 1)
    reached = np.where(missing == right, 1.0, bdtrc(np.maximum(right - missing - 1, 0), guesses, chance))
    return min(1.0, (above + 2.0 * examples * delta * float((reached / missing).max())) * SAFE)


@lru_cache(maxsize=4096)
def one_run_epsilon(examples: int, guesses: int, right: int, delta: float, level: float) -> float:
    """Return the largest epsilon at which so many right guesses have a chance of at most ``level``; 0 if none has."""

    def is_refuted(epsilon: float) -> bool:
        if is_rarer(curve_tradeoff([(epsilon, delta)]), examples, guesses, right, level):
            return True
        return one_run_chance(examples, guesses, right, epsilon, delta) <= level  # takes longer

    return largest_refuted(is_refuted, LARGEST)


@lru_cache(maxsize=4096)
def one_run_mu(examples: int, guesses: int, right: int, level: float) -> float:
    """Return the largest mu of Gaussian privacy at which so many right guesses have a chance of at most ``level``."""
    return largest_refuted(lambda mu: is_rarer(gaussian_tradeoff(mu), examples, guesses, right, level), LARGEST)


def _scores(run: OneRun, scores: Scores | None, included: Bits, rng: np.random.Generator) -> Floats:
    """Run the code, and take the scores of what it released."""
    given = included.copy()
    try:
        with foreign_code("run"):
            released = run(given, rng)
            values = np.asarray(released if scores is None else scores(released), dtype=np.float64)
    except ForeignError as error:
        raise AuditError(f"run: {error.reason}") from error
    if values.shape != included.shape:
        raise AuditError(f"scores: have shape {values.shape}: must have one number per example, {included.shape}")
    if not np.isfinite(values).all():
        raise AuditError(f"scores: {values[int(np.argmin(np.isfinite(values)))]}: must be finite")
    return values


def _checked_sizes(examples: int, guesses: int | Sequence[int] | None) -> list[int]:
    """Return the numbers of guesses, in falling order."""
    if not isinstance(examples, int | np.integer) or not 2 <= examples <= MOST_EXAMPLES:
        raise AuditError(f"examples: {examples}: must be a whole number from 2 to {MOST_EXAMPLES}")
    if guesses is None:
        return sorted({max(1, int(share * examples)) for share in SHARES}, reverse=True)
    sizes = [guesses] if isinstance(guesses, int | np.integer) else list(guesses)
    for size in sizes:
        if not isinstance(size, int | np.integer) or not 1 <= size <= examples:
            raise AuditError(f"guesses: {size}: must be a whole number from 1 to examples={examples}")
    if not sizes:
        raise AuditError("guesses: empty: must have a number")
    return sorted({int(size) for size in sizes}, reverse=True)


def _check_numbers(epsilon: float | None, delta: float, confidence: float, seed: int) -> None:
    """Refuse what is out of range."""
    if epsilon is not None and not 0.0 <= epsilon < math.inf:
        raise AuditError(f"epsilon: {epsilon}: must be finite and at least 0")
    if not 0.0 <= delta < 1.0:
        raise AuditError(f"delta: {delta}: must lie in [0, 1)")
    if not 0.0 < confidence < 1.0:
        raise AuditError(f"confidence: {confidence}: must lie in (0, 1)")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise AuditError(f"seed: {seed}: must be a whole number of at least 0")


def _check_assumptions(
    epsilon: float | None, delta: float, curve: Sequence[tuple[float, float]] | None, law: Law
) -> None:
    """Refuse a claim or a law that cannot be judged."""
    if law not in {"any", "gaussian"}:
        raise AuditError(f"law: {law}: must be 'any' or 'gaussian'")
    if law == "gaussian" and delta == 0.0:
        raise AuditError("delta: 0: must be above 0 with the law 'gaussian', which no epsilon bounds at delta 0")
    if curve is None:
        return
    if epsilon is not None:
        raise AuditError(f"epsilon: {epsilon}: must not be given with a curve, which is the claim then")
    if law == "gaussian":
        raise AuditError("law: gaussian: must be 'any' with a curve")
    if not len(curve):
        raise AuditError("curve: empty: must have a pair (epsilon, delta)")
    for point in curve:
        if len(point) != 2 or not 0.0 <= point[0] <= LARGEST or not 0.0 <= point[1] <= 1.0:
            raise AuditError(f"curve: {point}: must be a pair of epsilon in [0, {LARGEST:g}] and delta in [0, 1]")
