"""The audit with nothing assumed: rounds of a guessing game, a tenth to a quarter of them to learn the rule."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np

from dpverify.privacy.audit.candidates import UserScore, in_order, repeating
from dpverify.privacy.audit.draws import Draws, chunks
from dpverify.privacy.audit.groups import SortedOutputs, half_of
from dpverify.privacy.audit.learning import Bet, learn
from dpverify.privacy.audit.observations import BlockSpread, Hint
from dpverify.privacy.audit.records import AuditError, AuditFinding, Floats
from dpverify.privacy.audit.sampling import BLOCK_CALLS, BLOCK_FLOATS, MOST_FLOATS, Source, coins
from dpverify.privacy.audit.scores import one_blas_thread
from dpverify.shared_types import ReportProgress

TRAINING = 25_000
"""Rounds that a rule is learned on, if they are between a tenth and a quarter of all, and fit in memory.

With fewer in the tails, the best of many thresholds is the luckiest.
"""


def rounds_of(n: int) -> int:
    """Rounds for about n samples per data set, ``2 n - 4 sqrt(2 n)``: both stay below n in all but one of 15 000."""
    return max(n, 2 * n - math.ceil(4.0 * math.sqrt(2.0 * n)))


def training_of(total: int, dimension: int) -> int:
    """Rounds of ``total`` that a rule is learned on."""
    limit = min(total // 4, TRAINING, MOST_FLOATS // max(1, dimension))
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
    """Play the game of ``audit.counting``. After Ctrl-C, from what was played until then."""
    finding = AuditFinding(rule="none yet", trials=0, right=0, wrong=0)
    total = rounds_of(n)
    source = draws.source
    bets: list[Bet] = []
    try:
        draws.probe()
        training = training_of(total, source.dimension)
        if training * source.dimension > MOST_FLOATS:
            output_limit = MOST_FLOATS // source.dimension * 5
            raise AuditError(
                f"n: {n}: must be at most {output_limit}, so that outputs of {source.dimension} numbers fit in memory"
            )
        size = _block(total, source)
        spread, hint = BlockSpread(source.batched), Hint()
        first = chunks(training, min(size, max(1, training // 2)))
        blocks = draws.drawn([*first, *chunks(total - training, size)])
        x, b, done = np.empty((training, source.dimension)), np.empty(training, dtype=np.bool_), 0
        for outputs, thrown in islice(blocks, len(first)):
            end = done + len(outputs)
            x[done:end], b[done:end] = outputs, thrown.bits
            done = end
            report(done, total, "training")
        half = half_of(training)
        for piece in (slice(half), slice(half, None)):
            sides = coins(b[piece]).part(x[piece])
            spread.add(*sides)
            with one_blas_thread(source.dimension):
                hint.add(*sides)
        report(training, total, "learning a rule")
        score = None if user is None else _in_shape(user, source.shape or ())
        sortable = training > 0 and source.dimension == 1 and user is None
        line = SortedOutputs(x[:, 0], b, half) if sortable else None
        ordered = in_order(x) if line is None else line.x[None]
        with one_blas_thread(source.dimension):
            bets = learn(
                x, b, total - training, delta, alpha, serial=not source.batched, user=score, line=line, ordered=ordered
            )
        repeats = _repeats(x, ordered)
        finding = finding._replace(rule=bets[0].guesser.name, training=training, notes=repeats)
        del x, line, ordered
        for outputs, thrown in blocks:
            with one_blas_thread(source.dimension):
                for bet in bets:
                    bet.judge(outputs, thrown.bits)
                sides = thrown.part(outputs)
                spread.add(*sides)
                hint.add(*sides)
            done += len(outputs)
            report(done, total, "guessing")
        with one_blas_thread(source.dimension):
            finding = finding._replace(notes=finding.notes + spread.notes() + hint.notes(delta, alpha, claimed))
    except KeyboardInterrupt:
        finding = finding._replace(interrupted=True)

    def epsilon_at(level: float) -> float:
        return max(bet.epsilon(delta, level) for bet in bets)

    if not bets:
        return finding
    won = max(bets, key=lambda bet: bet.epsilon(delta, alpha))
    return finding._replace(
        rule=won.guesser.name,
        right=won.right,
        wrong=won.wrong,
        trials=won.trials,
        share=won.share,
        epsilon=epsilon_at(alpha),
        epsilon_at=epsilon_at,
    )


def _block(total: int, source: Source) -> int:
    parts, limit = (10, BLOCK_FLOATS // source.dimension) if source.batched else (20, BLOCK_CALLS)
    return 2 * max(1, min(total // parts, limit) // 2)


def _repeats(x: Floats, ordered: Floats) -> tuple[str, ...]:
    """Say how far outputs repeat: point masses are fine, noise that was drawn before is not."""
    if len(x) < 2 or repeating(ordered).size == 0:
        return ()
    different = len(np.unique(x, axis=0))
    if different == len(x):
        return ()
    return (f"outputs repeat: {different} different ones among the {len(x)} of the training rounds",)


def _in_shape(user: UserScore, shape: tuple[int, ...]) -> UserScore:
    return lambda y: user(y.reshape(len(y), *shape))
