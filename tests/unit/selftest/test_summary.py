"""The summary of a run of CI: the worst first, and nothing where nothing is red."""

import runpy
from pathlib import Path

from dpverify.ledger.records import encode
from dpverify.report.selftest import FaultOutcome, Selftest, Sighting

SUMMARY = runpy.run_path(str(Path(__file__).parents[3] / ".ci" / "summary.py"))["summary"]
JUNIT = """<testsuites><testsuite>
<testcase name="test_plain"><failure message="assert 1 == 2">...</failure></testcase>
<testcase name="test_green"/>
<testcase name="p:c[printed|law]"><failure message="p:c: missed the planted fault scale (times 2)"/></testcase>
<testcase name="p:c[printed|pin]@p:c"><failure message="the sources disagree"/></testcase>
</testsuite></testsuites>"""


def test_the_worst_stands_first(tmp_path: Path) -> None:
    assert SUMMARY(tmp_path) == "It ended before any test."
    (tmp_path / "junit.xml").write_text(JUNIT)
    sightings = [Sighting(check="p:c", saw="nothing"), Sighting(check="p:d", saw="pin contradicted")]
    faults = [FaultOutcome(id="f", kind="noise", what="it", module="m", sightings=sightings)]
    run = Selftest(versions={}, commit="", machine={}, kinds={}, modules=[], faults=faults, catalogue=1)
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
    (tmp_path / "junit.xml").write_text("<testsuites><testcase name='test_green'/></testsuites>")
    assert SUMMARY(tmp_path) == "Nothing is red in junit.xml."
