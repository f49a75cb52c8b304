"""Index arithmetic of the algorithm boxes, as printed and as repaired: loops, nodes, anchors and dependencies.

All numbers are integers, and no kernel is imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from dpverify.papers.tran2022.trees.tree_aggregation_bounds import Node

# Reading of Algorithm 2's epochs; see claims.toml
Epochs: TypeAlias = Literal["one-based", "quotient", "shifted"]


def epoch_loop(
    steps: int, n_examples: int, first: int, last: int
) -> Iterator[tuple[int, int]]:
    """Yield q and t of the loops ``for q = 0 .. floor(T/N), for i = first .. min{last, T - qN}, t = qN + i``."""
    for q in range(steps // n_examples + 1):
        for i in range(first, min(last, steps - q * n_examples) + 1):
            yield q, q * n_examples + i


def made_nodes(t: int) -> list[Node]:
    """Return Algorithm 2's nodes of step t: [t - 2^k + 1, t] for all k = 0 .. floor(log2 t) for which 2^k divides t."""
    return [(t - (1 << k) + 1, t) for k in range(t.bit_length()) if t % (1 << k) == 0]


def dyadic_nodes(steps: int) -> set[Node]:
    """Return the set I of section 3: all [a 2^b + 1, (a+1) 2^b] inside {1, .., T}."""
    return {
        (a * (1 << b) + 1, (a + 1) * (1 << b))
        for b in range(steps.bit_length())
        for a in range(steps // (1 << b))
    }


def node_exponents(a: int, b: int, *, as_remainder: bool = False) -> list[int]:
    """Return all integers k >= 0 with a = 1 mod 2^k and a + 2^k - 1 <= b.

    If ``as_remainder``, the first condition is that the remainder of a modulo 2^k is 1, which excludes k = 0.
    """
    exponents = []
    k = 0
    while a + (1 << k) - 1 <= b:
        if (a % (1 << k) == 1) if as_remainder else (a - 1) % (1 << k) == 0:
            exponents.append(k)
        k += 1
    return exponents


def algorithm_3(a: int, b: int) -> Iterator[Node]:
    """Yield the intervals of Algorithm 3 in the order of its recursion, which is a loop here."""
    while True:
        longest = 1 << max(node_exponents(a, b))
        yield a, a + longest - 1
        a += longest
        if a > b:
            return


def windows_read(t: int, n_examples: int, first: int) -> list[Node]:
    """Return the windows [t - iN + 1, t - (i-1)N] that the loop i = first .. q - 1 of Algorithm 4 reads."""
    q = t // n_examples
    return [(t - i * n_examples + 1, t - (i - 1) * n_examples) for i in range(first, q)]


def epoch_steps(epochs: Epochs, q: int, n_examples: int) -> range:
    """Return the steps of epoch q under a reading."""
    first = q * n_examples + (epochs != "quotient")
    return range(first, first + n_examples)


def dependencies(steps: int, *, ahead: bool) -> dict[str, set[str]]:
    """Return the dependencies between the quantities of Algorithm 2's last lines.

    The r node of step t depends on w_t, and m-hat_t on that node. If ``ahead``, m-hat_t is used for w_{t+1}, else, as
    printed, for w_t.
    """
    needs: dict[str, set[str]] = {}
    for t in range(1, steps + 1):
        needs[f"F^r_[{t},{t}]"] = {f"w_{t}"}
        needs[f"m-hat_{t}"] = {f"F^r_[{t},{t}]"}
        new, old = (t + 1, t) if ahead else (t, t - 1)
        needs[f"w_{new}"] = {f"w_{old}", f"m-hat_{t}"}
    return needs
