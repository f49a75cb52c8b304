"""The index arithmetic of the algorithm boxes, as printed and as repaired: loops, nodes, anchors, what depends on what.

Integers only; no kernel is imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from dpverify.papers.tran2022.trees.tree_aggregation_bounds import Node

Epochs: TypeAlias = Literal["one-based", "quotient", "shifted"]  # How the epochs of Algorithm 2 are read


def epoch_loop(steps: int, n_examples: int, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Run ``for q = 0 .. floor(T/N), for i = first .. min{last, T - qN}, t = qN + i``; yields q and t."""
    for q in range(steps // n_examples + 1):
        for i in range(first, min(last, steps - q * n_examples) + 1):
            yield q, q * n_examples + i


def made_nodes(t: int) -> list[Node]:
    """Nodes that Algorithm 2 makes at step t: [t - 2^k + 1, t] for k = 0 .. floor(log2 t) where 2^k divides t."""
    return [(t - (1 << k) + 1, t) for k in range(t.bit_length()) if t % (1 << k) == 0]


def dyadic_nodes(steps: int) -> set[Node]:
    """Set I of section 3: all [a 2^b + 1, (a+1) 2^b] inside {1, .., T}."""
    return {(a * (1 << b) + 1, (a + 1) * (1 << b)) for b in range(steps.bit_length()) for a in range(steps // (1 << b))}


def node_exponents(a: int, b: int, *, as_remainder: bool = False) -> list[int]:
    """Whole numbers k >= 0 with a = 1 mod 2^k (or "the remainder is 1", without k = 0) and a + 2^k - 1 <= b."""
    exponents = []
    k = 0
    while a + (1 << k) - 1 <= b:
        if (a % (1 << k) == 1) if as_remainder else (a - 1) % (1 << k) == 0:
            exponents.append(k)
        k += 1
    return exponents


def algorithm_3(a: int, b: int) -> Iterator[Node]:
    """Intervals of Algorithm 3 in the order in which its recursion, here a loop, finds them."""
    while True:
        longest = 1 << max(node_exponents(a, b))
        yield a, a + longest - 1
        a += longest
        if a > b:
            return


def windows_read(t: int, n_examples: int, first: int) -> list[Node]:
    """Windows [t - iN + 1, t - (i-1)N] that the loop i = first .. q - 1 of Algorithm 4 reads."""
    q = t // n_examples
    return [(t - i * n_examples + 1, t - (i - 1) * n_examples) for i in range(first, q)]


def epoch_steps(epochs: Epochs, q: int, n_examples: int) -> range:
    """Steps of epoch q under a reading."""
    first = q * n_examples + (epochs != "quotient")
    return range(first, first + n_examples)


def dependencies(steps: int, *, ahead: bool) -> dict[str, set[str]]:
    """What each quantity of Algorithm 2's last lines needs: the r node w_t, m-hat_t that node, and w_{t+1} m-hat_t."""
    needs: dict[str, set[str]] = {}
    for t in range(1, steps + 1):
        needs[f"F^r_[{t},{t}]"] = {f"w_{t}"}
        needs[f"m-hat_{t}"] = {f"F^r_[{t},{t}]"}
        new, old = (t + 1, t) if ahead else (t, t - 1)
        needs[f"w_{new}"] = {f"w_{old}", f"m-hat_{t}"}
    return needs
