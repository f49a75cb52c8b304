from collections.abc import Callable
from dataclasses import replace

from dpverify.ledger.load import load_specs
from dpverify.ledger.records import Amendment, Verdict
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.sensitivity.sensitivity_derivations import (
    derive_drift,
    derive_sensitivity,
    derive_sum,
    derive_terms,
)
from dpverify.papers.tran2022.sensitivity.visits_derivations import (
    derive_ancestors,
    derive_count_first,
    derive_count_later,
    derive_distance,
    derive_later_simple,
    derive_level_count,
    derive_v,
)
from dpverify.symbolic.derive.derivation import Derivation, Step, check_derivation, conclude
from tests.for_each import for_each
from tests.unit.papers.derived import faulty_steps

Build = Callable[[Statement], Derivation]
SPECS = load_specs()
FRESH, ONCE = {"ordering": "fresh"}, {"ordering": "once"}
DECAY = "(1 - (1 - alpha)**N)"
LEVELS = "sum(floor(T/2**j), j, floor(log2(N) + 1), depth)"

AMENDED: list[tuple[str, dict[str, str], Build, str]] = [
    ("theorem-4-terms", FRESH, derive_terms, "floor((node_end - 1)/N) - floor((node_start - 1)/N) + 1"),
    ("theorem-4-terms", ONCE, derive_terms, "floor((node_end - node_start)/N) + 1"),
    (
        "theorem-4-sensitivity-sum",
        FRESH,
        derive_sum,
        "2*alpha*G*(1 + sum((1-alpha)**(node_end - j*N), j, floor((node_start - 1)/N) + 1, floor((node_end - 1)/N)))",
    ),
    ("theorem-8-sensitivity-g-sum", ONCE, derive_sum, "2*G*sum((1-alpha)**(j*N), j, 0, floor((b - a)/N))"),
    ("theorem-4-sensitivity", FRESH, derive_sensitivity, "2*alpha*G*(1 + 1/(1 - exp(-1)))"),
    ("theorem-8-sensitivity-delta", ONCE, derive_sensitivity, "2*eta*N*L/(1 - exp(-1))"),
    ("algorithm-2-delta-g", FRESH, derive_sensitivity, f"2*G*(1 + (1 - alpha)/{DECAY})"),
    ("algorithm-2-delta-delta", ONCE, derive_sensitivity, f"2*eta*N*L/{DECAY}"),
    ("theorem-8-sensitivity-r", FRESH, derive_drift, "2*eta*(N - 1)*L/(1 - exp(-1))"),
    ("algorithm-2-delta-r", FRESH, derive_drift, f"2*eta*(N - 1)*L/{DECAY}"),
    ("algorithm-2-delta-r", ONCE, derive_drift, f"2*eta*(N - 1)*L/{DECAY}"),
    ("theorem-8-count-first", FRESH, derive_count_first, "2*floor(log2(N)) + 3"),
    ("algorithm-2-v-gt-2n", FRESH, derive_later_simple, "(T/N)*(floor(log2(N)) + 3)"),
    ("theorem-4-level-count", FRESH, derive_level_count, "ceil(T/N)"),
    ("algorithm-1-v", FRESH, derive_v, f"(min(depth, floor(log2(N))) + 1)*ceil(T/N) + {LEVELS}"),
    ("theorem-4-v", ONCE, derive_v, f"min(depth + 1, floor(log2(N) + 1))*ceil(T/N) + {LEVELS}"),
    ("section-4-same-example-distance", FRESH, derive_distance, "eta*(2*N - 1)"),
]

PRINTED: list[tuple[str, dict[str, str], Build, str]] = [
    ("theorem-4-sensitivity", ONCE, derive_sensitivity, "weaker"),
    ("theorem-8-sensitivity-g", ONCE, derive_sensitivity, "weaker"),
    ("theorem-8-count-later", FRESH, derive_count_later, "equal"),
    ("section-2-ancestors", {}, derive_ancestors, "equal"),
    ("section-4-distance", {}, derive_distance, "equal"),
    ("section-4-same-example-distance", ONCE, derive_distance, "equal"),
    ("theorem-8-delta-term", {}, derive_distance, "equal"),
    ("theorem-8-r-term", {"epochs": "one-based"}, derive_distance, "weaker"),
    ("theorem-8-r-term", {"epochs": "shifted"}, derive_distance, "equal"),
]


def amended(claim: str, reading: dict[str, str], formula: str) -> Statement:
    verdict = Verdict(
        claim=claim, reading=reading, status="refuted", amendment=Amendment(formula=formula, why="under test")
    )
    return replace(SPECS.claim(f"tran2022:{claim}"), verdicts=(verdict,)).statement(reading, "amended")


def proves(build: Build, statement: Statement) -> tuple[bool, str]:
    derivation = build(statement)
    return not faulty_steps(derivation, statement, points=60), conclude(derivation, statement)


@for_each(("claim", "reading", "build", "formula"), AMENDED)
def test_amended_statements_follow(claim: str, reading: dict[str, str], build: Build, formula: str) -> None:
    assert proves(build, amended(claim, reading, formula)) == (True, "equal")


@for_each(("claim", "reading", "build", "relation"), PRINTED)
def test_printed_statements_that_hold_follow(claim: str, reading: dict[str, str], build: Build, relation: str) -> None:
    assert proves(build, SPECS.claim(f"tran2022:{claim}").statement(reading)) == (True, relation)


def test_what_is_a_percent_sharper_does_not_follow() -> None:
    statement = amended("theorem-4-sensitivity", FRESH, "2*alpha*G*(1 + 0.99/(1 - exp(-1)))")
    assert proves(derive_sensitivity, statement)[1] not in {"equal", "weaker"}


def test_a_bound_without_the_second_visit_fails() -> None:
    statement = amended("theorem-8-sensitivity-r", FRESH, "2*eta*(N - 1)*L/(1 - exp(-1))")
    good = derive_drift(statement)
    first = good.steps[0]
    assert isinstance(first, Step)
    assert check_derivation(good, points=60).complete
    wrong = replace(good, steps=(replace(first, expr=first.expr / 2), *good.steps[1:]))
    assert not check_derivation(wrong, points=60).complete
