"""Syntax trees of the formula language. They are immutable and hashable, keep the printed form and evaluate nothing.

Functions of probability laws have signatures: the number and the kinds of their arguments, and the kind of their value.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["number", "law", "pair"]

LETTERS: dict[str, Kind] = {"x": "number", "L": "law", "M": "pair"}
MOST_ARGUMENTS = 20


class Signature(NamedTuple):
    """Kinds of the arguments and of the value. With ``repeats``, the last argument may be repeated."""

    arguments: tuple[Kind, ...]
    value: Kind
    repeats: bool


def _signature(text: str) -> Signature:
    arguments, value = text.split(">")
    kinds = tuple(LETTERS[letter] for letter in arguments.rstrip("+"))
    return Signature(kinds, LETTERS[value], arguments.endswith("+"))


#: Signatures of functions of laws (L), of pairs of laws on neighbouring data (M) and of numbers (x): arguments>value.
SIGNATURES: dict[str, Signature] = {
    name: _signature(text)
    for name, text in {
        "laplace_law": "xx>L",  # mean, scale
        "normal_law": "xx>L",  # mean, deviation
        "exponential_law": "xx>L",  # start, scale
        "uniform_law": "xx>L",  # ends
        # mean, deviation before rounding to the integers
        "discrete_normal_law": "xx>L",
        "discrete_laplace_law": "xx>L",  # mean, scale
        "binomial_law": "xx>L",  # n, p
        "response_law": "xxx>L",  # choices, epsilon, true answer
        "finite_law": "xx+>L",  # weights
        "point_law": "x>L",
        # k, low, last, noise scales of the threshold and of the answers
        "above_threshold_law": "xxxxx>L",
        "mixture": "xLL>L",  # probability of the first law
        "shifted": "Lx>L",
        "scaled": "Lx>L",
        "product": "LL+>L",
        "repeated": "Lx>L",
        "neighbours": "LL>M",
        "poisson_sampled": "Mx>M",
        "batch_sampled": "Mxx>M",
        "self_composed": "Mx>M",
        "joined": "MM+>M",
        "shuffled": "MLx>M",
        "hockey_stick": "LLx>x",
        "total_variation": "LL>x",
        "renyi": "LLx>x",
        "kl": "LL>x",
        "zcdp": "LL>x",
        "max_divergence": "LL>x",
        "delta_of": "Mx>x",
        "epsilon_of": "Mx>x",
        "renyi_of": "Mx>x",
        "zcdp_of": "M>x",
        "pure_epsilon_of": "M>x",
        "tail_of": "Lx>x",
        "moment_of": "Lx>x",
        "absolute_moment_of": "Lx>x",
        "mean_of": "L>x",
        "variance_of": "L>x",
    }.items()
}

ARITIES: dict[str, tuple[int, int]] = {
    name: (
        len(signature.arguments),
        MOST_ARGUMENTS if signature.repeats else len(signature.arguments),
    )
    for name, signature in SIGNATURES.items()
}


Operator: TypeAlias = Literal["+", "-", "*", "/", "**"]
Comparison: TypeAlias = Literal["<", "<=", ">", ">=", "=="]

#: Functions of the language, with the fewest and the most arguments; not ``sum``, which binds an index.
BUILTINS: dict[str, tuple[int, int]] = {
    "log": (1, 1),  # natural
    "log2": (1, 1),
    "floor": (1, 1),
    "ceil": (1, 1),
    "mod": (2, 2),
    "popcount": (1, 1),  # binary digits 1 of an integer
    # tree_nodes(a, b): fewest dyadic intervals that make up a .. b
    "tree_nodes": (2, 2),
    "binomial": (2, 2),
    "bit": (2, 2),  # bit(s, i): the i-th binary digit of s, from 0
    "sqrt": (1, 1),
    "exp": (1, 1),
    "min": (2, 20),
    "max": (2, 20),
    "abs": (1, 1),
    # pi(): the number; also written without brackets
    # if no symbol of the paper has this name
    "pi": (0, 0),
    "erf": (1, 1),
    "tanh": (1, 1),
    # gamma(x): the Gamma function of x > 0; a symbol may have this name too
    "gamma": (1, 1),
    "normal_cdf": (1, 1),
    # laplace_delta(epsilon, mu): exact for Laplace noise; mu: sensitivity / scale
    "laplace_delta": (2, 2),
    # binomial_delta(epsilon, n, p, s): of n coins
    # of probability p; the count changes by s
    "binomial_delta": (4, 4),
    # gaussian_delta(epsilon, mu): exact for Gaussian noise; mu: sensitivity / deviation
    "gaussian_delta": (2, 2),
    # sampled_gaussian_delta(epsilon, q, mu): Poisson sampling, one added or removed
    "sampled_gaussian_delta": (3, 3),
    "gaussian_epsilon": (2, 2),  # gaussian_epsilon(delta, mu): the inverse
    "sampled_gaussian_epsilon": (3, 3),  # sampled_gaussian_epsilon(delta, q, mu)
    # (epsilon, q, mu): the part q of the data without replacement, one replaced
    "batch_gaussian_delta": (3, 3),
    "batch_gaussian_epsilon": (3, 3),  # (delta, q, mu)
    # (epsilon, q, mu): Poisson sampling, one replaced
    "replaced_gaussian_delta": (3, 3),
    "replaced_gaussian_epsilon": (3, 3),  # (delta, q, mu)
    # sampled_gaussian_renyi(z, q, mu): of integer order z, Poisson sampling
    "sampled_gaussian_renyi": (3, 3),
    # renyi_delta(epsilon, z, r): of a mechanism with divergence at most r at order z
    "renyi_delta": (3, 3),
    "renyi_epsilon": (3, 3),  # renyi_epsilon(delta, z, r)
    # zcdp_delta(epsilon, rho): the same at the best order, with r = rho*z
    "zcdp_delta": (2, 2),
    "zcdp_epsilon": (2, 2),  # zcdp_epsilon(delta, rho)
    "norm": (1, 1),  # of a vector, in definitions
    "dot": (2, 2),
    "density": (2, 2),  # density(x, s): of a normal law with mean 0 and deviation s
    **ARITIES,
}

#: Words that neither a symbol nor a bound index nor a paper's function may take.
RESERVED = (
    (frozenset(BUILTINS) | {"sum", "integral", "infimum", "supremum", "oo"})
    - {"pi", "gamma"}
    - ARITIES.keys()
)

PI = "pi"


@dataclass(frozen=True, slots=True)
class Num:
    """An exact number: ``0.1`` is 1/10."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Name:
    """A symbol of the paper, or the index of an enclosing sum."""

    id: str


