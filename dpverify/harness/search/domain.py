"""Points of a statement's domain: conditions are met by construction where possible, and checked otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from itertools import permutations

from flint import fmpq

from dpverify.harness.checks import Point
from dpverify.harness.search.candidates import (
    MODE_BITS,
    PAYLOAD_BITS,
    PAYLOADS,
    Interval,
    value_at,
)
from dpverify.harness.search.constraints import Inequality, can_solve, links, solve
from dpverify.ledger.formula import free_names, to_text
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import Domain
from dpverify.symbolic.exact.compile import compile_relation
from dpverify.symbolic.exact.evaluate import all_hold, cached_closure, run
from dpverify.symbolic.exact.numbers import EvaluationError, is_integer
from dpverify.symbolic.exact.sums import Closure, Env

BITS_PER_SYMBOL = MODE_BITS + PAYLOAD_BITS
DEFINITION_BITS = 256  # precision of the computed definitions
MAX_PERMUTED = 7  # with more symbols, the order of the symbols is not optimized

Relation = Callable[[Env], bool | None]
Region = Mapping[str, tuple[Fraction | None, Fraction | None]]


@dataclass(frozen=True)
class Sampler:
    """Converts bits into points that meet a statement's domains and conditions."""

    statement: Statement  # the statement whose points are sampled
    # domains of the statement's symbols and of symbols that the check adds
    domains: Mapping[str, Domain]
    # symbols of a point, in the order in which they get their values
    symbols: tuple[str, ...]
    region: Region  # bounds that the search respects
    # conditions that bound each symbol, given the symbols before it
    solved: Mapping[str, list[Inequality]]

    @cached_property
    def _definitions(self) -> tuple[tuple[str, frozenset[str], Closure], ...]:
        """The name of each definition, the names that it needs, and its compiled formula."""
        return tuple(
            (name, free_names(formula), cached_closure(formula))
            for name, formula in self.statement.let
        )

    @cached_property
    def _definitions_of_symbol(
        self,
    ) -> dict[str, tuple[tuple[str, frozenset[str], Closure], ...]]:
        """The definitions that the interval of each symbol needs."""
        definitions_of = {}
        for symbol, inequalities in self.solved.items():
            names = frozenset[str]().union(
                *(inequality.names for inequality in inequalities)
            )
            chosen = []
            for definition in reversed(self._definitions):
                if definition[0] in names:
                    names |= definition[1]
                    chosen.append(definition)
            definitions_of[symbol] = tuple(reversed(chosen))
        return definitions_of

    @cached_property
    def reads(self) -> dict[str, frozenset[str]]:
        """The names that the interval of each symbol depends on, including those in the definitions that it needs."""
        return {
            symbol: frozenset[str]().union(
                *(inequality.names for inequality in inequalities),
                *(names for _, names, _ in self._definitions_of_symbol[symbol]),
            )
            for symbol, inequalities in self.solved.items()
        }

    @cached_property
    def _integers(self) -> tuple[str, ...]:
        return tuple(
            name for name, domain in self.domains.items() if domain.kind == "integer"
        )

    @cached_property
    def _conditions(self) -> tuple[Relation, ...]:
        """The compiled conditions of the domains and of the statement."""
        of_domains = (
            condition
            for domain in self.domains.values()
            for condition in domain.constraints
        )
        return tuple(
            compile_relation(condition)
            for condition in (*of_domains, *self.statement.requires)
        )

    @property
    def bits(self) -> int:
        """Number of bits that encode a point."""
        return BITS_PER_SYMBOL * len(self.symbols)

    def point(self, bits: Sequence[bool]) -> dict[str, Fraction] | None:
        """Convert bits to a point; all bits zero give the simplest point. None if the bits lead out of the domain."""
        starts = range(0, self.bits, BITS_PER_SYMBOL)
        return self.named(
            [_number(bits[start : start + BITS_PER_SYMBOL]) for start in starts]
        )

    def named(self, words: Sequence[int]) -> dict[str, Fraction] | None:
        """Convert one number per symbol, its bits, to a point; None if they lead out of the domain."""
        env: dict[str, Fraction] = {}
        for symbol, word in zip(self.symbols, words, strict=True):
            mode, payload = divmod(word, PAYLOADS)
            value = value_at(
                self.interval(symbol, env), mode, payload, list(env.values())
            )
            if value is None:
                return None
            env[symbol] = value
        return env if self.admits(env) else None

    def interval(self, symbol: str, env: Point) -> Interval:
        """Return the interval that the domain, the region, the conditions and earlier values allow for a symbol."""
        lo, hi = self.region.get(symbol, (None, None))
        interval = Interval(lo, hi, integer=self.domains[symbol].kind == "integer")
        if interval.integer:
            interval = interval.rounded()
        if not self.solved[symbol]:
            return interval
        values = _defined(env, self._definitions_of_symbol[symbol])
        for inequality in self.solved[symbol]:
            if (end := solve(inequality, symbol, values)) is not None:
                interval = interval.cut(*end)
        return interval

    def admits(self, point: Point) -> bool:
        """Return whether a complete point certainly meets every domain and condition and lies in the region."""
        for symbol, (lo, hi) in self.region.items():
            if (lo is not None and point[symbol] < lo) or (
                hi is not None and point[symbol] > hi
            ):
                return False
        return self.in_domain(point)

    def in_domain(self, point: Point) -> bool:
        """Return whether a complete point certainly meets every domain and condition, ignoring the region."""
        if any(
            point[symbol].denominator != 1
            for symbol in self._integers
            if symbol in point
        ):
            return False
        env = _defined(point, self._definitions)
        if any(name not in env for name in self.statement.let_names):
            return False  # a definition has no value here
        if not all(is_integer(env[name]) for name in self._integers):
            return False
        return all_hold(self._conditions, env) is True


