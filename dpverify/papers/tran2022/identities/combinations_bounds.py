"""Vector identities as identities between coefficients of formal sums of gradients and of tree nodes, exactly.

The functions in the paper's formulas (G_win, Delta_win, r_win, momentum, ...) are
linear in gradients. So the two sides are equal as vectors, for every loss, if their
coefficients are equal. The name of a gradient contains its point and its example:
``("anchor", epoch, example)``, ``("iterate", step, example)`` or ``("full", step)``.

Algorithm 4 and its streaming form are represented as formal sums of tree nodes. The name of a node contains its family
and interval: ``("G", y, z)``, ``("Delta", y, z)`` or ``("r", y, z)``. The literal form follows the printed lines with
the repairs that they need to run. The streaming form is a recursion over epochs that stores one vector per step of the
last epoch. NOTES_identities.md proves that they agree for all t, N, alpha and gamma.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from dpverify.papers.tran2022.trees.tree_aggregation_bounds import compose_intervals
from dpverify.symbolic.exact.combinations import Combination, Name, add_to, term
from dpverify.symbolic.exact.numbers import ONE, ZERO, Exact, Value, to_value

Function: TypeAlias = Callable[..., "Combination"]


@dataclass(frozen=True)
class Ordering:
    """The example and the epoch of each step."""

    # ``once``: the same order in every epoch. ``reversed``: every second epoch has the
    # reverse order, a case of fresh permutations. ``swapped``: epoch 1 exchanges its
    # first two examples. ``free``: all steps draw different examples; an identity that
    # holds for this ordering holds for every ordering.
    name: Literal["once", "reversed", "swapped", "free"]
    n_examples: int
    # first step of epoch 0: 1 by dpverify's
    # convention, 0 for epochs {qN, .., qN + N - 1}
    first_step: Literal[0, 1] = 1

    def epoch(self, t: int) -> int:
        """Return the epoch of step t, from 0."""
        return (t - self.first_step) // self.n_examples

    def example(self, t: int) -> int:
        """Return the number of the example that step t draws, from 1; for ``free``, a label that is unique to t."""
        place = (t - self.first_step) % self.n_examples + 1
        if self.name == "free":
            return t
        if self.name == "reversed" and self.epoch(t) % 2:
            return self.n_examples + 1 - place
        if (
            self.name == "swapped"
            and self.epoch(t) == 1
            and place <= 2 <= self.n_examples
        ):
            return 3 - place
        return place


# g_1 of Lemma 11's proof: grad F(w_1) as printed, or alpha grad F(w_1)
FullStart = Literal["gradient", "zero"]


def paper_functions(
    ordering: Ordering,
    alpha: Exact,
    *,
    full_start: FullStart = "gradient",
    before_first: Literal[0, 1] = 0,
) -> dict[str, Function]:
    """Return the functions that the paper defines before equation 2, by their names in ``[functions.*]``."""
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

    def recursion(
        first: Combination, summand: Callable[[int], Combination], t: Any
    ) -> Combination:
        """Return x_t of the recursion x_1 = first, x_s = (1-alpha) x_{s-1} + alpha summand(s)."""
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
        "Delta_win": lambda a, b: window(
            lambda t: anchor_grad(t) - anchor_before(t), a, b
        ),
        "r_win": lambda a, b: window(lambda t: grad(t) - anchor_grad(t), a, b),
        "momentum": lambda t: (
            recursion(weight * grad(1), grad, t) if int(t) else Combination({})
        ),
        "full_momentum": lambda t: recursion(
            full_grad(1) * (ONE if full_start == "gradient" else weight), full_grad, t
        ),
    }


def left_over(
    t: int,
    n_examples: int,
    alpha: Fraction,
    gamma: Fraction,
    functions: Mapping[str, Function],
) -> Combination:
    """Return m_hat_t - m_t for Algorithm 4 without noise, by the corrected ``tran2022:equation-8``.

    It is ``alpha (1-gamma) sum over i = 1 .. q-1 of c_i (W_{i+1} - (W_i - D_i))``, where W_i and D_i are G and Delta of
    the window [t - iN + 1, t - (i-1)N] and ``c_i = sum_{j<i} (1-gamma)^j (1-alpha)^((i-1-j)N)``.
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
        add_to(
            total,
            g_window(a - n_examples, b - n_examples) - previous,
            to_value(alpha) * keep * c,
        )
    return Combination(total)


def in_words(name: Name) -> str:
    """Return the name of a gradient or of a node in words, for a report."""
    kind = name[0]
    if kind == "full":
        return f"the full gradient at w_{name[1]}"
    if kind not in {"anchor", "iterate"}:
        return f"node {kind} [{name[1]}, {name[-1]}]"
    place = f"the anchor of epoch {name[1]}" if kind == "anchor" else f"w_{name[1]}"
    return f"the gradient of example {name[-1]} at {place}"


