"""Witnesses: small problems, written out, by which a counterexample is shown to meet the assumptions of its record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from dpverify.harness.admissible import Property

if TYPE_CHECKING:
    from dpverify.harness.context import Point


@dataclass(frozen=True)
class LineLoss:
    """A loss of one variable, by its slope: linear between the knots ``(place, slope)``, constant beyond them.

    A loss of that kind in the distance from a point, or in one coordinate, has the same constants.
    """

    knots: tuple[tuple[Fraction, Fraction], ...]  # at least one; the places increase

    def __post_init__(self) -> None:
        places = [place for place, _ in self.knots]
        if not places or any(right <= left for left, right in pairwise(places)):
            raise ValueError(f"the places of knots must increase, got {self.knots}.")

    @property
    def steepest(self) -> Fraction:
        """The smallest Lipschitz constant of the loss."""
        return max(abs(slope) for _, slope in self.knots)

    @property
    def curvature(self) -> Fraction:
        """The smallest Lipschitz constant of the slope."""
        changes = [abs((d - b) / (c - a)) for (a, b), (c, d) in pairwise(self.knots)]
        return max(changes, default=Fraction(0))

    def slope(self, place: Fraction) -> Fraction:
        """Return the slope at a place."""
        for (a, b), (c, d) in pairwise(self.knots):
            if a <= place <= c:
                return b + (place - a) * (d - b) / (c - a)
        return self.knots[0][1] if place <= self.knots[0][0] else self.knots[-1][1]


def linear(slope: Fraction) -> LineLoss:
    """Make a linear loss."""
    return LineLoss(((Fraction(0), slope),))


DataSet: TypeAlias = Mapping[LineLoss, int]  # how many examples have a loss


@dataclass(frozen=True)
class Witness:
    """One data set, or two neighbouring ones; a run starts at 0."""

    data: DataSet
    neighbour: DataSet | None = None

    @property
    def losses(self) -> list[LineLoss]:
        """The losses of all examples, each once."""
        examples = Counter(self.data) + Counter(self.neighbour or {})
        return list(examples)

    @property
    def steepest(self) -> Fraction:
        """G, as small as these losses allow."""
        return max(loss.steepest for loss in self.losses)

    @property
    def curvature(self) -> Fraction:
        """L, as small as these losses allow."""
        return max(loss.curvature for loss in self.losses)

    @property
    def gap(self) -> Fraction | None:
        """R, as small as both data sets allow: F(0) - inf F; None where one has no lower bound."""
        gap_of_data = _gap(self.data)
        gap_of_neighbour = gap_of_data if self.neighbour is None else _gap(self.neighbour)
        return None if gap_of_data is None or gap_of_neighbour is None else max(gap_of_data, gap_of_neighbour)

    def replaces_one(self, examples: Fraction | None) -> bool:
        """Whether the neighbour replaces exactly one example of as many as there are to be."""
        data = Counter(self.data)
        neighbour = Counter(self.neighbour or {})
        differs_by_one = (data - neighbour).total() == (neighbour - data).total() == 1
        return differs_by_one and examples in {None, data.total()}


def _gap(data: DataSet) -> Fraction | None:
    """F(0) - inf F of the mean loss; None where it has no lower bound."""
    places = sorted({Fraction(0), *(place for loss in data for place, _ in loss.knots)})
    total = sum(data.values())
    slopes = [sum((n * loss.slope(p) for loss, n in data.items()), Fraction(0)) / total for p in places]
    if slopes[0] > 0 or slopes[-1] < 0:
        return None
    value = lowest = at_start = Fraction(0)
    for (left, a), (right, b) in pairwise(zip(places, slopes, strict=True)):
        if a < 0 < b:
            lowest = min(lowest, value - a**2 * (right - left) / (2 * (b - a)))
        value += (a + b) * (right - left) / 2
        lowest = min(lowest, value)
        at_start = value if right == 0 else at_start
    return at_start - lowest


def shown_by(make: Callable[[Point], Witness], words: str) -> dict[str, Property]:
    """Properties of losses and neighbours, tested on the witness at a counterexample.

    Where a counterexample has no G or L it is one in units in which they are 1. Where it has no R, any gap will do.
    """

    def has_gap(point: Point) -> bool:
        gap = make(point).gap
        return gap is not None and ("R" not in point or gap <= point["R"])

    unit = Fraction(1)
    return {
        "lipschitz": Property(f"largest slope of {words}", lambda p: make(p).steepest <= p.get("G", unit)),
        "smooth": Property(f"curvature of {words}", lambda p: make(p).curvature <= p.get("L", unit)),
        "bounded-gap": Property(f"gap of {words}", has_gap),
        "neighbour-replace-one": Property(f"examples that differ: {words}", lambda p: make(p).replaces_one(p.get("N"))),
    }
