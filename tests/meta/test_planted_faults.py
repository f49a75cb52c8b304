"""Planted rules of the papers run code of the rule that they change, and use the point that they receive."""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from itertools import islice
from types import CodeType, FunctionType
from typing import Any

from dpverify.harness import (
    BUDGETS,
    MonteCarloCheck,
    Outcome,
    Planted,
    Point,
    SearchCheck,
)
from dpverify.harness.checks import as_point
from dpverify.harness.run.sources import PAPERS as SOURCE
from dpverify.harness.run.sources import load_checks
from dpverify.harness.search.exhaustive_check import ExhaustiveCheck
from dpverify.harness.sides import ChangedStatement, Rule
from dpverify.ledger import load_specs
from dpverify.ledger.statements import Statement
from tests.for_each import for_each

PAPERS = ("tran2022", "wang2019", "zhang2021", "tools")


def is_of_papers(function: FunctionType) -> bool:
    return (
        function.__module__.startswith("dpverify.papers.")
        or function.__module__ == __name__
    )


def nested(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and the code objects of the functions that it makes."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


def reached(rule: Any) -> set[CodeType]:
    """Return the code of papers that a rule, a left side or a simulation consists of or may call."""
    found = set[CodeType]()
    seen = set[FunctionType]()
    waiting = [rule]
    while waiting:
        value = waiting.pop()
        if isinstance(value, partial):
            waiting += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, FunctionType) and value not in seen:
            seen.add(value)
            codes = list(nested(value.__code__))
            found.update(
                code
                for code in codes
                if code.co_name != "<lambda>" and is_of_papers(value)
            )
            instructions = [
                each for code in codes for each in dis.get_instructions(code)
            ]
            names = {
                each.argval for each in instructions if each.opname == "LOAD_GLOBAL"
            }
            waiting += [
                value.__globals__[name] for name in names if name in value.__globals__
            ]
            waiting += [cell.cell_contents for cell in value.__closure__ or ()]
    return found


def looks_at_its_point(rule: Any) -> bool:
    """Test whether a rule reads its first free parameter."""
    place = len(rule.args) if isinstance(rule, partial) else 0
    function = rule.func if isinstance(rule, partial) else rule
    return any(
        i.opname.startswith("LOAD") and i.argval == function.__code__.co_varnames[place]
        for i in dis.get_instructions(function)
    )


#: Instructions of an expression that consists of constants only; MAKERS has the names that it may load.
BUILT = {
    "LOAD_CONST",
    "RETURN_CONST",
    "PUSH_NULL",
    "PRECALL",
    "CALL",
    "KW_NAMES",
    "CALL_KW",
    "BUILD_TUPLE",
    "UNARY_NEGATIVE",
    "COPY_FREE_VARS",
}
MAKERS = {"Outcome", "Fraction"}


def returned(code: CodeType) -> list[list[dis.Instruction]]:
    """Return the instructions of each return statement of a function."""
    expressions = []
    current: list[dis.Instruction] = []
    for each in dis.get_instructions(code):
        if each.opname == "RETURN_CONST":
            current.append(each)
        if each.opname in {"RETURN_VALUE", "RETURN_CONST"}:
            expressions.append(current)
            current = []
        elif each.opname in {"POP_TOP", "RESUME", "NOP"} or each.opname.startswith(
            ("STORE_", "POP_JUMP")
        ):
            current = []
        else:
            current.append(each)
    return expressions


def is_constant(expression: list[dis.Instruction]) -> bool:
    """Test whether an expression uses no computed value. Returns from a ``with`` block are not recognized."""
    return bool(expression) and all(
        each.opname in BUILT or each.argval in MAKERS for each in expression
    )


def returns_constants(rule: Any) -> bool:
    """Test whether a rule returns only constants, regardless of what it calls before."""
    function = rule.func if isinstance(rule, partial) else rule
    return all(is_constant(expression) for expression in returned(function.__code__))


def why_no_change(is_satisfied: Rule, changed: Rule) -> str:
    """Return why a rule is not a changed form of another rule, or an empty text if it is."""
    if not looks_at_its_point(changed):
        return "it does not look at its point"
    if returns_constants(changed):
        return "it returns a constant"
    return (
        ""
        if reached(is_satisfied) & reached(changed)
        else "it runs nothing of the rule"
    )


MOST_POINTS = 60


def answers(rule: Rule, point: Point, statement: Statement) -> tuple[object, ...]:
    """Return the outcome of a rule at a point, with both sides."""
    said = rule(point, statement)
    outcome = said if isinstance(said, Outcome) else Outcome(said)
    return outcome.ok, str(outcome.lhs), str(outcome.rhs)


def why_no_outcome(
    is_satisfied: Rule, changed: Rule, points: Iterable[Point], statement: Statement
) -> str:
    """Return why the outcome of a changed rule does not depend on the point, or an empty text if it may."""
    first: tuple[object, ...] | None = None
    seen: list[Point] = []
    for point in points:
        outcome = answers(changed, point, statement)
        if first not in {None, outcome}:
            return ""
        first = outcome
        seen.append(point)
    own = {answers(is_satisfied, point, statement) for point in seen}
    return (
        f"it says {first} at {len(seen)} points, where the rule has {len(own)} outcomes"
        if len(own) > 1
        else ""
    )


def smoke_points(check: ExhaustiveCheck, statement: Statement) -> Iterator[Point]:
    """Return the first points of a smoke run."""
    points = map(as_point, islice(check.points(BUDGETS["smoke"]), MOST_POINTS))
    return (point for point in points if check.meets_conditions(point, statement))


