"""Counterexamples at practical sizes: many examples, whole epochs, and privacy parameters that are in use."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dpverify.harness.search.candidates import Values
from dpverify.harness.search.domain import Sampler, make_sampler
from dpverify.harness.search.explore import completions
from dpverify.harness.search.search import beginnings, search, simplify, size
from dpverify.harness.sides import Probe, Prober
from dpverify.ledger.formula import parse_relation
from dpverify.ledger.records import Role
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import Domain
from dpverify.symbolic.exact.compile import compile_relation
from dpverify.symbolic.exact.evaluate import holds_compiled, values

# roles of letters without a role in their record,
# with the meaning they usually have in papers
LETTERS: Mapping[str, Role] = {
    "N": "examples",
    "n": "examples",
    "T": "steps",
    "d": "dimension",
    "delta": "delta",
    "epsilon": "epsilon",
}
# practical values of a letter with each role
CONDITIONS: Mapping[Role, tuple[str, ...]] = {
    "examples": ("{} >= 1000", "{} <= 10**7"),
    "steps": ("{} >= 1000", "{} <= 10**9"),
    "dimension": ("{} <= 10**7",),
    "delta": ("{} <= 1/1000", "{} >= 10**(-12)"),
    "epsilon": ("{} >= 1/10", "{} <= 10"),
    "rate": ("{} >= 10**(-6)", "{} <= 1/4"),
    "sigma": ("{} >= 1/2", "{} <= 100"),
}
# a statement without these has no size
SIZES: frozenset[Role] = frozenset({"examples", "steps", "epsilon"})
# range of the steps of a run, if both letters are present
EPOCHS = ("T >= N", "T <= 1000*N")
# values that are tried first; those of steps are numbers of epochs
TRIED: Mapping[Role, tuple[Fraction, ...]] = {
    "examples": tuple(map(Fraction, (1000, 1024, 60_000, 1_000_000))),
    "steps": tuple(map(Fraction, (1, 10, 100))),
    "delta": (Fraction(1, 1000), Fraction(1, 10**6)),
    "epsilon": (Fraction(1, 10), Fraction(1), Fraction(10)),
    "rate": (Fraction(1, 1000), Fraction(1, 100)),
    "sigma": (Fraction(1), Fraction(4)),
}
FEW = 24  # number of points that are tried if none is drawn
MOST_POINTS = 100  # number of points that are drawn
TRIES = 300  # number of attempts to simplify a point
# A simplified point must keep this share of the
# largest ratio; a ratio of FAR always suffices.
SHARE = 0.5
CLEAR_RATIO = 2.0


def roles_of(statement: Statement) -> dict[str, Role]:
    """Return the roles of a statement's symbols, from their records or from letters with a fixed meaning."""
    roles: dict[str, Role] = {}
    for name in statement.domains:
        symbol = statement.symbols.get(name)
        role = (
            symbol.role
            if symbol is not None and symbol.role is not None
            else LETTERS.get(name)
        )
        if role is not None:
            roles[name] = role
    return roles


def practical_conditions(roles: Mapping[str, Role]) -> list[str]:
    """Return the conditions of a practical size on symbols with these roles; empty if none of them has a size."""
    if SIZES.isdisjoint(roles.values()):
        return []
    conditions = [
        text.format(name) for name, role in roles.items() for text in CONDITIONS[role]
    ]
    return [*conditions, *(EPOCHS if {"N", "T"} <= roles.keys() else ())]


def practical_violation(
    statement: Statement,
    also: Mapping[str, Domain],
    seed: int,
    prober: Prober | None = None,
    *,
    drawn: bool = True,
) -> Probe | None:
    """Return a simple violation at a practical size, far from equality; None if there is none or no letter has a size.

    If ``drawn`` is false, only a few points are tried, at usual values of all letters.
    """
    conditions = practical_conditions(roles_of(statement))
    if not conditions:
        return None
    narrowed = replace(
        statement, requires=(*statement.requires, *map(parse_relation, conditions))
    )
    sampler = make_sampler(narrowed, {}, also)
    prober = prober or Prober(narrowed, None)
    first_points = list(_first(narrowed, also, sampler))
    if drawn:
        violations = search(
            sampler,
            prober,
            beginnings(sampler, first_points, MOST_POINTS),
            MOST_POINTS,
            seed,
        ).violations
    else:
        few = first_points[:: max(1, -(-len(first_points) // FEW))]
        tried = (prober.probe(point) for point in few if sampler.in_domain(point))
        violations = [
            probe for probe in tried if probe is not None and probe.holds is False
        ]
    usable = [
        probe
        for probe in violations
        if whole_epochs(probe.point) and sampler.admits(probe.point)
    ]
    return _simplest(sampler, prober, usable) if usable else None


def _simplest(
    sampler: Sampler, prober: Prober, violations: Sequence[Probe]
) -> Probe | None:
    """Return the simplest violation that is far from equality, simplified further."""
    enough = min(SHARE * max(probe.ratio for probe in violations), CLEAR_RATIO)

    def is_wanted(point: Values) -> bool:
        probe = prober.probe(point)
        return (
            whole_epochs(point)
            and probe is not None
            and probe.holds is False
            and probe.ratio >= enough
        )

    start = min(
        (probe.point for probe in violations if probe.ratio >= enough), key=size
    )
    return prober.probe(simplify(sampler, is_wanted, start, TRIES))


def whole_epochs(point: Mapping[str, Fraction]) -> bool:
    """Return whether a run is a whole number of epochs; True if the point does not give both lengths."""
    return "T" not in point or "N" not in point or point["T"] % point["N"] == 0


def is_practical(
    point: Mapping[str, Fraction], roles: Mapping[str, Role] = LETTERS
) -> bool:
    """Return whether a point has a size, practical values of all letters, and a whole number of epochs."""
    texts_of_conditions = practical_conditions(
        {name: role for name, role in roles.items() if name in point}
    )
    held = (
        holds_compiled(compile_relation(parse_relation(text)), values(point))
        for text in texts_of_conditions
    )
    return (
        bool(texts_of_conditions)
        and whole_epochs(point)
        and all(answer is True for answer in held)
    )


def _first(
    statement: Statement, also: Mapping[str, Domain], sampler: Sampler
) -> Iterator[Values]:
    """Yield points with whole epochs at which the other letters are as simple, or as large, as possible."""
    roles = {
        name: role
        for name, role in roles_of(statement).items()
        if name in sampler.symbols and role in TRIED
    }
    names = sorted(roles, key=lambda name: (list(TRIED).index(roles[name]), name))
    first = make_sampler(statement, {}, also, frozenset(names))
    for chosen in itertools.product(*(TRIED[roles[name]] for name in names)):
        start = dict(zip(names, chosen, strict=True))
        for name in (name for name in names if roles[name] == "steps"):
            start[name] *= start.get("N", Fraction(1000))
        yield from completions(first, start)
