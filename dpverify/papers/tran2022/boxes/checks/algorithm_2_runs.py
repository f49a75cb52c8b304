"""Check of whole noisy runs of Algorithm 2's kernel by plain arithmetic, from the definitions of section 4."""

from __future__ import annotations

from functools import partial

import numpy as np

from dpverify.harness import Outcome, PaperChecks, Planted, Point, RuleCheck
from dpverify.kernels.epochs import draw_schedule
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.literal import (
    reconstruct_literal,
)
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
    Nodes,
    node_intervals,
)
from dpverify.papers.tran2022.algorithms.reconstruction.stream import DELTA, G, R
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import tape_layout, tape_rows
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd
from dpverify.problems.worst_cases import ClippedQuadratic
from dpverify.shared_types import Ordering

CHECKS = PaperChecks("tran2022", __name__)

# Faults of the plain arithmetic; a kernel with the same fault would disagree with the
# right arithmetic
FAULTS = (
    "the anchor before is the anchor",
    "Delta has the other sign",
    "the anchor is one step late",
    "the first epoch's permutation in all",
    "the noise of r nodes is left out",
    "m_t for m-hat_t",
)
ALPHA = 0.2
GAMMA = 0.3
ETA = 0.05
SEED = 5
OFF = 1e-10


def _epochs_are_orders(schedule: Indices, n: int, ordering: Ordering) -> str:
    """Return what is wrong with the order of a run's examples, or an empty string.

    Every full epoch must visit each example once, in the same order as the others ("once") or in a new order ("fresh").
    """
    epochs = [schedule[begin : begin + n] for begin in range(0, len(schedule), n)]
    if any(len(set(epoch.tolist())) != len(epoch) for epoch in epochs):
        return "an epoch has an example twice"
    orders = {tuple(epoch.tolist()) for epoch in epochs if len(epoch) == n}
    if n >= 8 and len(orders) != (
        1 if ordering == "once" else sum(len(epoch) == n for epoch in epochs)
    ):
        return f"{len(orders)} different orders"
    return (
        "examples are taken as they stand"
        if n >= 8 and tuple(range(n)) in orders
        else ""
    )


def _noisy_nodes(
    leaves: Matrix, deviations: Vector, tape: Matrix, n: int, *, without_r: bool
) -> Nodes:
    """Return the three families of nodes with noise, each node a sum over its steps; leaves have shape (3, T, d)."""
    steps = leaves.shape[1]
    rows = {(int(y), int(z)): row for row, (y, z) in enumerate(node_intervals(steps))}
    families = np.zeros((3, len(rows), leaves.shape[2]))
    for (y, z), row in rows.items():
        decay = (1.0 - ALPHA) ** np.arange(z - y, -1.0, -1.0)
        families[:, row] = np.einsum("t,ftd->fd", decay, leaves[:, y - 1 : z])
    for (f, y, z), unit in zip(tape_layout(n, steps), tape, strict=True):
        first = deviations[0 if z <= 2 * n else 1]
        delta = deviations[2]
        r = deviations[3]
        scale = {G: first, DELTA: delta, R: 0.0 if without_r else r}[int(f)]
        families[f, rows[int(y), int(z)]] += scale * unit
    return Nodes(families[G], families[DELTA], families[R])


def _follows_box(point: Point, statement: Statement, *, fault: str = "") -> Outcome:
    """Compare the kernel's iterates with Algorithm 2's lines: gradients, anchors, noisy nodes, Algorithm 4, update."""
    del statement
    n = int(point["N"])
    steps = int(point["T"])
    d = 2
    ordering: Ordering = "once" if point["once"] else "fresh"
    rng = np.random.default_rng(n)
    problem = ClippedQuadratic(rng.normal(size=(n, d)) + 2.0, 1.0, 2.0, 10.0)
    tape = rng.normal(size=(tape_rows(n, steps), d))
    parameters = SrParameters(steps, ALPHA, GAMMA, ETA, 0.02, 1.0, ordering)
    data = problem.example_gradient, problem.x, problem.y, problem.start
    run = SrNsgd(*data, parameters, seed=SEED, tape=tape, keep=True)
    run.advance()
    if wrong := _epochs_are_orders(run.schedule, n, ordering):
        return Outcome(False, note=wrong)
    drawn = draw_schedule(n, steps, ordering, SEED)
    if fault == "the first epoch's permutation in all":
        drawn = np.resize(drawn[:n], steps)
    late = int(fault == "the anchor is one step late")

    def gradient(w: Vector, t: int) -> Vector:
        away: Vector = w - problem.x[drawn[t - 1]]
        clipped: Vector = away * min(2.0, 1.0 / float(np.linalg.norm(away)))
        return clipped

    iterates = [problem.start.copy()]
    leaves = np.zeros((3, steps, d))
    for t in range(1, steps + 1):
        if (off := float(np.abs(run.iterates[t - 1] - iterates[-1]).max())) > OFF:
            return Outcome(False, note=f"w_{t} is off by {off:.3g}")
        q = (t - 1) // n
        at = gradient(iterates[-1], t)
        now = gradient(iterates[min(q * n + late, t - 1)], t)
        leaves[G, t - 1] = now
        leaves[R, t - 1] = at - now
        if q > 0:
            sign = -1.0 if fault == "Delta has the other sign" else 1.0
            before = (
                iterates[q * n]
                if fault == "the anchor before is the anchor"
                else iterates[(q - 1) * n]
            )
            leaves[DELTA, t - 1] = sign * (now - gradient(before, t))
        noise = tape[: tape_rows(n, t)] * float(fault != "m_t for m-hat_t")
        without_r = fault == "the noise of r nodes is left out"
        nodes = _noisy_nodes(
            leaves[:, :t], run.deviations, noise, n, without_r=without_r
        )
        m_hat = reconstruct_literal(nodes, examples=n, alpha=ALPHA, gamma=GAMMA)[0][
            t - 1
        ]
        iterates.append(iterates[-1] - ETA * m_hat / np.linalg.norm(m_hat))
    return Outcome(True)


CHECKS.add(
    RuleCheck(
        "algorithm-2-update",
        "plain-arithmetic",
        variants=("amended",),
        points=lambda _: (
            {"N": n, "T": t, "once": once}
            for n, t in ((1, 3), (3, 14), (9, 30))
            for once in (0, 1)
        ),
        is_satisfied=_follows_box,
        about_kernel=True,
        planted=[
            Planted(
                fault,
                is_satisfied=partial(_follows_box, fault=fault),
                at_declared_size=True,
            )
            for fault in FAULTS
        ],
        region="whole noisy runs on clipped quadratics, N up to 9 and T up to 30, fresh permutations and one, against "
        "the box in plain arithmetic: gradients, anchors, node sums, noise, Algorithm 4 and the step",
        leaves_out="floats: to 1e-10",
    ),
)
