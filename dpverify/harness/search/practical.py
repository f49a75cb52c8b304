"""A counterexample at a size that somebody runs: many examples, whole epochs, privacy parameters that are in use."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from dpverify.harness.search.climb import completions
from dpverify.harness.search.domain import Sampler, make_sampler
from dpverify.harness.search.rationals import Values
from dpverify.harness.search.search import beginnings, search
from dpverify.harness.search.simplify import simplify, size
from dpverify.harness.sides import Probe, Prober
from dpverify.ledger.formula import parse_relation
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import Domain
from dpverify.symbolic.exact.compile import compile_relation
from dpverify.symbolic.exact.evaluate import holds_compiled, values

CONDITIONS: Mapping[str, tuple[str, ...]] = {  # by the letters of the house, which all papers are read in
    "N": ("N >= 1000", "N <= 10**7"),
    "n": ("n >= 1000", "n <= 10**7"),
    "T": ("T >= 1000", "T <= 10**9"),
    "d": ("d <= 10**7",),
    "delta": ("delta <= 1/1000", "delta >= 10**(-12)"),
    "epsilon": ("epsilon >= 1/10", "epsilon <= 10"),
}
EPOCHS = ("T >= N", "T <= 1000*N")  # what a run is, where both letters are there
TRIED: Mapping[str, tuple[Fraction, ...]] = {  # what is tried first; T is a number of epochs
    "N": tuple(map(Fraction, (1000, 1024, 60_000, 1_000_000))),
    "n": tuple(map(Fraction, (1000, 1_000_000))),
    "T": tuple(map(Fraction, (1, 10, 100))),
    "delta": (Fraction(1, 1000), Fraction(1, 10**6)),
    "epsilon": (Fraction(1, 10), Fraction(1), Fraction(10)),
}
MOST = 100  # points that are drawn
TRIES = 300  # how often a point is made simpler
SHARE, FAR = 0.5, 2.0  # of the largest ratio seen that the point which is shown must keep; no more than FAR is asked


def practical_violation(statement: Statement, also: Mapping[str, Domain], seed: int) -> Probe | None:
    """A violation at such a size, simple and far from equality; None where none is found, or no letter has a size."""
    known = [name for name in CONDITIONS if name in statement.domains]
    if not {"N", "n", "T", "epsilon"} & {*known}:
        return None
    conditions = [parse_relation(text) for name in known for text in CONDITIONS[name]]
    if {"N", "T"} <= {*known}:
        conditions += map(parse_relation, EPOCHS)
    narrowed = replace(statement, requires=(*statement.requires, *conditions))
    sampler, prober = make_sampler(narrowed, {}, also), Prober(narrowed, None)
    found = search(sampler, prober, beginnings(sampler, _first(narrowed, also, sampler), MOST), MOST, seed)
    violations = [probe for probe in found.violations if whole_epochs(probe.point) and sampler.admits(probe.point)]
    if not violations:
        return None
    enough = min(SHARE * max(probe.ratio for probe in violations), FAR)

    def wanted(point: Values) -> bool:
        probe = prober.probe(point)
        return whole_epochs(point) and probe is not None and probe.holds is False and probe.ratio >= enough

    start = min((probe.point for probe in violations if probe.ratio >= enough), key=size)
    return prober.probe(simplify(sampler, wanted, start, TRIES))


def whole_epochs(point: Mapping[str, Fraction]) -> bool:
    """Whether a run is a whole number of epochs, where a point says how long both are."""
    return "T" not in point or "N" not in point or point["T"] % point["N"] == 0


def is_practical(point: Mapping[str, Fraction]) -> bool:
    """Whether a point has a size, all its letters are such as somebody runs, and a run is of whole epochs."""
    known = [text for name, texts in CONDITIONS.items() if name in point for text in texts]
    if not {"N", "n", "T", "epsilon"} & point.keys():
        return False
    known += EPOCHS if {"N", "T"} <= point.keys() else ()
    held = (holds_compiled(compile_relation(parse_relation(text)), values(point)) for text in known)
    return whole_epochs(point) and all(answer is True for answer in held)


def _first(statement: Statement, also: Mapping[str, Domain], sampler: Sampler) -> Iterator[Values]:
    """Points of whole epochs, the other letters as simple and as large as they can be."""
    names = [name for name in TRIED if name in sampler.symbols]
    first = make_sampler(statement, {}, also, frozenset(names))
    for chosen in itertools.product(*(TRIED[name] for name in names)):
        given = dict(zip(names, chosen, strict=True))
        if "T" in given:
            given["T"] *= given.get("N", Fraction(1000))
        yield from completions(first, given)
