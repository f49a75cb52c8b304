"""The audit without assumptions: rounds of a guessing game, a tenth to a quarter of which train the guessing rule.

The audit also checks whether blocks of rounds differ, because noise is shared or drifts, and computes the bound that a
Gaussian law would give.
"""

from __future__ import annotations

import math
from itertools import islice

import numpy as np

from dpverify.privacy.audit.candidates import (
    UserScore,
    repeating_coordinates,
    sorted_coordinates,
)
from dpverify.privacy.audit.gaussian import (
    MIN_LAW_OUTPUTS,
    Sides,
    add_outputs,
    bound_mu,
    check_law,
)
from dpverify.privacy.audit.groups import SortedOutputs, first_half_size
from dpverify.privacy.audit.learning import Bet, learn
from dpverify.privacy.audit.records import AuditError, AuditFinding, Floats
from dpverify.privacy.audit.sampling import (
    BLOCK_CALLS,
    BLOCK_FLOATS,
    MOST_FLOATS,
    Draws,
    Source,
    chunks,
    coins,
)
from dpverify.privacy.audit.scores import one_blas_thread
from dpverify.privacy.gaussian import epsilon_of
from dpverify.shared_types import ReportProgress

MAX_COORDINATES = 8  # largest number of coordinates that are examined

# standard deviations that count as too far; independent draws exceed this once in 10^14
MAX_DEVIATION = 8.0

MIN_OUTPUTS = 30  # fewest outputs on one data set for which a block is examined

MAX_HINT_DIMENSION = 100  # largest size of an output for which a hint is computed


class BlockSpread:
    """Counts of outputs above the first block's median, for each block; outputs of a batch must be independent."""

    def __init__(self, batched: bool) -> None:
        self._batched = batched
        self._medians: tuple[Floats, Floats] | None = None
        # per data set and block: the number of outputs,
        # and how many of them are above the median
        self._counts: tuple[list[tuple[int, Floats]], list[tuple[int, Floats]]] = [], []

    def add(self, low: Floats, high: Floats) -> None:
        """Add a block of outputs on each data set."""
        if min(len(low), len(high)) < MIN_OUTPUTS:
            return
        low = low[:, :MAX_COORDINATES]
        high = high[:, :MAX_COORDINATES]
        if self._medians is None:
            self._medians = np.median(low, axis=0), np.median(high, axis=0)
        for which, rows in enumerate((low, high)):
            # a reduction along an axis takes ten times as long
            columns = zip(rows.T, self._medians[which], strict=True)
            above = np.array(
                [float(np.count_nonzero(column > median)) for column, median in columns]
            )
            self._counts[which].append((len(rows), above))

    def largest_deviation(self) -> float:
        """Return the largest deviation of a block's fraction above the median from the mean, in standard deviations.

        The result is 0 if there are fewer than two blocks.
        """
        worst = 0.0
        for blocks in self._counts:
            if len(blocks) < 2:
                continue
            sizes = np.array([size for size, _ in blocks])[:, None]
            above = np.array([count for _, count in blocks])
            share = above.sum(axis=0) / sizes.sum()
            deviation = np.sqrt(sizes * share * (1.0 - share))
            deviations = np.abs(above - sizes * share) / np.where(
                deviation > 0.0, deviation, math.inf
            )
            worst = max(worst, float(deviations.max()))
        return worst

    def notes(self) -> tuple[str, ...]:
        """Return a note if blocks differ; raise an AuditError if they are batches of one mechanism."""
        far = self.largest_deviation()
        if far <= MAX_DEVIATION:
            return ()
        if self._batched:
            raise AuditError(
                f"mechanism: its batches differ from each other by {far:.3g} standard deviations: "
                "must return independent outputs, each with noise of its own"
            )
        return (
            f"calls are not alike: blocks of them differ by {far:.3g} standard deviations; noise is shared, or drifts",
        )


class GaussianHint:
    """Moments of the outputs of a game on each data set."""

    def __init__(self) -> None:
        self._sides: Sides | None = None

    def add(self, low: Floats, high: Floats) -> None:
        """Add a block of outputs, shape (m, d), on each data set."""
        if low.shape[1] > MAX_HINT_DIMENSION or min(len(low), len(high)) == 0:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            self._sides = add_outputs(self._sides, low, high)

    def notes(
        self, delta: float, alpha: float, claimed: float | None
    ) -> tuple[str, ...]:
        """Return a note on the bound under the law "gaussian"; empty if outputs contradict that law or are too few."""
        if (
            self._sides is None
            or min(side.count for side in self._sides) < MIN_LAW_OUTPUTS
        ):
            return ()
        if not all(
            np.isfinite(side.fourth).all() and np.isfinite(side.products).all()
            for side in self._sides
        ):
            return ()
        try:
            check_law(*self._sides)
        except AuditError:
            return ()
        mu = bound_mu(*self._sides, alpha).mu
        if not 0.0 < mu < math.inf:
            return ()
        epsilon = epsilon_of(mu, delta)
        text = f"outputs do not contradict a Gaussian law; if that is given, epsilon >= {epsilon:.4g}"
        if claimed is not None and epsilon > claimed:
            return (
                f"{text}, which is more than is claimed: nothing is decided here, the law 'gaussian' judges it",
            )
        return (f"{text} (see the law 'gaussian')",)


