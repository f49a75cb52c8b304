"""The names that a paper declares (symbols, functions, quantities) for its formulas, and tags of assumptions."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from dpverify.ledger.errors import (
    FormulaError,
    Place,
    Problems,
    SpecError,
    shown,
    suggest,
)
from dpverify.ledger.formula import (
    BUILTINS,
    RESERVED,
    Compare,
    Formula,
    check_names,
    free_names,
    latex,
    parse,
    parse_relation,
    to_text,
    with_pi,
)
from dpverify.ledger.records import ClaimsFile, Function, Quantity, Symbol

#: Problems of dpverify.problems whose losses are certified differentiable, Lipschitz and smooth with a bounded gap.
CERTIFIED = ("antipodal", "identical", "logistic-nonconvex")


@dataclass(frozen=True, slots=True)
class Assumption:
    """A condition that a claim may name."""

    meaning: str  # in the common letters of ``specs/notation.md``
    arguments: int = 0  # how many symbols of the paper it names
    # problems that satisfy it; empty for a condition on the mechanism or the data
    problems: tuple[str, ...] = ()


#: Tags that every paper may use. A paper may declare more tags with their meaning; a claim uses only declared tags.
ASSUMPTIONS: dict[str, Assumption] = {
    # the loss
    "differentiable": Assumption(
        "f(w, x) is differentiable in w for every x", 0, CERTIFIED
    ),
    "lipschitz": Assumption(
        "the gradient of f(w, x) in w has norm at most G, for all w and x", 1, CERTIFIED
    ),
    "smooth": Assumption(
        "the gradient of f(w, x) in w is L-Lipschitz in w, for every x", 1, CERTIFIED
    ),
    "bounded-gap": Assumption("F(w_1) - inf F is at most R", 1, CERTIFIED),
    # the data and their order
    "neighbour-replace-one": Assumption(
        "neighbouring data sets differ by replacing one example"
    ),
    "fresh-permutation": Assumption(
        "every epoch draws its own uniform permutation of the examples"
    ),
    "one-permutation": Assumption(
        "one uniform permutation is drawn and used in every epoch"
    ),
    "any-ordering": Assumption(
        "the order of the examples within each epoch is arbitrary"
    ),
    # the mechanism and its queries
    "adaptive-queries": Assumption("a query may depend on what was released before it"),
    "local-queries": Assumption(
        "query i reads only the examples of a set S_i that is fixed in advance"
    ),
    "bounded-sensitivity": Assumption(
        "query i changes by at most its sensitivity in the 2-norm between neighbours"
    ),
    "gaussian-mechanism": Assumption(
        "each query is released with spherical Gaussian noise, fresh for each"
    ),
    "renyi-divergence": Assumption(
        "the Renyi divergence of order z between neighbouring data sets is at most this",
        1,
    ),
    "subsampled-without-replacement": Assumption(
        "a query reads a part of the data, drawn without replacement"
    ),
    "independent-noise": Assumption(
        "the noise of different nodes is independent, and independent of the data order"
    ),
    "noise-off": Assumption("no noise is added"),
    # the iteration
    "update-of-algorithm-1": Assumption(
        "the iterates are those of the paper's Algorithm 1"
    ),
    "update-of-algorithm-2": Assumption(
        "the iterates are those of the paper's Algorithm 2"
    ),
    "equal-batches": Assumption("every party draws the same number of examples"),
    "normalized-update": Assumption(
        "w_{t+1} = w_t - eta v_t/|v_t| for some sequence v_t"
    ),
    "uniform-output-iterate": Assumption(
        "the output is drawn uniformly from w_1, ..., w_T"
    ),
}

_TAG = re.compile(r"([a-z0-9-]+)(?:\(([^()]*)\))?")


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag as a claim uses it."""

    name: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return (
            f"{self.name}({', '.join(self.arguments)})" if self.arguments else self.name
        )


