"""The summary of a run of CI: the worst first, and nothing where nothing is red."""

import runpy
from pathlib import Path

from dpverify.ledger.records import encode
from dpverify.selftest.records import (
    NOTHING_RUNS,
    CheckRates,
    FaultOutcome,
    MutantsRun,
    RatesRun,
    SearchedInequality,
    SearchRun,
    Selftest,
    Sighting,
    Trial,
)

SUMMARY = runpy.run_path(str(Path(__file__).parents[3] / ".ci" / "summary.py"))[
    "summary"
]
JUNIT = """<testsuites><testsuite>
<testcase name="test_plain"><failure message="assert 1 == 2">...</failure></testcase>
<testcase name="test_green"/>
<testcase name="p:c[printed|law]"><failure message="p:c: missed the planted fault scale (times 2)"/></testcase>
<testcase name="p:c[printed|pin]@p:c"><failure message="the sources disagree"/></testcase>
</testsuite></testsuites>"""


def test_the_worst_stands_first(tmp_path: Path) -> None:
    assert SUMMARY(tmp_path) == "It ended before any test."
    (tmp_path / "junit.xml").write_text(JUNIT)
    sightings = [
        Sighting(check="p:c", saw="nothing"),
        Sighting(check="p:d", saw="pin contradicted"),
    ]
    faults = [
        FaultOutcome(id="f", kind="noise", what="it", module="m", sightings=sightings)
    ]
    run = Selftest(
        versions={},
        commit="",
        machine={},
        kinds={},
        modules=[],
        faults=faults,
        catalogue=1,
    )
    (tmp_path / "selftest.json").write_bytes(encode(run))
    assert SUMMARY(tmp_path).splitlines() == [
        "## 1 contradicted pins",
        "- `p:c[printed|pin]@p:c`: the sources disagree",
        "## 1 missed controls",
        "- `p:c[printed|law]`: p:c: missed the planted fault scale (times 2)",
        "## 1 faults that the selftest missed",
        "- `f`: p:c: nothing",
        "## 1 failing tests",
        "- `test_plain`: assert 1 == 2",
    ]


def test_nothing_is_red(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(
        "<testsuites><testcase name='test_green'/></testsuites>"
    )
    assert SUMMARY(tmp_path) == "Nothing is red in junit.xml."


def test_so_does_what_a_night_finds(tmp_path: Path) -> None:
    """Machine changes, error rates and the search's own test, and tests that were run again under load."""
    (tmp_path / "junit-load-2.xml").write_text(JUNIT.replace("plain", "hurried"))
    blind = [Sighting(check="tests/t.py", saw="nothing")]
    seen = [*blind, Sighting(check="p:c", saw="pin contradicted")]
    changes = [
        FaultOutcome(
            id=module,
            kind="change",
            what="< for <=",
            module=module,
            sightings=sightings,
            error=error,
        )
        for module, sightings, error in (
            ("m.blind", blind, ""),
            ("m.seen", seen, ""),
            ("m.breaks", [], NOTHING_RUNS),
        )
    ]
    mutants = MutantsRun(
        commit="", modules=["m.blind", "m.breaks", "m.seen", "m.waits"], changes=changes
    )
    rates = [
        CheckRates(
            check=name, pinned="not refuted", alpha=1e-6, power=0.99, detects="", says=["refuted", "not refuted"],
            planted=2, seen=1, power_at_least=0.0, wrong=wrong,
        )
        for name, wrong in (("p:c[law]", True), ("p:d[law]", False))
    ]  # fmt: skip
    trials = {
        "smoke": [
            Trial(seed=0, points=9),
            Trial(seed=1, points=9, found={"x": "1"}, bits=1),
        ]
    }
    hunted = [
        SearchedInequality(
            name=f"is {kind}",
            kind=kind,
            says="x < 1",
            requires=[],
            bits=0,
            trials=trials,
        )
        for kind in ("", "far")
    ]
    (tmp_path / "mutants.json").write_bytes(encode(mutants))
    (tmp_path / "rates.json").write_bytes(
        encode(RatesRun(budget="smoke", seeds=2, checks=rates))
    )
    (tmp_path / "search.json").write_bytes(
        encode(SearchRun(kinds={}, seconds={"smoke": 1.0}, inequalities=hunted))
    )
    found = SUMMARY(tmp_path).splitlines()
    assert found[2:6] == [
        "## 1 true inequalities that the search refuted",
        "- `is `: x < 1 at {'x': '1'}",
        "## 1 checks with other error rates than stated",
        "- `p:c[law]`: 1 false refutations with 2 seeds, 1 of 2 planted faults refuted",
    ]
    assert found[8:] == [
        "## 1 failing tests",
        "- `test_hurried`: assert 1 == 2",
        "## 1 modules where no change of a machine was noticed",
        "- `m.blind`: < for <=; tests/t.py: nothing",
        "## 1 modules where no change has been tried yet",
        "- `m.waits`: the run ended before it",
    ]