def planted_rules() -> Iterator[tuple[str, Rule, ChangedStatement]]:
    for paper in PAPERS:
        checks = load_checks(SOURCE, paper)
        for entry in checks.entries() if checks is not None else ():
            check = entry.check
            if isinstance(check, ExhaustiveCheck) and check.is_satisfied is not None:
                for changed in (*check.planted, *check.neighbours):
                    if changed.is_satisfied is not None:
                        yield (
                            f"{paper}:{check.claim} {check.name}: {changed.name}",
                            check.is_satisfied,
                            changed,
                        )


def test_each_planted_rule_depends_on_what_is_checked() -> None:
    rules = list(planted_rules())
    assert len(rules) > 100
    wrong = [
        (name, why)
        for name, is_satisfied, changed in rules
        if changed.is_satisfied
        and (why := why_no_change(is_satisfied, changed.is_satisfied))
    ]
    assert wrong == []


def faults_that_do_not_vary() -> Iterator[tuple[str, str]]:
    specs = load_specs()
    for paper in PAPERS:
        checks = load_checks(SOURCE, paper) if paper in specs.papers else None
        for entry in checks.entries() if checks is not None else ():
            check = entry.check
            if isinstance(check, ExhaustiveCheck) and check.is_satisfied is not None:
                statements = specs.claim(f"{paper}:{check.claim}").statements()
                judged = next(
                    statement for statement in statements if check.applies(statement)
                )
                for fault in check.planted:
                    if fault.is_satisfied is not None:
                        why = why_no_outcome(
                            check.is_satisfied,
                            fault.is_satisfied,
                            smoke_points(check, judged),
                            judged,
                        )
                        yield f"{paper}:{check.claim} {check.name}: {fault.name}", why


def test_the_outcome_of_each_planted_rule_varies_with_what_is_checked() -> None:
    assert {name: why for name, why in faults_that_do_not_vary() if why} == {}


def changed_code() -> Iterator[tuple[str, Any, Any]]:
    """Yield the left sides and simulations of checks, each with its changed form."""
    for paper in PAPERS:
        checks = load_checks(SOURCE, paper)
        for entry in checks.entries() if checks is not None else ():
            check = entry.check
            name = f"{paper}:{check.claim} {check.name}"
            if (
                isinstance(check, SearchCheck | ExhaustiveCheck)
                and check.lhs is not None
            ):
                for changed in (*check.planted, *check.neighbours):
                    if changed.lhs is not None:
                        yield f"{name}: {changed.name}", check.lhs, changed.lhs
            if isinstance(check, MonteCarloCheck):
                for control in (*check.controls, *check.neighbours):
                    yield f"{name}: {control.name}", check.simulate, control.simulate


def test_each_changed_left_side_and_simulation_runs_code_of_its_check() -> None:
    pairs = list(changed_code())
    assert len(pairs) > 50
    assert [
        name for name, own, changed in pairs if not reached(own) & reached(changed)
    ] == []


def _measured(point: Any) -> Fraction:
    return Fraction(point["n"])


def _rule(point: Any, statement: Any, most: int = 5) -> Outcome:
    return Outcome(_measured(point) <= most)


def _calls_in_vain(point: Any, statement: Any) -> Outcome:
    _rule(point, statement)
    return Outcome(False)


def _calls_in_vain_or_not(point: Any, statement: Any) -> Outcome:
    if _rule(point, statement).ok:
        return Outcome(False, Fraction(1), note="always")
    return Outcome(False, -Fraction(1))


@for_each(
    "fault",
    [
        lambda p, s: Outcome(False),
        lambda p, s: False,
        lambda p, s: Outcome(False, Fraction(1)),
        lambda p, s: Outcome(p["n"] < 0),
        _calls_in_vain,
        _calls_in_vain_or_not,
    ],
)
def test_a_fault_that_does_not_depend_on_the_rule_is_rejected(fault: Rule) -> None:
    assert why_no_change(_rule, fault)


@for_each(
    "fault",
    [
        partial(_rule, most=4),
        lambda p, s: _rule(p, s, 4),
        lambda p, s: _measured(p) < 5,
    ],
)
def test_a_fault_that_changes_the_rule_is_accepted(fault: Rule) -> None:
    assert Planted("less", is_satisfied=fault).is_satisfied is fault
    assert why_no_change(_rule, fault) == ""


STATEMENT: Any = None
PLACES: list[Point] = [{"n": Fraction(n)} for n in range(10)]


@for_each(
    "fault",
    [
        lambda p, s: Outcome(_rule(p, s) is None),
        lambda p, s: (_rule(p, s), Outcome(False))[1],
        lambda p, s: Outcome(bool(_rule(p, s).ok) and False),
    ],
)
def test_a_fault_with_one_outcome_where_the_rule_has_two_is_rejected(
    fault: Rule,
) -> None:
    assert why_no_outcome(_rule, fault, PLACES, STATEMENT)


@for_each(
    "fault",
    [partial(_rule, most=4), lambda p, s: Outcome(_measured(p) < 5, _measured(p))],
)
def test_a_fault_whose_outcome_varies_is_accepted(fault: Rule) -> None:
    assert why_no_outcome(_rule, fault, PLACES, STATEMENT) == ""


def test_a_fault_that_is_seen_everywhere_is_accepted_where_the_rule_holds_everywhere() -> (
    None
):
    assert (
        why_no_outcome(
            partial(_rule, most=20), partial(_rule, most=-1), PLACES, STATEMENT
        )
        == ""
    )