def parse_tag(text: str, assumptions: Mapping[str, Assumption] = ASSUMPTIONS) -> Tag:
    """Parse a tag. The loader checks whether the symbols that it names are declared."""
    match = _TAG.fullmatch(text.strip())
    if match is None:
        raise FormulaError(
            text, "an assumption is a tag, such as fresh-permutation or lipschitz(G)"
        )
    name = match[1]
    inside = match[2]
    if name not in assumptions:
        raise FormulaError(
            text, f"unknown assumption {name!r}{suggest(name, assumptions)}"
        )
    arguments = (
        tuple(argument.strip() for argument in inside.split(","))
        if inside is not None
        else ()
    )
    expected = assumptions[name].arguments
    if len(arguments) != expected:
        raise FormulaError(
            text, f"{name} names {expected} symbol(s), got {len(arguments)}"
        )
    return Tag(name, arguments)


@dataclass(frozen=True, slots=True)
class Domain:
    """The domain of a symbol, such as ``real, 0 < alpha <= 1``. All comparisons hold at the same time."""

    kind: Literal["real", "integer", "vector"]
    constraints: tuple[Compare, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """Symbols in the constraints, including the symbol itself."""
        return frozenset[str]().union(
            *(free_names(constraint) for constraint in self.constraints)
        )

    def __str__(self) -> str:
        return ", ".join(
            (self.kind, *(to_text(constraint) for constraint in self.constraints))
        )


def parse_domain(text: str) -> Domain:
    """Parse ``real``, ``integer`` or ``vector``, and comparisons after commas; raises `FormulaError`."""
    kind, *constraints = _split(text)
    kind = kind.strip()
    if kind not in ("real", "integer", "vector"):
        rule = (
            f"a domain begins with real or integer{suggest(kind, ('real', 'integer'))}"
        )
        raise FormulaError(text, rule)
    try:
        parsed = tuple(parse_relation(constraint) for constraint in constraints)
    except FormulaError as error:
        raise FormulaError(text, error.rule) from None
    return Domain(
        "real" if kind == "real" else "integer" if kind == "integer" else "vector",
        parsed,
    )


def _split(text: str) -> Iterator[str]:
    """Yield the parts of a text between the commas outside brackets."""
    depth = start = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0:
            yield text[start:position]
            start = position + 1
    yield text[start:]


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")


@dataclass(frozen=True)
class Vocabulary:
    """The names that the formulas of a paper may use."""

    symbols: dict[str, Symbol] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    quantities: dict[str, Quantity] = field(default_factory=dict)
    assumptions: Mapping[str, Assumption] = field(default_factory=lambda: ASSUMPTIONS)

    def formula(self, text: str) -> Formula:
        """Parse a formula in the paper's names; raises `FormulaError`."""
        node = with_pi(parse(text), self.symbols)
        self.check(text, node)
        return node

    def relation(self, text: str) -> Compare:
        """Parse a comparison in the paper's names; raises `FormulaError`."""
        node = self._relation_with_pi(parse_relation(text))
        self.check(text, node)
        return node

    def _relation_with_pi(self, node: Compare) -> Compare:
        return Compare(
            node.ops, tuple(with_pi(operand, self.symbols) for operand in node.operands)
        )

    def domain(self, text: str, symbol: str) -> Domain:
        """Parse the domain of a symbol; raises `FormulaError`."""
        domain = parse_domain(text)
        domain = replace(
            domain, constraints=tuple(map(self._relation_with_pi, domain.constraints))
        )
        for constraint in domain.constraints:
            self.check(text, constraint)
        if domain.constraints and symbol not in domain.names:
            raise FormulaError(text, f"the domain of {symbol!r} does not mention it")
        return domain

    def tag(self, text: str) -> Tag:
        """Parse an assumption whose arguments are symbols of the paper; raises `FormulaError`."""
        tag = parse_tag(text, self.assumptions)
        for argument in tag.arguments:
            if argument not in self.symbols:
                raise FormulaError(
                    text,
                    f"unknown symbol {argument!r}{suggest(argument, self.symbols)}",
                )
        return tag

    def check(self, text: str, node: Formula | Compare) -> None:
        """Check that a tree uses only declared names; raises `FormulaError`."""
        arities = {name: function.arity for name, function in self.functions.items()}
        check_names(text, node, frozenset(self.symbols), arities)

    def with_domains(self, names: Iterable[str]) -> set[str]:
        """Return symbols with all symbols that their domains mention, at any depth."""
        collected: set[str] = set()
        todo = set(names)
        while todo:
            collected |= todo
            todo = {
                mentioned for name in todo for mentioned in self.domains[name].names
            } - collected
        return collected

    def domain_texts(self, texts: Iterable[str]) -> dict[str, str]:
        """Return the domains and roles of all symbols that occur as words in formulas, without parsing them."""
        words = {word for text in texts for word in _NAME.findall(text)}
        symbols = {
            name: self.symbols[name]
            for name in self.with_domains(words & self.symbols.keys())
        }
        return {
            name: f"{symbol.domain}; role {symbol.role}"
            if symbol.role
            else symbol.domain
            for name, symbol in symbols.items()
        }

    def latex(self, node: Formula | Compare) -> str:
        """Typeset a tree in the paper's letters."""
        letters = {name: symbol.latex for name, symbol in self.symbols.items()}
        heads = {name: function.latex for name, function in self.functions.items()}
        return latex(node, letters, heads)


def read_vocabulary(claims: ClaimsFile, place: Place, problems: Problems) -> Vocabulary:
    """Read the names that a paper declares. Invalid names are included, so that each error is reported only once."""
    problems.extend(_name_problems(claims, place))
    problems.extend(_tag_problems(claims, place))
    declared = {
        name: Assumption(tag.meaning, tag.arguments)
        for name, tag in claims.assumptions.items()
    }
    vocabulary = Vocabulary(
        claims.symbols, {}, claims.functions, claims.quantities, declared | ASSUMPTIONS
    )
    for name, symbol in claims.symbols.items():
        try:
            vocabulary.domains[name] = domain = vocabulary.domain(symbol.domain, name)
            if domain.kind == "vector":
                raise FormulaError(
                    symbol.domain,
                    "a vector is a letter of a definition; a claim speaks of its norm",
                )
        except FormulaError as error:
            vocabulary.domains[name] = Domain("real")
            problems.append(place.at(f"symbols.{name}.domain").formula_error(error))
    return vocabulary


def _tag_problems(claims: ClaimsFile, place: Place) -> Iterator[SpecError]:
    """Yield the errors in the tags that a paper declares."""
    for name, tag in claims.assumptions.items():
        tag_place = place.at(f"assumptions.{name}")
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
            yield tag_place.error(
                shown(name), "a tag is made of small letters, digits and single hyphens"
            )
        elif name in ASSUMPTIONS:
            yield tag_place.error(
                shown(name),
                f"this tag is there for all papers: {ASSUMPTIONS[name].meaning}",
            )
        if not tag.meaning.strip():
            yield tag_place.error(shown(tag.meaning), "the meaning must not be empty")
        if tag.arguments < 0:
            yield tag_place.error(str(tag.arguments), "a tag names 0 symbols or more")


def _name_problems(claims: ClaimsFile, place: Place) -> Iterator[SpecError]:
    """Yield the errors in declared names, LaTeX and arities."""
    tables: dict[str, Mapping[str, Symbol | Function | Quantity]] = {
        "symbols": claims.symbols,
        "functions": claims.functions,
        "quantities": claims.quantities,
    }
    for table, entries in tables.items():
        for name, entry in entries.items():
            name_place = place.at(f"{table}.{name}")
            if not _NAME.fullmatch(name):
                yield name_place.error(
                    shown(name),
                    "a name is a letter, then up to 59 letters, digits and underscores",
                )
            elif (
                name in RESERVED
                or (table == "functions" and name in BUILTINS)
                or keyword.iskeyword(name)
            ):
                yield name_place.error(
                    shown(name),
                    "this word belongs to the formula language or to Python; choose another",
                )
            if not entry.latex.strip():
                yield place.at(f"{table}.{name}.latex").error(
                    shown(entry.latex), "the LaTeX must not be empty"
                )
    for name, function in claims.functions.items():
        if name in claims.symbols:
            yield place.at(f"functions.{name}").error(
                shown(name), "a name is a symbol or a function, not both"
            )
        if not 1 <= function.arity <= 20:
            yield place.at(f"functions.{name}.arity").error(
                shown(function.arity), "an arity is from 1 to 20"
            )
        places = {int(digit) for digit in re.findall("#([1-9])", function.latex)}
        if places and places != set(range(1, function.arity + 1)):
            rule = f"the places in the LaTeX are #1 to #{function.arity}, each at least once"
            yield place.at(f"functions.{name}.latex").error(shown(function.latex), rule)
