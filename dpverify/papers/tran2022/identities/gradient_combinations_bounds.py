"""Vector identities as identities between coefficients: formal sums of gradients, each with an exact coefficient.

The functions that the paper's formulas apply (G_win, Delta_win, r_win, momentum, ...) are linear in gradients, so two
sides are equal as vectors, whatever the loss, if their coefficients are. A gradient is named by where it is taken and
of which example: ``("anchor", epoch, example)``, ``("iterate", step, example)`` or ``("full", step)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from dpverify.symbolic.exact.combinations import Combination, Name, add_to, term
from dpverify.symbolic.exact.numbers import ONE, ZERO, Exact, Value, to_value

Function: TypeAlias = Callable[..., "Combination"]


@dataclass(frozen=True)
class Ordering:
    """Which example each step draws, and which epoch it belongs to."""

    # ``once``: the same order in every epoch. ``reversed``: every second epoch goes backwards, a case of fresh
    # permutations. ``swapped``: epoch 1 exchanges its first two examples. ``free``: all steps draw different examples;
    # what holds then holds for every order.
    name: Literal["once", "reversed", "swapped", "free"]
    n_examples: int
    # step at which epoch 0 begins: 1 by the house's convention, 0 for epochs {qN, .., qN + N - 1}
    first_step: Literal[0, 1] = 1

    def epoch(self, t: int) -> int:
        """Epoch of step t, from 0."""
        return (t - self.first_step) // self.n_examples

    def example(self, t: int) -> int:
        """Number of the example that step t draws, from 1 (any label where all are different)."""
        place = (t - self.first_step) % self.n_examples + 1
        if self.name == "free":
            return t
        if self.name == "reversed" and self.epoch(t) % 2:
            return self.n_examples + 1 - place
        if self.name == "swapped" and self.epoch(t) == 1 and place <= 2 <= self.n_examples:
            return 3 - place
        return place


FullStart = Literal["gradient", "zero"]  # g_1 of Lemma 11's proof: grad F(w_1) as it says, or alpha grad F(w_1)


def paper_functions(
    ordering: Ordering, alpha: Exact, *, full_start: FullStart = "gradient", before_first: Literal[0, 1] = 0
) -> dict[str, Function]:
    """Give the functions that the paper declares before equation 2, by the names of ``[functions.*]``."""
    beta, weight = to_value(1 - alpha), to_value(alpha)

    def anchor_grad(t: Any) -> Combination:
        return term("anchor", ordering.epoch(int(t)), ordering.example(int(t)))

    def anchor_before(t: int) -> Combination:
        return term("anchor", ordering.epoch(t) - 1, ordering.example(t))

    def grad(t: Any) -> Combination:
        return term("iterate", int(t), ordering.example(int(t)))

    def full_grad(t: Any) -> Combination:
        return term("full", max(int(t), before_first))

    def window(summand: Callable[[int], Combination], a: Any, b: Any) -> Combination:
        total: dict[Name, Value] = {}
        decay: Value = ONE
        for t in range(int(b), int(a) - 1, -1):
            add_to(total, summand(t), decay)
            decay = decay * beta
        return Combination(total)

    def recursion(first: Combination, summand: Callable[[int], Combination], t: Any) -> Combination:
        """Value at t of x_1 = first, x_s = (1-alpha) x_{s-1} + alpha summand(s)."""
        total = dict(first.terms)
        for s in range(2, int(t) + 1):
            total = {name: beta * value for name, value in total.items()}
            add_to(total, summand(s), weight)
        return Combination(total)

    return {
        "grad": grad,
        "anchor_grad": anchor_grad,
        "full_grad": full_grad,
        "G_win": lambda a, b: window(anchor_grad, a, b),
        "Delta_win": lambda a, b: window(lambda t: anchor_grad(t) - anchor_before(t), a, b),
        "r_win": lambda a, b: window(lambda t: grad(t) - anchor_grad(t), a, b),
        "momentum": lambda t: recursion(weight * grad(1), grad, t) if int(t) else Combination({}),
        "full_momentum": lambda t: recursion(
            full_grad(1) * (ONE if full_start == "gradient" else weight), full_grad, t
        ),
    }


def left_over(
    t: int, n_examples: int, alpha: Fraction, gamma: Fraction, functions: Mapping[str, Function]
) -> Combination:
    """What m_hat_t of Algorithm 4, with the noise off, has more than m_t: the corrected ``tran2022:equation-8``.

    ``alpha (1-gamma) sum over i = 1 .. q-1 of c_i (W_{i+1} - (W_i - D_i))``, W_i and D_i being G and Delta of the
    window [t - iN + 1, t - (i-1)N] and ``c_i = sum_{j<i} (1-gamma)^j (1-alpha)^((i-1-j)N)``.
    """
    block = to_value(1 - alpha) ** n_examples
    keep = to_value(1 - gamma)
    g_window = functions["G_win"]
    delta_window = functions["Delta_win"]
    total: dict[Name, Value] = {}
    c: Value = ZERO
    power: Value = ONE
    for i in range(1, t // n_examples):
        c = keep * c + power
        power = power * block
        a = t - i * n_examples + 1
        b = t - (i - 1) * n_examples
        previous = g_window(a, b) - delta_window(a, b)
        add_to(total, g_window(a - n_examples, b - n_examples) - previous, to_value(alpha) * keep * c)
    return Combination(total)


def in_words(name: Name) -> str:
    """Name a gradient, or the node of a sum of nodes, for a report."""
    kind = name[0]
    if kind == "full":
        return f"the full gradient at w_{name[1]}"
    if kind not in {"anchor", "iterate"}:
        return f"node {kind} [{name[1]}, {name[-1]}]"
    place = f"the anchor of epoch {name[1]}" if kind == "anchor" else f"w_{name[1]}"
    return f"the gradient of example {name[-1]} at {place}"
