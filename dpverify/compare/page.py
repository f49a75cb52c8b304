"""The page of comparisons: what is seen, then each comparison with its figure, its tables, and how it was made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpverify.compare.records import MEASURES, CompareResult, Comparisons, RecordedComparison
from dpverify.compare.seen import PAIRS, Differences, corrected_level, differences, family, seen
from dpverify.compare.words import HEADS, show_interval
from dpverify.report import markdown as md
from dpverify.report.collect import slug
from dpverify.report.numbers import show_float
from dpverify.report.words import GENERATED

WHAT = (
    "Non-private NSGD (`nsgd`), the two algorithms of tran2022 (`dp-nsgd` is its Algorithm 1, `sr-nsgd` its "
    "Algorithm 2) and plain private gradient descent with full batches (`dp-gd`) and with sampled ones (`dp-sgd`), on "
    "logistic regression with a nonconvex regularizer. Every private method has the least noise that its accountant "
    "certifies for the same epsilon and delta, and all evaluate as many gradients of examples. Each seed has its own "
    "split into a training and a test part, the same for all methods. *Gradient norm, mean* is the mean over iterates: "
    "the expected norm at an iterate drawn at random, which is what Theorems 6 and 9 bound. The other measures are of "
    "the last iterate. No step length was tuned to the data."
)

STANDARDISED = "Its columns were standardised with the training part's means and deviations, which no guarantee covers."


def page(comparisons: Comparisons) -> str:
    """Write ``comparison.md``, the same text for the same numbers."""
    results = [one.result for one in comparisons.comparisons]
    level = corrected_level(family(results))
    pictured = zip(comparisons.comparisons, figure_names(comparisons), strict=True)
    return md.document(
        [
            GENERATED,
            "# Optimizers compared on data, at equal privacy",
            WHAT,
            "## What is seen",
            *seen(results),
            "What nobody should read into this:",
            _notes(results),
            *(block for one, name in pictured for block in _section(one, name, level)),
        ]
    )


def figure_names(comparisons: Comparisons) -> list[str]:
    """Names of the figures' files, one for each comparison."""
    names: list[str] = []
    for one in comparisons.comparisons:
        stem = slug("comparison", one.result.data.name, "epsilon", show_float(one.result.epsilon))
        name, number = f"{stem}.svg", 2
        while name in names:
            name, number = f"{stem}-run-{number}.svg", number + 1
        names.append(name)
    return names


def _section(one: RecordedComparison, name: str, level: float) -> Iterator[str]:
    result = one.result
    where = f"{result.data.name}, epsilon = {show_float(result.epsilon)}"
    yield f"## {md.prose(where)}"
    yield _setting(result)
    yield f"![{md.prose(f'Methods compared on {where}: every seed, mean and 95% interval')}](figures/{name})"
    yield _methods(result)
    yield f"First minus second, mean over {result.done} seeds, intervals of level {level:.6f}:"
    yield _differences(differences(result, level))
    yield f"Made with:\n\n```sh\n{one.command}\n```"
    made = [("data", one.source), ("commit", one.commit), *sorted(one.versions.items()), *sorted(one.machine.items())]
    yield md.bullets([", ".join(f"{key} {md.code(value)}" for key, value in made if value)])


def _setting(result: CompareResult) -> str:
    data = result.data
    numbers = [("G", result.lipschitz), ("L", result.smoothness), ("lam", result.lam), ("delta", result.delta)]
    told = [
        f"N = {data.n} examples to train on and {result.tested} to test on, d = {data.d} features,",
        f"classes {md.prose(' and '.join(data.classes))}.",
        f"{', '.join(f'{name} = {show_float(value)}' for name, value in numbers)}, rows: {result.scale}.",
        f"{result.done} of {result.seeds} seeds; interrupted." if result.interrupted else f"{result.done} seeds.",
        STANDARDISED if data.standardised else "",
    ]
    return " ".join(filter(None, told))


def _methods(result: CompareResult) -> str:
    rows = [
        [
            md.code(method.name),
            str(method.steps),
            str(method.batch),
            show_float(method.eta),
            ", ".join(f"{show_float(value)} ({kind})" for kind, value in method.noise_std.items()),
            md.prose(method.privacy),
        ]
        for method in result.methods
    ]
    return md.table(["method", "T", "batch", "eta", "deviation of the noise", "what is certified"], rows)


def _differences(found: Differences) -> str:
    """Every pair of methods with every measure."""
    rows = []
    for first, second in PAIRS:
        cells = [found[first, second, measure] for measure in MEASURES]
        told = [f"{show_interval(one, '+')}\n{one.seen}" for one in cells]
        rows.append([f"{md.code(first)} − {md.code(second)}", *told])
    return md.table(["difference", *(HEADS[measure] for measure in MEASURES)], rows)


def _notes(results: Sequence[CompareResult]) -> str:
    """What a reader should know, each note once; one that goes on in the next line is put together."""
    whole: dict[str, None] = {}
    for result in results:
        joined: list[str] = []
        for note in result.notes:
            if note.startswith(" ") and joined:
                joined[-1] += f" {note.strip()}"
            else:
                joined.append(note)
        whole |= dict.fromkeys(joined)
    return md.bullets(map(md.prose, whole))
