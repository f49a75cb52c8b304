"""An audit that may be stopped at any time: the wealth of a bettor is the evidence against a claim.

In each round a fair coin selects one of the two data sets. A rule learned from earlier
rounds guesses the coin from the output, or abstains. For these rounds
``audit.counting`` shows that an (epsilon, delta)-DP mechanism has

    P[right] <= exp(epsilon) P[wrong] + delta.

Let c in [0, 1) be chosen before the round, and g = (1 - delta)/(exp(epsilon) + delta).
Then the factor

    1 + c g  if right,    1 - c  if wrong,    1 - c delta/(1 + delta)  if the rule abstains

has a mean of at most ``1 + c (P[right] - exp(epsilon) P[wrong] - delta)/(exp(epsilon) + delta)``, which is at most 1.
The wealth is the product of the factors, a nonnegative supermartingale. By Ville's inequality it ever reaches 1/alpha
with probability at most alpha, whenever and for whatever reason the rounds stop. No factor increases with epsilon.
Therefore a bound exists such that the wealth has reached 1/alpha against each smaller epsilon and against no larger
one. This bound exceeds the true epsilon with probability at most alpha, at all times simultaneously.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from dpverify.ledger.records import Record
from dpverify.privacy.audit.audit import MOST_SAMPLES, check_arguments, default_datasets
from dpverify.privacy.audit.counting import largest_refuted
from dpverify.privacy.audit.learning import Guesser, learn
from dpverify.privacy.audit.records import AuditClaim, AuditError, Bits, Floats, Verdict
from dpverify.privacy.audit.sampling import (
    BLOCK_CALLS,
    BLOCK_FLOATS,
    MOST_FLOATS,
    Draws,
    Mechanism,
    Source,
)
from dpverify.privacy.audit.scores import one_blas_thread
from dpverify.shared_types import ReportProgress

# rounds of the first block; each later block has as many as all earlier blocks together
FIRST_BLOCK: Final = 512
LARGEST_BLOCK: Final = 16_384
# most rounds from which a rule is learned, the latest ones
MOST_TRAINING: Final = 25_000
LARGEST_STAKE: Final = 0.9
MAX_EPSILON: Final = 64.0  # largest epsilon


class AuditLook(Record, frozen=True, kw_only=True):
    """The state of an audit after a block of rounds."""

    rounds: int  # rounds drawn so far
    # right and wrong guesses in this block
    right: int
    wrong: int
    epsilon: float  # lower bound from all blocks so far


class SequentialAudit(Record, frozen=True, kw_only=True):
    """The result of an audit that stops as soon as the claim is refuted.

    Examples
    --------
    >>> import dpverify as dv
    >>> def mechanism(dataset, rng, size):
    ...     return dataset.sum() + rng.normal(size=size)
    >>> result = dv.audit_sequential(mechanism, epsilon=1.0)
    >>> result.verdict, result.rounds < 20_000
    ('refuted', True)
    """

    verdict: Verdict
    claim: AuditClaim | None
    epsilon: float  # lower bound
    delta: float
    # least probability that no bound in ``looks`` exceeds the true epsilon
    confidence: float
    rounds: int  # rounds drawn
    most: int  # rounds that would have been drawn without a refutation
    rule: str  # description of the last guessing rule
    looks: list[AuditLook]
    seed: int
    # whether Ctrl-C ended the audit; the bound is valid nevertheless
    interrupted: bool = False
    schema: int = 1


class StakedRounds(NamedTuple):
    """Rounds that were judged with the same stake."""

    stake: float
    right: int
    wrong: int
    abstained: int


def audit_sequential(
    mechanism: Mechanism,
    datasets: object = None,
    *,
    epsilon: float | None = None,
    delta: float = 1e-5,
    most: int = 200_000,
    confidence: float = 0.95,
    seed: int = 0,
    report: ReportProgress | None = None,
) -> SequentialAudit:
    """Bound the epsilon of a mechanism from below, and stop as soon as a claim is refuted.

    The bound holds at all times simultaneously, so that an audit may be stopped for any
    reason. An audit of a fixed size, ``dpverify.audit``, gives a larger bound from the
    same number of rounds.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(dataset, rng)`` returns an output; ``mechanism(dataset, rng, size)``
        returns ``size`` independent outputs. Calls must be independent of each other.
    datasets : pair, optional
        Neighbouring data sets. Default: ten zeros, and nine zeros and a 1.
    epsilon : float, optional
        The claim, at least 0. With a claim the verdict is "refuted" or "not refuted",
        and the audit stops once the claim is refuted.
    delta : float
        The delta at which epsilon is bounded, in [0, 1).
    most : int
        Largest number of rounds, at least 1. A round draws one output.
    confidence : float
        Least probability that no bound exceeds the true epsilon, in (0, 1).
    seed : int
        At least 0; the same seed gives the same result.
    report : callable, optional
        Called with the number of rounds drawn, ``most``, and a label.

    Returns
    -------
    SequentialAudit
        ``epsilon`` is the bound, ``looks`` the bound after each block of rounds.

    Raises
    ------
    AuditError
        If an argument is out of range, or the mechanism cannot be audited.

    Examples
    --------
    >>> import dpverify as dv
    >>> result = dv.audit_sequential(lambda dataset, rng: rng.normal(), epsilon=1.0, most=2000)
    >>> result.verdict
    'not refuted'
    """
    if not 1 <= most <= MOST_SAMPLES:
        raise AuditError(f"most: {most}: must be between 1 and {MOST_SAMPLES}")
    check_arguments(epsilon, delta, most, confidence, "any", None, seed)
    claim = None if epsilon is None else AuditClaim(epsilon=epsilon, delta=delta)
    source = Source(mechanism, default_datasets() if datasets is None else datasets)
    draws = Draws(source, seed)
    draws.probe()
    bettor = _Bettor(source, delta, 1.0 - confidence, epsilon)
    looks: list[AuditLook] = []
    rounds = 0
    interrupted = False
    try:
        for outputs, coins in draws.drawn(_sizes(most, source)):
            with one_blas_thread(source.dimension):
                stage = bettor.judge(outputs, coins.bits)
                rounds += len(outputs)
                looks.append(
                    AuditLook(
                        rounds=rounds,
                        right=stage.right,
                        wrong=stage.wrong,
                        epsilon=bettor.epsilon,
                    )
                )
                if report is not None:
                    report(rounds, most, "guessing")
                if epsilon is not None and bettor.epsilon > epsilon:
                    break
                if rounds < most:
                    bettor.learn(outputs, coins.bits, most - rounds)
    except KeyboardInterrupt:
        interrupted = True
    return SequentialAudit(
        verdict="no claim"
        if epsilon is None
        else "refuted"
        if bettor.epsilon > epsilon
        else "not refuted",
        claim=claim,
        epsilon=bettor.epsilon,
        delta=delta,
        confidence=confidence,
        rounds=rounds,
        most=most,
        rule="none yet" if bettor.guesser is None else bettor.guesser.name,
        looks=looks,
        seed=seed,
        interrupted=interrupted,
    )


def _sizes(most: int, source: Source) -> Iterator[int]:
    """Yield the sizes of blocks: each as large as all earlier blocks together, up to a limit."""
    limit = min(
        LARGEST_BLOCK,
        BLOCK_FLOATS // source.dimension if source.batched else BLOCK_CALLS,
    )
    total = 0
    while total < most:
        size = min(max(FIRST_BLOCK, total), limit, most - total)
        yield size
        total += size


class _Bettor:
    """The rule, the stake and the wealth, updated after each block."""

    def __init__(
        self, source: Source, delta: float, alpha: float, claimed: float | None
    ) -> None:
        self.source = source
        self.delta = delta
        self.alpha = alpha
        self.claimed = claimed
        self.guesser: Guesser | None = None
        self.stake = 0.0
        self.epsilon = 0.0
        self._stages = list[StakedRounds]()
        self._x: Floats = np.empty((0, source.dimension))
        self._b: Bits = np.empty(0, dtype=np.bool_)

    def judge(self, x: Floats, b: Bits) -> StakedRounds:
        """Guess the coins of a block with the rule and stake from earlier blocks, and update the bound."""
        if self.guesser is None:
            return StakedRounds(0.0, 0, 0, 0)
        right, wrong, judged = self.guesser.guess(x, b)
        stage = StakedRounds(self.stake, right, wrong, judged - right - wrong)
        self._stages.append(stage)
        self.epsilon = max(
            self.epsilon, refuted_epsilon(self._stages, self.delta, self.alpha)
        )
        return stage

    def learn(self, x: Floats, b: Bits, remaining_rounds: int) -> None:
        """Learn a rule from all rounds so far, and choose the stake from guesses on rounds new to the rule."""
        guesser = self.guesser
        new = x, b
        if guesser is None:
            half = len(b) // 2
            guesser = self._learn_rule(x[:half], b[:half], remaining_rounds)
            new = x[half:], b[half:]
        right, wrong, judged = guesser.guess(*new)
        self.stake = stake_of(
            right,
            wrong,
            judged,
            self._target(right, wrong, judged, remaining_rounds),
            self.delta,
        )
        row_limit = max(1, min(MOST_TRAINING, MOST_FLOATS // self.source.dimension))
        self._x = np.concatenate([self._x, x])[-row_limit:]
        self._b = np.concatenate([self._b, b])[-row_limit:]
        self.guesser = self._learn_rule(self._x, self._b, remaining_rounds)

    def _learn_rule(self, x: Floats, b: Bits, remaining_rounds: int) -> Guesser:
        bets = learn(
            x,
            b,
            remaining_rounds,
            self.delta,
            self.alpha,
            serial=not self.source.batched,
            user=None,
        )
        return bets[0].guesser

    def _target(
        self, right: int, wrong: int, judged: int, remaining_rounds: int
    ) -> float:
        """Return the epsilon to bet against: the claim, or the largest epsilon that the remaining rounds may refute."""
        if self.claimed is not None:
            return self.claimed

        def may_be_refuted(epsilon: float) -> bool:
            stake = stake_of(right, wrong, judged, epsilon, self.delta)
            share = remaining_rounds / max(1, judged)
            stage = StakedRounds(
                stake, round(share * right), round(share * (wrong + 1)), 0
            )
            return log_wealth([stage], epsilon, self.delta) >= math.log(
                1.0 / self.alpha
            )

        return largest_refuted(may_be_refuted, MAX_EPSILON, 1e-4)


def stake_of(
    right: int, wrong: int, judged: int, epsilon: float, delta: float
) -> float:
    """Return the stake of fastest growth of the wealth if the fractions of guesses stay the same; 0 if none grows.

    One wrong guess is added, so that a rule that was never wrong does not bet everything.
    """
    if right == 0 or judged == 0:
        return 0.0
    gain = gain_of(epsilon, delta)
    stake = (right * gain - (wrong + 1)) / (gain * (right + wrong + 1))
    return min(max(stake, 0.0), LARGEST_STAKE)


def gain_of(epsilon: float, delta: float) -> float:
    """Return the gain of a right guess per unit of the stake."""
    return (1.0 - delta) / (math.exp(epsilon) + delta)


def log_wealth(stages: Sequence[StakedRounds], epsilon: float, delta: float) -> float:
    """Return the logarithm of the wealth against a claim of epsilon."""
    gain = gain_of(epsilon, delta)
    return math.fsum(
        stage.right * math.log1p(stage.stake * gain)
        + stage.wrong * math.log1p(-stage.stake)
        + stage.abstained * math.log1p(-stage.stake * delta / (1.0 + delta))
        for stage in stages
    )


def refuted_epsilon(
    stages: Sequence[StakedRounds], delta: float, alpha: float
) -> float:
    """Return the largest epsilon against which the wealth is at least 1/alpha; 0 if there is none."""
    # the margin covers rounding errors
    threshold = math.log(1.0 / alpha) * (1.0 + 1e-12)
    return largest_refuted(
        lambda epsilon: log_wealth(stages, epsilon, delta) >= threshold, MAX_EPSILON
    )
