"""Generate the page of comparisons: the findings, then each comparison with its figure, tables and command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from dpverify.algorithms.dp_srm import DP_SRM
from dpverify.algorithms.dpageem import DP_SGD
from dpverify.algorithms.nsgd import DP_NSGD, SR_NSGD
from dpverify.compare.figure import HEADS, svg
from dpverify.compare.methods import FULL_BATCHES, METHODS, WITHOUT_NOISE
from dpverify.compare.records import (
    MEASURES,
    CompareResult,
    Comparisons,
    MeanInterval,
    RecordedComparison,
    Repeatable,
    corrected_level,
)
from dpverify.compare.records import differences as between
from dpverify.report import markdown as md
from dpverify.report.collect import slug
from dpverify.report.folder import RecordedPage
from dpverify.report.numbers import show_float
from dpverify.report.words import GENERATED

PAIRS = tuple((second, first) for first, second in combinations(METHODS, 2))
"""Every pair of methods, the later one first: ``dp-nsgd`` minus ``nsgd``."""

Differences = Mapping[tuple[str, str, str], MeanInterval]
"""Mean difference of two methods over seeds, on the same splits, by first method, second method and measure."""


def family(results: Sequence[CompareResult]) -> int:
    """Return the number of differences that are tested together: all pairs and measures of all comparisons."""
    return len(PAIRS) * len(MEASURES) * len(results)


def differences(result: CompareResult, level: float) -> Differences:
    """Return all differences of a comparison, with intervals of the given (corrected) level."""
    outcomes = {method.name: method.outcomes for method in result.methods}
    return {
        (first, second, measure): difference
        for first, second in PAIRS
        for measure, difference in between(
            outcomes[first], outcomes[second], level
        ).items()
    }


PHRASES = {
    "gradient_norm": "gradient norm at the last iterate",
    "mean_gradient_norm": "mean gradient norm over the iterates",
    "loss": "training loss",
    "test_error": "test error",
}
"""Names of the measures within a sentence."""

MEASURE_HEADS = [HEADS[measure] for measure in MEASURES]

QUESTIONS = (
    (DP_NSGD.name, WITHOUT_NOISE, "the price of privacy"),
    (SR_NSGD.name, WITHOUT_NOISE, "the price of privacy"),
    (SR_NSGD.name, DP_NSGD.name, "Algorithm 2 against Algorithm 1"),
    (FULL_BATCHES, DP_NSGD.name, "plain private descent against Algorithm 1"),
    (DP_SGD.name, DP_NSGD.name, "plain private descent against Algorithm 1"),
    (FULL_BATCHES, SR_NSGD.name, "plain private descent against Algorithm 2"),
    (DP_SGD.name, SR_NSGD.name, "plain private descent against Algorithm 2"),
    (DP_SRM.name, DP_SGD.name, "recursive momentum against plain private descent"),
)
"""Pairs of methods, with the question that their difference answers."""


def finding_sentences(results: Sequence[CompareResult]) -> list[str]:
    """Return the findings as sentences."""
    level = corrected_level(family(results))
    all_differences = [differences(result, level) for result in results]
    answers = [
        _answers(result, of_result)
        for result, of_result in zip(results, all_differences, strict=True)
    ]
    return [
        _intervals(results),
        _outcome_counts(all_differences),
        _overview(results),
        *answers,
    ]


def comparison_name(result: CompareResult) -> str:
    """Return the name of a comparison as markdown."""
    return (
        f"{md.code(result.data.name)} at $`\\epsilon = {show_float(result.epsilon)}`$"
    )


def _intervals(results: Sequence[CompareResult]) -> str:
    count = family(results)
    return (
        f"Differences are taken seed by seed. {count} of them are judged on this page, each with a t-interval of level "
        f"{corrected_level(count):.6f}, so that all hold together with probability 95% if means over seeds are normal. "
        "If an interval contains 0, no difference was seen, but there may be one. The intervals cover splits and "
        "noise on these data sets only. Intervals of single values have level 95% each."
    )


def _overview(results: Sequence[CompareResult]) -> str:
    """Return a table with one row per comparison and method: means with 95% intervals."""
    rows = [
        [
            comparison_name(result),
            md.code(method.name),
            *(method.means[measure].shown() for measure in MEASURES),
        ]
        for result in results
        for method in result.methods
    ]
    return md.table(["data", "method", *MEASURE_HEADS], rows)


def _outcome_counts(all_differences: Sequence[Differences]) -> str:
    """Return a table that counts, for each pair and measure, the comparisons by outcome."""
    rows = []
    for first, second, question in QUESTIONS:
        cells = [
            _counted(
                [of_result[first, second, measure] for of_result in all_differences]
            )
            for measure in MEASURES
        ]
        rows.append([f"{md.code(first)} against {md.code(second)}\n{question}", *cells])
    return md.table(["pair", *MEASURE_HEADS], rows)


def _counted(intervals: Sequence[MeanInterval]) -> str:
    number = Counter(difference.seen for difference in intervals)
    return "\n".join(
        f"{outcome} in {count} of {len(intervals)}"
        for outcome, count in sorted(number.items())
    )


def _answers(result: CompareResult, all_differences: Differences) -> str:
    """Return a list with the differences of one comparison in words."""
    lines = [
        f"{md.code(first)} against {md.code(second)}: "
        + "; ".join(
            _difference_sentence(
                PHRASES[measure], all_differences[first, second, measure]
            )
            for measure in MEASURES
        )
        for first, second, _ in QUESTIONS
    ]
    return f"On {comparison_name(result)}:\n\n{md.bullets(lines)}"


def _difference_sentence(measure: str, difference: MeanInterval) -> str:
    """Return one difference in words, with its interval."""
    if difference.seen == "no difference seen":
        return f"{measure} no difference seen ({difference.shown('+')})"
    return f"{measure} **{difference.seen}** by {_without_sign(difference).shown()}"


def _without_sign(difference: MeanInterval) -> MeanInterval:
    if difference.low is None or difference.high is None or difference.mean >= 0:
        return difference
    return MeanInterval(
        mean=-difference.mean, low=-difference.high, high=-difference.low
    )


INTRODUCTION = (
    "Non-private NSGD (`nsgd`), the two algorithms of tran2022 (`dp-nsgd` is its Algorithm 1, `sr-nsgd` its Algorithm"
    " 2), plain private gradient descent with full batches (`dp-gd`) and with sampled ones (`dp-sgd`), and Algorithm "
    "1 of wang2019 (`dp-srm`), on logistic regression with a nonconvex regularizer. Every private method has the "
    "least noise that its accountant certifies for the same epsilon and delta, and all evaluate as many gradients of "
    "examples. Each seed has its own split into a training and a test part, the same for all methods. *Gradient norm,"
    " mean* is the mean over iterates: the expected norm at an iterate drawn at random, which is what Theorems 6 and "
    "9 bound. The other measures are of the last iterate. No step length was tuned to the data."
)

STANDARDISED = "Its columns were standardised with the training part's means and deviations, which no guarantee covers."


def page(comparisons: Comparisons) -> str:
    """Return the text of ``comparison.md``; equal results give equal text."""
    results = [comparison.result for comparison in comparisons.comparisons]
    level = corrected_level(family(results))
    pictured = zip(comparisons.comparisons, figure_names(comparisons), strict=True)
    return md.document(
        [
            GENERATED,
            "# Optimizers compared on data, at equal privacy",
            INTRODUCTION,
            "## What is seen",
            *finding_sentences(results),
            "What these numbers do not show:",
            _notes(results),
            *(
                block
                for comparison, name in pictured
                for block in _section(comparison, name, level)
            ),
        ]
    )


def figure_names(comparisons: Comparisons) -> list[str]:
    """Return the file names of the figures, one for each comparison."""
    names: list[str] = []
    for comparison in comparisons.comparisons:
        stem = slug(
            "comparison",
            comparison.result.data.name,
            "epsilon",
            show_float(comparison.result.epsilon),
        )
        name = f"{stem}.svg"
        number = 2
        while name in names:
            name = f"{stem}-run-{number}.svg"
            number = number + 1
        names.append(name)
    return names


def _section(comparison: RecordedComparison, name: str, level: float) -> Iterator[str]:
    result = comparison.result
    where = f"{result.data.name}, epsilon = {show_float(result.epsilon)}"
    yield f"## {md.prose(where)}"
    yield _setting(result)
    yield f"![{md.prose(f'Methods compared on {where}: every seed, mean and 95% interval')}](figures/{name})"
    yield _methods(result)
    yield f"First minus second, mean over {result.done} seeds, intervals of level {level:.6f}:"
    yield _differences(differences(result, level))
    yield made_with("Made with", comparison, ("data", comparison.source))


def _setting(result: CompareResult) -> str:
    data = result.data
    numbers = [
        ("G", result.lipschitz),
        ("L", result.smoothness),
        ("lam", result.lam),
        ("delta", result.delta),
    ]
    parts = [
        f"N = {data.n} examples to train on and {result.tested} to test on, d = {data.d} features,",
        f"classes {md.prose(data.called)}.",
        f"{', '.join(f'{name} = {show_float(value)}' for name, value in numbers)}, rows: {result.scale}.",
        f"{result.done} of {result.seeds} seeds; interrupted."
        if result.interrupted
        else f"{result.done} seeds.",
        STANDARDISED if data.standardised else "",
    ]
    return " ".join(filter(None, parts))


def _methods(result: CompareResult) -> str:
    rows = [
        [
            md.code(method.name),
            str(method.steps),
            str(method.batch),
            show_float(method.eta),
            ", ".join(
                f"{show_float(value)} ({kind})"
                for kind, value in method.noise_std.items()
            ),
            md.prose(method.privacy),
        ]
        for method in result.methods
    ]
    return md.table(
        ["method", "T", "batch", "eta", "deviation of the noise", "what is certified"],
        rows,
    )


def _differences(all_differences: Differences) -> str:
    """Return a table of the differences of all pairs of methods in all measures."""
    rows = []
    for first, second in PAIRS:
        cells = [all_differences[first, second, measure] for measure in MEASURES]
        texts = [f"{difference.shown('+')}\n{difference.seen}" for difference in cells]
        rows.append([f"{md.code(first)} − {md.code(second)}", *texts])
    return md.table(["difference", *MEASURE_HEADS], rows)


def _notes(results: Sequence[CompareResult]) -> str:
    """Return the distinct notes as a list. Notes that were wrapped into several strings are joined."""
    notes: dict[str, None] = {}
    for result in results:
        joined: list[str] = []
        for note in result.notes:
            if note.startswith(" ") and joined:
                joined[-1] += f" {note.strip()}"
            else:
                joined.append(note)
        notes |= dict.fromkeys(joined)
    return md.bullets(map(md.prose, notes))


def comparison_figures(comparisons: Comparisons) -> dict[str, bytes]:
    """Return the figures of all comparisons as a dict from file name to content."""
    named_comparisons = zip(
        figure_names(comparisons), comparisons.comparisons, strict=True
    )
    return {name: svg(comparison.result) for name, comparison in named_comparisons}


COMPARISON_PAGE = RecordedPage("comparison", Comparisons, page, comparison_figures)


def made_with(words: str, run: Repeatable, *origin: tuple[str, str]) -> str:
    """Return the command, the origin of the data and the versions as markdown."""
    facts = [
        *origin,
        ("commit", run.commit),
        *sorted(run.versions.items()),
        *sorted(run.machine.items()),
    ]
    fact_words = ", ".join(f"{name} {md.code(value)}" for name, value in facts if value)
    return f"{words}:\n\n```sh\n{run.command}\n```\n\n{md.bullets([fact_words])}"
