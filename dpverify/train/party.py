"""One party of DDP-SRM (Algorithm 2 of wang2019), which has its own rows and computes secure sums with the others."""

from __future__ import annotations

import random
import secrets
import socket
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from dpverify import __version__
from dpverify.algorithms.dp_srm import DDP_SRM, DdpSettings
from dpverify.algorithms.settings import options
from dpverify.kernels import check
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Indices, Vector
from dpverify.mpc.fixed_point import PartyError, encode
from dpverify.mpc.noise import own_noise
from dpverify.mpc.session import Session
from dpverify.papers.wang2019.algorithms.dp_srm import DdpSrm, SrmParameters
from dpverify.problems.example_gradients import BatchOracle
from dpverify.problems.logistic import add_penalty
from dpverify.problems.regression import recursive_gradient, regression_problem
from dpverify.problems.sparse.rows import CsrRows, Rows
from dpverify.train.ddp import check_batch, scales_of
from dpverify.train.records import Request

UNUSABLE: Final = (
    "has a number that is not finite in its rows, or a label that is not 0 or 1"
)

Follow = Callable[[int, Vector], None]

SecureSum = Callable[[Vector, bool], Vector]
"""``total(summand, first)``: the opened noisy sum of all parties' summands; ``first`` marks the sum of v^0."""


def run_party(
    index: int, peers: Sequence[tuple[str, int]], x: Rows, y: Vector, request: Request, *, classes: Sequence[str] = (),
    timeout: float = 30.0, patience: float = 60.0, listener: socket.socket | None = None,
    batch_seed: int | Sequence[int] | None = None, follow: Follow | None = None,
    stops: Callable[[int], Sequence[int]] = lambda steps: (steps,),
) -> tuple[DdpSrm, DdpSettings, list[int]]:  # fmt: skip
    """Run one party to the end. Return its run, the settings, and the number of examples of each party.

    ``x`` (n_j, d): scaled rows of this party only. ``y``: their labels, indices into ``classes``, which must be the
    same for all parties. ``batch_seed``: seed of its batches; None uses the system's randomness. ``follow(t, w)`` is
    called with the public iterate at each of ``stops(T)``.
    """
    numbers = x.values if isinstance(x, CsrRows) else x
    usable = np.isfinite(numbers).all() and np.isin(y, (0.0, 1.0)).all()
    facts = {
        "n": len(x),
        "d": x.shape[1],
        "labels": list(classes),
        "fault": "" if usable else UNUSABLE,
    }
    with _connect(index, peers, request, facts, timeout, patience, listener) as session:
        compare_parties(session.told)
        sizes = [check.whole(1, examples=party["n"]) for party in session.told]
        settings = DDP_SRM.complete(
            {**request.settings, "parties": len(peers)}, sum(sizes)
        )
        seed = secrets.randbits(128) if batch_seed is None else batch_seed
        run = set_up(session, sizes, x, y, settings, seed)
        for stop in stops(settings.steps):
            run.advance(stop - run.t)
            if follow is not None:
                follow(run.t, run.w)
    return run, settings, sizes


def decline(
    index: int,
    peers: Sequence[tuple[str, int]],
    request: Request,
    *,
    timeout: float = 30.0,
    patience: float = 60.0,
) -> None:
    """Tell the other parties that this party's file is unusable, but not why. All parties raise PartyError."""
    with _connect(
        index, peers, request, {"fault": "cannot use its file"}, timeout, patience, None
    ) as session:
        compare_parties(session.told)


def _connect(
    index: int, peers: Sequence[tuple[str, int]], request: Request, facts: dict[str, Any],
    timeout: float, patience: float, listener: socket.socket | None,
) -> Session:  # fmt: skip
    """Connect to the other parties, compare the settings, and exchange the facts about the data."""
    same = {
        name: request.settings.get(name, option.default)
        for name, option in options(DdpSettings).items()
    }
    same |= {
        "epochs": request.settings.get("epochs"),
        "delta": request.delta,
        "standardise": request.standardise,
    }
    same |= {"version": __version__, "parties": len(peers)}
    return Session(
        index, peers, same, facts, timeout=timeout, patience=patience, listener=listener
    )


def compare_parties(facts: Sequence[dict[str, Any]]) -> None:
    """Raise a PartyError if rows are unusable or differ in width or labels; every party raises the same error."""
    for j, party in enumerate(facts):
        if party.get("fault"):
            raise PartyError(f"party {j} {party['fault']}")
    for j, party in enumerate(facts):
        for name in ("d", "labels"):
            first = facts[0].get(name)
            value = party.get(name)
            if first != value:
                raise PartyError(
                    f"party 0 has {name} = {first}, and party {j} has {value}"
                )


def set_up(
    session: Session, sizes: Sequence[int], x: Rows, y: Vector, s: DdpSettings, batch_seed: int | Sequence[int],
    drawn: random.Random | None = None,
) -> DdpSrm:  # fmt: skip
    """Return this party's run before its first step. Its noise comes from ``drawn``, by default the system's."""
    m = session.parties
    check_batch(s, sizes)
    problem, penalized = (
        regression_problem(x, y, lam=lam, radius=1.0) for lam in (0.0, s.lam)
    )
    scales = scales_of(s, x.shape[1])
    rng = random.SystemRandom() if drawn is None else drawn

    def total(summand: Vector, first: bool) -> Vector:
        scale = scales[0 if first else 1]
        units = encode(summand, scale.unit, m)
        if scale.share > 0.0:
            units += own_noise(rng, scale.share, len(summand))
        return np.asarray(
            session.open_sum(units, inside=scale.inside) * scale.unit, dtype=np.float64
        )

    oracle = SecureGradient(
        recursive_gradient(problem, s.clip, s.change_clip),
        total,
        (s.batch, s.batch),
        s.lam,
    )
    own_batch = s.batch // m
    parameters = SrmParameters(
        s.steps, own_batch, own_batch, s.gamma, s.eta, penalized.smoothness
    )
    return DdpSrm(
        oracle,
        [len(x)],
        problem.start,
        parameters,
        batches=[generator(batch_seed)],
        seed=s.seed,
    )


class SecureGradient:
    """Gradient estimates over the batches of all parties. The regularizer is public and is added after the sum.

    ``oracle`` computes means over this party's examples, without the regularizer, whose weight is ``lam``. ``total``
    adds the sums of all parties. ``batches`` has the sizes b_0 and b of the batches of all parties together.
    """

    def __init__(
        self,
        oracle: BatchOracle,
        total: SecureSum,
        batches: tuple[int, int],
        lam: float,
    ) -> None:
        self._own = oracle
        self._total = total
        self._sizes = batches
        self._lam = lam

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the noisy mean of gradients at ``w`` over the first batches of all parties to ``out``."""
        self._own(w, batch, out)
        add_penalty(
            self._total(out * len(batch), True), self._sizes[0], w, self._lam, out
        )

    def change(
        self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector
    ) -> None:
        """Write the noisy mean of gamma grad f(new) + (1 - gamma) (grad f(new) - grad f(old)) to ``out``."""
        self._own.change(new, old, batch, gamma, out)
        add_penalty(
            self._total(out * len(batch), False), self._sizes[1], new, self._lam, out
        )
        if self._lam > 0.0 and gamma < 1.0:
            penalty = np.zeros_like(out)
            add_penalty(penalty, 1, old, self._lam, penalty)
            out -= (1.0 - gamma) * penalty
