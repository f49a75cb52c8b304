"""Compare two runs case by case: a test with a declared rate of false alarms, and an effect with its interval.

What is compared is the logarithm of the ratio to the limit, so that a machine that is slower today slows both and drops
out. A limit that is our own code is compared as well, by its ratio to a draw of the library's in the same turns. One
value a pass, since rounds of one process are not independent; the two runs' passes are compared by the exact Wilcoxon-
Mann-Whitney test, which assumes no law, and Holm's correction over all tests that can find anything keeps the chance of
any false alarm below :data:`ALPHA`. The size of the change is the Hodges-Lehmann estimate, its interval inverts the
test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpverify.bench import yardstick
from dpverify.bench.power import detectable
from dpverify.bench.statistics import ratios
from dpverify.report.bench.records import Bench, CaseRecord, Change, Comparison

Array = NDArray[np.float64]

ALPHA = 0.01
"""Largest chance that a comparison of two equal programs calls anything slower or faster."""

LEVEL = 0.95
"""Probability with which the interval of one change holds it."""


def compare(new: Bench, old: Bench, alpha: float = ALPHA) -> list[Comparison]:
    """Compare every form of ours that both runs measured at the same parameters.

    In the order of ``new``; empty when nothing is in both.
    """
    pairs = list(_pairs(new, old))
    tests = [rank_test(pair.new, pair.old) for pair in pairs]
    able = able_to_find([2 * float(null_law(len(pair.new), len(pair.old))[0]) for pair in pairs], alpha)
    strict = iter(holm([p for p, can in zip(tests, able, strict=True) if can]))
    corrected = [next(strict) if can else 1.0 for can in able]
    out = []
    for pair, p, can, kept in zip(pairs, tests, able, corrected, strict=True):
        shift, low, high, level = shift_interval(pair.new, pair.old)
        sizes = (len(pair.new), len(pair.old))
        seen = detectable(*sizes, alpha / sum(able)) if can else None
        out.append(
            Comparison(
                group=pair.case.group,
                case=pair.case.name,
                form=pair.form,
                to=pair.to,
                of_limit=pair.form == pair.case.limit,
                factor=math.exp(shift),
                low=math.exp(low),
                high=math.exp(high),
                level=level,
                p=p,
                corrected=kept,
                would_see=None if seen is None else math.exp(seen * pooled_spread(pair.new, pair.old)),
                change=_change(shift, kept, alpha, possible=seen is not None),
            )
        )
    return out


def _change(shift: float, corrected: float, alpha: float, *, possible: bool) -> Change:
    if corrected <= alpha:
        return "slower" if shift > 0 else "faster"
    return "no difference seen" if possible else "too few passes"


@dataclass(frozen=True, eq=False)
class _Pair:
    """A form of a case, what it is divided by, and the log ratio of each pass in both runs."""

    case: CaseRecord
    form: str
    to: str
    new: Array
    old: Array


def _pairs(new: Bench, old: Bench) -> Iterator[_Pair]:
    before = {(case.group, case.name): case for case in old.cases}
    for case in new.cases:
        other = before.get((case.group, case.name))
        alike = other is not None and (other.parameters, other.limit) == (case.parameters, case.limit)
        if other is None or not alike:
            continue
        theirs = {(form, to): values for form, to, values in _watched(other)}
        for form, to, values in _watched(case):
            if (form, to) in theirs:
                yield _Pair(case, form, to, values, theirs[form, to])


def _watched(case: CaseRecord) -> Iterator[tuple[str, str, Array]]:
    """Every form of ours that has a ratio, what it is to, and the log of that of each pass; a limit of ours is last."""
    samples = {form.name: form.samples for form in case.forms}
    for form in case.forms:
        if form.role == "measured" and len(values := log_ratios(form.samples, samples.get(case.limit, []))):
            yield form.name, case.limit, values
    if case.limit_is_ours and len(values := log_ratios(samples.get(case.limit, []), case.yardstick)):
        yield case.limit, yardstick.NAME, values


def without_counterpart(new: Bench, old: Bench) -> int:
    """How many forms of ours have been measured that the other run has not, or has at other sizes or to another limit.

    Forms of ``new`` that no comparison watches.
    """
    return sum(1 for case in new.cases for _ in _watched(case)) - sum(1 for _ in _pairs(new, old))


def log_ratios(form: Sequence[Sequence[float]], to: Sequence[Sequence[float]]) -> Array:
    """Log of the ratio of one form's seconds to another's; one value a pass, the median of its rounds."""
    return np.array([math.log(float(np.median(values))) for values in ratios(form, to)])


@cache
def null_law(n: int, m: int) -> Array:
    """Law of Mann and Whitney's U of n and m values of one law: probability of 0, 1, ..., n m.

    From the Gaussian binomial coefficient; exact integers until the last division.
    """
    ways = [1]
    for part in range(1, n + 1):  # multiply by (1 - x^(m + part)) and divide by (1 - x^part)
        grown = ways + [0] * (m + part)
        for place in range(len(grown) - 1, m + part - 1, -1):
            grown[place] -= grown[place - m - part]
        for place in range(part, len(grown)):
            grown[place] += grown[place - part]
        ways = grown[: m * part + 1]
    total = math.comb(n + m, n)
    return np.array([way / total for way in ways])


def rank_test(x: Array, y: Array) -> float:
    """Exact two-sided p of the Wilcoxon-Mann-Whitney test; ties count half and are rounded against a finding.

    Shapes: ``x``, ``y`` (n,) and (m,).
    """
    wins = float((x[:, None] > y).sum() + 0.5 * (x[:, None] == y).sum())
    law = null_law(len(x), len(y))
    tail = math.ceil(min(wins, len(x) * len(y) - wins))
    return min(1.0, 2 * float(law[: tail + 1].sum()))


def able_to_find(smallest: Sequence[float], alpha: float) -> list[bool]:
    """Tell which tests can find anything at all; those of too few passes are left out and cost the others nothing.

    Tarone's rule (Biometrics 46, 1990): it looks at how small each p can be, never at what was found.

    ``smallest``: the smallest p that each test can give: known from the numbers of passes, before anything is measured.
    As many as there may be, so that each can still reach its share of ``alpha``.
    """
    count = 1
    while sum(count * p <= alpha for p in smallest) > count:
        count += 1
    return [count * p <= alpha for p in smallest]


def holm(p: Sequence[float]) -> list[float]:
    """Holm's correction: the values that may be compared with the level that all tests together have.

    Corrected values, in the same order.
    """
    out, largest = [1.0] * len(p), 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        largest = max(largest, min(1.0, (len(p) - rank) * p[place]))
        out[place] = largest
    return out


def shift_interval(x: Array, y: Array, level: float = LEVEL) -> tuple[float, float, float, float]:
    """Hodges and Lehmann's estimate of how far x lies above y, with the interval that inverts the rank test.

    The median of all differences, the ends, and the probability that they really have. Shapes: ``x``, ``y`` (n,) and
    (m,).
    """
    differences = np.sort((x[:, None] - y).ravel())
    tails = np.cumsum(null_law(len(x), len(y)))
    cut = int(np.searchsorted(tails, (1 - level) / 2, side="right"))  # tails[cut - 1] <= (1 - level) / 2
    cut = max(cut, 1)
    reached = max(0.0, 1 - 2 * float(tails[cut - 1]))
    middle = float(np.median(differences))
    return middle, float(differences[cut - 1]), float(differences[len(differences) - cut]), reached


def pooled_spread(x: Array, y: Array) -> float:
    """Standard deviation of the passes about their own run's mean, from both runs; 0 where each has one pass."""
    freedom = len(x) + len(y) - 2
    squares = float(((x - x.mean()) ** 2).sum() + ((y - y.mean()) ** 2).sum())
    return math.sqrt(squares / freedom) if freedom > 0 else 0.0
