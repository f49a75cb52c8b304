"""Vector identities as identities between coefficients: formal sums of gradients, each with an exact coefficient.

The functions that the paper's formulas apply (G_win, Delta_win, r_win, momentum, ...) are linear in gradients. Here
each evaluates to a :class:`Combination`, a map from gradients to their coefficients, so that the ledger's own formula
can be evaluated with them, and two sides are equal as vectors, whatever the loss, if their coefficients are.

A gradient is named by where it is taken and of which example: ``("anchor", epoch, example)``, ``("iterate", step,
example)`` or ``("full", step)``. Which example a step draws is an :class:`Ordering`. Fractions and integers; no kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from flint import fmpq

from dpverify.symbolic.exact.numbers import ZERO, Datum, Exact, Value, to_exact, to_value

Gradient: TypeAlias = tuple[str, int, int] | tuple[str, int]
"""Where a gradient is taken, and of which example."""

Function: TypeAlias = Callable[..., "Combination"]

_ONE = fmpq(1)


class Combination(Datum):
    """A formal sum of gradients."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Gradient, Value]) -> None:
        self.terms = {gradient: value for gradient, value in terms.items() if not value == 0}  # noqa: SIM201 - a ball can be neither

    def __add__(self, other: Combination | Value | int) -> Combination:
        if not isinstance(other, Combination):
            if other == 0:  # an empty sum
                return self
            raise TypeError(f"other must be a combination of gradients or 0, got {other!r}.")
        total = dict(self.terms)
        _add_to(total, other, _ONE)
        return Combination(total)

    __radd__ = __add__

    def __neg__(self) -> Combination:
        return Combination({gradient: -value for gradient, value in self.terms.items()})

    def __sub__(self, other: Combination | Value | int) -> Combination:
        return self + -other

    def __rsub__(self, other: Value | int) -> Combination:
        return -self + other

    def __mul__(self, factor: Value | int) -> Combination:
        return Combination({gradient: value * factor for gradient, value in self.terms.items()})

    __rmul__ = __mul__

    def coefficient(self, gradient: Gradient) -> Exact:
        """Coefficient of a gradient, 0 where it does not occur."""
        return to_exact(self.terms.get(gradient, ZERO))


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


FullStart = Literal["gradient", "zero"]
"""How g_1 of Lemma 11's proof begins: at grad F(w_1), as it says, or at alpha grad F(w_1), which its sum gives."""


def paper_functions(
    ordering: Ordering, alpha: Exact, *, full_start: FullStart = "gradient", before_first: Literal[0, 1] = 0
) -> dict[str, Function]:
    """Give the functions that the paper declares, as callables for the ledger's formulas.

    By the names of ``[functions.*]``; arguments are integers.

    Source: section 4, definitions before equation 2; ``tran2022`` functions.
    """
    beta, weight = to_value(1 - alpha), to_value(alpha)

    def anchor_grad(t: Any) -> Combination:
        return _gradient(("anchor", ordering.epoch(int(t)), ordering.example(int(t))))

    def anchor_before(t: int) -> Combination:
        return _gradient(("anchor", ordering.epoch(t) - 1, ordering.example(t)))

    def grad(t: Any) -> Combination:
        return _gradient(("iterate", int(t), ordering.example(int(t))))

    def full_grad(t: Any) -> Combination:
        return _gradient(("full", max(int(t), before_first)))

    def window(term: Callable[[int], Combination], a: Any, b: Any) -> Combination:
        total: dict[Gradient, Value] = {}
        decay: Value = _ONE
        for t in range(int(b), int(a) - 1, -1):
            _add_to(total, term(t), decay)
            decay = decay * beta
        return Combination(total)

    def recursion(first: Combination, term: Callable[[int], Combination], t: Any) -> Combination:
        """Value at t of x_1 = first, x_s = (1-alpha) x_{s-1} + alpha term(s)."""
        total = dict(first.terms)
        for s in range(2, int(t) + 1):
            total = {gradient: beta * value for gradient, value in total.items()}
            _add_to(total, term(s), weight)
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
            full_grad(1) * (_ONE if full_start == "gradient" else weight), full_grad, t
        ),
    }


def _gradient(name: Gradient) -> Combination:
    return Combination({name: _ONE})


def _add_to(total: dict[Gradient, Value], other: Combination, factor: Value) -> None:
    """Add a multiple of a combination to coefficients that are being collected."""
    for gradient, value in other.terms.items():
        total[gradient] = total.get(gradient, ZERO) + factor * value


def left_over(
    t: int, n_examples: int, alpha: Fraction, gamma: Fraction, functions: Mapping[str, Function]
) -> Combination:
    """What the right side of equation 8 has too much: with the noise off, m_hat_t - m_t of Algorithm 4.

    ``alpha (1-gamma) sum over i = 1 .. q-1 of c_i (W_{i+1} - (W_i - D_i))``, W_i and D_i being G and Delta of the
    window [t - iN + 1, t - (i-1)N] and ``c_i = sum_{j<i} (1-gamma)^j (1-alpha)^((i-1-j)N)``.

    Source: the corrected ``tran2022:equation-8``.
    """
    block, keep = to_value(1 - alpha) ** n_examples, to_value(1 - gamma)
    g_window, delta_window = functions["G_win"], functions["Delta_win"]
    total: dict[Gradient, Value] = {}
    c: Value = ZERO
    power: Value = _ONE
    for i in range(1, t // n_examples):
        c, power = keep * c + power, power * block
        a, b = t - i * n_examples + 1, t - (i - 1) * n_examples
        kept = g_window(a, b) - delta_window(a, b)
        _add_to(total, g_window(a - n_examples, b - n_examples) - kept, to_value(alpha) * keep * c)
    return Combination(total)


def first_difference(left: Combination, right: Combination) -> Gradient | None:
    """First gradient whose coefficients differ, in the order of the names; None where the two are equal.

    Anchors before iterates, early ones before late ones.
    """
    gap = (left - right).terms
    return min(gap, default=None, key=lambda name: (name[0], *name[1:]))


def in_words(gradient: Gradient) -> str:
    """Name a gradient for a report."""
    if gradient[0] == "full":
        return f"the full gradient at w_{gradient[1]}"
    place = f"the anchor of epoch {gradient[1]}" if gradient[0] == "anchor" else f"w_{gradient[1]}"
    return f"the gradient of example {gradient[-1]} at {place}"


def kronecker_point(steps: int, epochs: int, height: int) -> tuple[Fraction, Fraction]:
    """A point (alpha, gamma) at which an identity of polynomials holds only if it holds everywhere.

    A coefficient of an identity of section 4 is a polynomial with integer coefficients in ``beta = 1 - alpha`` and
    ``1 - gamma``. With ``beta = 1/M`` and ``1 - gamma = M**-(steps + 1)`` different monomials of degree at most
    ``steps`` in beta are different powers of 1/M. If no integer coefficient of the difference reaches M in size, the
    difference is 0 there only if all of them are: that of the smallest power would have to be divisible by M.
    """
    if min(steps, epochs, height) < 1:
        raise ValueError(f"steps, epochs and height must be at least 1, got {steps}, {epochs}, {height}.")
    bits = height.bit_length()
    if bits * (steps + (steps + 1) * epochs) > 16_000:
        raise ValueError(f"steps={steps} and epochs={epochs} must give at most 16000 bits: take fewer.")
    return 1 - Fraction(1, 1 << bits), 1 - Fraction(1, 1 << (bits * (steps + 1)))
