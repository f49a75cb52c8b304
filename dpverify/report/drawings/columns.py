"""The columns of a figure: what they must be, and the parameters that travel with them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dpverify.report.collect import ReportError
from dpverify.report.numbers import show_float

PARAMETER = "at:"  # a column ``at:N`` holds one number, a parameter of the run that the figure shows
NAMED_X = "x:"  # a column ``x:T`` is the column ``x``

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "eta": "η",
    "rho": "ρ",
    "sigma": "σ",
    "zeta": "ζ",
}


class Data(dict[str, Sequence[float]]):
    """What a drawing is given: the columns it knows, all finite."""

    parameters: str  # those held fixed, in words: ``N = 64, α = 0.25``


@dataclass(frozen=True)
class Shape:
    """The columns that a drawing knows."""

    required: tuple[str, ...]  # their names
    optional: tuple[str, ...] = ()
    follows: Mapping[str, str] = field(default_factory=dict)  # column to the one it is as long as, if not the first


def read(name: str, columns: Mapping[str, Sequence[float]], shape: Shape) -> Data:
    """Check the columns of a figure and sort them out."""
    renamed = {"x" if column.startswith(NAMED_X) else column: values for column, values in columns.items()}
    fixed = {column: values for column, values in renamed.items() if column.startswith(PARAMETER)}
    drawn = {column: values for column, values in renamed.items() if column not in fixed}
    allowed = [*shape.required, *shape.optional]
    for column in shape.required:
        if not drawn.get(column):
            raise ReportError(f"figure={name!r}: column {column!r} is missing or empty")
    for column, values in renamed.items():
        if column not in allowed and column not in fixed:
            raise ReportError(f"figure={name!r}: column {column!r} is none of {', '.join(allowed)}, at:NAME")
        model = drawn.get(shape.follows.get(column, ""), drawn[shape.required[0]])
        length = 1 if column in fixed else len(model)
        if column not in shape.follows.values() and len(values) != length:
            raise ReportError(f"figure={name!r}: column {column!r} has {len(values)} values where {length} are needed")
        bad = next((place for place, value in enumerate(values) if not math.isfinite(value)), None)
        if bad is not None:
            raise ReportError(f"figure={name!r}: column {column!r}, value {bad}: {values[bad]} is not finite")
    data = Data(drawn)
    data.parameters = _words(fixed)
    return data


def symbol(name: str) -> str:
    """A name of our API as a figure shows it: ``alpha`` as α."""
    return GREEK.get(name, name)


def _words(fixed: Mapping[str, Sequence[float]]) -> str:
    named = {column.removeprefix(PARAMETER): values[0] for column, values in fixed.items()}
    theorem = named.pop("theorem", None)  # a name, no parameter
    words = [] if theorem is None else [f"Theorem {theorem:.0f}"]
    words += [f"{symbol(name)} = {show_float(value)}" for name, value in sorted(named.items())]
    return ",  ".join(words)
