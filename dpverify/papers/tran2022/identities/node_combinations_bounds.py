"""Algorithm 4 and its streaming form as formal sums of tree nodes: every node's coefficient, exactly.

A node is named by family and interval, ``("G", y, z)``, ``("Delta", y, z)`` or ``("r", y, z)``. The literal form
follows the lines of the box with the repairs that it needs to run; the streaming form is a recursion over epochs that
keeps one vector per step of the last epoch. NOTES_identities.md proves that they agree for all t, N, alpha and gamma.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

from dpverify.papers.tran2022.identities.gradient_combinations_bounds import Function
from dpverify.papers.tran2022.trees.compose_bounds import compose_intervals
from dpverify.symbolic.exact.combinations import Combination
from dpverify.symbolic.exact.numbers import ZERO, to_value

WindowSum: TypeAlias = Callable[[str, int, int], Combination]  # From a family and an interval to its sum over COMPOSE


def window_sum(alpha: Fraction) -> WindowSum:
    """Give ``sum over [y, z] in COMPOSE(a, b) of (1-alpha)**(b - z) F_[y,z]`` for any family and interval."""
    beta = to_value(1 - alpha)

    def over_nodes(family: str, a: int, b: int) -> Combination:
        return Combination({(family, y, z): beta ** (b - z) for y, z in compose_intervals(a, b)})

    return over_nodes


def literal_output(t: int, n_examples: int, alpha: Fraction, gamma: Fraction) -> Combination:
    """m_hat_t of Algorithm 4, line by line, in terms of the nodes.

    COMPOSE(1, 0) is empty, the loop leaves out the window of i = 0, which lies after t, and the last line is read as an
    assignment: ``tran2022:algorithm-4-empty-prefix``, ``algorithm-4-loop``, ``algorithm-4-assignment``.
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
            share = sum((keep**j * beta ** ((i - 1 - j) * n_examples) for j in range(i)), ZERO)
            total = total + share * (keep * total_over("Delta", a, b) + (1 - keep) * total_over("G", a, b))
        first = beta ** (n_examples * i) * keep ** (q - i - 1)
        total = total + first * total_over("G", r + 1, r + n_examples)
    return to_value(alpha) * (total + total_over("r", 1, t))


def printed_output(t: int, n_examples: int, alpha: Fraction, gamma: Fraction) -> Combination:
    """m_hat_t of Algorithm 4 as it stands: the last line of the loop is assigned to nothing, so that windows are lost.

    COMPOSE(1, 0) is taken to be empty, and what the loop reads of nodes after t does no harm: it is not used.
    """
    total_over = window_sum(alpha)
    r = t % n_examples
    initial = to_value(1 - alpha) ** (t - r) * total_over("G", 1, r)
    return to_value(alpha) * (initial + total_over("r", 1, t))


def streaming_outputs(
    steps: int, n_examples: int, alpha: Fraction, gamma: Fraction, *, fault: str = ""
) -> list[Combination]:
    """m_hat_1 .. m_hat_T by the recursion over epochs, in terms of the nodes; ``fault`` plants one.

    With W_t and D_t the sums of G and Delta over the window [t - N + 1, t], and Ghat_0 = 0,

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
                window = keep * (total_over("Delta", t - n_examples + 1, t) + before) + fresh * window
            total = power * totals[t - n_examples] + window
        totals.append(total)
        windows.append(window)
        outputs.append(to_value(alpha) * (total + total_over("r", 1, t)))
    return outputs


def in_gradients(nodes: Combination, functions: Mapping[str, Function]) -> Combination:
    """Write a sum of nodes as a sum of gradients, F^G_[y,z] being G_[y,z] of section 4, and so on."""
    total = Combination({})
    for (family, *interval), value in nodes.terms.items():
        total = total + value * functions[f"{family}_win"](*interval)
    return total
