"""Conditions of a claim that are not formulas: tags of a closed list, such as ``differentiable`` or ``smooth(L)``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dpverify.ledger.errors import FormulaError, suggest

#: Problems of dpverify.problems whose losses are certified differentiable, Lipschitz and smooth with a bounded gap.
CERTIFIED = ("antipodal", "identical", "logistic-nonconvex")


@dataclass(frozen=True, slots=True)
class Assumption:
    """A condition that a claim may name."""

    meaning: str  # in the house's letters
    arguments: int = 0  # how many symbols of the paper it names
    problems: tuple[str, ...] = ()  # families that satisfy it; empty for a condition on the mechanism or the data


#: Every tag. A new one is added here first, with its meaning; a claim cannot invent one.
ASSUMPTIONS: dict[str, Assumption] = {
    # the loss
    "differentiable": Assumption("f(w, x) is differentiable in w for every x", 0, CERTIFIED),
    "lipschitz": Assumption("the gradient of f(w, x) in w has norm at most G, for all w and x", 1, CERTIFIED),
    "smooth": Assumption("the gradient of f(w, x) in w is L-Lipschitz in w, for every x", 1, CERTIFIED),
    "bounded-gap": Assumption("F(w_1) - inf F is at most R", 1, CERTIFIED),
    # the data and their order
    "neighbour-replace-one": Assumption("neighbouring data sets differ by replacing one example"),
    "fresh-permutation": Assumption("every epoch draws its own uniform permutation of the examples"),
    "one-permutation": Assumption("one uniform permutation is drawn and used in every epoch"),
    "any-ordering": Assumption("the order of the examples within each epoch is arbitrary"),
    # the mechanism and its queries
    "adaptive-queries": Assumption("a query may depend on what was released before it"),
    "local-queries": Assumption("query i reads only the examples of a set S_i that is fixed in advance"),
    "bounded-sensitivity": Assumption("query i changes by at most its sensitivity in the 2-norm between neighbours"),
    "gaussian-mechanism": Assumption("each query is released with spherical Gaussian noise, fresh for each"),
    "subsampled-without-replacement": Assumption("a query reads a part of the data, drawn without replacement"),
    "independent-noise": Assumption("the noise of different nodes is independent, and independent of the data order"),
    "noise-off": Assumption("no noise is added"),
    # the iteration
    "update-of-algorithm-1": Assumption("the iterates are those of the paper's Algorithm 1"),
    "update-of-algorithm-2": Assumption("the iterates are those of the paper's Algorithm 2"),
    "normalized-update": Assumption("w_{t+1} = w_t - eta v_t/|v_t| for some sequence v_t"),
    "uniform-output-iterate": Assumption("the output is drawn uniformly from w_1, ..., w_T"),
}  # fmt: skip

_TAG = re.compile(r"([a-z0-9-]+)(?:\(([^()]*)\))?")


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag as a claim uses it."""

    name: str
    arguments: tuple[str, ...] = ()

    @property
    def assumption(self) -> Assumption:
        """What the tag means."""
        return ASSUMPTIONS[self.name]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.arguments)})" if self.arguments else self.name


def parse_tag(text: str) -> Tag:
    """Parse a tag; whether the symbols that it names are declared is for the loader to say."""
    match = _TAG.fullmatch(text.strip())
    if match is None:
        raise FormulaError(text, "an assumption is a tag, such as fresh-permutation or lipschitz(G)")
    name, inside = match[1], match[2]
    if name not in ASSUMPTIONS:
        raise FormulaError(text, f"unknown assumption {name!r}{suggest(name, ASSUMPTIONS)}")
    arguments = tuple(argument.strip() for argument in inside.split(",")) if inside is not None else ()
    wanted = ASSUMPTIONS[name].arguments
    if len(arguments) != wanted:
        raise FormulaError(text, f"{name} names {wanted} symbol(s), got {len(arguments)}")
    return Tag(name, arguments)
