"""Compare two runs case by case, with a bounded false-alarm probability.

The comparison uses the logarithm of the ratio to the limit, so that the speed of the machine cancels. A limit that is
our own code is compared by its ratio to the yardstick. Each pass gives one value, since rounds in one process are not
independent. The exact Wilcoxon-Mann-Whitney test, which assumes no distribution, compares the passes of the two runs.
Holm's correction over all comparisons bounds the probability of any false alarm by :data:`ALPHA`. The size of a change
is the Hodges-Lehmann estimate, the median of all differences; its interval inverts the test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

from dpverify.bench.measure import YARDSTICK
from dpverify.bench.results import Bench, CaseRecord, Change, SpeedChange, ratios

Array = NDArray[np.float64]

# upper bound on the false-alarm probability of a comparison of two equal programs
ALPHA = 0.01
LEVEL = 0.95  # coverage of the interval of one change


def compare(new: Bench, old: Bench, alpha: float = ALPHA) -> list[SpeedChange]:
    """Compare all forms of ours that both runs measured with the same parameters, in the order of ``new``."""
    pairs = list(_pairs(new, old))
    tests = [float(rank_test(x, y)) for *_, x, y in pairs]
    out = []
    for (case, form, to, x, y), p in zip(pairs, holm(tests), strict=True):
        shift, low, high = shift_interval(x, y)
        change: Change = "no difference seen"
        if p <= alpha:
            change = "slower" if shift > 0 else "faster"
        elif (
            2 / math.comb(len(x) + len(y), len(x)) * len(pairs) > alpha
        ):  # the smallest possible corrected p-value
            change = "too few passes"
        out.append(
            SpeedChange(
                group=case.group,
                case=case.name,
                form=form,
                to=to,
                factor=math.exp(shift),
                low=math.exp(low),
                high=math.exp(high),
                corrected=p,
                change=change,
            )
        )
    return out


def without_counterpart(new: Bench, old: Bench) -> int:
    """Return the number of our forms that are not compared, because ``old`` lacks them or has other sizes or limits."""
    return sum(1 for case in new.cases for _ in _log_ratios(case)) - sum(
        1 for _ in _pairs(new, old)
    )


def _pairs(
    new: Bench, old: Bench
) -> Iterator[tuple[CaseRecord, str, str, Array, Array]]:
    """Yield case, form, denominator, and the log ratio of each pass in both runs."""
    old_cases = {(case.group, case.name): case for case in old.cases}
    for case in new.cases:
        old_case = old_cases.get((case.group, case.name))
        if old_case is None or (old_case.parameters, old_case.limit) != (
            case.parameters,
            case.limit,
        ):
            continue
        old_ratios = {(form, to): values for form, to, values in _log_ratios(old_case)}
        for form, to, values in _log_ratios(case):
            if (form, to) in old_ratios:
                yield case, form, to, values, old_ratios[form, to]


def _log_ratios(case: CaseRecord) -> Iterator[tuple[str, str, Array]]:
    """Yield our forms that have ratios, with denominator and log ratio of each pass; a limit of ours is last."""
    samples = {form.name: form.samples for form in case.forms}
    pairs = [(form.name, case.limit) for form in case.forms if form.role == "measured"]
    for form, to in [
        *pairs,
        *([(case.limit, YARDSTICK)] if case.limit_is_ours else []),
    ]:
        ratios_of_passes = ratios(samples.get(form, []), samples.get(to, []))
        if ratios_of_passes:
            yield (
                form,
                to,
                np.array(
                    [math.log(float(np.median(values))) for values in ratios_of_passes]
                ),
            )


def rank_test(x: Array, y: Array) -> Array:
    """Return exact two-sided p (...) of the Wilcoxon-Mann-Whitney test of (..., n) and (..., m); ties count half."""
    return np.asarray(mannwhitneyu(x, y, method="exact", axis=-1).pvalue)


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values with Holm's correction, in the same order; compare them with the level of all tests together."""
    out = [1.0] * len(p)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        largest = max(largest, min(1.0, (len(p) - rank) * p[place]))
        out[place] = largest
    return out


def shift_interval(x: Array, y: Array) -> tuple[float, float, float]:
    """Return the Hodges-Lehmann estimate of the shift from y to x, and the interval that inverts the rank test.

    With few passes, the interval contains all differences. Shapes: ``x``, ``y`` (n,) and (m,).
    """
    differences = np.sort((x[:, None] - y).ravel())
    cut = _cut(len(x), len(y))
    return (
        float(np.median(differences)),
        float(differences[cut]),
        float(differences[-1 - cut]),
    )


@cache
def _cut(n: int, m: int) -> int:
    """Return the number of differences of n and m values that are omitted at each end of the interval."""
    # the differences are -m + 1, ..., m (n - 1)
    x = m * np.arange(n, dtype=np.float64)
    y = np.arange(m, dtype=np.float64)
    excluded = (
        bool(rank_test(x + m - 0.5 - count, y) <= 1 - LEVEL)
        for count in range(n * m // 2)
    )
    return max(sum(excluded) - 1, 0)
