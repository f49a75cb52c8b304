"""The page on speed, benchmarks.md: the result, each target, every case with its spread, how it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from statistics import median

from dpverify.report import markdown as md
from dpverify.report.bench.figures import Picture
from dpverify.report.bench.kinds import show_kinds
from dpverify.report.bench.records import Bench, BenchInfo, CaseRecord, FitRecord, FormRecord, busy
from dpverify.report.bench.targets import result, targets_table
from dpverify.report.bench.words import (
    show_counts,
    show_interval,
    show_memory,
    show_parameters,
    show_seconds,
    show_sizes,
    show_spread,
    show_value,
)
from dpverify.report.manifest import GENERATED
from dpverify.report.numbers import show_float

PAGE = "benchmarks.md"
DATA = "benchmarks"
"""Name of the data without its ending: data/benchmarks.json."""

INTRODUCTION = """\
How to read it. Each number is a ratio, or stands beside one, to a limit that was measured in the same process, in
turns; how fast the machine is drops out. Only a physical limit cannot be beaten: to start Python, to sleep, to read
bytes that are in no cache. Most limits are a plain way of doing the work, and a ratio below 1 means that ours is faster
than that way: "draw" is the library's draw (ours gives the same numbers, faster), "read twice" is two plain passes over
the rows (ours asks for memory ahead). Others are the algorithm as printed. Where the limit is our own code it is marked
"ours", and the ratio says how many times as long something else takes: the same with more to do, a peer, the literal
algorithm."""

METHOD = (
    """\
A pass goes through all cases; the next one begins when it is done, in fresh processes, so that two passes of a case are
minutes apart and have other addresses; the input is the same in all passes of a run. In a pass the forms of a case are
called once to compile, then timed in turns, the order rotated from round to round; a measurement repeats a call until
it lasts 20 ms; the garbage collector is off. Slow forms are timed once in each of the first passes, and whole runs in
turn: cold, then warm. One thread and its processor time, unless the case says otherwise (process: all threads; wall:
time that passes). Beside a limit that is ours the library draws 100,000 normal numbers, in the same turns: by that, a
comparison of two runs sees such a limit become slower too.""",
    """\
A round gives one ratio of a form to its limit, a pass the median of its rounds. Printed is the median of the passes,
with an interval for the median made of their order alone, which assumes no law: rounds of one process are not
independent, passes are as far as one machine on one day allows. Of eleven passes it runs from the second to the tenth
and has a level of 99%; of nine from the second to the eighth, 96%; of fewer than six from the smallest to the largest,
which holds the median less often: that level stands beside it (of three passes 75%, of two 50%; one run has none). The
spread is that of single rounds: middle half, then extremes. Where passes fall into two groups more than 10% apart, the
page says where they lie: then the interval is no spread, and the next run has both kinds again.""",
    """\
A target is met, or missed, where the whole interval is on one side of it, and else too close to tell; with three passes
or fewer that is a weaker word, and the number of passes stands beside it. An exponent is fitted to few sizes: where
time is no power of the size, the one between the two largest sizes differs from the fitted one. An exponent below 1 of
a sweep over small sizes is what a call costs whatever its size, and no evidence of slow growth: targets of growth are
of large sizes alone.""",
    """\
Memory with a plus is what a call adds at its peak to what the process held before; without one it is the most that a
command, or the largest of its processes, held, or the process that started it, some 17 MiB, if that was more. An output
that the call makes anew is part of it; one that is there before is not. None is given for tasks that other processes
do. Counts are operations, which no machine changes.""",
)

SLOWEST = 20
"""Checks that are listed one by one."""


def bench_page(bench: Bench, pictures: Sequence[Picture]) -> str:
    """The page."""
    return md.document(
        [
            GENERATED,
            "# How fast it is",
            *result(bench),
            *_warnings(bench),
            " ".join(INTRODUCTION.split()),
            "## Targets, one by one",
            targets_table(bench),
            *(block for name, title in bench.groups.items() for block in _group(bench, name, title, pictures)),
            "## How it was measured",
            *(" ".join(text.split()) for text in METHOD),
            *(block for info in bench.runs for block in _manifest(info, several=len(bench.runs) > 1)),
            _where(),
        ]
    )


def _where() -> str:
    data, words = (
        f"data/{DATA}.json",
        ("dpverify bench --long --report reports", "--long", "dpverify bench --against FILE"),
    )
    made, long, compared = map(md.code, words)
    return (
        f"Every sample is in {md.link(md.code(data), data)}. Made by {made}; without {long} whole runs are not "
        f"measured again, and stay with the facts of the run that measured them. {compared} compares two runs."
    )


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


def _group(bench: Bench, name: str, title: str, pictures: Sequence[Picture]) -> Iterator[str]:
    cases = [case for case in bench.cases if case.group == name]
    yield f"{md.anchor(name)}\n\n## {md.prose(title or name)}"
    yield _cases(cases)
    for case in cases:
        if case.error:
            yield f"> [!WARNING]\n> {md.code(case.name)} could not be measured: {md.prose(case.error)}"
    yield from _fits([fit for fit in bench.fits if fit.group == name], cases)
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
        clock = f"{case.clock} time" if case.clock != "thread" else ""
        first = "\n".join(filter(None, [f"**{md.prose(case.title)}**", md.prose(show_parameters(case)), clock]))
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
    role = {"limit": "the limit, ours" if case.limit_is_ours else "the limit", "peer": "a peer", "measured": ""}[
        form.role
    ]
    name = md.prose(form.name) + (f" ({role})" if role else "")
    if form.seconds is None:
        return [name, "", "", "", ""]
    each = form.seconds.median / case.work
    time = show_seconds(each) + (f" a {case.item}" if case.work != 1 else "")
    rounds = {len(values) for values in form.samples if values}
    made = f"{form.seconds.passes} × {'–'.join(map(str, sorted({min(rounds), max(rounds)})))}"
    ratio = "1" if form.role == "limit" else show_interval(form.ratio)
    spread = "\n".join(filter(None, [show_spread(form.ratio), show_kinds(case, form)]))
    return [name, time, ratio, spread, made]


def _fits(fits: Sequence[FitRecord], cases: Sequence[CaseRecord]) -> Iterator[str]:
    rows = [
        [
            md.code(fit.sweep),
            md.prose(fit.form),
            fit.what,
            show_sizes(fit),
            show_interval(fit.exponent, "exponent"),
            _last_exponent(fit, [case for case in cases if case.sweep == fit.sweep]),
            str(fit.exponent.passes),
        ]
        for fit in fits
    ]
    if rows:
        yield "Powers of the size, fitted to each pass (least squares of logarithms):"
        yield md.table(
            ["sweep", "form", "of", "sizes", "exponent (interval)", "between the two largest", "passes"], rows
        )


def _last_exponent(fit: FitRecord, cases: Sequence[CaseRecord]) -> str:
    """Power between the two largest sizes: where it differs from the fitted one, there is no one power."""
    values = []
    for case in cases[-2:]:
        form = next(form for form in case.forms if form.name == fit.form)
        middles = [median(rounds) for rounds in form.samples if rounds] if fit.what == "seconds" else form.added
        values.append((log(case.parameters[fit.over]), log(max(median(middles), 1.0 if fit.what == "memory" else 0.0))))
    (x, y), (further, higher) = values
    return show_value((higher - y) / (further - x), "exponent")


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
        ("passes, at most", str(info.passes)),
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