def _defined(
    env: Point, definitions: Sequence[tuple[str, frozenset[str], Closure]]
) -> Env:
    """Return the values that compiled formulas read, with the values of definitions that depend only on these."""
    values: Env = {name: fmpq(*value.as_integer_ratio()) for name, value in env.items()}
    for name, needed, closure in definitions:
        if needed <= values.keys():
            try:
                values[name] = run(closure, values, DEFINITION_BITS)
            except EvaluationError:
                continue
    return values


def make_sampler(
    statement: Statement,
    region: Region,
    also: Mapping[str, Domain],
    first: frozenset[str] = frozenset(),
) -> Sampler:
    """Choose the order of symbols in which as many conditions as possible are met by construction."""
    domains = {**also, **statement.domains}
    free = tuple(sorted(domains.keys() - set(statement.let_names)))
    if unknown := sorted((region.keys() | first) - set(free)):
        raise ValueError(
            f"a point of {statement.key} has {', '.join(free)}, got {', '.join(unknown)}."
        )
    for name, domain in domains.items():
        if missing := sorted(domain.names - domains.keys()):
            raise ValueError(
                f"domain of {name} needs {', '.join(missing)}, which must have a domain too: add it to `also`."
            )
    conditions = [
        *(c for d in domains.values() for c in d.constraints),
        *statement.requires,
    ]
    inequalities = [link for condition in conditions for link in links(condition)]
    rests_on = _definitions_rest_on(statement)
    bases = [_base_names(i.names, rests_on) for i in inequalities]
    usable = [
        (
            i,
            {
                s: can_solve(i, s)
                and all(s not in rests_on.get(n, ()) for n in i.names)
                for s in base
            },
        )
        for i, base in zip(inequalities, bases, strict=True)
    ]
    order = _best_order(free, domains, [ways for _, ways in usable], first)
    solved: dict[str, list[Inequality]] = {symbol: [] for symbol in free}
    for inequality, ways in usable:
        if ways and ways[last := max(ways, key=order.index)]:
            solved[last].append(inequality)
    return Sampler(statement, domains, order, region, solved)


def _definitions_rest_on(statement: Statement) -> dict[str, frozenset[str]]:
    rests_on: dict[str, frozenset[str]] = {}
    for name, formula in statement.let:
        rests_on[name] = _base_names(free_names(formula), rests_on)
    return rests_on


def _base_names(
    names: frozenset[str], rests_on: Mapping[str, frozenset[str]]
) -> frozenset[str]:
    """Return the free symbols that some names depend on."""
    return frozenset[str]().union(
        *(rests_on.get(name, frozenset({name})) for name in names)
    )


def _best_order(
    free: tuple[str, ...],
    domains: Mapping[str, Domain],
    ways: list[dict[str, bool]],
    first: frozenset[str],
) -> tuple[str, ...]:
    """Return the order in which the fewest conditions are left to chance; ties: integers first, then by name."""
    natural = tuple(
        sorted(free, key=lambda s: (s not in first, domains[s].kind != "integer", s))
    )
    head = natural[: len(first)]
    tail = natural[len(first) :]
    if len(tail) > MAX_PERMUTED:
        return natural
    integers = frozenset(s for s in tail if domains[s].kind == "integer")
    return (
        *head,
        *_best_tail(
            head, tail, integers, tuple(tuple(way.items()) for way in ways if way)
        ),
    )


@lru_cache(maxsize=256)
def _best_tail(
    head: tuple[str, ...],
    symbols: tuple[str, ...],
    integers: frozenset[str],
    ways: tuple[tuple[tuple[str, bool], ...], ...],
) -> tuple[str, ...]:
    """Return the best order of the remaining symbols. Cached, because a claim's statements and controls share it."""
    place = {symbol: i for i, symbol in enumerate(symbols)}

    def order_cost(tail: tuple[str, ...]) -> tuple[int, int, tuple[int, ...]]:
        position = {symbol: i for i, symbol in enumerate((*head, *tail))}
        missed = sum(
            not max((position[symbol], solved) for symbol, solved in way)[1]
            for way in ways
        )
        integers_before = late = 0
        for symbol in reversed(tail):
            if symbol in integers:
                integers_before += 1
            else:
                late += integers_before  # the integers that come after this real
        return missed, late, tuple(place[symbol] for symbol in tail)

    return min(permutations(symbols), key=order_cost)


def _number(bits: Sequence[bool]) -> int:
    return reduce(lambda value, bit: 2 * value + bit, bits, 0)


def describe(sampler: Sampler, statement: Statement) -> str:
    """Describe the domain of every symbol, the conditions, and the bounds of the search."""
    parts = []
    for symbol in sorted(sampler.symbols):
        lo, hi = sampler.region.get(symbol, (None, None))
        within = f" (searched from {'-oo' if lo is None else lo} to {'oo' if hi is None else hi})"
        parts.append(
            f"{symbol}: {sampler.domains[symbol]}"
            + (within if symbol in sampler.region else "")
        )
    parts.extend(to_text(condition) for condition in statement.requires)
    return "; ".join(parts)
