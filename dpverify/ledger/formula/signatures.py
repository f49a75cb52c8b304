"""Functions of laws: how many arguments each takes, of which kind, and of which kind its value is."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["number", "law", "pair"]

LETTERS: dict[str, Kind] = {"x": "number", "L": "law", "M": "pair"}
MOST_ARGUMENTS = 20


class Signature(NamedTuple):
    """Kinds of the arguments, the last one as often as is written where ``repeats``, and of the value."""

    arguments: tuple[Kind, ...]
    value: Kind
    repeats: bool


def _signature(text: str) -> Signature:
    arguments, value = text.split(">")
    kinds = tuple(LETTERS[letter] for letter in arguments.rstrip("+"))
    return Signature(kinds, LETTERS[value], arguments.endswith("+"))


#: Functions of laws (L), of pairs of laws on neighbouring data (M) and of numbers (x): arguments, then the value.
SIGNATURES: dict[str, Signature] = {
    name: _signature(text)
    for name, text in {
        "laplace_law": "xx>L",  # mean, scale
        "normal_law": "xx>L",  # mean, deviation
        "exponential_law": "xx>L",  # start, scale
        "uniform_law": "xx>L",  # ends
        "discrete_normal_law": "xx>L",  # mean, deviation before rounding to the integers
        "discrete_laplace_law": "xx>L",  # mean, scale
        "binomial_law": "xx>L",  # n, p
        "response_law": "xxx>L",  # choices, epsilon, true answer
        "finite_law": "xx+>L",  # weights
        "point_law": "x>L",
        "above_threshold_law": "xxxxx>L",  # k, low, last, scales of the threshold's and the answers' noise
        "mixture": "xLL>L",  # probability of the first
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
    name: (len(signature.arguments), MOST_ARGUMENTS if signature.repeats else len(signature.arguments))
    for name, signature in SIGNATURES.items()
}