TRAINING_ROUNDS = 25_000
"""Number of rounds that train a rule, if it is between a tenth and a quarter of all rounds and they fit in memory.

With fewer rounds in the tails, the best of many thresholds is best only by chance.
"""


def total_rounds(n: int) -> int:
    """Return the number of rounds for about n outputs per data set.

    With ``2 n - 4 sqrt(2 n)`` rounds both counts stay below n except with probability 1/15000.
    """
    return max(n, 2 * n - math.ceil(4.0 * math.sqrt(2.0 * n)))


def training_rounds(total: int, dimension: int) -> int:
    """Return how many of ``total`` rounds train the rule."""
    limit = min(total // 4, TRAINING_ROUNDS, MOST_FLOATS // max(1, dimension))
    return 2 * (max(total // 10, limit) // 2)


def play(
    draws: Draws,
    n: int,
    delta: float,
    alpha: float,
    user: UserScore | None,
    report: ReportProgress,
    claimed: float | None = None,
) -> AuditFinding:
    """Play the game of ``audit.counting``; after Ctrl-C, return the result of the rounds played so far."""
    finding = AuditFinding(rule="none yet", trials=0, right=0, wrong=0)
    total = total_rounds(n)
    source = draws.source
    bets: list[Bet] = []
    try:
        draws.probe()
        training = training_rounds(total, source.dimension)
        if training * source.dimension > MOST_FLOATS:
            output_limit = MOST_FLOATS // source.dimension * 5
            raise AuditError(
                f"n: {n}: must be at most {output_limit}, so that outputs of {source.dimension} numbers fit in memory"
            )
        size = _block(total, source)
        spread, hint = BlockSpread(source.batched), GaussianHint()
        first = chunks(training, min(size, max(1, training // 2)))
        blocks = draws.drawn([*first, *chunks(total - training, size)])
        x, b, done = (
            np.empty((training, source.dimension)),
            np.empty(training, dtype=np.bool_),
            0,
        )
        for outputs, block_coins in islice(blocks, len(first)):
            end = done + len(outputs)
            x[done:end], b[done:end] = outputs, block_coins.bits
            done = end
            report(done, total, "training")
        half = first_half_size(training)
        for piece in (slice(half), slice(half, None)):
            sides = coins(b[piece]).part(x[piece])
            spread.add(*sides)
            with one_blas_thread(source.dimension):
                hint.add(*sides)
        report(training, total, "learning a rule")
        score = None if user is None else _with_shape(user, source.shape or ())
        sortable = training > 0 and source.dimension == 1 and user is None
        scalars = SortedOutputs(x[:, 0], b, half) if sortable else None
        ordered = sorted_coordinates(x) if scalars is None else scalars.x[None]
        with one_blas_thread(source.dimension):
            bets = learn(
                x,
                b,
                total - training,
                delta,
                alpha,
                serial=not source.batched,
                user=score,
                scalars=scalars,
                ordered=ordered,
            )
        repeats = _repeats(x, ordered)
        finding = finding._replace(
            rule=bets[0].guesser.name, training=training, notes=repeats
        )
        del x, scalars, ordered
        for outputs, block_coins in blocks:
            with one_blas_thread(source.dimension):
                for bet in bets:
                    bet.judge(outputs, block_coins.bits)
                sides = block_coins.part(outputs)
                spread.add(*sides)
                hint.add(*sides)
            done += len(outputs)
            report(done, total, "guessing")
        with one_blas_thread(source.dimension):
            finding = finding._replace(
                notes=finding.notes + spread.notes() + hint.notes(delta, alpha, claimed)
            )
    except KeyboardInterrupt:
        finding = finding._replace(interrupted=True)

    def epsilon_at(level: float) -> float:
        return max(bet.epsilon(delta, level) for bet in bets)

    if not bets:
        return finding
    best = max(bets, key=lambda bet: bet.epsilon(delta, alpha))
    return finding._replace(
        rule=best.guesser.name,
        right=best.right,
        wrong=best.wrong,
        trials=best.trials,
        share=best.share,
        epsilon=epsilon_at(alpha),
        epsilon_at=epsilon_at,
    )


def _block(total: int, source: Source) -> int:
    parts, limit = (
        (10, BLOCK_FLOATS // source.dimension) if source.batched else (20, BLOCK_CALLS)
    )
    return 2 * max(1, min(total // parts, limit) // 2)


def _repeats(x: Floats, ordered: Floats) -> tuple[str, ...]:
    """Return a note if outputs repeat: point masses are harmless, but reused noise is not."""
    if len(x) < 2 or repeating_coordinates(ordered).size == 0:
        return ()
    different = len(np.unique(x, axis=0))
    if different == len(x):
        return ()
    return (
        f"outputs repeat: {different} different ones among the {len(x)} of the training rounds",
    )


def _with_shape(user: UserScore, shape: tuple[int, ...]) -> UserScore:
    return lambda y: user(y.reshape(len(y), *shape))
