"""Planted rules of the papers run code of the rule that they change, at the point that they are given."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from types import CodeType, FunctionType
from typing import Any

import pytest

from dpverify.harness import MonteCarloCheck, Outcome, Planted, SearchCheck
from dpverify.harness.planted import ChangedStatement, Rule
from dpverify.harness.run.sources import PAPERS as SOURCE
from dpverify.harness.run.sources import load_checks
from dpverify.harness.search.exhaustive_check import ExhaustiveCheck

PAPERS = ("tran2022", "wang2019", "zhang2021", "tools")


def is_of_papers(function: FunctionType) -> bool:
    return function.__module__.startswith("dpverify.papers.") or function.__module__ == __name__


def nested(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of the functions that it makes."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


def reached(rule: Any) -> set[CodeType]:
    """Code of papers that a rule, a left side or a simulation is made of or may call."""
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
            found.update(code for code in codes if code.co_name != "<lambda>" and is_of_papers(value))
            instructions = [each for code in codes for each in dis.get_instructions(code)]
            names = {each.argval for each in instructions if each.opname == "LOAD_GLOBAL"}
            waiting += [value.__globals__[name] for name in names if name in value.__globals__]
            waiting += [cell.cell_contents for cell in value.__closure__ or ()]
    return found


def looks_at_its_point(rule: Any) -> bool:
    """Whether a rule reads its first free parameter."""
    place = len(rule.args) if isinstance(rule, partial) else 0
    function = rule.func if isinstance(rule, partial) else rule
    return any(
        i.opname.startswith("LOAD") and i.argval == function.__code__.co_varnames[place]
        for i in dis.get_instructions(function)
    )


def why_no_change(holds: Rule, changed: Rule) -> str:
    """Why a rule is no changed form of another one; empty where it is one."""
    if not looks_at_its_point(changed):
        return "it does not look at its point"
    return "" if reached(holds) & reached(changed) else "it runs nothing of the rule"


def planted_rules() -> Iterator[tuple[str, Rule, ChangedStatement]]:
    for paper in PAPERS:
        checks = load_checks(SOURCE, paper)
        for entry in checks.entries() if checks is not None else ():
            check = entry.check
            if isinstance(check, ExhaustiveCheck) and check.holds is not None:
                for changed in (*check.planted, *check.neighbours):
                    if changed.holds is not None:
                        yield f"{paper}:{check.claim} {check.name}: {changed.name}", check.holds, changed


def test_each_planted_rule_depends_on_what_is_checked() -> None:
    rules = list(planted_rules())
    assert len(rules) > 100
    wrong = [
        (name, why) for name, holds, changed in rules if changed.holds and (why := why_no_change(holds, changed.holds))
    ]
    assert wrong == []


def changed_code() -> Iterator[tuple[str, Any, Any]]:
    """Left sides and simulations of checks, each with a changed one."""
    for paper in PAPERS:
        checks = load_checks(SOURCE, paper)
        for entry in checks.entries() if checks is not None else ():
            check = entry.check
            name = f"{paper}:{check.claim} {check.name}"
            if isinstance(check, SearchCheck | ExhaustiveCheck) and check.lhs is not None:
                for changed in (*check.planted, *check.neighbours):
                    if changed.lhs is not None:
                        yield f"{name}: {changed.name}", check.lhs, changed.lhs
            if isinstance(check, MonteCarloCheck):
                for control in (*check.controls, *check.neighbours):
                    yield f"{name}: {control.name}", check.simulate, control.simulate


def test_each_changed_left_side_and_simulation_runs_code_of_its_check() -> None:
    pairs = list(changed_code())
    assert len(pairs) > 50
    assert [name for name, own, changed in pairs if not reached(own) & reached(changed)] == []


def _measured(point: Any) -> Fraction:
    return Fraction(point["n"])


def _rule(point: Any, statement: Any, most: int = 5) -> Outcome:
    return Outcome(_measured(point) <= most)


@pytest.mark.parametrize(
    "fault",
    [
        lambda p, s: Outcome(False),
        lambda p, s: False,
        lambda p, s: Outcome(False, Fraction(1)),
        lambda p, s: Outcome(p["n"] < 0),
    ],
)
def test_a_fault_that_does_not_depend_on_the_rule_is_rejected(fault: Rule) -> None:
    assert why_no_change(_rule, fault)


@pytest.mark.parametrize("fault", [partial(_rule, most=4), lambda p, s: _rule(p, s, 4), lambda p, s: _measured(p) < 5])
def test_a_fault_that_changes_the_rule_is_accepted(fault: Rule) -> None:
    assert Planted("less", holds=fault).holds is fault
    assert why_no_change(_rule, fault) == ""
