"""Where nobody runs what a paper describes: points at the boundary, as the paper's verdicts declare it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from dpverify.ledger.formula import Compare, free_names, to_text
from dpverify.ledger.results import Counterexample
from dpverify.symbolic.exact.compile import compile_relation
from dpverify.symbolic.exact.evaluate import holds_compiled, values


def edge_at(edges: Sequence[Compare], point: Mapping[str, Fraction]) -> str | None:
    """The first edge that holds at a point; empty where none does, None where the point has the letters of none."""
    decidable = [edge for edge in edges if free_names(edge) <= point.keys()]
    held = (to_text(edge) for edge in decidable if holds_compiled(compile_relation(edge), values(point)) is True)
    return next(held, "" if decidable else None)


def with_edge(example: Counterexample, edges: Sequence[Compare]) -> Counterexample:
    """A counterexample that says at which edge it lies, if at any."""
    numbers = {name: number.exact or number.float for name, number in example.parameters.items()}
    point = {name: Fraction(value) for name, value in numbers.items() if value not in {"inf", "-inf", "nan"}}
    return msgspec.structs.replace(example, edge=edge_at(edges, point))
