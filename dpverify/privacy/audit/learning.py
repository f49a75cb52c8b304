"""Learning of guessing rules from training rounds: candidate models compete on rounds that did not train them.

At most two rules are judged: one of a steady model, and one of a table or of trees if it promises a larger bound.
They share alpha, 4 to 1, so that the larger of their bounds is valid (Bonferroni's inequality). The second rule can
detect a rare leak even if its success in the training rounds may have been an accident.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy.audit.candidates import Learner, UserScore, View, candidates
from dpverify.privacy.audit.counting import lower_epsilon
from dpverify.privacy.audit.groups import (
    Rows,
    SortedOutputs,
    first_half_size,
    join_rows,
    rows_of,
)
from dpverify.privacy.audit.records import Bits, Floats
from dpverify.privacy.audit.rules import AuditRule, choose_rule
from dpverify.privacy.audit.scores import Score, unit_of

# fewest training rounds on each data set in each half that a model needs
MIN_ROUNDS = 5

# most training rounds in each half that a model uses, unless it looks for rare events
MAX_ROUNDS = 100_000

# training rounds per number in an output that
# permit a score on the rounds that trained it
ROUNDS_PER_NUMBER = 50

HANDICAP = 1.05
"""Factor by which the expected bound of a later model must be larger: the best of several estimates is too high."""

MAX_DECREASE = 1.25
"""Largest ratio of the bounds expected from halves and from all training rounds; above it, the next model is tried."""

# shares of alpha of the steady model and of the other model, if both are judged
ALPHA_SHARES = {True: 0.8, False: 0.2}

COUNT_LEVELS = {True: 1e-4, False: 0.1}
"""Level of bounds from counts of training rounds alone, for steady models and for other models."""


class Guesser(NamedTuple):
    """A score with its thresholds."""

    name: str  # description of the model
    unit: Floats  # units in which outputs are measured, shape (d,)
    view: View  # input of the score
    score: Score  # function of that input
    rule: AuditRule  # thresholds on the score

    def guess(self, x: Floats, b: Bits) -> tuple[int, int, int]:
        """Guess the coins of rounds; return the numbers of right guesses, wrong guesses, and judged rounds."""
        # an output that overflows may get any guess
        with np.errstate(over="ignore", invalid="ignore"):
            plain = bool((self.unit == 1.0).all())
            viewed, bits = self.view.rounds(x if plain else x / self.unit, b)
            return *self.rule.guess(self.score(viewed), bits), len(bits)


class Bet:
    """A rule with its share of alpha, and the counts of its guesses."""

    def __init__(self, guesser: Guesser, share: float) -> None:
        self.guesser = guesser
        self.share = share
        self.right = self.wrong = self.trials = 0

    def judge(self, x: Floats, b: Bits) -> None:
        """Guess the coins of rounds and count the guesses."""
        right, wrong, judged = self.guesser.guess(x, b)
        self.right = self.right + right
        self.wrong = self.wrong + wrong
        self.trials = self.trials + judged

    def epsilon(self, delta: float, alpha: float) -> float:
        """Return the bound from this rule; ``alpha`` is the total level of all rules."""
        right = np.array(float(self.right))
        wrong = np.array(float(self.wrong))
        return float(
            lower_epsilon(right, wrong, self.trials, delta, alpha * self.share)
        )


def learn(
    x: Floats,
    b: Bits,
    trials: int,
    delta: float,
    alpha: float,
    *,
    serial: bool,
    user: UserScore | None,
    scalars: SortedOutputs | None = None,
    ordered: Floats | None = None,
) -> list[Bet]:
    """Return one or two rules for the remaining rounds, with shares that sum to 1.

    ``serial`` is as for ``candidates``. ``scalars`` holds outputs of one number, sorted, and ``ordered`` is the result
    of ``sorted_coordinates``, if these are already known.
    """
    unit = np.ones(x.shape[1]) if user is not None else unit_of(x)
    if not (unit == 1.0).all():
        # a copy, because the caller still needs the outputs in their own units
        x = x / unit
        scalars = None
        ordered = None
    never_rule = AuditRule(-np.inf, np.inf, 0.0)
    no_rule = Guesser(
        "no rule: nothing tells the data sets apart",
        unit,
        View(),
        _zero_score,
        never_rule,
    )
    if (x == x[:1]).all():
        return [Bet(no_rule._replace(name="no rule: all outputs are the same"), 1.0)]
    half = first_half_size(len(b))
    halves = b[:half], b[half:]
    if any(min(int(bits.sum()), int((~bits).sum())) < MIN_ROUNDS for bits in halves):
        return [Bet(no_rule._replace(name="no rule: too few rounds to learn one"), 1.0)]
    if scalars is None and x.shape[1] == 1 and user is None:
        scalars = SortedOutputs(x[:, 0], b, half)
    if ordered is None and scalars is not None:
        ordered = scalars.x[None]
    trials_of: dict[bool, list[_Trial]] = {True: [], False: []}
    for view, learner in candidates(x, b, serial, user, ordered):
        parts = _parts(
            x, b, half, scalars if view.means is None else None, view, learner
        )
        if all(part.fewest >= 2.0 for part in parts):
            evaluated = _evaluate_model(
                no_rule, view, learner, parts, (len(b), trials, delta, alpha)
            )
            trials_of[learner.steady].append(evaluated)
    alternative = _best(trials_of[False], no_rule).guesser
    steady = no_rule
    remaining = trials_of[True]
    while (best := _best(remaining, no_rule)).guesser is not no_rule:
        refitted = _refit(best, scalars, (len(b), trials, delta, alpha))
        if refitted.rule.expected > steady.rule.expected:
            steady = refitted
        if refitted.rule.expected * MAX_DECREASE >= best.guesser.rule.expected:
            break
        remaining = [trial for trial in remaining if trial is not best]
    if alternative.rule.expected <= steady.rule.expected:
        return [Bet(steady, 1.0)]
    if steady.rule.expected == 0.0:
        return [Bet(alternative, 1.0)]
    return [Bet(steady, ALPHA_SHARES[True]), Bet(alternative, ALPHA_SHARES[False])]


class _Trial(NamedTuple):
    """A model with its thresholds, evaluated on rounds that did not train it."""

    guesser: Guesser
    learner: Learner | None = None
    # rounds in each half from which it was learned
    parts: tuple[Rows, Rows] | None = None


def _best(trials: list[_Trial], no_rule: Guesser) -> _Trial:
    """Return the model with the largest expected bound; a later, less simple model must exceed it by ``HANDICAP``."""
    best = _Trial(no_rule)
    for trial in trials:
        if trial.guesser.rule.expected > best.guesser.rule.expected * HANDICAP:
            best = trial
    return best


def _parts(
    x: Floats,
    b: Bits,
    half: int,
    scalars: SortedOutputs | None,
    view: View,
    learner: Learner,
) -> tuple[Rows, Rows]:
    """Return the two halves of the training rounds as inputs of a model."""
    if scalars is not None:
        return (
            scalars.halves
            if learner.key is None
            else scalars.cells(learner.key(scalars.x[:, None])[:, 0])
        )
    row_limit = None if learner.rare else MAX_ROUNDS
    first, second = (
        rows_of(*view.rounds(x[h][:row_limit], b[h][:row_limit]))
        for h in (slice(half), slice(half, None))
    )
    return first, second


def _evaluate_model(
    no_rule: Guesser,
    view: View,
    learner: Learner,
    parts: tuple[Rows, Rows],
    terms: tuple[int, int, float, float],
) -> _Trial:
    """Learn a model on each half, and choose the thresholds on the scores that it gives to the other half.

    A slow model is learned on the first half only.
    """
    if learner.slow:
        model = learner.learn(parts[0])
        rule = _rule(
            model(parts[1].x), parts[1], view, learner, (len(parts[1].x), *terms[1:])
        )
        return _Trial(
            no_rule._replace(name=learner.name, view=view, score=model, rule=rule),
            learner,
            parts,
        )
    models = learner.learn(parts[0]), learner.learn(parts[1])
    score = np.concatenate([models[1](parts[0].x), models[0](parts[1].x)])
    rows = Rows(*(np.concatenate(pair) for pair in zip(*parts, strict=True)))
    rule = _rule(score, rows, view, learner, terms)
    return _Trial(
        no_rule._replace(
            name=learner.name, view=view, score=_alternate(*models), rule=rule
        ),
        learner,
        parts,
    )


def _refit(
    trial: _Trial, scalars: SortedOutputs | None, terms: tuple[int, int, float, float]
) -> Guesser:
    """Learn a steady model again from all training rounds, if there are enough of them, with new thresholds.

    The expected bound is not increased beyond that of the two halves, because the model has seen these rounds.
    """
    guesser, learner, parts = trial
    if learner is None or parts is None or not learner.steady:
        return guesser
    rows = join_rows(*parts)
    if float(rows.zeros.sum() + rows.ones.sum()) < ROUNDS_PER_NUMBER * rows.x.shape[1]:
        return guesser
    final = learner.learn(rows)
    score = final(rows.x)
    rule = _rule(score, rows, guesser.view, learner, terms)
    rule = rule._replace(expected=min(rule.expected, guesser.rule.expected))
    if scalars is None or guesser.view.means is not None:
        return guesser._replace(score=final, rule=rule)
    guesses = (score >= rule.second).astype(np.int8) - (score <= rule.first).astype(
        np.int8
    )
    return guesser._replace(
        score=_step_function(scalars.cuts(), guesses),
        rule=rule._replace(first=-1.0, second=1.0),
    )


def _rule(
    score: Floats,
    rows: Rows,
    view: View,
    learner: Learner,
    terms: tuple[int, int, float, float],
) -> AuditRule:
    rounds, trials, delta, alpha = terms
    rounds_per_guess = 1 if view.means is None else 2  # rounds that are judged together
    return choose_rule(
        score,
        rows,
        rounds // rounds_per_guess,
        trials // rounds_per_guess,
        delta,
        alpha,
        COUNT_LEVELS[learner.steady],
    )


def _step_function(cuts: Floats, scores: NDArray[np.int8]) -> Score:
    """Return a piecewise constant score of one number, with values from -1 to 1 that may change at ``cuts``."""
    change = np.flatnonzero(np.diff(scores))
    steps = list(
        zip(cuts[change].tolist(), np.diff(scores)[change].tolist(), strict=True)
    )

    def score(y: Floats) -> Floats:
        result = np.full(len(y), scores[0])
        for cut, step in steps:
            result += np.int8(step) * (y[:, 0] >= cut)
        return result.astype(np.float64)

    return score


def _alternate(even: Score, odd: Score) -> Score:
    """Return a score that alternates between two models.

    Rounds are then no longer identically distributed, but still independent.
    """

    def score(y: Floats) -> Floats:
        result = np.empty(len(y))
        result[::2], result[1::2] = even(y[::2]), odd(y[1::2])
        return result

    return score


def _zero_score(x: Floats) -> Floats:
    return np.zeros(len(x))
