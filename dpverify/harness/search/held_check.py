"""Where a refuted bound holds: our corrected bound, which is judged by itself, is not above it there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb, ctx

from dpverify.harness.context import Point
from dpverify.harness.search.search_check import SearchCheck
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.numbers import Exact
from dpverify.symbolic.exact.statements import evaluate_statement, requires_hold

SECONDS = 0.005  # declared for one point: two bounds with many roots, to a few hundred bits


def held_check(
    claim: str, corners: Sequence[Mapping[str, int | Fraction | str]], *, name: str = "below-corrected", **options: Any
) -> SearchCheck:
    """Search for a point of the narrower domain at which the printed bound is below the corrected one."""
    left_out = "what the corrected bound leaves room for; it is judged by itself"
    return SearchCheck(
        claim,
        name,
        lhs=corrected_side,
        corners=corners,
        variants=("held",),
        leaves_out=left_out,
        seconds_each=SECONDS,
        **options,
    )


def corrected_side(point: Point, statement: Statement) -> Exact:
    """The right side of our correction, in the printed letters; where it says nothing, what is not as printed."""
    amended = _corrected(statement.siblings[statement.key.partition(":")[2]], tuple(statement.reading.items()))
    if amended.relation != statement.relation:
        raise ValueError(f"{statement.key}: the correction must have the printed relation, got {amended.relation}.")
    if requires_hold(amended, point) is not True:
        return arb("inf" if statement.relation in {"<=", "<"} else "-inf")
    return evaluate_statement(amended, point, precision=ctx.prec)[1]


@lru_cache(maxsize=100)
def _corrected(claim: ClaimSpec, reading: tuple[tuple[str, str], ...]) -> Statement:
    """The correction, with the printed definitions of the letters that it does not define."""
    held, amended = (claim.statement(dict(reading), variant) for variant in ("held", "amended"))
    missing = [(name, value) for name, value in held.let if name not in amended.let_names]
    return replace(amended, let=(*missing, *amended.let), domains={**held.domains, **amended.domains})
