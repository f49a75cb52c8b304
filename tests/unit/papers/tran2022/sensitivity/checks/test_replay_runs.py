from fractions import Fraction

import numpy as np
import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.load import load_specs
from dpverify.papers.tran2022.sensitivity.checks.replay_runs import (
    FAULTS,
    NO_FAULT,
    Family,
    ReplayFault,
    RunCase,
    law,
    measured,
    random_ratios,
    replayed,
    worst_schedule,
)
from dpverify.papers.tran2022.sensitivity.checks.witnesses import (
    pattern_figure,
    patterns,
    short_nodes,
)
from dpverify.report.pages.figures import caption, svg
from dpverify.shared_types import ORDERINGS, Ordering
from tests.for_each import for_each

FAMILIES: tuple[Family, ...] = ("f", "g", "delta", "r")
SPECS = load_specs()


def ratios(
    family: Family, case: RunCase, ordering: Ordering, fault: ReplayFault = NO_FAULT
) -> list[float]:
    found = []
    for start, end, distance in measured(family, case, ordering, fault):
        exact = float(law(family, start, end, case, ordering))
        found.append(distance / exact if exact else 1.0 + distance)
    return found


@for_each("ordering", ORDERINGS)
@for_each("family", FAMILIES)
@for_each("case", [RunCase(3, 26, Fraction(3, 8)), RunCase(7, 33, Fraction(5, 32))])
def test_every_node_moves_by_exactly_what_the_closed_form_says(
    case: RunCase, family: Family, ordering: Ordering
) -> None:
    assert ratios(family, case, ordering) == pytest.approx(
        [1.0] * len(ratios(family, case, ordering)), rel=1e-12
    )


@for_each("family", FAMILIES)
def test_each_fault_shows(family: Family) -> None:
    case = RunCase(3, 26, Fraction(3, 8))
    for fault in FAULTS[family]:
        off = [abs(ratio - 1.0) for ratio in ratios(family, case, "fresh", fault)]
        assert max(off) > 5e-10, fault.name


@for_each("ordering", ORDERINGS)
@for_each("family", FAMILIES)
def test_random_runs_never_move_a_node_by_more(
    family: Family, ordering: Ordering
) -> None:
    rng = np.random.default_rng(7)
    found = [random_ratios(family, ordering, rng)[0] for _ in range(40)]
    assert max(found) <= 1.0 + 1e-12
    assert max(found) > 0.5


@for_each("ordering", ORDERINGS)
def test_schedules_are_permutations(ordering: Ordering) -> None:
    case = RunCase(5, 23, Fraction(1, 4))
    for start, end in ((1, 1), (9, 16), (17, 20), (1, 16)):
        schedule = worst_schedule("f", start, end, case, ordering).tolist()
        epochs = [schedule[first : first + 5] for first in range(0, 23, 5)]
        assert all(sorted(epoch) == [0, 1, 2, 3, 4] for epoch in epochs[:-1])
        assert len(set(epochs[-1])) == len(epochs[-1]) == 3
        if ordering == "once":
            assert all(epoch == epochs[0] for epoch in epochs[:-1])


def judged(
    claim: str, family: Family, ordering: Ordering, names: tuple[str, str]
) -> CheckResult:
    check = replayed(claim, family, names)
    statement = SPECS.claim(f"tran2022:{claim}").statement({"ordering": ordering})
    assert check.applies(statement)
    return check.run_block(Context(statement, BUDGETS["smoke"], 0, "replay"), 0)


def test_a_measured_counterexample_refutes_and_a_bound_that_holds_stands() -> None:
    fresh = judged("theorem-4-sensitivity", "f", "fresh", ("node_start", "node_end"))
    once = judged("theorem-4-sensitivity", "f", "once", ("node_start", "node_end"))
    assert (fresh.status, once.status) == ("refuted", "not refuted")
    largest = fresh.counterexamples[-1]
    assert (largest.parameters["node_end"].exact, largest.parameters["N"].exact) == (
        "144",
        "11",
    )
    assert largest.note.startswith("measured on the kernels: 0.41496")


def test_patterns_are_one_visit_per_epoch() -> None:
    assert sorted(patterns(3, 5, 3, "once")) == [[3], [4], [5]]
    assert sorted(patterns(3, 5, 3, "fresh")) == [[], [3], [3, 4], [3, 5], [4], [5]]
    assert sorted(patterns(1, 3, 3, "fresh")) == [[1], [2], [3]]
    assert max(end for _, _, end in short_nodes(BUDGETS["smoke"])) == 12


def test_figure_can_be_drawn() -> None:
    columns = pattern_figure()["pattern"]
    assert "as printed 1.339" in caption("pattern", columns)
    assert "a fresh permutation in every epoch 2.213" in caption("pattern", columns)
    picture = svg("pattern", columns)
    assert picture == svg("pattern", columns)
    fewer = {
        name: values for name, values in columns.items() if not name.startswith("epoch")
    }
    assert svg("pattern", fewer) != picture
    assert (
        svg("pattern", {**columns, "fresh": [value / 2 for value in columns["fresh"]]})
        != picture
    )
