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
below 1 - confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from scipy.special import bdtrc

from dpverify.foreign import ForeignError, foreign_code
from dpverify.ledger.records import Record
from dpverify.privacy.audit.records import AuditClaim, AuditError, Bits, Floats, Verdict

OneRun: TypeAlias = Callable[[Bits, np.random.Generator], Any]
Scores: TypeAlias = Callable[[Any], Any]

SHARES = (1.0, 0.25, 0.05)  # of the examples that are guessed by default; each has a third of the chance of an error
LARGEST = 64.0  # epsilon; no run of at most a million examples shows as much
MOST_EXAMPLES = 1_000_000
SAFE = 1.0 + 1e-9  # more than the rounding errors of the chances


class Guesses(Record, frozen=True, kw_only=True):
    """Guesses of one size, and the bound that follows from them."""

    guesses: int
    right: int
    epsilon: float  # lower bound, with the share of the chance of an error that these guesses have
    largest_epsilon: float  # what it would be if all guesses were right


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
    epsilon: float  # lower bound
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
    confidence : float
        Chance that the bound is not above the truth, at least; in (0, 1).
    seed : int
        At least 0; the same seed gives the same result.

    Returns
    -------
    OneRunAudit
        ``epsilon`` is the bound, ``verdict`` what becomes of the claim. ``tried`` has the guesses of each size, with
        the largest epsilon that they could have shown.

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
    rng = np.random.default_rng([seed, examples])
    included = rng.random(examples) < 0.5
    values = _scores(run, scores, included, rng)
    order = np.argsort(values + 0.0, kind="stable")[::-1]
    level = (1.0 - confidence) / len(sizes)
    tried = [_guess(included[order], size, delta, level) for size in sizes]
    bound = max(guess.epsilon for guess in tried)
    claim = None if epsilon is None else AuditClaim(epsilon=epsilon, delta=delta)
    return OneRunAudit(
        verdict="no claim" if claim is None else "refuted" if bound > claim.epsilon else "not refuted",
        claim=claim,
        epsilon=bound,
        delta=delta,
        confidence=confidence,
        examples=examples,
        tried=tried,
        seed=seed,
    )


def _guess(included: Bits, guesses: int, delta: float, level: float) -> Guesses:
    """Guess the first examples as included and the last as left out; they are sorted by falling scores."""
    ahead = -(-guesses // 2)
    behind = guesses - ahead
    right = int(included[:ahead].sum()) + int((~included[len(included) - behind :]).sum())
    examples = len(included)
    return Guesses(
        guesses=guesses,
        right=right,
        epsilon=one_run_epsilon(examples, guesses, right, delta, level),
        largest_epsilon=one_run_epsilon(examples, guesses, guesses, delta, level),
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
    low = 0.0
    high = LARGEST
    if one_run_chance(examples, guesses, right, low, delta) > level:
        return 0.0
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        if one_run_chance(examples, guesses, right, middle, delta) > level:
            high = middle
        else:
            low = middle
    return low


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
