"""Find the origin of a side condition of a step: a condition of the statement, a case, or the signs of letters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpverify.ledger.formula import to_text
from dpverify.ledger.formula.tree import (
    Bin,
    Call,
    Compare,
    Comparison,
    Formula,
    Name,
    Neg,
    Num,
    Sum,
)

# coefficients of a sum by the text of the term; the constant has the empty text
Terms = Mapping[str, Fraction]

_ONE = ""
_INDICES = "ijkl"  # indices of sums; they are at least 0
_NEVER_NEGATIVE = frozenset(
    {"sqrt", "exp", "abs", "norm", "moment", "bit", "popcount", "binomial", "mod"}
)


@dataclass(frozen=True)
class Granted:
    """A relation that holds at a step, and its reason."""

    relation: Compare
    by: str  # such as "this case"; empty for a condition of the statement


def is_same(condition: Compare, fact: Compare) -> bool:
    """Test whether two comparisons are the same, such as ``a <= b`` and ``b >= a``."""
    sides = [
        [_terms(side) for side in _ordered(relation)] for relation in (condition, fact)
    ]
    return _gap(condition)[0] == _gap(fact)[0] and sides[0] == sides[1]


def origin(condition: Compare, granted: Sequence[Granted]) -> Granted | None:
    """Return the latest relation that implies a condition up to a factor and a constant, or None."""
    return next(
        (fact for fact in reversed(granted) if _follows(condition, fact.relation)), None
    )


def is_obvious(condition: Compare, granted: Iterable[Granted]) -> bool:
    """Test whether a condition compares equal sides or numbers, or follows from the signs of single letters."""
    strict, gap = _gap(condition)
    constant = gap.get(_ONE, Fraction(0))
    if not gap.keys() - {_ONE} and (constant > 0 or (constant == 0 and not strict)):
        return True
    small, large = _ordered(condition)
    if small != Num(Fraction(0)) or (isinstance(large, Bin) and large.op == "-"):
        return False
    signs = LetterSigns.granted([fact.relation for fact in granted])
    return signs.is_positive(large) if strict else signs.is_nonnegative(large)


def is_bound_of_letter(relation: Compare) -> bool:
    """Test whether a relation bounds one letter by a number, as domains do."""
    small, large = _ordered(relation)
    return {type(small), type(large)} == {Name, Num}


@dataclass(frozen=True)
class LetterSigns:
    """Letters that are known to be positive or nonnegative."""

    positive: frozenset[str]
    nonnegative: frozenset[str]
    relations: tuple[Compare, ...] = ()

    @classmethod
    def granted(cls, relations: Sequence[Compare]) -> LetterSigns:
        """Return the signs that follow from relations such as ``N >= 1``."""
        positive: set[str] = set()
        nonnegative: set[str] = set()
        for relation in relations:
            small, large = _ordered(relation)
            if (
                isinstance(large, Name)
                and isinstance(small, Num)
                and relation.ops != ("==",)
                and small.value >= 0
            ):
                is_positive = small.value > 0 or relation.ops[0] in ("<", ">")
                (positive if is_positive else nonnegative).add(large.id)
        return cls(
            frozenset(positive),
            frozenset(nonnegative | positive | set(_INDICES)),
            tuple(relations),
        )

    def _is_granted(self, sign: Comparison, large: Formula, small: int = 0) -> bool:
        """Test whether one relation implies that a formula is above `small`, or at least `small`, by ``sign``."""
        wanted = Compare((sign,), (Num(Fraction(small)), large))
        return any(_follows(wanted, relation) for relation in self.relations)

    def _logarithm(self, sign: Comparison, inside: Formula) -> bool:
        """Test whether one relation implies that the argument of a logarithm is above 1, or at least 1, by ``sign``."""
        match inside:
            case Bin("/", Num(value), Name(name)) if value == 1:
                below_one = Compare((sign,), (Name(name), Num(value)))
                return name in self.positive and any(
                    _follows(below_one, relation) for relation in self.relations
                )
            case _:
                return self._is_granted(sign, inside, 1)

    def is_positive(self, node: Formula) -> bool:
        """Test whether signs and single relations imply that a formula is positive."""
        match node:
            case Num(value):
                return value > 0
            case Name(name):
                return name in self.positive
            case Bin("+", left, right):
                parts = [left, right]
                return any(map(self.is_positive, parts)) and all(
                    map(self.is_nonnegative, parts)
                )
            case Bin("*" | "/", left, right):
                return self.is_positive(left) and self.is_positive(right)
            case Bin("**", inside, _) | Call("sqrt", (inside,)):
                return self.is_positive(inside)
            case Bin("-"):
                return self._is_granted("<", node)
            case Call("log" | "log2", (inside,)):
                return self._logarithm("<", inside)
        return isinstance(node, Call) and node.name == "exp"

    def is_nonnegative(self, node: Formula) -> bool:
        """Test whether signs and single relations imply that a formula is at least 0."""
        match node:
            case Name(name):
                return name in self.nonnegative
            case Bin("+" | "*" | "/", left, right):
                return self.is_nonnegative(left) and self.is_nonnegative(right)
            case Bin("**", inside, exponent):
                return self.is_nonnegative(inside) or (
                    isinstance(exponent, Num) and exponent.value % 2 == 0
                )
            case Bin("-"):
                return self._is_granted("<=", node)
            case Call("log" | "log2", (inside,)):
                return self._logarithm("<=", inside)
            case Call("floor", (inside,)):
                return self.is_nonnegative(inside)
            case Call(name, _):
                return name in _NEVER_NEGATIVE
            case Sum(body, _, _, _):
                return self.is_nonnegative(body)
        return isinstance(node, Num) and node.value >= 0


def _follows(condition: Compare, fact: Compare) -> bool:
    """Test whether a condition's gap (larger minus smaller side) is a positive multiple of a fact's gap, or more."""
    if "==" in (*condition.ops, *fact.ops):
        return condition == fact
    strict, gap = _gap(condition)
    fact_strict, fact_gap = _gap(fact)
    names = gap.keys() - {_ONE}
    if not names or names != fact_gap.keys() - {_ONE}:
        return False
    factors = {gap[name] / fact_gap[name] for name in names}
    if len(factors) > 1 or min(factors) <= 0:
        return False
    surplus = gap.get(_ONE, Fraction(0)) - min(factors) * fact_gap.get(
        _ONE, Fraction(0)
    )
    return surplus > 0 or (surplus == 0 and (fact_strict or not strict))


def _ordered(relation: Compare) -> tuple[Formula, Formula]:
    """Return the sides of a comparison, the smaller side first."""
    left, right = relation.operands
    return (right, left) if relation.ops[0] in (">", ">=") else (left, right)


def _gap(relation: Compare) -> tuple[bool, Terms]:
    """Return whether a comparison is strict, and the difference of the larger and the smaller side."""
    small, large = _ordered(relation)
    return relation.ops[0] in ("<", ">"), _terms(Bin("-", large, small))


def _terms(node: Formula) -> dict[str, Fraction]:
    """Return a formula as a sum of terms with coefficients, without terms that cancel."""
    match node:
        case Num(value):
            return {_ONE: value} if value else {}
        case Neg(inside):
            return _scaled(_terms(inside), Fraction(-1))
        case Bin("+" | "-" as sign, left, right):
            total = _terms(left)
            for name, value in _scaled(
                _terms(right), Fraction(1 if sign == "+" else -1)
            ).items():
                total[name] = total.get(name, Fraction(0)) + value
            return {name: value for name, value in total.items() if value}
        case Bin("/", left, Num(value)):
            return _scaled(_terms(left), 1 / value)
        case Bin("*"):
            number, others = _split(node)
            if len(others) == 1:
                return _scaled(_terms(others[0]), number)
            return (
                {"*".join(sorted(map(to_text, others))): number}
                if others
                else {_ONE: number}
            )
        case _:
            return {to_text(node): Fraction(1)}


def _scaled(terms: Mapping[str, Fraction], factor: Fraction) -> dict[str, Fraction]:
    return {name: value * factor for name, value in terms.items() if value * factor}


def _split(node: Formula) -> tuple[Fraction, list[Formula]]:
    """Return the numerical factor of a product, and its other factors."""
    match node:
        case Num(value):
            return value, []
        case Neg(inside):
            number, others = _split(inside)
            return -number, others
        case Bin("*", left, right):
            first, others = _split(left)
            second, more = _split(right)
            return first * second, [*others, *more]
        case _:
            return Fraction(1), [node]
