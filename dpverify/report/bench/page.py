"""The page on speed, benchmarks.md: the result, each target, every case with its interval, how it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dpverify.report import markdown as md
from dpverify.report.bench.records import Bench, BenchInfo, CaseRecord, FormRecord
from dpverify.report.bench.statistics import (
    JudgedTarget,
    all_targets,
    counted,
    growth,
    judged_targets,
    ratio_of,
    sweeps,
)
from dpverify.report.bench.words import (
    MARKS,
    about,
    show_interval,
    show_memory,
    show_parameters,
    show_sizes,
    show_target,
    show_time,
    warnings,
)
from dpverify.report.manifest import GENERATED
from dpverify.report.numbers import show_float
from dpverify.report.words import plural

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
A pass goes through all cases, each group in a fresh process, with the same input. In a pass the forms of a case are
called once to compile, then timed in turns, the order rotated from round to round; a measurement repeats a call until
it lasts 20 ms; the garbage collector is off. Slow forms are timed once in each of the first passes, and whole runs in
turn: cold, then warm. One thread and its processor time, unless the case says otherwise (process: all threads; wall:
time that passes). In the same turns as a limit that is ours the library draws 100,000 normal numbers: by that, a
comparison of two runs sees such a limit become slower too.""",
    """\
A round gives one ratio of a form to its limit, a pass the median of its rounds. Printed is the median of the passes,
with an interval for the median made of their order alone, which assumes no law: of eleven passes from the second to the
tenth, with a level of 99%; of fewer than six from the smallest to the largest, with the lower level that stands beside
it. A target is met, or missed, where the whole interval is on one side of it. An exponent is fitted to each pass; below
1 over small sizes it is what a call costs whatever its size, and no evidence of slow growth.""",
    """\
Memory with a plus is what a call adds at its peak to what the process held before; without one it is the most that a
command, or the largest of its processes, held, or the process that started it, some 17 MiB, if that was more. None is
given for tasks that other processes do. Counts are operations, which no machine changes.""",
)


def bench_page(bench: Bench, figures: Mapping[str, tuple[str, bytes]]) -> str:
    """The page; ``figures``: group to the caption of its figure, and the figure."""
    return md.document(
        [
            GENERATED,
            "# How fast it is",
            *_result(bench),
            *(f"> [!WARNING]\n> {line} {', '.join(info.groups)}." for info in bench.runs for line in warnings(info)),
            " ".join(INTRODUCTION.split()),
            "## Targets, one by one",
            _targets(bench),
            *(block for name in bench.groups for block in _group(bench, name, figures)),
            "## How it was measured",
            *(" ".join(text.split()) for text in METHOD),
            *(_manifest(info) for info in bench.runs),
            _where(),
        ]
    )


def _result(bench: Bench) -> Iterator[str]:
    """How many targets are met, those that are not, and what is closest to its bound in each group."""
    found = all_targets(bench)
    if not found:
        yield "No case that was measured has a target."
        return
    total = f"**{plural(len(found), 'target')}: {counted(found, MARKS)}.**"
    rest = [
        f"{_name(each)} ({each.cases[0].group}): {md.prose(_with_sizes(each))}, {md.prose(show_target(each.target))}, "
        f"is {show_interval(each.value, each.target.kind) or 'not known'}: {each.outcome}"
        for each in found
        if each.outcome != "met"
    ]
    yield f"{total} Not met:\n\n{md.bullets(rest)}" if rest else total
    rows = []
    for name, title in bench.groups.items():
        here = list(judged_targets(bench, name))
        if here:
            met, worst = sum(each.outcome == "met" for each in here), max(here, key=share_of_bound)
            what = f"{_name(worst)}: {md.prose(_with_sizes(worst))}"
            rows.append([md.link(md.prose(title or name), f"#{name}"), f"{met} of {len(here)}", what, *_value(worst)])
    header = ["group", "targets met", "closest to its bound, or farthest beyond", "target", "measured (interval)"]
    yield md.table(header, rows)


