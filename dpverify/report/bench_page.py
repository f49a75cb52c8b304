"""The page on speed, benchmarks.md: targets first, then every case with its spread, then how it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from dpverify.report import markdown as md
from dpverify.report.bench_figures import Picture
from dpverify.report.bench_records import Bench, BenchInfo, CaseRecord, FitRecord, FormRecord, TargetRecord, busy
from dpverify.report.bench_words import (
    MARKS,
    about,
    show_counts,
    show_interval,
    show_memory,
    show_parameters,
    show_seconds,
    show_spread,
    show_target,
)
from dpverify.report.manifest import GENERATED
from dpverify.report.numbers import show_float
from dpverify.report.words import plural

PAGE = "benchmarks.md"
DATA = "benchmarks"
"""Name of the data without its ending: data/benchmarks.json."""

INTRODUCTION = """\
Each number is a ratio to a limit measured beside it: the time that drawing the same Gaussians takes, or reading the
same bytes once, or the algorithm as it is printed, or another library. A ratio of 1 to a physical limit cannot be
beaten; how fast the machine is drops out."""

METHOD = (
    """\
A pass goes through all cases; the next one begins when it is done, in fresh processes, so that two passes of a case are
minutes apart and have other addresses. In a pass the forms of a case are called once to compile, then timed in turns,
the order rotated from round to round; a measurement repeats a call until it lasts 20 ms; the garbage collector is off.
One thread and its processor time, unless the case says otherwise (wall: time that passes).""",
    """\
A round gives one ratio of a form to its limit, a pass the median of its rounds. Printed is the median of the passes,
with an interval for the median made of their order alone, which assumes no law: rounds of one process are not
independent, passes are as far as one machine on one day allows. Of nine passes it runs from the second to the eighth
and has a level of 96%; of five from the smallest to the largest, 94%; of three as well, 75%; one pass has none. The
spread is that of single rounds: middle half, then extremes.""",
    """\
