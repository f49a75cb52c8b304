"""Report pages of the selftest: planted faults, mutations of modules, error rates, and the search.

The page of planted faults shows which claim or test detected each fault, and which modules no claim guards. The page
of mutations shows what detected the mutation of each module. The page of error rates shows how often statistical checks
were wrong, over many seeds. The page of the search shows which planted inequalities it refutes, and how short its
counterexamples are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from statistics import median

from dpverify.report import markdown as md
from dpverify.report.folder import RecordedPage
from dpverify.report.words import GENERATED, plural
from dpverify.selftest.records import (
    MARKS,
    CheckRates,
    FaultOutcome,
    Hunted,
    MutantsRun,
    RatesRun,
    SearchRun,
    Selftest,
    Sighting,
)


def by_guard(run: Selftest) -> dict[str, list[str]]:
    """Return the modules by what saw a fault in them: a claim, only tests, or nothing (also if no fault is planted)."""
    claims = {
        f.module
        for f in run.faults
        if any(sighting.noticed and sighting.is_claim for sighting in f.sightings)
    }
    tests = {f.module for f in run.faults if f.noticed} - claims
    none = [module for module in run.modules if module not in claims | tests]
    return {"claims": sorted(claims), "tests": sorted(tests), "none": none}


def selftest_page(run: Selftest) -> str:
    """Return the page."""
    guards = by_guard(run)
    noticed = len(run.faults) - len(run.missed)
    return md.document(
        [
            GENERATED,
            "# Faults planted in our own code",
            f"**{plural(len(run.faults), 'fault')} planted, one at a time: {noticed} detected by all claims and "
            f"tests that must detect them, {len(run.missed)} not.**" + _left_out(run),
            " ".join(FAULTS_INTRODUCTION.split()),
            "## Missed" if run.missed else "",
            _faults(run, run.missed),
            "## What detects which fault",
            _matrix(run),
            *(
                block
                for kind, title in run.kinds.items()
                for block in _faults_of_kind(run, kind, title)
            ),
            md.anchor("guards") + "\n\n## Guarded by unit tests only",
            f"In {plural(len(guards['tests']), 'module')} only tests detect the planted faults, and no claim does:",
            md.bullets(map(md.code, guards["tests"])),
            f"In {plural(len(guards['claims']), 'module')} a claim detected a fault. "
            + WITHOUT_FAULT.format(len(guards["none"])),
            md.folded(
                "modules without a planted fault", md.bullets(_folders(guards["none"]))
            ),
            "## How it was made",
            md.table(
                ["", ""],
                [
                    [md.prose(name), md.code(value)]
                    for name, value in _manifest(run).items()
                ],
            ),
        ]
    )


WITHOUT_FAULT = "The catalogue has no fault for the other {} with code, so this page says nothing about them:"
FAULTS_INTRODUCTION = """\
Each fault is one change of the code, made in a copy with a separate compile cache. In the copy the unchanged code
passes the same claims and tests. A claim detects a fault if `dpverify verify CLAIM --budget smoke` ends with exit
code 1 and that claim is red. A test detects it if the test fails. A claim or test that cannot be imported, or that runs
out of time, detects nothing. `specs/faults/` lists with each fault the claims and tests that must detect it. The
last column is the smallest fault that the checks which detected it declare, if they declare one."""


def _left_out(run: Selftest) -> str:
    left = run.catalogue - len(run.faults)
    return (
        f" {plural(left, 'fault')} of the catalogue {'was' if left == 1 else 'were'} not planted."
        if left
        else ""
    )


def _manifest(run: Selftest) -> dict[str, str]:
    facts = {
        "commit": run.commit,
        **{f"machine: {name}": value for name, value in sorted(run.machine.items())},
    }
    return {name: value for name, value in {**facts, **run.versions}.items() if value}


def _matrix(run: Selftest) -> str:
    """Return a table of the kinds of faults and how they were detected."""
    rows = []
    for kind, title in run.kinds.items():
        faults = [fault for fault in run.faults if fault.kind == kind]
        guards = Counter(_detected_by(fault) for fault in faults)
        if faults:
            row = [
                md.link(md.prose(title), f"#{kind}"),
                *(str(guards[who] or "") for who in DETECTED_BY),
                str(len(faults)),
            ]
            rows.append(row)
    total = Counter(map(_detected_by, run.faults))
    rows.append(
        ["all", *(str(total[who]) for who in DETECTED_BY), str(len(run.faults))]
    )
    return md.table(
        ["kind", *DETECTED_BY, "all"], rows, right=range(1, 2 + len(DETECTED_BY))
    )


DETECTED_BY = ("by claims only", "by both", "by tests only", "missed")


def _detected_by(fault: FaultOutcome) -> str:
    if fault.missed:
        return "missed"
    claims = [sighting.is_claim for sighting in fault.sightings]
    return (
        "by claims only"
        if all(claims)
        else "by both"
        if any(claims)
        else "by tests only"
    )


def _faults_of_kind(run: Selftest, kind: str, title: str) -> Iterator[str]:
    faults = [fault for fault in run.faults if fault.kind == kind]
    if faults:
        yield f"{md.anchor(kind)}\n\n## {md.prose(title)}"
        yield _faults(run, faults)


def _faults(run: Selftest, faults: list[FaultOutcome]) -> str:
    rows = []
    for fault in faults:
        place = md.code(fault.module.removeprefix("dpverify."))
        size = f"\nsize: {md.prose(fault.size)}" if fault.size else ""
        who = [_sighting(sighting) for sighting in fault.sightings] or [
            f"✗ {md.prose(fault.error)}"
        ]
        sizes = dict.fromkeys(
            size for sighting in fault.sightings for size in sighting.detects
        )
        rows.append(
            [
                f"{md.prose(fault.what)}{size}",
                place,
                "\n".join(who),
                "\n".join(map(md.prose, sizes)),
            ]
        )
    return md.table(
        ["fault", "in", "who saw it", "the smallest that would have been seen"], rows
    )


def _sighting(sighting: Sighting) -> str:
    name = sighting.check if sighting.is_claim else sighting.check.rpartition("/")[2]
    by = f" ({', '.join(sighting.by)})" if sighting.is_claim and sighting.by else ""
    return f"{md.code(name)}{md.prose(by)}: {MARKS.get(sighting.saw, sighting.saw)}"


def _folders(modules: list[str]) -> Iterator[str]:
    """Yield a line for each package, with its modules."""
    for package in sorted({module.rpartition(".")[0] for module in modules}):
        names = [
            module.rpartition(".")[2]
            for module in modules
            if module.rpartition(".")[0] == package
        ]
        yield f"{md.code(package)}: {', '.join(map(md.code, names))}"


SELFTEST_PAGE = RecordedPage("selftest", Selftest, selftest_page)


MUTANTS_INTRODUCTION = """\
The catalogue has no fault for the modules below. In each module a program changed one operator or number and ran the
tests of that module, or the claims that the module judges. If none of them failed, it tried up to seven other changes.
If none failed for these either, it ran all tests of the folder.
Some changes have no effect that matters, such as a change of a margin or of the order of equal elements. A change that
no test detects is therefore a question, not yet a fault of the tests."""


BROKEN = "After each change that was tried, no test can be imported, so every user notices it."


def mutants_page(run: MutantsRun) -> str:
    """Return the page."""
    return md.document(
        [
            GENERATED,
            "# A change in each module",
            *(f"**{line}**" for line in mutants_summary(run)),
            " ".join(MUTANTS_INTRODUCTION.split()),
            "## Not noticed" if run.unseen else "",
            md.table(
                ["module", "the last change", "asked"],
                [_mutant_row(change) for change in run.unseen],
            ),
            "## Nothing runs" if run.broken else "",
            BROKEN if run.broken else "",
            md.bullets(
                f"{md.code(change.module)}: {md.code(change.what)}"
                for change in run.broken
            ),
            "## Nothing to change" if run.untried else "",
            md.bullets(map(md.code, run.untried)),
            "## Noticed",
            md.bullets(
                f"{md.code(change.module)}: {md.prose(', '.join(_detections(change)))}"
                for change in run.noticed
            ),
            "## Not looked at yet" if run.waiting else "",
            md.bullets(map(md.code, run.waiting)),
            f"Commit: {md.code(run.commit)}",
        ]
    )


def mutants_summary(run: MutantsRun) -> Iterator[str]:
    """Yield a line with the result."""
    further_counts = {
        "none was": len(run.unseen),
        "nothing runs after any": len(run.broken),
        "there is nothing to change": len(run.untried),
        "nobody has looked yet": len(run.waiting),
    }
    parts = [
        f"in {len(run.noticed)} a change was noticed",
        *(f"in {n} {what}" for what, n in further_counts.items() if n),
    ]
    yield f"{plural(len(run.modules), 'module')} without a fault in the catalogue: {', '.join(parts)}."


def _mutant_row(change: FaultOutcome) -> list[str]:
    sightings = "\n".join(
        f"{md.code(sighting.check)}: {sighting.saw}" for sighting in change.sightings
    )
    return [
        md.code(change.module),
        md.code(change.what),
        sightings or md.prose(change.error),
    ]


def _detections(change: FaultOutcome) -> Iterator[str]:
    return (
        f"{sighting.check} ({sighting.saw})"
        for sighting in change.sightings
        if sighting.noticed
    )


MUTANTS_PAGE = RecordedPage("mutants", MutantsRun, mutants_page)


RATES_INTRODUCTION = """\
Each check that spends an error rate {within} was run with the seeds 1, 2, ... on the statement that it judges and on
its planted faults of the declared size. A *false red* is a refutation of a statement that is not refuted. Its
probability is at most alpha. A planted fault must be refuted with at least the stated power. A check is wrong if its
counts have a probability below one in a million under both stated rates. So few runs cannot confirm an alpha of one in
a million. The tests of the p-values do this, with thousands of runs each. This page runs whole checks, with their
samplers, kernels and decisions. The last column is a lower confidence limit (95%) of the power. Audits judge by a
confidence limit and state no power."""


def rates_page(run: RatesRun) -> str:
    """Return the page."""
    return md.document(
        [
            GENERATED,
            "# Error rates, measured",
            *(f"**{line}**" for line in rates_summary(run)),
            " ".join(RATES_INTRODUCTION.format(within=_covered_checks(run)).split()),
            md.table(
                [
                    "check",
                    "budget",
                    "alpha",
                    "said",
                    "false reds",
                    "faults refuted",
                    "power stated",
                    "power at least",
                ],
                [
                    _rates_row(rates)
                    for rates in sorted(run.checks, key=lambda rates: not rates.wrong)
                ],
                right=range(4, 8),
            ),
        ]
    )


def rates_summary(run: RatesRun) -> Iterator[str]:
    """Yield two lines with the result."""
    reds = sum(rates.false_reds for rates in run.checks)
    judged = sum(len(rates.says) for rates in run.checks)
    planted = sum(rates.planted for rates in run.checks)
    detected = sum(rates.seen for rates in run.checks)
    yield (
        f"{plural(len(run.checks), 'check')} with {plural(run.seeds, 'seed')} each: {plural(reds, 'false red')} in "
        f"{judged} judgements, {detected} of {planted} planted faults refuted."
    )
    yield f"{plural(len(run.wrong), 'check')} with other rates than stated."


def _covered_checks(run: RatesRun) -> str:
    """Return which checks the page covers; the reader must not assume that it has all checks with an error rate."""
    names = (
        run.budget
        if run.budget == "smoke"
        else f"smoke or {run.budget}, the smaller of those in which it does"
    )
    return f"in the budget {names} (those that spend one only in larger budgets are not on this page)"


def _rates_row(rates: CheckRates) -> list[str]:
    statuses = ", ".join(
        f"{count} {md.prose(status)}"
        for status, count in Counter(rates.says).most_common()
    )
    least = f"{rates.power_at_least:.3f}" if rates.planted else ""
    power = f"{rates.power:.4f}" if rates.power else ""
    reds = "" if rates.pinned == "refuted" else str(rates.false_reds)
    mark = "✗ " * rates.wrong
    faults = f"{rates.seen} of {rates.planted}" if rates.planted else ""
    return [
        f"{mark}{md.code(rates.check)}",
        rates.budget,
        f"{rates.alpha:.0e}",
        statuses,
        reds,
        faults,
        power,
        least,
    ]


RATES_PAGE = RecordedPage("rates", RatesRun, rates_page)


SEARCH_INTRODUCTION = """\
Each inequality below is false at points that are hard to find, and one counterexample is known. The search that judges
claims looks for a counterexample under the conditions of a run: with the number of points that its share of the budget
allows, without hints, and with other draws for each seed. A refuted claim shows the simplest counterexample that the
search finds, so its length is measured as well. The length is the number of bits of all numerators and denominators:
the median over the seeds that found a counterexample, next to the length of the known one. *Always* means for every
seed, *sometimes* for some seeds."""

MISSED_BY_SEARCH = """\
A claim that is *not refuted* by a search alone may be false at such points. A check can name points that are tried
first. No such points were named here."""


def search_page(run: SearchRun) -> str:
    """Return the page."""
    true = [hunted for hunted in run.inequalities if not hunted.kind]
    return md.document(
        [
            GENERATED,
            "# What the search for counterexamples finds",
            *(f"**{line}**" for line in search_summary(run)),
            " ".join(SEARCH_INTRODUCTION.split()),
            "## By kind",
            md.table(
                ["false ...", *_heads(run, "always", "sometimes", "never")],
                _by_kind(run),
            ),
            *(
                block
                for kind, title in run.kinds.items()
                for block in _inequalities_of_kind(run, kind, title)
            ),
            "## Not found by every search",
            " ".join(MISSED_BY_SEARCH.split()),
            md.bullets(
                f"{md.prose(hunted.name)}: {md.code(_inequality_text(hunted))}"
                for hunted in run.false
                if _missed(hunted)
            ),
            "## True ones",
            md.bullets(md.code(_inequality_text(hunted)) for hunted in true),
        ]
    )


def search_summary(run: SearchRun) -> Iterator[str]:
    """Yield a line with the result for each budget, and a line for the true inequalities."""
    for budget, seconds in run.seconds.items():
        always, sometimes, never = _counts(run.false, budget)
        yield (
            f"{budget.capitalize()} ({seconds:.1f} s for a search): of {len(run.false)} false inequalities {always} "
            f"are always refuted, {sometimes} sometimes, {never} never."
        )
    yield f"Of {len(run.inequalities) - len(run.false)} true inequalities, {len(run.wrong)} refuted."


def _counts(among: Iterable[Hunted], budget: str) -> tuple[int, int, int]:
    shares = [
        len(hunted.found(budget)) / len(hunted.trials[budget]) for hunted in among
    ]
    always = shares.count(1.0)
    never = shares.count(0.0)
    return always, len(shares) - always - never, never


def _heads(run: SearchRun, *columns: str) -> list[str]:
    return [f"{budget}: {column}" for budget in run.seconds for column in columns]


def _by_kind(run: SearchRun) -> Iterator[list[str]]:
    for kind, title in run.kinds.items():
        among = [hunted for hunted in run.false if hunted.kind == kind]
        yield [
            md.prose(title),
            *(str(count) for budget in run.seconds for count in _counts(among, budget)),
        ]


def _inequalities_of_kind(run: SearchRun, kind: str, title: str) -> Iterator[str]:
    yield f"## {md.prose(title[:1].upper() + title[1:])}"
    among = [hunted for hunted in run.false if hunted.kind == kind]
    header = [
        "",
        "inequality",
        *_heads(run, "found", "bits"),
        "known",
        "simplest found",
    ]
    yield md.table(header, [_inequality_row(run, hunted) for hunted in among])


def _inequality_row(run: SearchRun, hunted: Hunted) -> list[str]:
    cells = [md.prose(hunted.name), md.code(_inequality_text(hunted))]
    for budget in run.seconds:
        trials = hunted.found(budget)
        mark = "" if trials else "✗ "
        cells.append(f"{mark}{len(trials)} of {len(hunted.trials[budget])}")
        cells.append(f"{median(trial.bits for trial in trials):g}" if trials else "")
    trials = [trial for budget in run.seconds for trial in hunted.found(budget)]
    best = min(trials, key=lambda trial: trial.bits, default=None)
    simplest = (
        ""
        if best is None
        else ", ".join(f"{name} = {value}" for name, value in best.found.items())
    )
    return [*cells, str(hunted.bits), md.prose(simplest)]


def _missed(hunted: Hunted) -> bool:
    """Test whether at least one search in the largest budget found no counterexample."""
    *_, largest = hunted.trials
    return len(hunted.found(largest)) < len(hunted.trials[largest])


def _inequality_text(hunted: Hunted) -> str:
    return " for ".join(filter(None, [hunted.says, ", ".join(hunted.requires)]))


SEARCH_PAGE = RecordedPage("search", SearchRun, search_page)
