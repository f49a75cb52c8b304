"""What is seen in comparisons: differences seed by seed, with intervals that hold together, as tables and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from dpverify.compare.methods import METHODS
from dpverify.compare.records import LEVEL, MEASURES, CompareResult, MeanInterval
from dpverify.compare.records import differences as between
from dpverify.compare.words import HEADS, show_interval
from dpverify.report import markdown as md
from dpverify.report.numbers import show_float

PAIRS = tuple((second, first) for first, second in combinations(METHODS, 2))
"""Every pair of methods, the later one first: ``dp-nsgd`` minus ``nsgd``."""

Differences = Mapping[tuple[str, str, str], MeanInterval]
"""The mean over seeds of one method minus another, on the same splits: by first method, second method and measure."""


def family(results: Sequence[CompareResult]) -> int:
    """How many differences are judged together: every pair and measure of every comparison."""
    return len(PAIRS) * len(MEASURES) * len(results)


def corrected_level(count: int) -> float:
    """Level of each of ``count`` intervals for all of them to hold at 95% (Bonferroni)."""
    return 1.0 - (1.0 - LEVEL) / count


def differences(result: CompareResult, level: float) -> Differences:
    """Every difference of a comparison, its interval corrected for all that are judged together."""
    outcomes = {method.name: method.outcomes for method in result.methods}
    return {
        (first, second, measure): found
        for first, second in PAIRS
        for measure, found in between(outcomes[first], outcomes[second], level).items()
    }


PHRASES = {
    "gradient_norm": "gradient norm at the last iterate",
    "mean_gradient_norm": "mean gradient norm over the iterates",
    "loss": "training loss",
    "test_error": "test error",
}
"""The measures, in a sentence."""

QUESTIONS = (
    ("dp-nsgd", "nsgd", "the price of privacy"),
    ("sr-nsgd", "nsgd", "the price of privacy"),
    ("sr-nsgd", "dp-nsgd", "Algorithm 2 against Algorithm 1"),
    ("dp-gd", "dp-nsgd", "plain private descent against Algorithm 1"),
    ("dp-sgd", "dp-nsgd", "plain private descent against Algorithm 1"),
    ("dp-gd", "sr-nsgd", "plain private descent against Algorithm 2"),
    ("dp-sgd", "sr-nsgd", "plain private descent against Algorithm 2"),
)
"""Pairs of methods, and what a reader asks of them."""


def seen(results: Sequence[CompareResult]) -> list[str]:
    """Say what is seen."""
    level = corrected_level(family(results))
    found = [differences(result, level) for result in results]
    answers = [_answers(result, told) for result, told in zip(results, found, strict=True)]
    return [_intervals(results), _often(found), _overview(results), *answers]


def named(result: CompareResult) -> str:
    """A comparison's name, as markdown."""
    return f"{md.code(result.data.name)} at $`\\epsilon = {show_float(result.epsilon)}`$"


def _intervals(results: Sequence[CompareResult]) -> str:
    count = family(results)
    return (
        f"Differences are taken seed by seed. {count} of them are judged on this page, each with a t-interval of level "
        f"{corrected_level(count):.6f}, so that all hold together with probability 95%, as far as means over seeds are "
        "normal. Where an interval holds 0, no difference was seen, which is not to say that there is none. The "
        "intervals speak of splits and noise on these data sets, and of nothing else. Intervals that are not of "
        "differences are of level 95% each."
    )


def _overview(results: Sequence[CompareResult]) -> str:
    """One row per comparison and method: means with 95% intervals."""
    rows = [
        [named(result), md.code(method.name), *(show_interval(method.means[measure]) for measure in MEASURES)]
        for result in results
        for method in result.methods
    ]
    return md.table(["data", "method", *(HEADS[measure] for measure in MEASURES)], rows)


def _often(found: Sequence[Differences]) -> str:
    """How many of the comparisons show which difference, pair by pair; the intervals are in the sentences."""
    rows = []
    for first, second, asked in QUESTIONS:
        cells = [_counted([told[first, second, measure] for told in found]) for measure in MEASURES]
        rows.append([f"{md.code(first)} against {md.code(second)}\n{asked}", *cells])
    return md.table(["pair", *(HEADS[measure] for measure in MEASURES)], rows)


def _counted(told: Sequence[MeanInterval]) -> str:
    number = Counter(one.seen for one in told)
    return "\n".join(f"{seen} in {count} of {len(told)}" for seen, count in sorted(number.items()))


def _answers(result: CompareResult, found: Differences) -> str:
    """Say for one comparison what each difference is."""
    lines = [
        f"{md.code(first)} against {md.code(second)}: "
        + "; ".join(_said(PHRASES[measure], found[first, second, measure]) for measure in MEASURES)
        for first, second, _ in QUESTIONS
    ]
    return f"On {named(result)}:\n\n{md.bullets(lines)}"


def _said(measure: str, one: MeanInterval) -> str:
    """One difference in words, with its interval."""
    if one.seen == "no difference seen":
        return f"{measure} no difference seen ({show_interval(one, '+')})"
    return f"{measure} **{one.seen}** by {show_interval(_without_sign(one))}"


def _without_sign(one: MeanInterval) -> MeanInterval:
    if one.low is None or one.high is None or one.mean >= 0:
        return one
    return MeanInterval(mean=-one.mean, low=-one.high, high=-one.low)