A target is met, or missed, where the whole interval is on one side of it, and else too close to tell. Memory with a
plus is what a call adds at its peak to what the process held before; without one it is all that a child process held,
or the process that started it, some 17 MiB, if that was more. Counts are operations, which no machine changes.""",
)

SLOWEST = 20
"""Checks that are listed one by one."""


def bench_page(bench: Bench, pictures: Sequence[Picture]) -> str:
    """The page.

    Parameters
    ----------
    bench : Bench
        What was measured.
    pictures : sequence of Picture
        Its figures.

    Returns
    -------
    str
        ``benchmarks.md``.
    """
    return md.document(
        [
            GENERATED,
            "# How fast it is",
            " ".join(INTRODUCTION.split()),
            *_warnings(bench),
            "## Targets",
            _totals(bench),
            _targets(bench),
            *(block for name, title in bench.groups.items() for block in _group(bench, name, title, pictures)),
            "## How it was measured",
            *(" ".join(text.split()) for text in METHOD),
            *(block for info in bench.runs for block in _manifest(info, several=len(bench.runs) > 1)),
            _where(),
        ]
    )


def _where() -> str:
    data = f"data/{DATA}.json"
    made, compared = md.code("dpverify bench --report reports"), md.code("dpverify bench --against FILE")
    return f"Every sample is in {md.link(md.code(data), data)}. Made by {made}; {compared} compares two runs."


def _warnings(bench: Bench) -> Iterator[str]:
    for info in bench.runs:
        groups = ", ".join(info.groups)
        if busy(info):
            at = "" if info.others is None else f" ({show_float(info.others, 2)} cores in the mean)"
            yield f"> [!WARNING]\n> Other processes were at work on the machine{at} while this was measured: {groups}."
        if info.interrupted:
            yield f"> [!WARNING]\n> The run was interrupted: not all of its passes are here. {groups}."
        if info.quick:
            yield f"> [!NOTE]\n> A quick run, of {info.passes} passes: its intervals have a level of 75%. {groups}."


def all_targets(bench: Bench) -> Iterator[tuple[CaseRecord | FitRecord, TargetRecord]]:
    """Every target with what it is of: a case, or the fit of a sweep."""
    for group in bench.groups:
        for case in bench.cases:
            yield from ((case, target) for target in case.targets if case.group == group)
        for fit in bench.fits:
            if fit.target is not None and fit.group == group:
                yield fit, fit.target


def _totals(bench: Bench) -> str:
    outcomes = [target.outcome for _, target in all_targets(bench)]
    if not outcomes:
        return "No case that was measured has a target."
    found = [f"{outcomes.count(word)} {word}" for word in MARKS if word in outcomes]
    failed = [
        f"{md.prose(of.name if isinstance(of, CaseRecord) else of.sweep)} ({of.group}): {md.prose(about(target))}, "
        f"{md.prose(show_target(target))}, is {show_interval(target.value, target.kind)}"
        for of, target in all_targets(bench)
        if target.outcome == "missed"
    ]
    total = f"{plural(len(outcomes), 'target')}: {', '.join(found)}."
    return f"{total} Missed:\n\n{md.bullets(failed)}" if failed else total


def _targets(bench: Bench) -> str:
    rows = []
    titles = {(case.group, case.sweep): case.title for case in bench.cases if case.sweep}
    for of, target in all_targets(bench):
        if isinstance(of, CaseRecord):
            title, detail = of.title, show_parameters(of)
        else:
            sizes = f"{of.over} = {show_float(of.sizes[0])} to {show_float(of.sizes[-1])}"
            title, detail = titles.get((of.group, of.sweep), of.sweep), sizes
        rows.append(
            [
                md.link(md.prose(title), f"#{of.group}") + (f"\n{md.prose(detail)}" if detail else ""),
                md.prose(about(target)),
                md.prose(show_target(target)),
                show_interval(target.value, target.kind),
                MARKS[target.outcome],
            ]
        )
    return md.table(["case", "what", "target", "measured (interval)", ""], rows)


def _group(bench: Bench, name: str, title: str, pictures: Sequence[Picture]) -> Iterator[str]:
    cases = [case for case in bench.cases if case.group == name]
    yield f"{md.anchor(name)}\n\n## {md.prose(title or name)}"
    yield _cases(cases)
    for case in cases:
        if case.error:
            yield f"> [!WARNING]\n> {md.code(case.name)} could not be measured: {md.prose(case.error)}"
    yield from _fits([fit for fit in bench.fits if fit.group == name])
    for picture in pictures:
        if picture.group == name:
            yield f"![{md.escape(picture.caption)}](figures/{picture.file})"
    for case in cases:
        yield from _parts(case)


def _cases(cases: Sequence[CaseRecord]) -> str:
    rows = []
    memory = any(show_memory(form) for case in cases for form in case.forms)
    counts = any(form.counts for case in cases for form in case.forms)
    for case in cases:
        first = f"**{md.prose(case.title)}**\n{md.prose(show_parameters(case))}" + (
            f"\n{case.clock} time" if case.clock != "thread" else ""
        )
        for form in case.forms:
            row = [first, *_form(case, form)]
            row += [show_memory(form)] if memory else []
            row += [md.prose(show_counts(form))] if counts else []
            rows.append(row)
            first = ""
    header = ["case", "form", "time", "ratio to the limit (interval)", "spread of rounds", "passes × rounds"]
    return md.table(header + ["peak memory"] * memory + ["counts"] * counts, rows)


def _form(case: CaseRecord, form: FormRecord) -> list[str]:
    if form.missing:
        return [md.prose(form.name), md.prose(form.missing), "", "", ""]
    role = {"limit": "the limit", "peer": "a peer", "measured": ""}[form.role]
    name = md.prose(form.name) + (f" ({role})" if role else "")
    if form.seconds is None:
        return [name, "", "", "", ""]
    each = form.seconds.median / case.work
    time = show_seconds(each) + (f" a {case.item}" if case.work != 1 else "")
    rounds = {len(values) for values in form.samples if values}
    made = f"{form.seconds.passes} × {'–'.join(map(str, sorted({min(rounds), max(rounds)})))}"
    ratio = "1" if form.role == "limit" else show_interval(form.ratio)
    return [name, time, ratio, show_spread(form.ratio), made]


def _fits(fits: Sequence[FitRecord]) -> Iterator[str]:
    rows = [
        [
            md.code(fit.sweep),
            md.prose(fit.form),
            fit.what,
            f"{fit.over} = {show_float(fit.sizes[0])} to {show_float(fit.sizes[-1])}",
            show_interval(fit.exponent, "exponent"),
            str(fit.exponent.passes),
        ]
        for fit in fits
    ]
    if rows:
        yield "Powers of the size, fitted to each pass (least squares of logarithms):"
        yield md.table(["sweep", "form", "of", "sizes", "exponent (interval)", "passes"], rows)


def _parts(case: CaseRecord) -> Iterator[str]:
    """Seconds of the parts of a command, such as the checks of a run: the slowest, and their share."""
    for form in case.forms:
        if not form.parts:
            continue
        middles = {name: median(seconds) for name, seconds in form.parts.items()}
        total = sum(middles.values())
        worst = sorted(middles, key=lambda name: (-middles[name], name))[:SLOWEST]
        share = sum(middles[name] for name in worst) / total if total else 0.0
        yield (
            f"{md.prose(case.title)}, {md.prose(form.name)}: {len(middles)} parts take {show_seconds(total)} in "
            f"all; the slowest {len(worst)} take {share:.0%} of it. All of them are in the data."
        )
        yield md.table(
            ["part", "time", "share"],
            [[md.code(name), show_seconds(middles[name]), f"{middles[name] / total:.1%}"] for name in worst],
            right=[1, 2],
        )


def _manifest(info: BenchInfo, *, several: bool) -> Iterator[str]:
    facts = [
        ("groups", ", ".join(info.groups) if several else ""),
        ("passes", str(info.passes)),
        ("rounds in a pass, at most", str(info.rounds)),
        ("seed", str(info.seed)),
        ("commit", info.commit),
        ("seconds", show_float(info.seconds)),
        ("cores that it may use", str(info.cores)),
        ("load average before", show_float(info.load_before)),
        ("load average after", show_float(info.load_after)),
        ("cores kept busy by others", "" if info.others is None else show_float(info.others, 2)),
        *((f"version of {name}", version) for name, version in sorted(info.versions.items())),
        *((f"machine: {name}", value) for name, value in sorted(info.machine.items())),
    ]
    yield md.table(["", ""], [[md.prose(name), md.code(value)] for name, value in facts if value])
