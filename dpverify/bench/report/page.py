"""Generate the benchmark page of a report, benchmarks.md: targets, cases with intervals, and the method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from dpverify.bench.report import words
from dpverify.bench.report.figures import figures
from dpverify.bench.results import (
    SCHEMA,
    Bench,
    BenchInfo,
    CaseRecord,
    FormRecord,
    JudgedTarget,
    counted,
    growth,
    judged_targets,
    merged,
    ratio_of,
    sweeps,
)
from dpverify.ledger.records import encode
from dpverify.report import markdown as md
from dpverify.report.collect import ReportError
from dpverify.report.folder import finish, outdated, update
from dpverify.report.numbers import show_float
from dpverify.report.words import GENERATED, plural

PAGE = "benchmarks.md"
FRONT = "scaling"  # group whose figure is at the top of the page
DATA = "benchmarks"  # name of the data file without its suffix: data/benchmarks.json

INTRODUCTION = """\
Each number is the ratio of our time to that of a reference, or belongs to such a ratio. Both are measured alternately
in the same process, so the speed of the machine cancels. Most references are a plain way to do the work. A ratio below
1 means that our code is faster. If the reference is our own code, it is marked "ours", and the ratio says how many
times as long the alternative takes."""

METHOD = """\
A pass runs all cases, each group in a fresh process, with the same input and with compiled code. A round measures the
forms of a case alternately and gives one ratio to the reference. The result of a pass is the median of its rounds. The
tables show the median of the passes and an interval that assumes no distribution: it uses only the order of the passes,
and its level is at least 95% unless another one is given. A target is met or missed if the whole interval is on one
side of it. Times are processor times of one thread unless the case says otherwise. Memory with a plus is what a call
adds at its peak. Memory without a plus is the maximum that a command, or the largest of its processes, held."""


WHERE = (
    f"Every sample is in [`data/{DATA}.json`](data/{DATA}.json), made by `dpverify bench --long --report reports`. "
    "`dpverify bench --against FILE` compares two runs."
)


def bench_page(bench: Bench, figures: Mapping[str, tuple[str, bytes]]) -> str:
    """Return the text of the page; ``figures`` maps a group to the caption and content of its figure."""
    targets = list(judged_targets(bench))
    return md.document(
        [
            GENERATED,
            "# How fast it is",
            f"**{plural(len(targets), 'target')}: {counted(targets, words.MARKS)}.**"
            if targets
            else "No case has a target.",
            *(
                f"> [!WARNING]\n> Groups {', '.join(run.groups)}: {line}"
                for run in bench.runs
                for line in words.warnings(run)
            ),
            " ".join(INTRODUCTION.split()),
            *_front(bench, figures),
            "## Targets, one by one",
            _targets(targets),
            *(block for name in bench.groups for block in _group(bench, name, figures)),
            "## How it was measured",
            " ".join(METHOD.split()),
            *map(_manifest, bench.runs),
            WHERE,
        ]
    )


def _front(bench: Bench, figures: Mapping[str, tuple[str, bytes]]) -> Iterator[str]:
    """Yield the section on the run time of Algorithm 4, printed or streaming, left to future work by the paper."""
    if FRONT not in figures:
        return
    front_sweeps = sweeps(bench, FRONT)
    yield f"## {md.prose(bench.groups[FRONT])}"
    yield f"![{md.escape(figures[FRONT][0])}](figures/bench-{FRONT}.svg)"
    powers = {
        name: {
            growth_of_form.form: growth_of_form.exponent
            for growth_of_form in growth(cases)
        }
        for name, cases in front_sweeps.items()
    }
    forms = dict.fromkeys(
        form for exponent_of in powers.values() for form in exponent_of
    )
    rows = [
        [
            md.prose(form),
            *(
                words.show_interval(exponent_of.get(form), "exponent")
                for exponent_of in powers.values()
            ),
        ]
        for form in forms
    ]
    yield (
        "Exponents of the time in the size, fitted to each pass. Those over d are below 1 because part of a step does "
        "not depend on d:"
    )
    yield md.table(
        ["form", *(md.prose(cases[0].title) for cases in front_sweeps.values())], rows
    )
    yield f"Times, and ratios to reading every node once, are [below](#{FRONT})."


def _targets(targets: Sequence[JudgedTarget]) -> str:
    """Return a table of the targets with measured values and numbers of passes."""
    rows = []
    for judged in targets:
        case = judged.cases[0]
        sizes = words.show_sizes(judged)
        what = md.link(md.prose(case.title), f"#{case.group}") + (
            f"\n{md.prose(sizes)}" if sizes else ""
        )
        measured = words.show_interval(judged.value, judged.target.kind)
        passes = "" if judged.value is None else str(judged.value.passes)
        target_words = [
            md.prose(words.about(judged.target)),
            md.prose(words.show_target(judged.target)),
        ]
        rows.append(
            [what, *target_words, measured, passes, words.MARKS[judged.outcome]]
        )
    return md.table(
        ["case", "what", "target", "measured (interval)", "passes", ""], rows
    )


def _group(
    bench: Bench, name: str, figures: Mapping[str, tuple[str, bytes]]
) -> Iterator[str]:
    cases = [case for case in bench.cases if case.group == name]
    yield f"{md.anchor(name)}\n\n## {md.prose(bench.groups[name] or name)}"
    yield _cases(cases)
    for case in cases:
        if case.error:
            yield f"> [!WARNING]\n> {md.code(case.name)} could not be measured: {md.prose(case.error)}"
    yield from map(
        _printed,
        (sweep[0] for sweep in sweeps(bench, name).values() if sweep[0].printed),
    )
    if name in figures and name != FRONT:
        yield f"![{md.escape(figures[name][0])}](figures/bench-{name}.svg)"


def _printed(case: CaseRecord) -> str:
    """Return a paper's printed times for the work of a sweep, which were measured on another machine."""
    times = "; ".join(
        f"{md.prose(words)}: {', '.join(f'{show_float(s)} s at {case.over} = {show_float(size)}' for size, s in pairs)}"
        for words, pairs in case.printed.items()
    )
    return f"Printed of {md.code(case.sweep)}, on another machine: {times}."


