"""Report pages of planted faults and of mutations of modules.

The page of planted faults shows which claim or test detected each fault, and which modules no claim guards. The page
of mutations shows what detected the mutation of each module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dpverify.report import markdown as md
from dpverify.report.folder import RecordedPage
from dpverify.report.words import GENERATED, plural
from dpverify.selftest.records import (
    MARKS,
    FaultOutcome,
    MutantsRun,
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
            md.details_block(
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
