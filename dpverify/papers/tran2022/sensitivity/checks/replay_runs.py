"""Measure nodes by the kernels: replay the fixed iterates of a run on two worst-case or random neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any, Literal, TypeAlias

import numpy as np

from dpverify.harness.replay_check import OutputDistance, ReplayCheck, ReplayControl
from dpverify.kernels.epochs import draw_schedule
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms import node_sensitivity as problem
from dpverify.papers.tran2022.algorithms.node_sensitivity import anchor_rows, replay
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import node_intervals
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd
from dpverify.papers.tran2022.sensitivity import sensitivity_bounds as sensitivity
from dpverify.papers.tran2022.sensitivity.checks import witnesses
from dpverify.papers.tran2022.sensitivity.checks.witnesses import ordering_of
from dpverify.papers.tran2022.sensitivity.sensitivity_bounds import (
    epoch_of,
    latest_visits,
)
from dpverify.problems.worst_cases import signed_gradient
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import Exact

Family: TypeAlias = Literal["f", "g", "delta", "r"]

SEEN = 1e-9  # Relative size of the smallest planted fault
LIPSCHITZ = SMOOTHNESS = Fraction(1)


@dataclass(frozen=True)
class RunCase:
    """A run in which every node is measured."""

    N: int  # number of examples, then of steps
    T: int
    # momentum weight; a short binary fraction, so
    # that many of its powers are exact in floats
    alpha: Fraction

    @property
    def eta(self) -> Fraction:
        """Length of a step, a power of two with ``L*eta*T <= G``, so gradients can change during the whole run."""
        return Fraction(1, 1 << self.T.bit_length())


RANDOM_RUNS: Mapping[str, int] = {"smoke": 50, "standard": 1_000, "full": 10_000}
# N = 1; T a power of two, a multiple of N, neither; T below N. In the fifth 4 alpha G
# fails, at [129, 144]
RUNS = (
    RunCase(1, 9, Fraction(1)),
    RunCase(2, 17, Fraction(1, 2)),
    RunCase(5, 37, Fraction(1, 4)),
    RunCase(8, 64, Fraction(1, 8)),
    RunCase(11, 144, Fraction(3, 32)),
    RunCase(40, 25, Fraction(1, 32)),
)
SHORT_RUNS = RUNS[1:3]  # Runs in which faults are planted


@dataclass(frozen=True)
class ReplayFault:
    """A fault that is planted in a measurement."""

    name: str  # short name, then a description
    text: str
    scale: float = 1.0  # factor on every distance
    alpha: float = 1.0  # factor on the momentum weight of the replay
    # number of steps by which the second visit from the end is too early
    early: int = 0
    # number of steps by which the anchors of the present epoch are too late
    anchor: int = 0


NO_FAULT = ReplayFault("", "")
FAULTS: Mapping[Family, tuple[ReplayFault, ...]] = {
    family: (
        ReplayFault("scaled", f"every distance times 1 + {SEEN:g}", scale=1.0 + SEEN),
        ReplayFault("decay", "the replay's alpha is 1e-6 too large", alpha=1.0 + 1e-6),
        ReplayFault("visit", "the second visit back is one step too early", early=1),
        *(
            (ReplayFault("anchor", "anchors are one step too late", anchor=1),)
            if family in {"delta", "r"}
            else ()
        ),
    )
    for family in ("f", "g", "delta", "r")
}


def law(
    family: Family, start: int, end: int, case: RunCase, ordering: Ordering
) -> Exact:
    """Return the closed form of a node's sensitivity in a run."""
    node = (start, end, case.alpha, case.N)
    match family:
        case "f":
            return sensitivity.momentum_sensitivity(*node, LIPSCHITZ, ordering)
        case "g":
            return sensitivity.gradient_sensitivity(*node, LIPSCHITZ, ordering)
        case "delta":
            return sensitivity.difference_sensitivity(
                *node, case.eta, SMOOTHNESS, ordering
            )
        case "r":
            return sensitivity.drift_sensitivity(*node, case.eta, SMOOTHNESS, ordering)


def worst_schedule(
    family: Family,
    start: int,
    end: int,
    case: RunCase,
    ordering: Ordering,
    early: int = 0,
) -> Any:
    """Return the order (T,) of the examples: the replaced one at its worst visits, and first in epochs without one."""
    N = case.N
    T = case.T
    worst = (
        sensitivity.drift_visits(start, end, case.alpha, N, ordering)
        if family == "r"
        else None
    )
    visits = latest_visits(start, end, N, ordering) if worst is None else worst
    place = {epoch_of(t, N): (t - 1) % N for t in visits}
    if early and len(visits) > 1:
        place[epoch_of(visits[1], N)] = max((visits[1] - 1) % N - early, 0)
    everywhere = (visits[0] - 1) % N if visits else 0
    schedule = []
    for epoch in range(epoch_of(T, N) + 1):
        order = list(range(1, N))
        order.insert(
            place.get(epoch, everywhere if ordering == "once" else 0), problem.REPLACED
        )
        schedule += order
    return np.array(schedule[:T])


@cache
def measured(
    family: Family, case: RunCase, ordering: Ordering, fault: ReplayFault = NO_FAULT
) -> Sequence[tuple[int, int, float]]:
    """Return the first and last step of every node of a family, and its movement for the worst neighbour.

    Results are cached, because several statements concern the same nodes. Each order of the examples is run once,
    because it is the worst one for several nodes.
    """
    movements = []
    of_order = dict[bytes, Any]()
    reach = float(case.eta * case.T)
    make = problem.opposed if family in {"f", "g"} else problem.turning
    pair = make(case.N, reach, float(LIPSCHITZ), float(SMOOTHNESS))
    for row, (start, end) in enumerate(node_intervals(case.T).tolist()):
        if family != "delta" or start > case.N:
            schedule = worst_schedule(family, start, end, case, ordering, fault.early)
            if (order := schedule.tobytes()) not in of_order:
                of_order[order] = _distances(
                    family, pair, released(pair, case, schedule), schedule, case, fault
                )
            movements.append((start, end, float(of_order[order][row]) * fault.scale))
    return tuple(movements)