def share_of_bound(judged: JudgedTarget) -> float:
    """How much of its bound is used up: 1 at the bound, more beyond it, 0 where nothing was measured."""
    target, value = judged.target, judged.value
    if value is None:
        return 0.0
    if target.at_least is not None:
        return target.at_least / max(value.median, 1e-300)
    return value.median / target.at_most if target.at_most else 0.0


def _targets(bench: Bench) -> str:
    """Each target with what was measured of it, and over how many passes."""
    rows = []
    for each in all_targets(bench):
        case, sizes = each.cases[0], show_sizes(each)
        what = md.link(md.prose(case.title), f"#{case.group}") + (f"\n{md.prose(sizes)}" if sizes else "")
        passes = "" if each.value is None else str(each.value.passes)
        rows.append([what, md.prose(about(each.target)), *_value(each), passes, MARKS[each.outcome]])
    return md.table(["case", "what", "target", "measured (interval)", "passes", ""], rows)


def _value(judged: JudgedTarget) -> list[str]:
    return [md.prose(show_target(judged.target)), show_interval(judged.value, judged.target.kind)]


def _with_sizes(judged: JudgedTarget) -> str:
    """What a target is about; growth with the sizes that it is of."""
    sizes = f" ({show_sizes(judged)})" if len(judged.cases) > 1 else ""
    return f"{about(judged.target)}{sizes}"


def _name(judged: JudgedTarget) -> str:
    case = judged.cases[0]
    return md.prose(case.sweep if len(judged.cases) > 1 else case.name)


def _group(bench: Bench, name: str, figures: Mapping[str, tuple[str, bytes]]) -> Iterator[str]:
    cases = [case for case in bench.cases if case.group == name]
    yield f"{md.anchor(name)}\n\n## {md.prose(bench.groups[name] or name)}"
    yield _cases(cases)
    for case in cases:
        if case.error:
            yield f"> [!WARNING]\n> {md.code(case.name)} could not be measured: {md.prose(case.error)}"
    rows = [
        [md.code(sweep), md.prose(each.form), each.what, show_interval(each.exponent, "exponent")]
        for sweep, here in sweeps(bench, name).items()
        for each in growth(here)
    ]
    if rows:
        yield "Powers of the size, fitted to each pass:"
        yield md.table(["sweep", "form", "of", "exponent (interval)"], rows)
    if name in figures:
        yield f"![{md.escape(figures[name][0])}](figures/bench-{name}.svg)"


def _cases(cases: Sequence[CaseRecord]) -> str:
    rows = []
    counts = any(form.counts for case in cases for form in case.forms)
    for case in cases:
        clock = f"{case.clock} time" if case.clock != "thread" else ""
        first = "\n".join(filter(None, [f"**{md.prose(case.title)}**", md.prose(show_parameters(case)), clock]))
        for form in case.forms:
            if form.role != "yardstick":
                told = "\n".join(f"{name}: {show_float(value)}" for name, value in form.counts.items())
                rows.append([first, *_form(case, form), *[md.prose(told)] * counts])
                first = ""
    header = ["case", "form", "time", "ratio to the limit (interval)", "passes × rounds", "peak memory"]
    return md.table(header + ["counts"] * counts, rows)


def _form(case: CaseRecord, form: FormRecord) -> list[str]:
    limit = "the limit, ours" if case.limit_is_ours else "the limit"
    role = {"limit": f" ({limit})", "peer": " (a peer)"}.get(form.role, "")
    ratio = "1" if form.role == "limit" else show_interval(ratio_of(case, form.name))
    rounds = [len(values) for values in form.samples if values]
    made = f"{len(rounds)} × {'–'.join(map(str, sorted({min(rounds), max(rounds)})))}" if rounds else ""
    return [md.prose(form.name) + role, md.prose(show_time(case, form)), ratio, made, show_memory(form)]


def _manifest(info: BenchInfo) -> str:
    facts = [
        ("groups", ", ".join(info.groups)),
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
    return md.table(["", ""], [[md.prose(name), md.code(value)] for name, value in facts if value])


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
