"""From training rounds to rules: several models compete, on rounds that they were not learned on.

At most two rules go on to be judged: of a steady model, and of a table or trees where these promise more. They share
alpha, 4 to 1 (Bonferroni's inequality), so that the larger of their bounds is a bound: a rare leak can be looked for
without trusting that it was no accident of the training rounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpverify.privacy.audit.candidates import UserScore, View, candidates
from dpverify.privacy.audit.counting import lower_epsilon
from dpverify.privacy.audit.records import Bits, Floats
from dpverify.privacy.audit.rules import AuditRule, choose_rule
from dpverify.privacy.audit.scores import Learner, Score, unit_of

FEWEST = 5  # training rounds of each data set in each half that a model needs

MOST = 100_000  # training rounds in each half that a model learns from, unless it looks for what is rare

ENOUGH = 50  # training rounds for each number in an output from which a score may be looked at where it was learned

HANDICAP = 1.05
"""How much better than the models of its kind before it a model must look: the luckiest of several looks too good."""

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
            seen, bits = self.view.rounds(x if plain else x / self.unit, b)
            return *self.rule.guess(self.score(seen), bits), len(bits)


class Bet:
    """A rule with its share of alpha, and how it fares."""

    def __init__(self, guesser: Guesser, share: float) -> None:
        self.guesser, self.share = guesser, share
        self.right = self.wrong = self.trials = 0

    def judge(self, x: Floats, b: Bits) -> None:
        """Guess rounds and count."""
        right, wrong, judged = self.guesser.guess(x, b)
        self.right, self.wrong, self.trials = self.right + right, self.wrong + wrong, self.trials + judged

    def epsilon(self, delta: float, alpha: float) -> float:
        """Bound from this rule; ``alpha`` is that of all rules together."""
        right, wrong = np.array(float(self.right)), np.array(float(self.wrong))
        return float(lower_epsilon(right, wrong, self.trials, delta, alpha * self.share))


def learn(
    x: Floats, b: Bits, trials: int, delta: float, alpha: float, *, serial: bool, user: UserScore | None
) -> list[Bet]:
    """Make one or two rules for the remaining rounds, with shares that sum to 1; ``serial``: as for ``candidates``."""
    unit = np.ones(x.shape[1]) if user is not None else unit_of(x)
    x = x / unit  # not in place: the caller keeps its own
    never = AuditRule(-np.inf, np.inf, 0.0)
    none = Guesser("no rule: nothing tells the data sets apart", unit, View(), _nothing, never)
    if (x == x[:1]).all():
        return [Bet(none._replace(name="no rule: all outputs are the same"), 1.0)]
    half = 2 * (len(b) // 4)
    halves = slice(0, half), slice(half, len(b))
    if any(min(int(b[h].sum()), int((~b[h]).sum())) < FEWEST for h in halves):
        return [Bet(none._replace(name="no rule: too few rounds to learn one"), 1.0)]
    best = {True: none, False: none}
    for view, learner in candidates(x, b, serial, user):
        most = None if learner.rare else MOST
        parts = [view.rounds(x[h][:most], b[h][:most]) for h in halves]
        if all(min(int(bits.sum()), int((~bits).sum())) >= 2 for _, bits in parts):
            found = _try(none, view, learner, parts, (trials, delta, alpha))
            if found.rule.expected > best[learner.steady].rule.expected * HANDICAP:
                best[learner.steady] = found
    steady, other = best[True], best[False]
    if other.rule.expected <= steady.rule.expected:
        return [Bet(steady, 1.0)]
    if steady.rule.expected == 0.0:
        return [Bet(other, 1.0)]
    return [Bet(steady, SHARES[True]), Bet(other, SHARES[False])]


def _try(
    none: Guesser, view: View, learner: Learner, parts: list[tuple[Floats, Bits]], terms: tuple[int, float, float]
) -> Guesser:
    """Learn a model on each half, and choose the thresholds on the scores that each gives to the other half."""
    trials, delta, alpha = terms
    trials = trials if view.means is None else trials // 2
    sure = SURE[learner.steady]
    models = learner.learn(*parts[0]), learner.learn(*parts[1])
    score = np.concatenate([models[1](parts[0][0]), models[0](parts[1][0])])
    bits = np.concatenate([part[1] for part in parts])
    rule = choose_rule(score, bits, trials, delta, alpha, sure)
    found = none._replace(name=learner.name, view=view, score=_in_turn(*models), rule=rule)
    seen = np.concatenate([part[0] for part in parts])
    if not learner.steady or len(bits) < ENOUGH * seen.shape[1]:
        return found
    final = learner.learn(seen, bits)
    again = choose_rule(final(seen), bits, trials, delta, alpha, sure)  # point masses move with the score
    return found._replace(score=final, rule=again._replace(expected=rule.expected))


def _in_turn(even: Score, odd: Score) -> Score:
    """Score every other round by each of two models: rounds are then no longer alike, but as independent as before."""

    def score(y: Floats) -> Floats:
        result = np.empty(len(y))
        result[::2], result[1::2] = even(y[::2]), odd(y[1::2])
        return result

    return score


def _nothing(x: Floats) -> Floats:
    return np.zeros(len(x))
