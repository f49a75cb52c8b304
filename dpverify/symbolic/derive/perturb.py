"""Controls of a derivation: the chain with one constant changed by 1% such that it must be refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import sympy

from dpverify.symbolic.derive.preparation import prepared
from dpverify.symbolic.derive.steps import Cases, Derivation, Link
from dpverify.symbolic.exact.numbers import compare, to_value
from dpverify.symbolic.expressions.evaluation import compile_expr
from dpverify.symbolic.expressions.ranges import Points
from dpverify.symbolic.prove.facts import value_at

_FACTORS = (sympy.Rational(101, 100), sympy.Rational(99, 100))
_POINTS = 60


@dataclass(frozen=True)
class Perturbation:
    """A derivation with a planted fault."""

    fault: str  # which constant was changed, where, and by how much
    derivation: Derivation

    def judge(
        self, refusal: Callable[[Derivation], str], seed: int
    ) -> tuple[bool, str]:
        """Return whether the faulty chain is refused, and why. If it passes, the text has its slack."""
        from dpverify.symbolic.certify.certificates import Certificate
        from dpverify.symbolic.certify.judge import judge_derivation

        result = judge_derivation(self.derivation, Certificate(None), _POINTS, seed)
        for number, step in enumerate(result.steps):
            if step.status == "fails":
                return True, f"step {number} fails: {step.note}"
        if why := refusal(self.derivation):
            return True, why
        slacks = [
            f"step {number}: {step.slack.float}"
            for number, step in enumerate(result.steps)
            if step.slack
        ]
        return (
            False,
            f"passes, with the smallest ratios {', '.join(slacks) or 'unknown'}",
        )


def perturbations(
    derivation: Derivation, *, last_only: bool = False
) -> Iterator[Perturbation]:
    """Yield the derivation with one numeric constant of one step's expression changed by 1%.

    The change makes the step claim more at a sample point: the expression is smaller after ``<=``, larger after ``>=``,
    either after ``=``. With ``last_only``, only the last expression of the chain changes.
    """
    clean = prepared(derivation)
    points = Points(clean.variables, (), 8, "perturbations").samples
    for place, steps in _faulty_chains(clean.steps, "", points, last_only):
        yield Perturbation(place, replace(clean, steps=steps))


def spaced_perturbations(derivation: Derivation, limit: int) -> list[Perturbation]:
    """Return up to ``limit`` :func:`perturbations`, evenly spaced from the first on.

    If ``limit`` is 1, only one is computed.
    """
    candidates = perturbations(derivation)
    if limit == 1:
        return list(islice(candidates, 1))
    changed = list(candidates)
    return changed[:: max(1, -(-len(changed) // limit))]


def _faulty_chains(
    links: tuple[Link, ...], prefix: str, points: list[dict[str, Any]], last_only: bool
) -> Iterator[tuple[str, tuple[Link, ...]]]:
    """Yield the description of each fault, and the chain with this fault."""
    for k, link in enumerate(links):
        if last_only and k < len(links) - 1:
            continue
        expressions: set[Any] = set()
        for path, constant in constants(link.expr):
            for changed, factor in _perturbed(
                link.expr, path, constant, link.relation, points
            ):
                if changed in expressions:
                    continue
                expressions.add(changed)
                fault = f"{prefix}{constant} times {factor} in the expression after step {k + 1}: {changed}"
                yield fault, (*links[:k], replace(link, expr=changed), *links[k + 1 :])
        if isinstance(link, Cases) and not last_only:
            for c, case in enumerate(link.cases):
                for fault, steps in _faulty_chains(
                    case.steps,
                    f"{prefix}case {case.assumption}: ",
                    points,
                    last_only=False,
                ):
                    cases = (
                        *link.cases[:c],
                        replace(case, steps=steps),
                        *link.cases[c + 1 :],
                    )
                    yield (
                        fault,
                        (*links[:k], replace(link, cases=cases), *links[k + 1 :]),
                    )


def constants(expr: Any) -> list[tuple[tuple[int, ...], Any]]:
    """Return rational constants and their positions, including an implied factor 1, but not -1 and limits of sums."""
    positions: list[tuple[tuple[int, ...], Any]] = [((), sympy.Integer(1))]
    positions += _walk(expr, ())
    return positions


def _walk(expr: Any, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Any]]:
    for k, arg in enumerate(expr.args):
        position = (*path, k)
        if arg.is_Rational:
            if arg != -1:
                yield position, arg
        elif not isinstance(arg, sympy.Tuple):
            yield from _walk(arg, position)


def _replaced(expr: Any, path: tuple[int, ...], value: Any) -> Any:
    if not path:
        return value * expr
    args = list(expr.args)
    args[path[0]] = (
        value if len(path) == 1 else _replaced(args[path[0]], path[1:], value)
    )
    return expr.func(*args)


def _perturbed(
    expr: Any,
    path: tuple[int, ...],
    constant: Any,
    relation: str,
    points: list[dict[str, Any]],
) -> Iterator[tuple[Any, Any]]:
    if constant == 0:
        return
    for factor in _FACTORS:
        changed = _replaced(expr, path, constant * factor)
        if changed.has(sympy.nan, sympy.zoo):
            continue
        if relation == "=" or _claims_more(
            expr, changed, "<" if relation == "<=" else ">", points
        ):
            yield changed, factor
            return


def _claims_more(
    expr: Any, changed: Any, relation: str, points: list[dict[str, Any]]
) -> bool:
    """Test whether the changed expression is certainly smaller (or larger) than the old one at some point."""
    try:
        difference = changed - expr
        compile_expr(difference)
    except TypeError:
        return False
    values = (value_at(difference, point) for point in points)
    return any(
        value is not None and compare(value, relation, to_value(0)) is True
        for value in values
    )
