"""A lower bound on epsilon from one run, in which coins decide which of many examples are included.

An auditor guesses the coins of some examples from what the run released (Steinke, Nasr
and Jagielski 2023). Let m examples have independent fair coins, let r coins be guessed,
and let the run be (epsilon, delta)-DP for add-remove neighbours. Let B be binomial with
r trials and success probability 1/(1 + exp(-epsilon)). By their theorem 5.2 the number
of right guesses is stochastically at most B + F, where F is a whole number with a mean
of at most 2 m delta. So for every v

    P[right >= v] <= P[B >= v] + sum over i of P[F = i] P[v > B >= v - i]
                  <= P[B >= v] + 2 m delta max over i of P[B >= v - i] / i.

The last step bounds P[v > B >= v - i] from above by a term that increases with epsilon. The epsilon at which the
bound equals 1 - confidence is then a lower confidence bound: it exceeds the true epsilon only if the bound at the
true epsilon is below 1 - confidence. `counting.py` has a second bound of the same probability, which is smaller for
few guesses; the smaller bound is used. Both are computed there. It also covers mechanisms whose privacy is a whole
curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from dpverify.foreign import ForeignError, foreign_code
from dpverify.ledger.records import Record
from dpverify.privacy.audit.counting import (
    MAX_PARAMETER,
    chance_under,
    curve_tradeoff,
    gaussian_tradeoff,
    one_run_chance,
    one_run_epsilon,
    one_run_mu,
)
from dpverify.privacy.audit.records import (
    AuditClaim,
    AuditError,
    Bits,
    Floats,
    Law,
    Verdict,
)
from dpverify.privacy.gaussian import epsilon_of, mu_of

OneRun: TypeAlias = Callable[[Bits, np.random.Generator], Any]
Scores: TypeAlias = Callable[[Any], Any]

# default fractions of the examples that are
# guessed; each has a third of the error probability
GUESSED_FRACTIONS = (1.0, 0.25, 0.05)

MOST_EXAMPLES = 1_000_000


class Guesses(Record, frozen=True, kw_only=True):
    """The guesses of one size, and the bound that follows from them."""

    guesses: int
    right: int
    # lower bound, at the share of the error probability of these guesses
    epsilon: float
    # lower bound on the mu of Gaussian DP; only with the law "gaussian"
    mu: float | None
    largest_epsilon: float  # the bound if all guesses were right
    # bound on the probability of so many right guesses if the claim is true; None
    # without a claim
    chance: float | None


class OneRunAudit(Record, frozen=True, kw_only=True):
    """The result of an audit with one run.

    Examples
    --------
    >>> import dpverify as dv
    >>> result = dv.audit_one_run(lambda included, rng: included + 0.5 * rng.normal(size=included.size), epsilon=1.0)
    >>> result.verdict
    'refuted'
    """

    verdict: Verdict
    claim: AuditClaim | None
    # all claims that are tested together, if a curve was given
    curve: list[AuditClaim] | None = None
    # upper bound on the smallest error probability at which the claim is refuted
    p_value: float | None = None
    law: Law = "any"
    epsilon: float  # lower bound
    # lower bound on the mu of Gaussian DP; only with the law "gaussian"
    mu: float | None = None
    delta: float
    # least probability that the bound does not exceed the true epsilon
    confidence: float
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
    """Bound the epsilon of a run from below, for add-remove neighbours.

    Parameters
    ----------
    run : callable
        ``run(included, rng) -> released``. ``included`` (examples,) marks the examples
        that take part.
    scores : callable, optional
        ``scores(released) -> (examples,)`` numbers, larger for examples that are more
        likely included. It must depend on the released object only. Default: the
        released array itself.
    examples : int
        Number of examples whose inclusion is random, from 2 to 1,000,000.
    guesses : int or sequence of int, optional
        Number of guesses. Half of them guess that the examples with the largest scores
        were included. The other half guess that those with the smallest scores were
        left out. With several numbers, each gets an equal share of the error
        probability. Default: all examples, a quarter, and a twentieth.
    epsilon : float, optional
        The claim, at least 0. With a claim the verdict is "refuted" or "not refuted".
    delta : float
        The delta at which epsilon is bounded, in [0, 1).
    curve : sequence of (float, float), optional
        A claim instead of ``epsilon``: the run is (epsilon, delta)-DP for each of these
        pairs. All pairs are tested together, with one error probability. A single pair
        with a small delta needs far more examples to be refuted.
    law : {"any", "gaussian"}
        "gaussian" assumes that the run is as private as a Gaussian mechanism with some
        mu. The audit then bounds mu, and the epsilon that follows from mu. This bound
        is much larger, but wrong if the assumption is wrong.
    confidence : float
        Least probability that the bound does not exceed the true epsilon, in (0, 1).
    seed : int
        At least 0; the same seed gives the same result.

    Returns
    -------
    OneRunAudit
        ``epsilon`` is the bound, ``verdict`` the decision on the claim, and ``p_value``
        the smallest error probability at which the claim is refuted. ``tried`` has the
        guesses of each size, with the largest epsilon that they could have shown.

    Raises
    ------
    AuditError
        If an argument is out of range, the code raises, or scores are not finite
        numbers.

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
    tried = [
        _guess(included[order], size, delta, level, law, chance_of) for size in sizes
    ]
    chances = [guess.chance for guess in tried if guess.chance is not None]
    p_value = min(1.0, len(sizes) * min(chances)) if chances else None
    return OneRunAudit(
        verdict="no claim"
        if p_value is None
        else "refuted"
        if p_value <= 1.0 - confidence
        else "not refuted",
        claim=None if epsilon is None else AuditClaim(epsilon=epsilon, delta=delta),
        curve=None
        if curve is None
        else [AuditClaim(epsilon=point[0], delta=point[1]) for point in curve],
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
    epsilon: float | None,
    delta: float,
    curve: Sequence[tuple[float, float]] | None,
    law: Law,
) -> Callable[[int, int, int], float] | None:
    """Return a function that bounds the probability of the right guesses under the claim; None without a claim."""
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
    """Guess the first examples as included and the last as left out; examples are sorted by decreasing score."""
    first_guesses = -(-guesses // 2)
    last_guesses = guesses - first_guesses
    right = int(included[:first_guesses].sum()) + int(
        (~included[len(included) - last_guesses :]).sum()
    )
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


def _scores(
    run: OneRun, scores: Scores | None, included: Bits, rng: np.random.Generator
) -> Floats:
    """Run the user's code, and return the scores of the released output."""
    included_copy = included.copy()
    try:
        with foreign_code("run"):
            released = run(included_copy, rng)
            values = np.asarray(
                released if scores is None else scores(released), dtype=np.float64
            )
    except ForeignError as error:
        raise AuditError(f"run: {error.reason}") from error
    if values.shape != included.shape:
        raise AuditError(
            f"scores: have shape {values.shape}: must have one number per example, {included.shape}"
        )
    if not np.isfinite(values).all():
        raise AuditError(
            f"scores: {values[int(np.argmin(np.isfinite(values)))]}: must be finite"
        )
    return values


def _checked_sizes(examples: int, guesses: int | Sequence[int] | None) -> list[int]:
    """Return the numbers of guesses in decreasing order."""
    if not isinstance(examples, int | np.integer) or not 2 <= examples <= MOST_EXAMPLES:
        raise AuditError(
            f"examples: {examples}: must be a whole number from 2 to {MOST_EXAMPLES}"
        )
    if guesses is None:
        return sorted(
            {max(1, int(share * examples)) for share in GUESSED_FRACTIONS}, reverse=True
        )
    sizes = [guesses] if isinstance(guesses, int | np.integer) else list(guesses)
    for size in sizes:
        if not isinstance(size, int | np.integer) or not 1 <= size <= examples:
            raise AuditError(
                f"guesses: {size}: must be a whole number from 1 to examples={examples}"
            )
    if not sizes:
        raise AuditError("guesses: empty: must have a number")
    return sorted({int(size) for size in sizes}, reverse=True)


def _check_numbers(
    epsilon: float | None, delta: float, confidence: float, seed: int
) -> None:
    """Raise an AuditError if a number is out of range."""
    if epsilon is not None and not 0.0 <= epsilon < math.inf:
        raise AuditError(f"epsilon: {epsilon}: must be finite and at least 0")
    if not 0.0 <= delta < 1.0:
        raise AuditError(f"delta: {delta}: must lie in [0, 1)")
    if not 0.0 < confidence < 1.0:
        raise AuditError(f"confidence: {confidence}: must lie in (0, 1)")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise AuditError(f"seed: {seed}: must be a whole number of at least 0")


def _check_assumptions(
    epsilon: float | None,
    delta: float,
    curve: Sequence[tuple[float, float]] | None,
    law: Law,
) -> None:
    """Raise an AuditError if the claim or the law cannot be judged."""
    if law not in {"any", "gaussian"}:
        raise AuditError(f"law: {law}: must be 'any' or 'gaussian'")
    if law == "gaussian" and delta == 0.0:
        raise AuditError(
            "delta: 0: must be above 0 with the law 'gaussian', which no epsilon bounds at delta 0"
        )
    if curve is None:
        return
    if epsilon is not None:
        raise AuditError(
            f"epsilon: {epsilon}: must not be given with a curve, which is the claim then"
        )
    if law == "gaussian":
        raise AuditError("law: gaussian: must be 'any' with a curve")
    if not len(curve):
        raise AuditError("curve: empty: must have a pair (epsilon, delta)")
    for point in curve:
        if (
            len(point) != 2
            or not 0.0 <= point[0] <= MAX_PARAMETER
            or not 0.0 <= point[1] <= 1.0
        ):
            raise AuditError(
                f"curve: {point}: must be a pair of epsilon in [0, {MAX_PARAMETER:g}] and delta in [0, 1]"
            )
