"""Check that the stream outputs what Algorithm 4 does: windows, weights (by a derivation), kernels on random nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point, RuleCheck
from dpverify.harness.cited_check import CitedDerivationCheck
from dpverify.harness.derivation_check import from_lemma
from dpverify.kernels.tape import generator
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.reconstruction.literal import (
    reconstruct_literal,
)
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
    Nodes,
    node_count,
    node_intervals,
)
from dpverify.papers.tran2022.algorithms.reconstruction.stream import (
    StreamConstants,
    new_constants,
    reconstruct_with,
)
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import (
    Node,
    compose_intervals,
)

CHECKS = PaperChecks("tran2022", __name__)

# Largest distance of the two outputs at a step, relative to the output's norm
ROUNDING = 1e-12

EPOCHS = 5  # All windows occur in the first three epochs; see ``_windows``


def _windows(budget: Budget) -> Iterable[dict[str, Any]]:
    """Return the N and t of every window of the first epochs.

    B is the block, the largest power of two that is at most N. For t >= N the parts depend, up to a shift, only on N
    and t mod 2B. Since 2B <= 2N, all windows occur up to t = 3N.
    """
    size_limit = {"smoke": 24, "standard": 70, "full": 140}[budget.name]
    return (
        {"N": n, "t": t} for n in range(1, size_limit) for t in range(1, EPOCHS * n + 1)
    )


def window_parts(t: int, n_examples: int) -> list[Node]:
    """Return the nodes of the stream's window at t.

    They are the end of a block, at most one whole block, and the part up to t of the block that contains t.
    """
    block = 1 << (n_examples.bit_length() - 1)
    begin = max(t - n_examples, 0)
    middle = (begin // block + 1) * block if t >= n_examples else 0
    nodes = list[Node]()
    at = begin
    # S_u: the node of length lowbit(u) that begins at u + 1, then S_{u + lowbit(u)}
    while at < middle:
        low = min(at & -at, block) if at else block
        nodes.append((at + 1, at + low))
        at += low
    if middle + block <= t:
        nodes.append((middle + 1, middle + block))
    prefix = list[Node]()
    at = t
    # P_t: the node of length lowbit(t) that ends at t, then P_{t - lowbit(t)}
    while at % block:
        prefix.append((at - (at & -at) + 1, at))
        at -= at & -at
    return nodes + prefix[::-1]


def _same_nodes(point: Point, statement: Statement, *, fault: str = "") -> Outcome:
    """Compare the stream's window with COMPOSE(t - N + 1, t), or with COMPOSE(1, t) if t < N."""
    n = int(point["N"])
    t = int(point["t"])
    expected = compose_intervals(max(t - n, 0) + 1, t)
    parts = window_parts(t, n)
    if fault == "one step early" and t > n:
        parts = [(y - 1, z - 1) for y, z in window_parts(t, n)]
    if fault == "no whole block" and t > 2:
        block = 1 << (n.bit_length() - 1)
        parts = [(y, z) for y, z in parts if z - y + 1 < block or block == 1 or z == t]
    return Outcome(
        parts == expected,
        Fraction(len(parts)),
        Fraction(len(expected)),
        f"{parts} against {expected}",
    )


def _searched(budget: Budget) -> Iterable[dict[str, Any]]:
    """Yield extreme and random N, T, alpha and gamma. Few T are multiples of N, and few N are powers of two."""
    draw = np.random.default_rng(4)
    for n, steps in [
        (1, 40),
        (2, 33),
        (3, 50),
        (64, 300),
        (63, 300),
        (65, 300),
        (128, 127),
    ]:
        yield {
            "N": n,
            "T": steps,
            "alpha": Fraction(1, 2 * n),
            "gamma": Fraction(1, 7),
            "seed": n,
        }
    for _ in range({"smoke": 60, "standard": 1500, "full": 10_000}[budget.name]):
        n = int(np.exp(draw.uniform(0, np.log(90))))
        steps = int(draw.integers(1, 6 * n + 8))
        alpha, gamma = (
            Fraction(float(draw.choice([u, 1e-9, 1.0], p=[0.8, 0.1, 0.1])))
            for u in draw.random(2)
        )
        yield {
            "N": n,
            "T": steps,
            "alpha": max(alpha, Fraction(1, 10**9)),
            "gamma": gamma,
            "seed": int(draw.integers(2**31)),
        }


