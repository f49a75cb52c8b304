"""Format a comparison as text: settings, two tables, guarantees and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dpverify.compare.records import MEASURES, CompareResult, Repeatable
from dpverify.report import markdown as md
from dpverify.report.numbers import show_float
from dpverify.report.text.paragraphs import terminal_width
from dpverify.report.words import plural

HEADS = {
    "gradient_norm": "gradient norm, last",
    "mean_gradient_norm": "gradient norm, mean",
    "loss": "training loss",
    "test_error": "test error",
}
WIDTH = 26


def summary(result: CompareResult) -> str:
    """Return a summary of the comparison as several lines of text."""
    return "\n".join(
        (
            *_setting(result),
            "",
            *_means(result),
            "",
            *_differences(result),
            "",
            *_ending(result),
        )
    )


def _setting(result: CompareResult) -> Iterator[str]:
    data = result.data
    yield f"{data.name}: N = {data.n} to train on, {result.tested} to test on, d = {data.d}, classes {data.called}"
    bounds = f"G = {result.lipschitz:.6g}, L = {result.smoothness:.6g}"
    yield f"certified: {bounds} (lam = {show_float(result.lam)}, rows: {result.scale})"
    budget = (
        f"epsilon = {show_float(result.epsilon)}, delta = {show_float(result.delta)}"
    )
    yield f"noise of every private method: the least certified for {budget}, for replacing one example"
    for method in result.methods:
        noise = ", ".join(
            f"{show_float(value)} ({kind})" for kind, value in method.noise_std.items()
        )
        sizes = (
            f"T = {method.steps}, batch {method.batch}, eta = {show_float(method.eta)}"
        )
        yield f"  {method.name:<8} {sizes}, deviation of noise {noise}"


def _means(result: CompareResult) -> Iterator[str]:
    yield f"at the last iterate (mean: over iterates), mean over {plural(result.done, 'seed')} with 95% interval"
    rows = {
        method.name: [method.means[measure].shown() for measure in MEASURES]
        for method in result.methods
    }
    yield from _table(rows)


def _differences(result: CompareResult) -> Iterator[str]:
    yield "minus dp-nsgd, seed by seed on the same splits; * the interval excludes 0"
    rows: dict[str, list[str]] = {}
    for method in result.methods:
        if method.minus_dp_nsgd:
            differences = [method.minus_dp_nsgd[measure] for measure in MEASURES]
            stars = [
                "" if difference.seen == "no difference seen" else "*"
                for difference in differences
            ]
            pairs = zip(differences, stars, strict=True)
            rows[method.name] = [
                difference.shown("+") + star for difference, star in pairs
            ]
    yield from _table(rows)


def _table(rows: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a row for each method or, in a narrow terminal, a block of lines for each method."""
    head = _row("method", *HEADS.values())
    if len(head) <= terminal_width():
        yield head
        yield from (_row(name, *cells) for name, cells in rows.items())
        return
    for name, cells in rows.items():
        yield f"  {name}"
        yield from (
            f"    {measure:<{WIDTH}}  {cell}"
            for measure, cell in zip(HEADS.values(), cells, strict=True)
        )


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


def _row(name: str, *cells: str) -> str:
    return (f"  {name:<8} " + "  ".join(f"{cell:<{WIDTH}}" for cell in cells)).rstrip()


def _ending(result: CompareResult) -> Iterator[str]:
    if result.interrupted:
        yield f"interrupted: {result.done} of {result.seeds} seeds were finished"
    yield f"{result.seconds:.2f} s, accounting and first compilation included"
    yield "privacy:"
    yield from (f"  {method.name:<8} {method.privacy}" for method in result.methods)
    yield from (f"  {note}" for note in result.notes)
