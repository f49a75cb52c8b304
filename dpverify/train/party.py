"""One party of DDP-SRM (Algorithm 2 of wang2019): its own rows, and secure sums with the others."""

from __future__ import annotations

import random
import secrets
import socket
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from dpverify import __version__
from dpverify.algorithms.ddp_srm import DDP_SRM, DdpSettings
from dpverify.algorithms.settings import options
from dpverify.kernels import check
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Indices, Vector
from dpverify.mpc.errors import PartyError
from dpverify.mpc.fixed_point import encode
from dpverify.mpc.noise import own_noise
from dpverify.mpc.session import Session
from dpverify.papers.wang2019.algorithms.ddp_srm import DdpSrm
from dpverify.papers.wang2019.algorithms.dp_srm import SrmParameters
from dpverify.problems.batch_gradient import add_penalty
from dpverify.problems.example_gradients import BatchOracle
from dpverify.problems.regression import recursive_gradient, regression_problem
from dpverify.problems.sparse.rows import CsrRows, Rows
from dpverify.train.ddp import check_batch, scales_of
from dpverify.train.records import Request

UNUSABLE: Final = "has a number that is not finite in its rows, or a label that is not 0 or 1"

Follow = Callable[[int, Vector], None]

SecureSum = Callable[[Vector, bool], Vector]
"""``total(own, first)``: the sum over the parties of ``own``, opened with its noise; of v^0 if ``first``."""


def run_party(
    index: int, peers: Sequence[tuple[str, int]], x: Rows, y: Vector, request: Request, *, classes: Sequence[str] = (),
    timeout: float = 30.0, patience: float = 60.0, listener: socket.socket | None = None,
    batch_seed: int | Sequence[int] | None = None, follow: Follow | None = None,
    stops: Callable[[int], Sequence[int]] = lambda steps: (steps,),
) -> tuple[DdpSrm, DdpSettings, list[int]]:  # fmt: skip
    """Run one party to the end: its run, the settings of all, and how many examples each party has.

    ``x`` (n_j, d): scaled rows of this party alone, with labels ``y``, places in ``classes``, which all must have in
    common. ``batch_seed``: what draws its batches; None: the system's randomness. ``follow(t, w)`` sees the public
    iterate at each of ``stops(T)``.
    """
    numbers = x.values if isinstance(x, CsrRows) else x
    usable = np.isfinite(numbers).all() and np.isin(y, (0.0, 1.0)).all()
    own = {"n": len(x), "d": x.shape[1], "labels": list(classes), "fault": "" if usable else UNUSABLE}
    with _meet(index, peers, request, own, timeout, patience, listener) as session:
        compare_parties(session.told)
        holds = [check.whole(1, examples=told["n"]) for told in session.told]
        settings = DDP_SRM.complete({**request.settings, "parties": len(peers)}, sum(holds))
        seed = secrets.randbits(128) if batch_seed is None else batch_seed
        run = set_up(session, holds, x, y, settings, seed)
        for stop in stops(settings.steps):
            run.advance(stop - run.t)
            if follow is not None:
                follow(run.t, run.w)
    return run, settings, holds


def decline(
    index: int, peers: Sequence[tuple[str, int]], request: Request, *, timeout: float = 30.0, patience: float = 60.0
) -> None:
    """Tell all others that this party's file is of no use: a PartyError here and there. Why is its own affair."""
    with _meet(index, peers, request, {"fault": "cannot use its file"}, timeout, patience, None) as session:
        compare_parties(session.told)


def _meet(
    index: int, peers: Sequence[tuple[str, int]], request: Request, own: dict[str, Any],
    timeout: float, patience: float, listener: socket.socket | None,
) -> Session:  # fmt: skip
    """Connect to all others; settings must be the same, and each says what it has."""
    same = {name: request.settings.get(name, option.default) for name, option in options(DdpSettings).items()}
    same |= {"epochs": request.settings.get("epochs"), "delta": request.delta, "standardise": request.standardise}
    same |= {"version": __version__, "parties": len(peers)}
    return Session(index, peers, same, own, timeout=timeout, patience=patience, listener=listener)


def compare_parties(told: Sequence[dict[str, Any]]) -> None:
    """Refuse the first party whose rows are of no use, or not of the kind that party 0 has; all parties find it."""
    for j, said in enumerate(told):
        if said.get("fault"):
            raise PartyError(f"party {j} {said['fault']}")
    for j, said in enumerate(told):
        for name in ("d", "labels"):
            first = told[0].get(name)
            other = said.get(name)
            if first != other:
                raise PartyError(f"party 0 has {name} = {first}, and party {j} has {other}")


def set_up(
    session: Session, holds: Sequence[int], x: Rows, y: Vector, s: DdpSettings, batch_seed: int | Sequence[int],
    drawn: random.Random | None = None,
) -> DdpSrm:  # fmt: skip
    """Make this party's run, before its first step; ``drawn``: what draws its noise, by default the system."""
    m = session.parties
    check_batch(s, holds)
    problem, whole = (regression_problem(x, y, lam=lam, radius=1.0) for lam in (0.0, s.lam))
    scales = scales_of(s, x.shape[1])
    rng = random.SystemRandom() if drawn is None else drawn

    def total(own: Vector, first: bool) -> Vector:
        scale = scales[0 if first else 1]
        units = encode(own, scale.unit, m)
        if scale.share > 0.0:
            units += own_noise(rng, scale.share, len(own))
        return np.asarray(session.open_sum(units, inside=scale.inside) * scale.unit, dtype=np.float64)

    oracle = SecureGradient(recursive_gradient(problem, s.clip, s.change_clip), total, (s.batch, s.batch), s.lam)
    own = s.batch // m
    parameters = SrmParameters(s.steps, own, own, s.gamma, s.eta, whole.smoothness)
    return DdpSrm(oracle, [len(x)], problem.start, parameters, batches=[generator(batch_seed)], seed=s.seed)


class SecureGradient:
    """The estimate of all parties, opened, from one party's sums; the regularizer, which is no secret, is added after.

    ``own`` gives means over this party's examples, without the regularizer, whose weight is ``lam``; ``total`` adds up
    what all parties have, over ``batches``, b_0 and b.
    """

    def __init__(self, own: BatchOracle, total: SecureSum, batches: tuple[int, int], lam: float) -> None:
        self._own = own
        self._total = total
        self._sizes = batches
        self._lam = lam

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the mean over all parties' first batches of gradients at ``w``, and its noise, into ``out``."""
        self._own(w, batch, out)
        add_penalty(self._total(out * len(batch), True), self._sizes[0], w, self._lam, out)

    def change(self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector) -> None:
        """Write the mean of gamma grad f(new) + (1 - gamma) (grad f(new) - grad f(old)), and its noise."""
        self._own.change(new, old, batch, gamma, out)
        add_penalty(self._total(out * len(batch), False), self._sizes[1], new, self._lam, out)
        if self._lam > 0.0 and gamma < 1.0:
            penalty = np.zeros_like(out)
            add_penalty(penalty, 1, old, self._lam, penalty)
            out -= (1.0 - gamma) * penalty
