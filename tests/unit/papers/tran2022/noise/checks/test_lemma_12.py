"""Which counterexamples to Lemma 12 count as inside: no size of a run is 1 or 2."""

from __future__ import annotations

from fractions import Fraction

from dpverify.harness import SearchCheck
from dpverify.papers.tran2022.noise.checks.lemma_12 import CHECKS
from tests.for_each import for_each

INSIDE = {name: Fraction(3) for name in ("T", "t", "N", "d", "alpha", "G", "sigma")}


@for_each("claim", ["lemma-12", "lemma-12-var"])
def test_sizes_below_three_are_corners(claim: str) -> None:
    (found,) = [
        each
        for each in CHECKS.of(claim)
        if each.name == "search" and isinstance(each, SearchCheck)
    ]
    assert found.interior is not None
    assert found.interior(INSIDE)
    assert not any(
        found.interior(INSIDE | {size: Fraction(2)}) for size in ("T", "t", "N", "d")
    )
    assert found.interior(INSIDE | {"G": Fraction(1, 2), "sigma": Fraction(2)})