def _cases(cases: Sequence[CaseRecord]) -> str:
    rows = []
    for case in cases:
        clock = f"{case.clock} time" if case.clock != "thread" else ""
        first = "\n".join(
            filter(
                None,
                [
                    f"**{md.prose(case.title)}**",
                    md.prose(words.show_parameters(case)),
                    clock,
                ],
            )
        )
        for form in case.forms:
            if form.role != "yardstick":
                rows.append([first, *_form(case, form)])
                first = ""
    return md.table(
        ["case", "form", "time", "ratio to the limit (interval)", "peak memory"], rows
    )


def _form(case: CaseRecord, form: FormRecord) -> list[str]:
    limit = "the limit, ours" if case.limit_is_ours else "the limit"
    role = {"limit": f" ({limit})", "peer": " (a peer)"}.get(form.role, "")
    ratio = (
        "1" if form.role == "limit" else words.show_interval(ratio_of(case, form.name))
    )
    return [
        md.prose(form.name) + role,
        md.prose(words.show_time(case, form)),
        ratio,
        words.show_memory(form),
    ]


def _manifest(info: BenchInfo) -> str:
    """Return a table of a run's settings and machine; package versions are in the data file only."""
    facts = {
        "groups": ", ".join(info.groups),
        "passes × rounds, at most": f"{info.passes} × {info.rounds}",
        "seed": str(info.seed),
        "commit": info.commit,
        "cores that it may use": str(info.cores),
        **{f"machine: {name}": value for name, value in sorted(info.machine.items())},
    }
    return md.table(
        ["", ""],
        [[md.prose(name), md.code(value)] for name, value in facts.items() if value],
    )


def read_bench(path: Path, name: str = "") -> Bench:
    """Read a run of the benchmarks; raise ReportError if the file is invalid."""
    called = name or str(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ReportError(
            f"{called}: cannot be read ({(error.strerror or str(error)).lower()})"
        ) from error
    try:
        head = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReportError(
            f"{called}: no JSON: {' '.join(str(error).split())}"
        ) from error
    if not isinstance(head, dict) or head.get("kind") != "dpverify benchmarks":
        raise ReportError(f"{called}: is no run of dpverify bench")
    if head.get("schema") != SCHEMA:
        raise ReportError(
            f"{called}: schema={head.get('schema')}: this version reads schema {SCHEMA}"
        )
    try:
        bench = msgspec.json.decode(content, type=Bench)
    except msgspec.DecodeError as error:
        raise ReportError(f"{called}: {' '.join(str(error).split())}") from error
    for case in bench.cases:
        for form in case.forms:
            for seconds in (value for rounds in form.samples for value in rounds):
                if seconds <= 0:
                    raise ReportError(
                        f"{called}: {case.name}, {form.name}: {seconds}: a time is above 0"
                    )
    return bench


def recorded_bench(folder: Path) -> Bench | None:
    """Return the recorded benchmarks of a report, or None."""
    finish(folder)
    path = folder / "data" / f"{DATA}.json"
    return read_bench(path, f"data/{path.name}") if path.exists() else None


def render_bench(bench: Bench) -> dict[str, bytes]:
    """Return the page and its figures as a dict from path in the report to content; equal runs give equal content."""
    drawn = figures(bench)
    files = {PAGE: bench_page(bench, drawn).encode()}
    return files | {
        f"figures/bench-{group}.svg": svg for group, (_, svg) in drawn.items()
    }


def write_bench(bench: Bench, folder: Path) -> list[str]:
    """Record a run, replacing earlier records of its groups, and write the page of all records."""
    old = recorded_bench(folder)
    record = merged(bench, old) if old is not None else bench
    return update(
        folder, {f"data/{DATA}.json": encode(record), **render_bench(record)}, DATA
    )


def regenerate_bench(folder: Path) -> list[str]:
    """Write the page and the figures again from the recorded data; see :func:`write_bench`."""
    return update(folder, _rendered(folder), DATA)


def check_bench(folder: Path) -> list[str]:
    """Compare the page and the figures with those generated from the data. Return the files that differ."""
    return sorted(outdated(folder, _rendered(folder), DATA))


def _rendered(folder: Path) -> dict[str, bytes]:
    bench = recorded_bench(folder)
    return {} if bench is None else render_bench(bench)
