"""A rule with a table of onsets: the table and the figure come with longer runs."""

from __future__ import annotations

from dpverify.harness import BUDGETS, Context, Outcome, Planted
from dpverify.harness.search.derived_checks import OnsetCheck
from dpverify.ledger.statements import Statement

COLUMNS = {"onset": {"x": [1.0]}}


def check() -> OnsetCheck:
    return OnsetCheck(
        "walk",
        "onset",
        table=lambda: "below from s = 3",
        points=lambda _: [{"s": s} for s in range(3)],
        is_satisfied=lambda point, statement: Outcome(point["s"] < 3),
        planted=[
            Planted(
                "a lower limit",
                is_satisfied=lambda point, statement: Outcome(point["s"] < 2),
            )
        ],
        figures=lambda _: COLUMNS,
        seconds=5.0,
    )


def test_the_table_and_the_figure_come_with_longer_runs(
    statements: dict[str, Statement],
) -> None:
    short, long = (
        Context(statements["walk"], BUDGETS[name], 0, "onset")
        for name in ("smoke", "standard")
    )
    quick, found = check().run_block(short, 0), check().run_block(long, 0)
    assert (quick.status, found.status) == ("not refuted", "not refuted")
    assert (quick.figures, found.figures) == ({}, COLUMNS)
    assert "below from s = 3" in found.message
    assert "below from s = 3" not in quick.message
    assert [control.refuted for control in found.controls] == [True]
    assert (check().cost(short), check().cost(long)) == (1.0, 5.0)
