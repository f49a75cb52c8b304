"""A compiled family of adaptive queries for Algorithm 5, with known subsets and attained sensitivities.

Query i sees the examples of the subset S_i and the answers x_1, ..., x_{i-1} released before it:

    G_i(D, x) = s_i(x) * sum over n in S_i of clip(D_n, Delta_i / 2)  +  sum over j < i of A_ij x_j,

where clip shortens a vector to a length, and s_i(x) is the sign of ``sum_j B_ij x_j[0]`` (+1 at 0). Replacing one
example of S_i changes G_i by at most Delta_i, and by exactly Delta_i from a vector of length Delta_i / 2 or more to its
opposite; replacing any other changes nothing. Past answers enter twice, as a sum and through s_i, which turns the part
that depends on the data: the queries are adaptive in earnest. With both matrices zero they are not adaptive at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.jit import kernel
from dpverify.kernels.tape import fill_normal
from dpverify.kernels.typing import Matrix, Tape, Vector
from dpverify.papers.tran2022.algorithms.aggregation import Query

Members: TypeAlias = NDArray[np.bool_]
Stack: TypeAlias = NDArray[np.float64]  # Shape (n, K, d): one array of answers or of noise for each of n runs


class QueryFamily(NamedTuple):
    """What the queries are made of."""

    members: Members  # (K, N) whether example n is in S_i
    deltas: Vector  # (K,) Delta_i
    feedback: Matrix  # (K, K) A, of which the entries with j < i count
    steering: Matrix  # (K, K) B, likewise


@kernel
def ask(i: int, data: Matrix, family: QueryFamily, released: Matrix, out: Vector) -> None:
    """Write G_i(D, x_1, ..., x_{i-1}) into ``out``, shape (d,); i counts from 0, x_j is row j of ``released``."""
    members = family.members
    feedback = family.feedback
    steering = family.steering
    delta = family.deltas[i]
    d = out.shape[0]
    lean = 0.0
    for j in range(i):
        lean += steering[i, j] * released[j, 0]
    sign = -1.0 if lean < 0.0 else 1.0
    for c in range(d):
        out[c] = 0.0
    for n in range(data.shape[0]):
        if members[i, n]:
            square = 0.0
            for c in range(d):
                square += data[n, c] * data[n, c]
            norm = math.sqrt(square)
            short = sign if norm <= 0.5 * delta else sign * (0.5 * delta / norm)
            for c in range(d):
                out[c] += short * data[n, c]
    for j in range(i):
        for c in range(d):
            out[c] += feedback[i, j] * released[j, c]


@kernel
def release_into(data: Matrix, family: QueryFamily, rho: float, tape: Tape, released: Matrix) -> None:
    """Write the answers of Algorithm 5 into ``released``, shape (K, d); ``tape`` may be the same array."""
    answer = np.empty(released.shape[1])
    for i in range(released.shape[0]):
        ask(i, data, family, released, answer)  # f_i
        for c in range(answer.shape[0]):
            released[i, c] = answer[c] + family.deltas[i] / rho * tape[i, c]  # f^_i = f_i + zeta_i


@kernel
def release_drawn(data: Matrix, family: QueryFamily, rho: float, rng: Generator, released: Matrix) -> None:
    """Do what ``release_into`` does, with unit Gaussians drawn from ``rng``: those of ``normal_tape(rng, K, d)``."""
    fill_normal(rng, released.reshape(released.size))
    release_into(data, family, rho, released, released)


@kernel
def replay_into(data: Matrix, family: QueryFamily, released: Matrix, out: Matrix) -> None:
    """Write G_i(D', f^_1, ..., f^_{i-1}) into row i of ``out``, shape (K, d), with the released answers held fixed."""
    for i in range(out.shape[0]):
        ask(i, data, family, released, out[i])


@kernel
def release_each(data: Matrix, family: QueryFamily, rho: float, tapes: Stack, released: Stack) -> None:
    """Do what ``release_into`` does for each of n runs: ``tapes`` and ``released`` have shape (n, K, d)."""
    for run in range(tapes.shape[0]):
        release_into(data, family, rho, tapes[run], released[run])


@kernel
def replay_each(data: Matrix, family: QueryFamily, released: Stack, out: Stack) -> None:
    """Do what ``replay_into`` does for each of n runs: ``released`` and ``out`` have shape (n, K, d)."""
    for run in range(released.shape[0]):
        replay_into(data, family, released[run], out[run])


class LinearQueries:
    """Queries G_1, ..., G_K of the family above.

    Parameters
    ----------
    members : (K, N) array of bool
        Whether example n is in S_i.
    sensitivities : (K,) array of float
        Delta_i, at least 0.
    feedback : (K, K) array of float or None
        A, of which the entries with j < i count; None: zero.
    steering : (K, K) array of float or None
        B, likewise.

    Raises
    ------
    ArgumentError
        If a shape does not fit, a sensitivity is negative, or an entry is not finite.
    """

    def __init__(
        self, members: Members, sensitivities: Vector, feedback: Matrix | None = None, steering: Matrix | None = None
    ) -> None:
        members = np.ascontiguousarray(members)
        if members.dtype != np.bool_ or members.ndim != 2 or 0 in members.shape:
            rule = "must be a (K, N) array of bool with at least one query and one example"
            raise check.ArgumentError("members", f"an array of shape {members.shape} of {members.dtype}", rule)
        count = len(members)
        self.members = members
        self.sensitivities = check.array(count, sensitivities=sensitivities)
        check.not_negative(sensitivity=self.sensitivities.min())
        zero = np.zeros((count, count))
        self.feedback = zero if feedback is None else check.array(count, count, feedback=feedback)
        self.steering = zero if steering is None else check.array(count, count, steering=steering)
        self._family = QueryFamily(members, self.sensitivities, self.feedback, self.steering)

    @property
    def visits(self) -> int:
        """V of Theorem 10: in how many of the subsets an example is at most."""
        return int(self.members.sum(axis=0).max())

    def release(self, data: Matrix, rho: float, noise: Tape | Generator) -> Matrix:
        """Answer the queries of D (N, d) with noise, as Algorithm 5 does; shape (K, d).

        ``rho``: noise parameter, above 0. ``noise``: unit Gaussians, row i for query i, or a generator that draws them.
        """
        data = check.array(self.members.shape[1], None, data=data)
        rho = check.positive(rho=rho)
        released = np.empty((len(self.members), data.shape[1]))
        if isinstance(noise, Generator):
            release_drawn(data, self._family, rho, noise, released)
        else:
            release_into(data, self._family, rho, check.array(*released.shape, noise=noise), released)
        return released

    def replay(self, data: Matrix, released: Matrix) -> Matrix:
        """Ask the queries of another data set, with the released answers held fixed.

        ``G_i(D', f^_1, ..., f^_{i-1})`` without noise, for D' (N, d) and what :meth:`release` gave, both (K, d).
        """
        data = check.array(self.members.shape[1], None, data=data)
        released = check.array(len(self.members), data.shape[1], released=released)
        out = np.empty_like(released)
        replay_into(data, self._family, released, out)
        return out

    def release_many(self, data: Matrix, rho: float, noise: Stack) -> Stack:
        """Answer the queries in many runs, as :meth:`release` does in one; ``noise`` and what is returned (n, K, d)."""
        data = check.array(self.members.shape[1], None, data=data)
        rho = check.positive(rho=rho)
        noise = check.array(None, len(self.members), data.shape[1], noise=noise)
        released = np.empty_like(noise)
        release_each(data, self._family, rho, noise, released)
        return released

    def replay_many(self, data: Matrix, released: Stack) -> Stack:
        """Replay many runs, as :meth:`replay` does one; ``released`` and what is returned have shape (n, K, d)."""
        data = check.array(self.members.shape[1], None, data=data)
        released = check.array(None, len(self.members), data.shape[1], released=released)
        out = np.empty_like(released)
        replay_each(data, self._family, released, out)
        return out

    def queries(self) -> list[Query[Matrix]]:
        """Give the queries as Python callables ``G_i(data, previous_answers) -> (d,) array``, for ``aggregate``."""
        return [_Query(self, i) for i in range(len(self.members))]


@dataclass(frozen=True, eq=False)
class _Query:
    """One query, as a callable."""

    family: LinearQueries
    i: int

    def __call__(self, data: Matrix, previous: Sequence[Vector]) -> Vector:
        family = self.family
        i = self.i
        data = check.array(family.members.shape[1], None, data=data)
        past = np.zeros((max(1, i), data.shape[1]))
        past[: len(previous)] = np.reshape(previous, (len(previous), data.shape[1]))
        out = np.empty(data.shape[1])
        ask(i, data, family._family, past, out)
        return out
