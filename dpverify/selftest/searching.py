"""Test of the search for counterexamples on planted inequalities, ``specs/faults/search/inequalities.toml``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import msgspec

from dpverify.harness import BUDGETS, Context, SearchCheck
from dpverify.harness.search.candidates import complexity
from dpverify.ledger.formula import Compare, Formula, free_names, parse_relation
from dpverify.ledger.records import Record, Relation
from dpverify.ledger.results import CheckResult, Number
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import Domain, parse_domain
from dpverify.papers import index
from dpverify.selftest.records import Hunted, SearchRun, Trial

FILE = Path("specs") / "faults" / "search" / "inequalities.toml"
CHECK = SearchCheck("inequality", "search")
SEEDS = {"smoke": 3, "standard": 2}


class PlantedInequality(Record, frozen=True, kw_only=True):
    """The inequality ``says`` under the conditions ``requires``; a false one has a kind and a counterexample ``at``."""

    name: str
    says: str
    requires: list[str] = []
    kind: str = ""
    at: dict[str, str] = {}

    @property
    def bits(self) -> int:
        """Length of the known counterexample."""
        return sum(complexity(Fraction(value)) for value in self.at.values())


class PlantedInequalities(Record, frozen=True, kw_only=True):
    """Contents of the file: kinds with titles, domains of the symbols, and the false and the true inequalities."""

    kinds: dict[str, str]
    domains: dict[str, str]
    false: list[PlantedInequality]
    true: list[PlantedInequality]

    def named(self, glob: str) -> PlantedInequalities:
        """Return only the inequalities whose names match."""
        false, true = (
            [
                inequality
                for inequality in inequalities
                if fnmatchcase(inequality.name, glob)
            ]
            for inequalities in (self.false, self.true)
        )
        return PlantedInequalities(
            kinds=self.kinds, domains=self.domains, false=false, true=true
        )

    def statement(self, inequality: PlantedInequality) -> Statement:
        """Return the inequality as a statement of the ledger."""
        formula = parse_relation(inequality.says)
        requires = tuple(map(parse_relation, inequality.requires))
        (relation,), (lhs, rhs) = formula.ops, formula.operands
        names = frozenset[str]().union(
            *map(free_names, (*formula.operands, *_operands(requires)))
        )
        return Statement(
            key=f"planted:{inequality.name}",
            variant="printed",
            kind="inequality",
            reading={},
            quantity=None,
            lhs=lhs,
            relation=_relation(relation),
            rhs=rhs,
            words=None,
            requires=requires,
            let=(),
            assumes=(),
            domains={name: _domain(self.domains[name]) for name in sorted(names)},
            symbols={},
        )


def _operands(conditions: Sequence[Compare]) -> Iterator[Formula]:
    return (side for condition in conditions for side in condition.operands)


def _relation(text: str) -> Relation:
    relation: Relation = msgspec.convert(text, type=Relation)
    return relation


@lru_cache
def _domain(text: str) -> Domain:
    return parse_domain(text)


def read_inequalities(root: Path) -> PlantedInequalities:
    """Return the planted inequalities of a checkout."""
    return msgspec.toml.decode((root / FILE).read_bytes(), type=PlantedInequalities)


def hunt(statement: Statement, budget: str, seconds: float, seed: int) -> Trial:
    """Return the result of one search, run as the check of a claim runs it."""
    context = Context(statement, BUDGETS[budget], seed, CHECK.name, share=seconds)
    result = CHECK.run_block(context, 0)
    parameters = {name: _shown(number) for name, number in _smallest(result).items()}
    return Trial(
        seed=seed, points=result.n or 0, found=parameters, bits=_bits(parameters)
    )


def _smallest(result: CheckResult) -> Mapping[str, Number]:
    return next(
        (
            counterexample.parameters
            for counterexample in result.counterexamples
            if counterexample.kind == "smallest"
        ),
        {},
    )


def _shown(number: Number) -> str:
    """Return a coordinate of a point as text."""
    return number.exact or repr(number.float)


def _bits(parameters: Mapping[str, str]) -> int:
    return sum(complexity(Fraction(value)) for value in parameters.values())


def judge_search(
    planted: PlantedInequalities,
    seeds: Mapping[str, int] = SEEDS,
    among: Sequence[str] = (),
    report: Callable[[int, int, str], None] = lambda *_: None,
) -> SearchRun:
    """Return the results of searches on all or some inequalities; ``seeds`` has the number of seeds for each budget."""
    shares = {budget: index().search_seconds[budget] for budget in seeds}
    chosen = [
        inequality
        for inequality in (*planted.false, *planted.true)
        if not among or inequality.name in among
    ]
    hunted: list[Hunted] = []
    for inequality in chosen:
        report(len(hunted), len(chosen), inequality.name)
        statement = planted.statement(inequality)
        trials = {
            budget: [
                hunt(statement, budget, shares[budget], seed) for seed in range(count)
            ]
            for budget, count in seeds.items()
        }
        hunted.append(
            Hunted(
                name=inequality.name,
                kind=inequality.kind,
                says=inequality.says,
                requires=inequality.requires,
                bits=inequality.bits,
                trials=trials,
            )
        )
    return SearchRun(kinds=planted.kinds, seconds=shares, inequalities=hunted)
