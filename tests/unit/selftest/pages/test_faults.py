"""The page of the selftest: who saw what, what was missed, and what no claim guards."""

from pathlib import Path

import pytest

from dpverify.ledger.records import encode
from dpverify.report.collect import ReportError
from dpverify.report.words import GENERATED
from dpverify.selftest.pages import SELFTEST_PAGE, by_guard, selftest_page
from dpverify.selftest.records import Detection, FaultOutcome, Selftest, Sighting

TEST = "tests/unit/a/test_b.py::test_it"


def outcome(name: str, module: str, **seen: Detection) -> FaultOutcome:
    sightings = [
        Sighting(
            check=TEST if check == "test" else "p:c",
            saw=saw,
            by=["law"],
            detects=["2%"],
        )
        for check, saw in seen.items()
    ]
    return FaultOutcome(
        id=name, kind="noise", what=f"fault {name}", module=module, sightings=sightings
    )


RUN = Selftest(
    versions={"python": "3"},
    commit="abc",
    machine={},
    kinds={"noise": "Noise", "seeds": "Seeds"},
    modules=["dpverify.a", "dpverify.b", "dpverify.c.d"],
    faults=[
        outcome(
            "both", "dpverify.a", claim="sources disagree", test="assertion failed"
        ),
        outcome("tested", "dpverify.b", test="assertion failed"),
        outcome("late", "dpverify.c.d", claim="nothing", test="time limit"),
    ],
    catalogue=4,
)


def test_modules_are_sorted_by_what_guards_them() -> None:
    assert by_guard(RUN) == {
        "claims": ["dpverify.a"],
        "tests": ["dpverify.b"],
        "none": ["dpverify.c.d"],
    }


def test_the_page_says_who_saw_what() -> None:
    page = selftest_page(RUN)
    assert (
        "3 faults planted, one at a time: 2 detected by all claims and tests that must detect them, 1 not."
        in page
    )
    assert "1 fault of the catalogue was not planted" in page
    assert "| [Noise](#noise) |  | 1 | 1 | 1 | 3 |" in page
    assert (
        "`p:c` (law): sources disagree<br>`test_b.py::test_it`: assertion failed | 2% |"
        in page
    )
    assert "`p:c` (law): ✗ not seen<br>`test_b.py::test_it`: ✗ time limit" in page
    assert (
        "In 1 module only tests detect the planted faults, and no claim does:\n\n- `dpverify.b`"
        in page
    )
    assert "Seeds" not in page


def test_the_page_is_made_of_its_data(tmp_path: Path) -> None:
    assert SELFTEST_PAGE.read(tmp_path) is None
    assert SELFTEST_PAGE.check(tmp_path) == []
    assert SELFTEST_PAGE.write(RUN, tmp_path) == ["data/selftest.json", "selftest.md"]
    assert SELFTEST_PAGE.read(tmp_path) == RUN
    (tmp_path / "selftest.md").write_text(f"{GENERATED}\nchanged")
    assert SELFTEST_PAGE.check(tmp_path) == ["selftest.md"]
    assert SELFTEST_PAGE.regenerate(tmp_path) == ["selftest.md"]
    (tmp_path / "data" / "selftest.json").write_bytes(
        encode(RUN).replace(b'"schema": 1', b'"schema": 2')
    )
    with pytest.raises(
        ReportError, match=r"selftest\.json: Invalid enum value 2 - at `\$\.schema`"
    ):
        SELFTEST_PAGE.read(tmp_path)
