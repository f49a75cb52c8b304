"""Points of a statement's domain: every condition met by construction where it can be, and checked where it cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations

from flint import arb

from dpverify.harness.candidates import MODE_BITS, PAYLOAD_BITS, value_at
from dpverify.harness.constraints import Inequality, can_solve, links, solve
from dpverify.harness.context import Point
from dpverify.harness.rationals import Interval
from dpverify.ledger.domains import Domain
from dpverify.ledger.formula import free_names
from dpverify.ledger.statements import Statement
from dpverify.symbolic.compile import compile_relation
from dpverify.symbolic.evaluate import evaluate, holds_compiled, values
from dpverify.symbolic.numbers import EvaluationError

BITS_PER_SYMBOL = MODE_BITS + PAYLOAD_BITS
MAX_PERMUTED = 7
"""With more symbols than this their order is not searched for."""

Region = Mapping[str, tuple[Fraction | None, Fraction | None]]


@dataclass(frozen=True)
class Sampler:
    """Turns bits into points that meet a statement's domains and conditions.

    Attributes
    ----------
    statement : Statement
        Whose points they are.
    domains : mapping of str to Domain
        Of the statement's symbols and of those that the check adds.
    symbols : tuple of str
        Symbols that a point sets, in the order in which they get their values.
    region : mapping
        Ends that the search keeps within.
    solved : mapping of str to list of Inequality
        Conditions that give a symbol its interval, the symbols before it having values.
    """

    statement: Statement
    domains: Mapping[str, Domain]
    symbols: tuple[str, ...]
    region: Region
    solved: Mapping[str, list[Inequality]]

    @cached_property
    def _needed(self) -> tuple[frozenset[str], ...]:
        """Names that each definition needs."""
        return tuple(free_names(formula) for _, formula in self.statement.let)

    @property
    def bits(self) -> int:
        """Bits that make a point."""
        return BITS_PER_SYMBOL * len(self.symbols)

    def point(self, bits: Sequence[bool]) -> dict[str, Fraction] | None:
        """Make a point of bits; all bits zero is the simplest.

        Parameters
        ----------
        bits : sequence of bool
            As many as ``self.bits``.

        Returns
        -------
        dict or None
            A point of the domain; None where these bits lead out of it.
        """
        env: dict[str, Fraction] = {}
        for place, symbol in enumerate(self.symbols):
            word = bits[place * BITS_PER_SYMBOL : (place + 1) * BITS_PER_SYMBOL]
            mode, payload = _number(word[:MODE_BITS]), _number(word[MODE_BITS:])
            value = value_at(self.interval(symbol, env), mode, payload, list(env.values()))
            if value is None:
                return None
            env[symbol] = value
        return env if self.admits(env) else None

    def interval(self, symbol: str, env: Point) -> Interval:
        """Where a symbol may lie, given the values of the symbols before it.

        Parameters
        ----------
        symbol : str
            Which.
        env : mapping
            Values of the symbols before it; others are not looked at.

        Returns
        -------
        Interval
            By the symbol's domain, the region, and every condition that could be solved for it.
        """
        lo, hi = self.region.get(symbol, (None, None))
        interval = Interval(lo, hi, integer=self.domains[symbol].kind == "integer")
        if interval.integer:
            interval = interval.rounded()
        known = self.with_definitions(env)
        for inequality in self.solved[symbol]:
            if (end := solve(inequality, symbol, known)) is not None:
                interval = interval.cut(*end)
        return interval

    def admits(self, point: Point) -> bool:
        """Whether a whole point certainly meets every domain, condition and end of the region.

        Parameters
        ----------
        point : mapping
            A value for every symbol.

        Returns
        -------
        bool
            False as well where it could not be decided.
        """
        for symbol, (lo, hi) in self.region.items():
            if (lo is not None and point[symbol] < lo) or (hi is not None and point[symbol] > hi):
                return False
        return self.in_domain(point)

    def in_domain(self, point: Point) -> bool:
        """Whether a whole point certainly meets every domain and condition, whatever the region."""
        if any(point[s].denominator != 1 for s in self.symbols if self.domains[s].kind == "integer"):
            return False
        env = self.with_definitions(point)
        if any(name not in env for name in self.statement.let_names):
            return False  # a definition has no value here
        given = values(env)  # once for all conditions: most of the time of a condition would go into it
        for name, domain in self.domains.items():
            value = env[name]
            if domain.kind == "integer" and not (isinstance(value, Fraction) and value.denominator == 1):
                return False
            if not all(holds_compiled(compile_relation(each), given) is True for each in domain.constraints):
                return False
        return all(holds_compiled(compile_relation(each), given) is True for each in self.statement.requires)

    def with_definitions(self, env: Point) -> dict[str, Fraction | arb]:
        """Values, and those of the definitions that they suffice for."""
        known: dict[str, Fraction | arb] = dict(env)
        for (name, formula), needed in zip(self.statement.let, self._needed, strict=True):
            if needed <= known.keys():
                try:
                    known[name] = evaluate(formula, known)
                except EvaluationError:
                    continue
        return known


def make_sampler(
    statement: Statement, region: Region, also: Mapping[str, Domain], first: frozenset[str] = frozenset()
) -> Sampler:
    """Plan how points of a statement are made.

    Parameters
    ----------
    statement : Statement
        Its domains and conditions are kept.
    region : mapping of str to (lo, hi)
        Ends that the search keeps within, None for no end.
    also : mapping of str to Domain
        Symbols that the statement does not name and the check needs.
    first : frozenset of str
        Symbols that get their values before the others.

    Returns
    -------
    Sampler
        With an order of the symbols in which as many conditions as possible are met by construction.

    Raises
    ------
    ValueError
        If the region, a domain or ``first`` names a symbol that there is not.
    """
    domains = {**also, **statement.domains}
    free = tuple(sorted(domains.keys() - set(statement.let_names)))
    if unknown := sorted((region.keys() | first) - set(free)):
        raise ValueError(f"a point of {statement.key} has {', '.join(free)}, got {', '.join(unknown)}.")
    for name, domain in domains.items():
        if missing := sorted(domain.names - domains.keys()):
            raise ValueError(
                f"domain of {name} needs {', '.join(missing)}, which must have a domain too: add it to `also`."
            )
    conditions = [*(c for d in domains.values() for c in d.constraints), *statement.requires]
    inequalities = [link for condition in conditions for link in links(condition)]
    rests_on = _definitions_rest_on(statement)
    bases = [_base_names(i.names, rests_on) for i in inequalities]
    usable = [
        (i, {s: can_solve(i, s) and all(s not in rests_on.get(n, ()) for n in i.names) for s in base})
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


def _base_names(names: frozenset[str], rests_on: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Free symbols that some names come down to."""
    return frozenset[str]().union(*(rests_on.get(name, frozenset({name})) for name in names))


def _best_order(
    free: tuple[str, ...], domains: Mapping[str, Domain], ways: list[dict[str, bool]], first: frozenset[str]
) -> tuple[str, ...]:
    """Order in which the fewest conditions are left to chance; integers first, then by name."""
    natural = tuple(sorted(free, key=lambda s: (s not in first, domains[s].kind != "integer", s)))
    head, rest = natural[: len(first)], natural[len(first) :]
    if len(rest) > MAX_PERMUTED:
        return natural
    place = {symbol: i for i, symbol in enumerate(natural)}

    def badness(tail: tuple[str, ...]) -> tuple[int, int, tuple[int, ...]]:
        at = {symbol: i for i, symbol in enumerate((*head, *tail))}
        missed = sum(1 for way in ways if way and not way[max(way, key=at.__getitem__)])
        kinds = [domains[s].kind != "integer" for s in tail]
        late = sum(a > b for i, a in enumerate(kinds) for b in kinds[i + 1 :])
        return missed, late, tuple(place[s] for s in tail)

    return (*head, *min(permutations(rest), key=badness))


def _number(bits: Sequence[bool]) -> int:
    value = 0
    for bit in bits:
        value = 2 * value + bit
    return value