def released(
    pair: problem.Neighbours,
    case: RunCase,
    schedule: Any,
    sigma: float = 0.0,
    seed: int = 0,
) -> Any:
    """Return the iterates of Algorithm 2 on the first of two neighbours, which sensitivity holds fixed."""
    parameters = SrParameters(
        steps=case.T,
        alpha=float(case.alpha),
        gamma=0.5,
        eta=float(case.eta),
        sigma=sigma,
        lipschitz=float(LIPSCHITZ),
    )
    gradient = signed_gradient(float(LIPSCHITZ), float(SMOOTHNESS))
    start = np.zeros(pair.x.shape[1])
    run = SrNsgd(
        gradient,
        pair.x,
        pair.y,
        start,
        parameters,
        schedule=schedule,
        seed=seed,
        keep=True,
    )
    run.advance()
    return run.iterates


def _distances(
    family: Family,
    pair: problem.Neighbours,
    path: Any,
    schedule: Any,
    case: RunCase,
    fault: ReplayFault,
) -> Any:
    """Return the distance of each node between the two neighbours, with the same iterates."""
    gradient = signed_gradient(float(LIPSCHITZ), float(SMOOTHNESS))
    anchors = anchor_rows(case.N, case.T)
    anchors[:, 0] = np.minimum(anchors[:, 0] + fault.anchor, case.T - 1)
    alpha = min(float(case.alpha) * fault.alpha, 1.0)
    left = replay(
        gradient, pair.x, pair.y, path, schedule, alpha=alpha, anchors=anchors
    )
    right = replay(
        gradient,
        pair.x_other,
        pair.y_other,
        path,
        schedule,
        alpha=alpha,
        anchors=anchors,
    )
    return getattr(left.distances(right), family)


def random_ratios(
    family: Family, ordering: Ordering, rng: np.random.Generator
) -> tuple[float, str]:
    """Return the largest ratio of measured and exact values over the nodes of a random noisy run of Algorithm 2."""
    N = int(rng.integers(1, 9))
    T = int(rng.integers(2, 49))
    case = RunCase(N, T, Fraction(int(rng.integers(1, 17)), 16))
    reach = float(case.eta * T)
    x = rng.normal(scale=reach, size=(N, 2))
    y = rng.choice([-1.0, 1.0], N)
    x_other = x.copy()
    y_other = y.copy()
    x_other[problem.REPLACED], y_other[problem.REPLACED] = (
        rng.normal(scale=reach, size=2),
        -y[problem.REPLACED],
    )
    pair = problem.Neighbours(x, y, x_other, y_other)
    schedule = draw_schedule(N, T, ordering, int(rng.integers(1 << 30)))
    path = released(
        pair,
        case,
        schedule,
        sigma=float(rng.choice([0.0, 0.01, 1.0])),
        seed=int(rng.integers(1 << 30)),
    )
    distances = _distances(family, pair, path, schedule, case, NO_FAULT)
    largest = 0.0
    for (start, end), distance in zip(
        node_intervals(T).tolist(), distances, strict=True
    ):
        if family == "delta" and start <= N:
            continue
        exact = float(law(family, start, end, case, ordering))
        largest = max(
            largest, distance / exact if exact else float(distance > 0.0) * np.inf
        )
    return largest, str(case)


def replayed(
    claim: str,
    family: Family,
    ends: tuple[str, str] = ("start", "end"),
    *,
    figures: Callable[[Statement], dict[str, dict[str, list[float]]]] | None = None,
    variants: tuple[str, ...] = ("printed", "amended"),
) -> ReplayCheck:
    """Return a check of a family's nodes; ``ends`` are the statement's names for a node's first and last step."""

    def output_distances(
        statement: Statement, fault: ReplayFault, runs: Sequence[RunCase]
    ) -> Iterator[OutputDistance]:
        ordering = ordering_of(statement)
        units = {"G": LIPSCHITZ} if family in {"f", "g"} else {"L": SMOOTHNESS}
        for case in runs:
            values = {"N": Fraction(case.N), "alpha": case.alpha, **units} | (
                {"eta": case.eta} if "L" in units else {}
            )
            for start, end, distance in measured(family, case, ordering, fault):
                yield OutputDistance(
                    values | {ends[0]: Fraction(start), ends[1]: Fraction(end)},
                    distance,
                    partial(law, family, start, end, case, ordering),
                    f"node [{start}, {end}] of N={case.N}, T={case.T}",
                )

    return ReplayCheck(
        claim,
        "replay",
        replays=partial(output_distances, fault=NO_FAULT, runs=RUNS),
        controls=[
            ReplayControl(
                fault.name,
                fault.text,
                partial(output_distances, fault=fault, runs=SHORT_RUNS),
                fault.name == "scaled",
            )
            for fault in FAULTS[family]
        ],
        random=lambda statement, rng: random_ratios(
            family, ordering_of(statement), rng
        ),
        random_runs=RANDOM_RUNS,
        share=SEEN,
        region="; ".join(
            f"N={c.N}, T={c.T}, alpha={c.alpha}, eta={c.eta}" for c in RUNS
        ),
        leaves_out="G = L = 1; floats, not real arithmetic",
        figures=figures,
        meets=witnesses.OPPOSED if family in {"f", "g"} else witnesses.TURNING,
        variants=variants,
    )
