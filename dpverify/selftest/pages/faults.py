"""The selftest's part of a report: which planted fault was seen by which claim or test, and what no claim guards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dpverify.report import markdown as md
from dpverify.report.recorded import RecordedPage
from dpverify.report.words import GENERATED, plural
from dpverify.selftest.records import MARKS, FaultOutcome, Selftest, Sighting


def by_guard(run: Selftest) -> dict[str, list[str]]:
    """Modules by what saw a fault in them: a claim, tests only, or nothing because none is planted there."""
    claims = {f.module for f in run.faults if any(sighting.noticed and sighting.is_claim for sighting in f.sightings)}
    tests = {f.module for f in run.faults if f.noticed} - claims
    none = [module for module in run.modules if module not in claims | tests]
    return {"claims": sorted(claims), "tests": sorted(tests), "none": none}


def selftest_page(run: Selftest) -> str:
    """The page."""
    guards = by_guard(run)
    noticed = len(run.faults) - len(run.missed)
    return md.document(
        [
            GENERATED,
            "# Faults planted in our own code",
            f"**{plural(len(run.faults), 'fault')} planted, one at a time: {noticed} detected by all claims and "
            f"tests that must detect them, {len(run.missed)} not.**" + _left_out(run),
            " ".join(INTRODUCTION.split()),
            "## Missed" if run.missed else "",
            _faults(run, run.missed),
            "## What detects which fault",
            _matrix(run),
            *(block for kind, title in run.kinds.items() for block in _kind(run, kind, title)),
            md.anchor("guards") + "\n\n## Guarded by unit tests only",
            f"In {plural(len(guards['tests']), 'module')} only tests detect the planted faults, and no claim does:",
            md.bullets(map(md.code, guards["tests"])),
            f"In {plural(len(guards['claims']), 'module')} a claim detected a fault. "
            + NONE.format(len(guards["none"])),
            md.folded("modules without a planted fault", md.bullets(_folders(guards["none"]))),
            "## How it was made",
            md.table(["", ""], [[md.prose(name), md.code(value)] for name, value in _manifest(run).items()]),
        ]
    )


NONE = "The catalogue has no fault for the other {} with code, so this page says nothing about them:"
INTRODUCTION = """\
Each fault is one change of the code, made in a copy with a separate compile cache. In the copy the unchanged code
passes the same claims and tests. A claim detects a fault if `dpverify verify CLAIM --budget smoke` ends with exit
code 1 and that claim is red. A test detects it if the test fails. A claim or test that cannot be imported, or that runs
out of time, detects nothing. `specs/faults/` lists with each fault the claims and tests that must detect it. The
last column is the smallest fault that the checks which detected it declare, if they declare one."""


def _left_out(run: Selftest) -> str:
    left = run.catalogue - len(run.faults)
    return f" {plural(left, 'fault')} of the catalogue {'was' if left == 1 else 'were'} not planted." if left else ""


def _manifest(run: Selftest) -> dict[str, str]:
    facts = {"commit": run.commit, **{f"machine: {name}": value for name, value in sorted(run.machine.items())}}
    return {name: value for name, value in {**facts, **run.versions}.items() if value}


def _matrix(run: Selftest) -> str:
    """Kinds of faults, and what saw them."""
    rows = []
    for kind, title in run.kinds.items():
        faults = [fault for fault in run.faults if fault.kind == kind]
        guards = Counter(_who(fault) for fault in faults)
        if faults:
            row = [md.link(md.prose(title), f"#{kind}"), *(str(guards[who] or "") for who in WHO), str(len(faults))]
            rows.append(row)
    total = Counter(map(_who, run.faults))
    rows.append(["all", *(str(total[who]) for who in WHO), str(len(run.faults))])
    return md.table(["kind", *WHO, "all"], rows, right=range(1, 2 + len(WHO)))


WHO = ("by claims only", "by both", "by tests only", "missed")


def _who(fault: FaultOutcome) -> str:
    if fault.missed:
        return "missed"
    claims = [sighting.is_claim for sighting in fault.sightings]
    return "by claims only" if all(claims) else "by both" if any(claims) else "by tests only"


def _kind(run: Selftest, kind: str, title: str) -> Iterator[str]:
    faults = [fault for fault in run.faults if fault.kind == kind]
    if faults:
        yield f"{md.anchor(kind)}\n\n## {md.prose(title)}"
        yield _faults(run, faults)


def _faults(run: Selftest, faults: list[FaultOutcome]) -> str:
    rows = []
    for fault in faults:
        place = md.code(fault.module.removeprefix("dpverify."))
        size = f"\nsize: {md.prose(fault.size)}" if fault.size else ""
        who = [_sighting(sighting) for sighting in fault.sightings] or [f"✗ {md.prose(fault.error)}"]
        sizes = dict.fromkeys(size for sighting in fault.sightings for size in sighting.detects)
        rows.append([f"{md.prose(fault.what)}{size}", place, "\n".join(who), "\n".join(map(md.prose, sizes))])
    return md.table(["fault", "in", "who saw it", "the smallest that would have been seen"], rows)


def _sighting(sighting: Sighting) -> str:
    name = sighting.check if sighting.is_claim else sighting.check.rpartition("/")[2]
    by = f" ({', '.join(sighting.by)})" if sighting.is_claim and sighting.by else ""
    return f"{md.code(name)}{md.prose(by)}: {MARKS.get(sighting.saw, sighting.saw)}"


def _folders(modules: list[str]) -> Iterator[str]:
    """Modules by their packages, one line each."""
    for package in sorted({module.rpartition(".")[0] for module in modules}):
        names = [module.rpartition(".")[2] for module in modules if module.rpartition(".")[0] == package]
        yield f"{md.code(package)}: {', '.join(map(md.code, names))}"


SELFTEST_PAGE = RecordedPage("selftest", Selftest, selftest_page)