def _random_nodes(n: int, steps: int, seed: int) -> Nodes:
    """Return unit Gaussians in the rows that a step may read, NaN in all others."""
    nodes = Nodes(*generator(seed).standard_normal((3, node_count(steps), 4)))
    intervals = node_intervals(steps)
    first = intervals[:, 0]
    length = intervals[:, 1] - intervals[:, 0] + 1
    nodes.g[length > n] = np.nan
    nodes.delta[(length > n) | (first <= n)] = np.nan
    nodes.r[(first - 1) // length % 2 == 1] = np.nan
    return nodes


Change = Callable[[StreamConstants, int], None]


def _same_output(
    point: Point, statement: Statement, change: Change | None = None
) -> Outcome:
    """Compare both kernels on the same nodes at every step; ``change`` plants a fault in the stream's constants."""
    n = int(point["N"])
    steps = int(point["T"])
    seed = int(point["seed"])
    alpha = float(point["alpha"])
    gamma = float(point["gamma"])
    nodes = _random_nodes(n, steps, seed)
    constants = new_constants(n, alpha, gamma)
    if change is not None:
        change(constants, n)
    slow, _ = reconstruct_literal(nodes, examples=n, alpha=alpha, gamma=gamma)
    fast, _ = reconstruct_with(nodes, steps, 4, n, constants)
    off = np.linalg.norm(fast - slow, axis=1) / np.linalg.norm(slow, axis=1)
    worst = int(np.argmax(off))
    ok = bool(np.isfinite(off).all() and off[worst] <= ROUNDING)
    return Outcome(
        ok,
        Fraction(float(off[worst])) if ok else None,
        note=f"off by {off[worst]:.3g} at step {worst + 1}",
    )


def _weight(place: int, factor: float) -> Change:
    def change(constants: StreamConstants, n: int) -> None:
        constants.weights[place] *= factor

    return change


def _swap(constants: StreamConstants, n: int) -> None:
    constants.weights[[1, 2]] = constants.weights[[2, 1]]


def _decay_off(constants: StreamConstants, n: int) -> None:
    constants.weights[4] = constants.powers[n - 1]


CHECKS.add(
    RuleCheck(
        "algorithm-4-output",
        "window-parts",
        points=_windows,
        is_satisfied=_same_nodes,
        readings={"ordering": "once"},
        variants=("amended",),
        planted=[
            Planted(
                "one step early",
                is_satisfied=partial(_same_nodes, fault="one step early"),
                at_declared_size=True,
            ),
            Planted(
                "no whole block",
                is_satisfied=partial(_same_nodes, fault="no whole block"),
            ),
        ],
        region="the stream's windows against COMPOSE, node by node: N < 24 (smoke), 70, 140; five epochs",
    ),
    RuleCheck(
        "algorithm-4-output",
        "stream-kernel",
        points=_searched,
        is_satisfied=_same_output,
        about_kernel=True,
        readings={"ordering": "once"},
        variants=("amended",),
        seconds=0.3,
        planted=[
            Planted(
                "g_(t-N) off by 1e-9",
                is_satisfied=partial(_same_output, change=_weight(3, 1 + 1e-9)),
                at_declared_size=True,
            ),
            Planted(
                "G_(t-N) off by 1e-9",
                is_satisfied=partial(_same_output, change=_weight(4, 1 + 1e-9)),
                at_declared_size=True,
            ),
            Planted(
                "gamma and 1 - gamma swapped",
                is_satisfied=partial(_same_output, change=_swap),
            ),
            Planted(
                "decay of N - 1 steps",
                is_satisfied=partial(_same_output, change=_decay_off),
            ),
        ],
        region="N up to 128, T up to 6N + 7, most no multiple of N; alpha and gamma with their ends",
        leaves_out="floats: 1e-12 relative to the norm of a step's output",
    ),
    CitedDerivationCheck(
        "algorithm-4-output",
        "stream-unrolls",
        build=from_lemma("weight-of-a-window"),
        least_budget="smoke",
        readings={"ordering": "once"},
        variants=("amended",),
        leaves_out="the induction around the step, which is in words (NOTES_identities.md)",
    ),
)
