"""From training rounds to one score and one rule: several models compete, on rounds that they were not learned on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy.audit_records import AuditError
from dpverify.privacy.audit_rules import Guesses, Rule, choose_rule
from dpverify.privacy.audit_scores import Learner, Score, atoms, cells, linear, quadratic, trees, unit_of

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]
UserScore = Callable[[Floats], object]

FEWEST = 5
"""Training rounds of each data set in each half that a model needs."""

TREE_LEAST, TREE_DIMENSION = 1000, 64
"""Training rounds in each half from which, and numbers in an output up to which, trees are tried."""

LOOKED_AT, KEPT = 256, 16
"""Coordinates in which repeated values are looked for, and with which a table is made, at most."""

WIDTHS = (2.0**-10, 2.0**-20)
"""Widths of cells, in units of the distance between the quartiles."""

ENOUGH = 50
"""Training rounds for each number in an output from which a score may be looked at where it was learned."""

HANDICAP = {True: 1.15, False: 1.3}
"""How much better than the models before it a model must look, by whether it is steady: the luckiest looks too good."""


class View(NamedTuple):
    """What a rule sees of a round: its output, or also the residual of the round before.

    Attributes
    ----------
    means : tuple of ndarray or None
        Mean output on each data set, where the round before is seen; only every second round is then judged, so that
        judged rounds share nothing.
    first : int
        Where the first pair of rounds begins: 0 or 1.
    """

    means: tuple[Floats, Floats] | None = None
    first: int = 0

    def rounds(self, x: Floats, b: Bits) -> tuple[Floats, Bits]:
        """Turn outputs and coins into what is judged."""
        if self.means is None:
            return x, b
        end = self.first + 2 * ((len(b) - self.first) // 2)
        before, now = slice(self.first, end, 2), slice(self.first + 1, end, 2)
        residual = x[before] - np.where(b[before, None], self.means[1], self.means[0])
        return np.concatenate([x[now], residual], axis=1), b[now]


class Guesser(NamedTuple):
    """A score with its rule.

    Attributes
    ----------
    name : str
        In words.
    unit : (d,) array of float
        What outputs are measured in.
    view : View
        What it sees.
    score : callable
        Of what it sees.
    rule : Rule
        Its thresholds.
    """

    name: str
    unit: Floats
    view: View
    score: Score
    rule: Rule

    def guess(self, x: Floats, b: Bits) -> tuple[Guesses, int]:
        """Guess rounds; returns the counts and how many rounds were judged."""
        with np.errstate(over="ignore", invalid="ignore"):  # an output beyond the range of floats gets no guess, or any
            seen, bits = self.view.rounds(x / self.unit, b)
            return self.rule.guess(self.score(seen), bits), len(bits)


def learn(
    x: Floats, b: Bits, trials: int, delta: float, alpha: float, *, serial: bool, user: UserScore | None
) -> Guesser:
    """Make the rule that the remaining rounds are judged with.

    Parameters
    ----------
    x : ndarray, shape (m, d)
        Outputs of the training rounds.
    b : ndarray of bool, shape (m,)
        Their coins.
    trials : int
        Rounds that remain.
    delta, alpha : float
        As for :func:`~dpverify.privacy.audit_counting.lower_epsilon`.
    serial : bool
        Whether the rounds are separate calls, one after the other, so that the round before may tell something.
    user : callable or None
        The user's own score, instead of all models.

    Returns
    -------
    Guesser
        It never guesses where nothing looks better than that.
    """
    unit = np.ones(x.shape[1]) if user is not None else unit_of(x)
    x = x / unit  # not in place: the caller keeps its own
    never = Rule(-np.inf, np.inf, 0.0)
    best = Guesser("no rule: nothing tells the data sets apart", unit, View(), _nothing, never)
    if (x == x[:1]).all():
        return best._replace(name="no rule: all outputs are the same")
    half = 2 * (len(b) // 4)
    halves = slice(0, half), slice(half, len(b))
    if any(min(int(b[h].sum()), int((~b[h]).sum())) < FEWEST for h in halves):
        return best._replace(name="no rule: too few rounds to learn one")
    for view, learner in _candidates(x, b, serial, user):
        parts = [view.rounds(x[h], b[h]) for h in halves]
        if any(min(int(bits.sum()), int((~bits).sum())) < 2 for _, bits in parts):
            continue
        models = learner.learn(*parts[0]), learner.learn(*parts[1])
        score = np.concatenate([models[1](parts[0][0]), models[0](parts[1][0])])
        bits = np.concatenate([part[1] for part in parts])
        judged = trials if view.means is None else trials // 2
        rule = choose_rule(score, bits, judged, delta, alpha)
        if rule.expected > best.rule.expected * HANDICAP[learner.steady]:
            best = best._replace(name=learner.name, view=view, score=_in_turn(*models), rule=rule)
            seen, bits = view.rounds(x, b)
            if learner.steady and len(bits) >= ENOUGH * seen.shape[1]:
                best = best._replace(score=learner.learn(seen, bits))
                again = choose_rule(best.score(seen), bits, judged, delta, alpha)  # point masses move with the score
                best = best._replace(rule=again._replace(expected=rule.expected))
    return best


def _candidates(x: Floats, b: Bits, serial: bool, user: UserScore | None) -> Iterator[tuple[View, Learner]]:
    """List the models, the simple ones first."""
    if user is not None:
        yield View(), Learner("the score that was given", lambda *_: checked(user))
        return
    m, d = x.shape
    yield View(), Learner("linear discriminant", linear)
    yield View(), Learner("quadratic discriminant", quadratic)
    repeated = repeating(x)
    if repeated.size:
        yield View(), Learner("values seen before", _on(repeated, atoms), steady=False)
    if d <= KEPT:
        for width in WIDTHS:
            yield View(), Learner("small cells", partial(cells, width=width), steady=False)
    if serial:
        means = x[~b].mean(axis=0), x[b].mean(axis=0)
        for first in (0, 1):
            yield View(means, first), Learner("linear discriminant with the output of the call before", linear)
    if m // 2 >= TREE_LEAST and d <= TREE_DIMENSION:
        yield View(), Learner("boosted trees", trees, steady=False)


def repeating(x: Floats) -> NDArray[np.int64]:
    """Coordinates in which some value occurs twice, the most repetitive first.

    Parameters
    ----------
    x : ndarray, shape (m, d)
        Outputs.

    Returns
    -------
    ndarray of int
        At most ``KEPT`` of the first ``LOOKED_AT`` coordinates.
    """
    ordered = np.sort(x[:, :LOOKED_AT], axis=0)
    repeats = (ordered[1:] == ordered[:-1]).sum(axis=0)
    order = np.argsort(-repeats, kind="stable")[:KEPT]
    found: NDArray[np.int64] = order[repeats[order] > 0].astype(np.int64)
    return found


def checked(user: UserScore) -> Score:
    """Wrap a user's score so that what it returns is refused in one line where it is no score.

    Parameters
    ----------
    user : callable
        ``score(outputs) -> (m,)`` numbers, larger where the second data set is likelier.

    Returns
    -------
    callable
        The same score.
    """

    def score(y: Floats) -> Floats:
        try:
            value = np.asarray(user(y), dtype=np.float64)
        except Exception as error:
            raise AuditError(f"score: raised {type(error).__name__}: {error}") from error
        if value.shape != (len(y),):
            raise AuditError(f"score: returned shape {value.shape} for {len(y)} outputs: must be one number for each")
        if np.isnan(value).any():
            raise AuditError("score: returned nan: must be a number")
        return value

    return score


def _on(columns: NDArray[np.int64], learner: Callable[[Floats, Bits], Score]) -> Callable[[Floats, Bits], Score]:
    def restricted(x: Floats, b: Bits) -> Score:
        score = learner(x[:, columns], b)
        return lambda y: score(y[:, columns])

    return restricted


def _in_turn(even: Score, odd: Score) -> Score:
    """Score every other round by each of two models: rounds are then no longer alike, but as independent as before."""

    def score(y: Floats) -> Floats:
        result = np.empty(len(y))
        result[::2], result[1::2] = even(y[::2]), odd(y[1::2])
        return result

    return score


def _nothing(x: Floats) -> Floats:
    return np.zeros(len(x))
