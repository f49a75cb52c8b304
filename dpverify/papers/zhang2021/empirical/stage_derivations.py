"""Derivations of a stage's contraction: momentum's squares and the variance, where steps are short enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sympy import Rational

from dpverify.ledger.statements import Statement
from dpverify.papers.zhang2021.empirical.derivations import chain
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols


def _chain(statement: Statement, start: Any, *steps: Step) -> Derivation:
    """Make a derivation that is sampled where steps are short enough."""
    letters: Mapping[str, Any] = sympy_symbols(statement)
    theta, rho, beta = (letters[name] for name in ("theta", "rho", "beta"))
    derivation = chain(statement, start, *steps)
    where = {
        "theta": real(0, 2, open_lo=True),
        "rho": real(0, Rational(9, 10)),
        "beta": real(1, 9),
        "mu": real(Rational(1, 10), 1),
        "eta": real(0, theta * (1 - rho) ** 2 / (2 * beta), open_lo=True),
        "steps": integer(1, 99),
        "m": integer(0, letters.get("steps", 99)),
    }
    drawn_first = [name for name in derivation.variables if name not in ("eta", "m")]
    order = [*drawn_first, *(name for name in ("eta", "m") if name in derivation.variables)]
    return replace(derivation, variables={name: where.get(name, derivation.variables[name]) for name in order})


def with_momentum(statement: Statement) -> Derivation:
    """Derive what steps with momentum leave: eta beta is at most theta (1 - rho)^2/2, and theta at most 2."""
    start, end = sympy_sides(statement)
    names = ("eta", "theta", "rho", "beta", "square", "excess", "summed", "m", "V")
    eta, theta, rho, beta, square, excess, summed, m, V = (sympy_symbols(statement)[name] for name in names)
    first = square - 2 * eta * theta * summed / (1 - rho) + 2 * eta * rho / (1 - rho) ** 2 * excess
    noise = (eta / (1 - rho)) ** 2 * m * V
    step_bound = theta * (1 - rho) ** 2 / 2
    squares = (eta / (1 - rho)) ** 2 * (2 * beta * summed + m * V)
    return _chain(
        statement,
        start,
        Step.order(first + (rho / (1 - rho) ** 2 * HOLE + 1) * squares, eta * beta, step_bound),
        Step(first + (rho * theta / 2 + 1) * squares, "="),
        Step.order(first + (rho / 2 * HOLE + 1) * squares, theta, 2),
        Step(first + (1 + rho) * (2 * eta / (1 - rho) ** 2 * (eta * beta) * summed + noise), "="),
        Step.order(first + (1 + rho) * (2 * eta / (1 - rho) ** 2 * HOLE * summed + noise), eta * beta, step_bound),
        Step(end, "="),
    )


def whole_stage(statement: Statement) -> Derivation:
    """Derive a stage's sum: what is left of the squares at the switch is what momentum has gained."""
    start, end = sympy_sides(statement)
    names = ("eta", "theta", "rho", "beta", "summed")
    eta, theta, rho, beta, summed = (sympy_symbols(statement)[name] for name in names)
    times = 4 * rho**2 / (1 - rho) ** 3 * eta * summed
    remaining_terms = start - times * eta * beta
    return _chain(
        statement,
        start,
        Step(remaining_terms + times * (eta * beta), "="),
        Step.order(remaining_terms + times * HOLE, eta * beta, theta * (1 - rho) ** 2 / 2),
        Step(end, "="),
    )


def mean_of_stage(statement: Statement) -> Derivation:
    """Derive what a stage hands on: eta/(1 - rho)^2 is at most theta/(2 beta), hence at most 1/mu."""
    start, end = sympy_sides(statement)
    names = ("eta", "theta", "rho", "beta", "mu", "excess", "steps", "m", "V")
    eta, theta, rho, beta, mu, excess, steps, m, V = (sympy_symbols(statement)[name] for name in names)
    noise = eta**2 * V * (steps - m + 2 * m / (1 - rho) ** 3)
    stage_bound = (4 * excess / mu + 4 * rho * excess * HOLE + noise) / (eta * theta * steps)
    scaled = stage_bound.xreplace({HOLE: HOLE / (beta * (1 - rho) ** 2)})
    halved = stage_bound.xreplace({HOLE: HOLE / (2 * beta)})
    return _chain(
        statement,
        start,
        Step(scaled.xreplace({HOLE: eta * beta}), "="),
        Step.order(scaled, eta * beta, theta * (1 - rho) ** 2 / 2),
        Step(halved.xreplace({HOLE: theta}), "="),
        Step.order(halved, theta, 2),
        Step(stage_bound.xreplace({HOLE: 1 / beta}), "="),
        Step.within(stage_bound, 1 / mu, "reciprocal-monotone", {"a": mu, "b": beta}),
        Step(end, "="),
    )


def next_stage(statement: Statement) -> Derivation:
    """Derive the step from a stage to the next: 2 r times the first excess is at most that excess."""
    start, end = sympy_sides(statement)
    K, left, added, gap = (sympy_symbols(statement)[name] for name in ("K", "left", "added", "gap"))
    added_term = added / (1 - 2 * left)
    half = Rational(1, 2) / 2**K
    return chain(
        statement,
        start,
        Step((2 * left * gap + added_term) * half, "="),
        Step.order((HOLE * gap + added_term) * half, 2 * left, 1),
        Step(end, "="),
    )
