"""From training rounds to rules: several models compete, on rounds that they were not learned on.

At most two rules go on to be judged: of a steady model, and of a table or trees where these promise more. They share
alpha, 4 to 1 (Bonferroni's inequality), so that the larger of their bounds is a bound: a rare leak can be looked for
without trusting that it was no accident of the training rounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy.audit.candidates import UserScore, View, candidates
from dpverify.privacy.audit.counting import lower_epsilon
from dpverify.privacy.audit.groups import Rows, SortedOutputs, both, half_of, rows_of
from dpverify.privacy.audit.records import Bits, Floats
from dpverify.privacy.audit.rules import AuditRule, choose_rule
from dpverify.privacy.audit.scores import Learner, Score, unit_of

FEWEST = 5  # training rounds of each data set in each half that a model needs

MOST = 100_000  # training rounds in each half that a model learns from, unless it looks for what is rare

ENOUGH = 50  # training rounds for each number in an output from which a score may be looked at where it was learned

HANDICAP = 1.05
"""How much better than the models of its kind before it a model must look: the luckiest of several looks too good."""

FALLEN = 1.25
"""How much less a model may promise from all training rounds than on halves, else the next is tried."""

SHARES = {True: 0.8, False: 0.2}  # shares of alpha, of the steady model and of the other, where both are judged

SURE = {True: 1e-4, False: 0.1}
"""Level at which counts of training rounds speak for themselves, of steady models and of others."""


class Guesser(NamedTuple):
    """A score with its rule."""

    name: str  # in words
    unit: Floats  # (d,) What outputs are measured in
    view: View  # what it sees
    score: Score  # of what it sees
    rule: AuditRule  # its thresholds

    def guess(self, x: Floats, b: Bits) -> tuple[int, int, int]:
        """Guess rounds; returns how many guesses were right, how many wrong, and how many rounds were judged."""
        with np.errstate(over="ignore", invalid="ignore"):  # an output beyond the range of floats gets no guess, or any
            plain = bool((self.unit == 1.0).all())
            viewed, bits = self.view.rounds(x if plain else x / self.unit, b)
            return *self.rule.guess(self.score(viewed), bits), len(bits)


class Bet:
    """A rule with its share of alpha, and how it fares."""

    def __init__(self, guesser: Guesser, share: float) -> None:
        self.guesser = guesser
        self.share = share
        self.right = self.wrong = self.trials = 0

    def judge(self, x: Floats, b: Bits) -> None:
        """Guess rounds and count."""
        right, wrong, judged = self.guesser.guess(x, b)
        self.right = self.right + right
        self.wrong = self.wrong + wrong
        self.trials = self.trials + judged

    def epsilon(self, delta: float, alpha: float) -> float:
        """Bound from this rule; ``alpha`` is that of all rules together."""
        right = np.array(float(self.right))
        wrong = np.array(float(self.wrong))
        return float(lower_epsilon(right, wrong, self.trials, delta, alpha * self.share))


def learn(
    x: Floats,
    b: Bits,
    trials: int,
    delta: float,
    alpha: float,
    *,
    serial: bool,
    user: UserScore | None,
    line: SortedOutputs | None = None,
    ordered: Floats | None = None,
) -> list[Bet]:
    """Make one or two rules for the remaining rounds, with shares that sum to 1; ``serial``: as for ``candidates``.

    ``line``: the outputs of one number in their order, where they have been sorted; ``ordered``: each coordinate in its
    order, as of ``in_order``, where that is there.
    """
    unit = np.ones(x.shape[1]) if user is not None else unit_of(x)
    if not (unit == 1.0).all():
        # not in place: the caller keeps its own
        x = x / unit
        line = None
        ordered = None
    never = AuditRule(-np.inf, np.inf, 0.0)
    none = Guesser("no rule: nothing tells the data sets apart", unit, View(), _nothing, never)
    if (x == x[:1]).all():
        return [Bet(none._replace(name="no rule: all outputs are the same"), 1.0)]
    half = half_of(len(b))
    halves = b[:half], b[half:]
    if any(min(int(bits.sum()), int((~bits).sum())) < FEWEST for bits in halves):
        return [Bet(none._replace(name="no rule: too few rounds to learn one"), 1.0)]
    if line is None and x.shape[1] == 1 and user is None:
        line = SortedOutputs(x[:, 0], b, half)
    if ordered is None and line is not None:
        ordered = line.x[None]
    trials_of: dict[bool, list[_Trial]] = {True: [], False: []}
    for view, learner in candidates(x, b, serial, user, ordered):
        parts = _parts(x, b, half, line if view.means is None else None, view, learner)
        if all(part.fewest >= 2.0 for part in parts):
            found = _try(none, view, learner, parts, (len(b), trials, delta, alpha))
            trials_of[learner.steady].append(found)
    alternative = _best(trials_of[False], none).guesser
    steady = none
    left = trials_of[True]
    while (best := _best(left, none)).guesser is not none:
        learned = _learned(best, line, (len(b), trials, delta, alpha))
        if learned.rule.expected > steady.rule.expected:
            steady = learned
        if learned.rule.expected * FALLEN >= best.guesser.rule.expected:
            break
        left = [trial for trial in left if trial is not best]
    if alternative.rule.expected <= steady.rule.expected:
        return [Bet(steady, 1.0)]
    if steady.rule.expected == 0.0:
        return [Bet(alternative, 1.0)]
    return [Bet(steady, SHARES[True]), Bet(alternative, SHARES[False])]


class _Trial(NamedTuple):
    """A model with its thresholds, as they did on rounds that it was not learned on."""

    guesser: Guesser
    learner: Learner | None = None
    parts: tuple[Rows, Rows] | None = None  # what it was learned from


def _best(trials: list[_Trial], none: Guesser) -> _Trial:
    """Choose what promises most, with a handicap for what is less simple."""
    best = _Trial(none)
    for trial in trials:
        if trial.guesser.rule.expected > best.guesser.rule.expected * HANDICAP:
            best = trial
    return best


def _parts(
    x: Floats, b: Bits, half: int, line: SortedOutputs | None, view: View, learner: Learner
) -> tuple[Rows, Rows]:
    """Give the two halves of the training rounds as a model sees them."""
    if line is not None:
        return line.halves if learner.key is None else line.cells(learner.key(line.x[:, None])[:, 0])
    row_limit = None if learner.rare else MOST
    first, second = (
        rows_of(*view.rounds(x[h][:row_limit], b[h][:row_limit])) for h in (slice(half), slice(half, None))
    )
    return first, second


def _try(
    none: Guesser, view: View, learner: Learner, parts: tuple[Rows, Rows], terms: tuple[int, int, float, float]
) -> _Trial:
    """Learn a model on each half, and choose the thresholds on the scores that each gives to the other half.

    A slow model is learned on the first half alone.
    """
    if learner.slow:
        model = learner.learn(parts[0])
        rule = _rule(model(parts[1].x), parts[1], view, learner, (len(parts[1].x), *terms[1:]))
        return _Trial(none._replace(name=learner.name, view=view, score=model, rule=rule), learner, parts)
    models = learner.learn(parts[0]), learner.learn(parts[1])
    score = np.concatenate([models[1](parts[0].x), models[0](parts[1].x)])
    rows = Rows(*(np.concatenate(pair) for pair in zip(*parts, strict=True)))
    rule = _rule(score, rows, view, learner, terms)
    return _Trial(none._replace(name=learner.name, view=view, score=_in_turn(*models), rule=rule), learner, parts)


def _learned(trial: _Trial, line: SortedOutputs | None, terms: tuple[int, int, float, float]) -> Guesser:
    """Learn a steady model from all training rounds, where they are enough; thresholds move with the score.

    What it promises there must not be less than it was on halves: it was luck then.
    """
    guesser, learner, parts = trial
    if learner is None or parts is None or not learner.steady:
        return guesser
    rows = both(*parts)
    if float(rows.zeros.sum() + rows.ones.sum()) < ENOUGH * rows.x.shape[1]:
        return guesser
    final = learner.learn(rows)
    score = final(rows.x)
    rule = _rule(score, rows, guesser.view, learner, terms)
    rule = rule._replace(expected=min(rule.expected, guesser.rule.expected))
    if line is None or guesser.view.means is not None:
        return guesser._replace(score=final, rule=rule)
    said = (score >= rule.second).astype(np.int8) - (score <= rule.first).astype(np.int8)
    return guesser._replace(score=_pieces(line.cuts(), said), rule=rule._replace(first=-1.0, second=1.0))


def _rule(score: Floats, rows: Rows, view: View, learner: Learner, terms: tuple[int, int, float, float]) -> AuditRule:
    rounds, trials, delta, alpha = terms
    rounds_per_guess = 1 if view.means is None else 2  # rounds that are judged together
    return choose_rule(
        score, rows, rounds // rounds_per_guess, trials // rounds_per_guess, delta, alpha, SURE[learner.steady]
    )


def _pieces(cuts: Floats, scores: NDArray[np.int8]) -> Score:
    """Score one number by the piece of the line that it lies on: what is said of it, from -1 to 1."""
    change = np.flatnonzero(np.diff(scores))
    steps = list(zip(cuts[change].tolist(), np.diff(scores)[change].tolist(), strict=True))

    def score(y: Floats) -> Floats:
        result = np.full(len(y), scores[0])
        for cut, step in steps:
            result += np.int8(step) * (y[:, 0] >= cut)
        return result.astype(np.float64)

    return score


def _in_turn(even: Score, odd: Score) -> Score:
    """Score every other round by each of two models: rounds are then no longer alike, but as independent as before."""

    def score(y: Floats) -> Floats:
        result = np.empty(len(y))
        result[::2], result[1::2] = even(y[::2]), odd(y[1::2])
        return result

    return score


def _nothing(x: Floats) -> Floats:
    return np.zeros(len(x))