@dataclass(frozen=True, slots=True)
class Inf:
    """Infinity, written ``oo``."""


@dataclass(frozen=True, slots=True)
class Neg:
    """Unary minus."""

    arg: Formula


@dataclass(frozen=True, slots=True)
class Bin:
    """Two operands and an operator as printed, without reordering or cancellation."""

    op: Operator
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the language or of the paper, applied."""

    name: str
    args: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of `body` over the integers `lo` <= `index` <= `hi`. It is 0 if `hi` < `lo`; `hi` may be infinite."""

    body: Formula
    index: str
    lo: Formula
    hi: Formula


@dataclass(frozen=True, slots=True)
class Integral(Sum):
    """The integral of `body` over the real `index` from `lo` to `hi`; the limits may be infinite."""

    @property
    def is_over_line(self) -> bool:
        """Whether the limits are -oo and oo. Proofs support only such integrals."""
        return self.lo == Neg(Inf()) and self.hi == Inf()


@dataclass(frozen=True, slots=True)
class Infimum(Sum):
    """The largest lower bound of `body` over the real `index` with `lo` < `index` < `hi`; an end may be infinite."""


@dataclass(frozen=True, slots=True)
class Supremum(Sum):
    """The smallest upper bound of `body` over the real `index` with `lo` < `index` < `hi`; an end may be infinite."""


BINDERS: dict[type[Sum], str] = {
    Sum: "sum",
    Integral: "integral",
    Infimum: "infimum",
    Supremum: "supremum",
}
"""Nodes that bind an index, and how they are written."""


@dataclass(frozen=True, slots=True)
class Compare:
    """A chain of comparisons, with one operator between each two operands."""

    ops: tuple[Comparison, ...]
    operands: tuple[Formula, ...]


Formula: TypeAlias = Num | Name | Inf | Neg | Bin | Call | Sum
Node: TypeAlias = Formula | Compare


def children(node: Node) -> tuple[Formula, ...]:
    """Return the children of a node in the written order."""
    match node:
        case Neg(arg):
            return (arg,)
        case Bin(_, left, right):
            return (left, right)
        case Call(_, args):
            return args
        case Sum(body, _, lo, hi):
            return (body, lo, hi)
        case Compare(_, operands):
            return operands
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all its descendants, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


_NONE: frozenset[str] = frozenset()


def free_names(node: Node) -> frozenset[str]:
    """Return the free symbols of a node: all names except functions and bound indices."""
    match node:
        case Name(name):
            return frozenset({name})
        case Sum(body, index, lo, hi):
            return (free_names(body) - {index}) | free_names(lo) | free_names(hi)
        case Bin(_, left, right):
            return free_names(left) | free_names(right)
        case Num() | Inf():
            return _NONE
        case _:
            return _NONE.union(*map(free_names, children(node)))


def substitute(node: Formula, replacements: Mapping[Formula, Formula]) -> Formula:
    """Replace subformulas, outermost first. Inside a binder, formulas with its index are not replaced."""
    if node in replacements:
        return replacements[node]
    match node:
        case Neg(arg):
            return Neg(substitute(arg, replacements))
        case Bin(op, left, right):
            return Bin(
                op, substitute(left, replacements), substitute(right, replacements)
            )
        case Call(function, args):
            return Call(function, tuple(substitute(arg, replacements) for arg in args))
        case Sum(body, index, lo, hi):
            inner = {
                old: new
                for old, new in replacements.items()
                if index not in free_names(old)
            }
            return type(node)(
                substitute(body, inner),
                index,
                substitute(lo, replacements),
                substitute(hi, replacements),
            )
        case _:
            return node


def with_pi(node: Formula, symbols: Container[str]) -> Formula:
    """Replace the name pi by the number if it is not a symbol of the paper."""
    if PI in symbols or PI not in free_names(node):
        return node
    return substitute(node, {Name(PI): Call(PI, ())})
