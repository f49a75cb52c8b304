"""Algorithm 5 of the paper: adaptive queries answered one after the other, each with Gaussian noise.

Query i is a function ``G_i(D, x_1, ..., x_{i-1})`` of the data set and of the answers
released before it. Its noise has deviation Delta_i / rho, where Delta_i is its
sensitivity for every fixed x. The definitions of Delta_i and of the privacy loss
compare its answers on D with those on a neighbour D', with the released answers held
fixed; the functions ``replay`` compute the latter. :func:`aggregate` follows the
printed lines and accepts any Python callables.

``LinearQueries`` is a family of queries that compiles, with known subsets and attained
sensitivities. Query i sees the examples of the subset S_i and the answers x_1, ...,
x_{i-1} released before it:

    G_i(D, x) = s_i(x) * sum over n in S_i of clip(D_n, Delta_i / 2)  +  sum over j < i
    of A_ij x_j,

where clip shortens a vector to a length, and s_i(x) is the sign of ``sum_j B_ij x_j[0]`` (+1 at 0). Replacing one
example of S_i changes G_i by at most Delta_i, and by exactly Delta_i if a vector of length at least Delta_i / 2 is
replaced by its negative. Replacing any other example changes nothing. Past answers enter twice, as a sum and through
the sign s_i of the part that depends on the data. If both matrices are zero, the queries are not adaptive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.jit import kernel
from dpverify.kernels.tape import fill_normal
from dpverify.kernels.typing import Matrix, Tape, Vector

D = TypeVar("D")
# ``G_i(dataset, previous_answers) -> (d,) array``
Query: TypeAlias = Callable[[D, Sequence[Vector]], Vector]


def aggregate(
    dataset: D,
    queries: Sequence[Query[D]],
    sensitivities: Sequence[float],
    rho: float,
    noise: Tape | Generator,
) -> Matrix:
    """Answer adaptive queries with Gaussian noise.

    Parameters
    ----------
    dataset : object
        D, passed to the queries unchanged.
    queries : sequence of callable
        ``G_i(dataset, previous_answers) -> (d,) array``; the previous answers are
        copies.
    sensitivities : sequence of float
        Delta_i, at least 0: the largest change of G_i between neighbouring data sets,
        in the Euclidean norm, for any previous answers. They are not verified.
    rho : float
        Noise parameter, above 0: the deviation of answer i is ``Delta_i / rho``.
    noise : (K, d) array of float or Generator
        Unit Gaussians, row i for query i; or a generator to draw them from, in the same
        order.

    Returns
    -------
    (K, d) array of float
        The released answers f^_1, ..., f^_K.

    Raises
    ------
    ArgumentError
        If there is no query, the numbers of queries, sensitivities and rows of the tape
        differ, a number is out of range, or an answer is not a finite vector of the
        same length as the others.

    Notes
    -----
    Source: Algorithm 5, appendix C.1. The loop prints ``zeta_t`` where only zeta_i makes sense.
    """
    rho = check.positive(rho=rho)
    deltas = [check.not_negative(sensitivity=value) for value in sensitivities]
    if not queries or len(deltas) != len(queries):
        counts = f"{len(queries)} queries and {len(deltas)} sensitivities"
        raise check.ArgumentError(
            "sensitivities", counts, "must be as many as the queries, and at least one"
        )
    tape = (
        None
        if isinstance(noise, Generator)
        else check.array(len(queries), None, noise=noise)
    )
    released: list[Vector] = []
    for i, (query, delta) in enumerate(zip(queries, deltas, strict=True)):
        # "Set f_i = G_i(D, f^_1, ..., f^_{i-1})"
        answer = _checked_answer(i, query, dataset, released)
        if tape is not None and tape.shape[1] != len(answer):
            rule = f"must have {len(answer)} columns, one per coordinate of an answer"
            raise check.ArgumentError("noise", f"an array of shape {tape.shape}", rule)
        unit = (
            noise.standard_normal(len(answer))
            if isinstance(noise, Generator)
            else noise[i]
        )
        # "Sample random zeta_i", "Set f^_i = f_i + zeta_i"
        released.append(answer + delta / rho * unit)
    return np.array(released)


def replay(dataset: D, queries: Sequence[Query[D]], released: Matrix) -> Matrix:
    """Return the noiseless answers on another data set, with the answers ``released``, shape (K, d), held fixed."""
    released = check.array(len(queries), None, released=released)
    return np.array(
        [
            _checked_answer(i, query, dataset, released[:i])
            for i, query in enumerate(queries)
        ]
    )


def _checked_answer(
    i: int, query: Query[D], dataset: D, previous: Sequence[Vector] | Matrix
) -> Vector:
    """Return the answer to query i; check that it has the same length as the previous answers."""
    length = len(previous[0]) if i else None
    return check.array(
        length,
        **{f"answer_{i + 1}": query(dataset, [answer.copy() for answer in previous])},
    )


Members: TypeAlias = NDArray[np.bool_]
# Shape (n, K, d): one array of answers or of noise for each of n runs
Stack: TypeAlias = NDArray[np.float64]


class QueryFamily(NamedTuple):
    """Data of the queries of :class:`LinearQueries`."""

    members: Members  # (K, N) whether example n is in S_i
    deltas: Vector  # (K,) Delta_i
    feedback: Matrix  # (K, K) A; only the entries with j < i are used
    steering: Matrix  # (K, K) B; only the entries with j < i are used


@kernel
def ask(
    i: int, data: Matrix, family: QueryFamily, released: Matrix, out: Vector
) -> None:
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
def release_into(
    data: Matrix, family: QueryFamily, rho: float, tape: Tape, released: Matrix
) -> None:
    """Write the answers of Algorithm 5 into ``released``, shape (K, d); ``tape`` may be the same array."""
    answer = np.empty(released.shape[1])
    for i in range(released.shape[0]):
        ask(i, data, family, released, answer)  # f_i
        for c in range(answer.shape[0]):
            # f^_i = f_i + zeta_i
            released[i, c] = answer[c] + family.deltas[i] / rho * tape[i, c]


@kernel
def release_drawn(
    data: Matrix, family: QueryFamily, rho: float, rng: Generator, released: Matrix
) -> None:
    """Do what ``release_into`` does, with unit Gaussians drawn from ``rng``: those of ``normal_tape(rng, K, d)``."""
    fill_normal(rng, released.reshape(released.size))
    release_into(data, family, rho, released, released)


@kernel
def replay_into(
    data: Matrix, family: QueryFamily, released: Matrix, out: Matrix
) -> None:
    """Write G_i(D', f^_1, ..., f^_{i-1}) into row i of ``out``, shape (K, d), with the released answers held fixed."""
    for i in range(out.shape[0]):
        ask(i, data, family, released, out[i])


@kernel
def release_each(
    data: Matrix, family: QueryFamily, rho: float, tapes: Stack, released: Stack
) -> None:
    """Do what ``release_into`` does for each of n runs: ``tapes`` and ``released`` have shape (n, K, d)."""
    for run in range(tapes.shape[0]):
        release_into(data, family, rho, tapes[run], released[run])


@kernel
def replay_each(data: Matrix, family: QueryFamily, released: Stack, out: Stack) -> None:
    """Do what ``replay_into`` does for each of n runs: ``released`` and ``out`` have shape (n, K, d)."""
    for run in range(released.shape[0]):
        replay_into(data, family, released[run], out[run])


class LinearQueries:
    """The adaptive linear queries G_1, ..., G_K that the module's documentation defines.

    Parameters
    ----------
    members : (K, N) array of bool
        Whether example n is in S_i.
    sensitivities : (K,) array of float
        Delta_i, at least 0.
    feedback : (K, K) array of float or None
        A; only the entries with j < i are used. None: zero.
    steering : (K, K) array of float or None
        B; only the entries with j < i are used. None: zero.

    Raises
    ------
    ArgumentError
        If a shape does not fit, a sensitivity is negative, or an entry is not finite.
    """

    def __init__(
        self,
        members: Members,
        sensitivities: Vector,
        feedback: Matrix | None = None,
        steering: Matrix | None = None,
    ) -> None:
        members = np.ascontiguousarray(members)
        if members.dtype != np.bool_ or members.ndim != 2 or 0 in members.shape:
            rule = (
                "must be a (K, N) array of bool with at least one query and one example"
            )
            raise check.ArgumentError(
                "members", f"an array of shape {members.shape} of {members.dtype}", rule
            )
        count = len(members)
        self.members = members
        self.sensitivities = check.array(count, sensitivities=sensitivities)
        check.not_negative(sensitivity=self.sensitivities.min())
        zero = np.zeros((count, count))
        self.feedback = (
            zero if feedback is None else check.array(count, count, feedback=feedback)
        )
        self.steering = (
            zero if steering is None else check.array(count, count, steering=steering)
        )
        self._family = QueryFamily(
            members, self.sensitivities, self.feedback, self.steering
        )

    @property
    def visits(self) -> int:
        """V of Theorem 10: the largest number of subsets S_i that contain the same example."""
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
            release_into(
                data,
                self._family,
                rho,
                check.array(*released.shape, noise=noise),
                released,
            )
        return released

    def replay(self, data: Matrix, released: Matrix) -> Matrix:
        """Return the noiseless answers on another data set, with the released answers held fixed.

        Row i is ``G_i(D', f^_1, ..., f^_{i-1})``. Shapes: ``data`` (N, d), ``released`` from :meth:`release` (K, d).
        """
        data = check.array(self.members.shape[1], None, data=data)
        released = check.array(len(self.members), data.shape[1], released=released)
        out = np.empty_like(released)
        replay_into(data, self._family, released, out)
        return out

    def release_many(self, data: Matrix, rho: float, noise: Stack) -> Stack:
        """Answer the queries as :meth:`release` in n runs; ``noise`` and the result have shape (n, K, d)."""
        data = check.array(self.members.shape[1], None, data=data)
        rho = check.positive(rho=rho)
        noise = check.array(None, len(self.members), data.shape[1], noise=noise)
        released = np.empty_like(noise)
        release_each(data, self._family, rho, noise, released)
        return released

    def replay_many(self, data: Matrix, released: Stack) -> Stack:
        """Replay n runs as :meth:`replay`; ``released`` and the result have shape (n, K, d)."""
        data = check.array(self.members.shape[1], None, data=data)
        released = check.array(
            None, len(self.members), data.shape[1], released=released
        )
        out = np.empty_like(released)
        replay_each(data, self._family, released, out)
        return out

    def queries(self) -> list[Query[Matrix]]:
        """Return the queries as Python callables ``G_i(data, previous_answers) -> (d,) array``, for ``aggregate``."""
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
