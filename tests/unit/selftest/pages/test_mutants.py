from __future__ import annotations

import msgspec

from dpverify.selftest.pages import mutants_page
from dpverify.selftest.pages import mutants_summary as summary
from dpverify.selftest.records import (
    NOTHING_RUNS,
    Detection,
    FaultOutcome,
    MutantsRun,
    Sighting,
)


def change(module: str, saw: Detection) -> FaultOutcome:
    sighting = Sighting(check=f"tests/test_{module}.py", saw=saw)
    return FaultOutcome(
        id=module,
        kind="machine",
        what="line 1: 0 becomes (1)",
        module=module,
        sightings=[sighting],
    )


NOTHING = FaultOutcome(id="c", kind="machine", what="", module="c")
RUN = MutantsRun(
    commit="abc",
    modules=["a", "b", "c"],
    changes=[change("a", "assertion failed"), change("b", "nothing"), NOTHING],
)


def test_modules_where_nothing_is_noticed_are_named() -> None:
    (line,) = summary(RUN)
    assert line.startswith(
        "3 modules without a fault in the catalogue: in 1 a change was noticed, in 1 none was, "
    )
    assert line.endswith(", in 1 there is nothing to change.")
    page = mutants_page(RUN)
    unseen, noticed = page.split("## Noticed")
    assert "`b` | `line 1: 0 becomes (1)` | `tests/test_b.py`: nothing" in unseen
    assert "`c`" in unseen.split("## Nothing to change")[1]
    assert "`a`: tests/test_a.py (assertion failed)" in noticed


def test_what_nobody_has_looked_at_yet_is_said() -> None:
    run = MutantsRun(
        commit="abc", modules=["a", "d"], changes=[change("a", "assertion failed")]
    )
    assert next(iter(summary(run))).endswith(
        ": in 1 a change was noticed, in 1 nobody has looked yet."
    )
    assert "`d`" in mutants_page(run).split("## Not looked at yet")[1]
    assert "## Not looked at yet" not in mutants_page(RUN)


def test_a_module_without_which_nothing_runs_stands_by_itself() -> None:
    broken = msgspec.structs.replace(change("b", "did not run"), error=NOTHING_RUNS)
    run = MutantsRun(
        commit="abc",
        modules=["a", "b"],
        changes=[change("a", "assertion failed"), broken],
    )
    assert next(iter(summary(run))).endswith(
        ": in 1 a change was noticed, in 1 nothing runs after any."
    )
    page = mutants_page(run)
    assert "`b`: `line 1: 0 becomes (1)`" in page.split("## Nothing runs")[1]
    assert "`b`" not in page.split("## Nothing runs")[0]
    assert "## Not noticed" not in page
    assert "## Nothing runs" not in mutants_page(RUN)