# (family, a, b) -> sum over COMPOSE(a, b)
WindowSum: TypeAlias = Callable[[str, int, int], Combination]


def window_sum(alpha: Fraction) -> WindowSum:
    """Return the function ``(F, a, b) -> sum over [y, z] in COMPOSE(a, b) of (1-alpha)**(b - z) F_[y,z]``."""
    beta = to_value(1 - alpha)

    def over_nodes(family: str, a: int, b: int) -> Combination:
        return Combination(
            {(family, y, z): beta ** (b - z) for y, z in compose_intervals(a, b)}
        )

    return over_nodes


def literal_output(
    t: int, n_examples: int, alpha: Fraction, gamma: Fraction
) -> Combination:
    """Return m_hat_t of Algorithm 4, line by line, in terms of the nodes.

    The repairs are: COMPOSE(1, 0) is empty (``tran2022:algorithm-4-empty-prefix``). The loop omits the window of i = 0,
    which is after t (``algorithm-4-loop``). The last line is read as an assignment (``algorithm-4-assignment``).
    """
    beta = to_value(1 - alpha)
    keep = to_value(1 - gamma)
    total_over = window_sum(alpha)
    q, r = divmod(t, n_examples)
    total = beta ** (t - r) * total_over("G", 1, r)
    for i in range(q):
        if i >= 1:
            a = t - i * n_examples + 1
            b = t - (i - 1) * n_examples
            share = sum(
                (keep**j * beta ** ((i - 1 - j) * n_examples) for j in range(i)), ZERO
            )
            total = total + share * (
                keep * total_over("Delta", a, b) + (1 - keep) * total_over("G", a, b)
            )
        first = beta ** (n_examples * i) * keep ** (q - i - 1)
        total = total + first * total_over("G", r + 1, r + n_examples)
    return to_value(alpha) * (total + total_over("r", 1, t))


def printed_output(
    t: int, n_examples: int, alpha: Fraction, gamma: Fraction
) -> Combination:
    """Return m_hat_t of Algorithm 4 as printed: the last line of the loop is not assigned, so the windows are lost.

    COMPOSE(1, 0) is taken to be empty. The nodes after t that the loop reads have no effect, as they are not used.
    """
    total_over = window_sum(alpha)
    r = t % n_examples
    initial = to_value(1 - alpha) ** (t - r) * total_over("G", 1, r)
    return to_value(alpha) * (initial + total_over("r", 1, t))


def streaming_outputs(
    steps: int, n_examples: int, alpha: Fraction, gamma: Fraction, *, fault: str = ""
) -> list[Combination]:
    """Return m_hat_1 .. m_hat_T by the recursion over epochs, in terms of the nodes; ``fault`` names a planted fault.

    With W_t and D_t the sums of G and Delta over the window [t - N + 1, t], and
    Ghat_0 = 0,

        g_t = (1-gamma) (D_t + g_{t-N}) + gamma W_t  for t >= 2N,   g_t = W_t  for N <= t < 2N,
        Ghat_t = (1-alpha)^N Ghat_{t-N} + g_t        for t >= N,    Ghat_t = sum over COMPOSE(1, t)  for t < N.
    """
    beta = to_value(1 - alpha)
    keep = to_value(1 - gamma)
    fresh = 1 - keep
    if fault == "gamma-swapped":
        keep, fresh = fresh, keep
    total_over = window_sum(alpha)
    power = beta ** (n_examples - (fault == "decay-off"))
    totals = [Combination({})]
    windows = [Combination({})]
    outputs = []
    for t in range(1, steps + 1):
        if t < n_examples:
            window = Combination({})
            total = total_over("G", 1, t)
        else:
            window = total_over("G", t - n_examples + 1, t)
            if t >= (1 if fault == "base-late" else 2) * n_examples:
                before = windows[t - n_examples - (fault == "ring-off")]
                window = (
                    keep * (total_over("Delta", t - n_examples + 1, t) + before)
                    + fresh * window
                )
            total = power * totals[t - n_examples] + window
        totals.append(total)
        windows.append(window)
        outputs.append(to_value(alpha) * (total + total_over("r", 1, t)))
    return outputs


def in_gradients(nodes: Combination, functions: Mapping[str, Function]) -> Combination:
    """Write a sum of nodes as a sum of gradients; F^G_[y,z] is G_[y,z] of section 4, and likewise for Delta and r."""
    total = Combination({})
    for (family, *interval), value in nodes.terms.items():
        total = total + value * functions[f"{family}_win"](*interval)
    return total
