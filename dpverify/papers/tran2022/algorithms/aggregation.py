"""Algorithm 5 of the paper: adaptive queries answered one after the other, each with Gaussian noise.

Query i is a function ``G_i(D, x_1, ..., x_{i-1})`` of the data set and of the answers released before it; it gets noise
of deviation Delta_i / rho, where Delta_i is its sensitivity for every fixed x. Replaying the queries on a neighbour D'
with the released answers held fixed gives what the definition of Delta_i, and of the privacy loss, compares.

:func:`aggregate` takes any Python callables, line by line as printed. ``algorithms.linear_queries``
has a family of queries that compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.typing import Matrix, Tape, Vector

D = TypeVar("D")
Query: TypeAlias = Callable[[D, Sequence[Vector]], Vector]  # ``G_i(dataset, previous_answers) -> (d,) array``


def aggregate(
    dataset: D, queries: Sequence[Query[D]], sensitivities: Sequence[float], rho: float, noise: Tape | Generator
) -> Matrix:
    """Answer adaptive queries with Gaussian noise.

    Parameters
    ----------
    dataset : object
        D, handed to the queries as it is.
    queries : sequence of callable
        ``G_i(dataset, previous_answers) -> (d,) array``; the previous answers are copies.
    sensitivities : sequence of float
        Delta_i, at least 0: the largest change of G_i between neighbouring data sets, in the Euclidean norm, for any
        previous answers. They are believed, not measured.
    rho : float
        Noise parameter, above 0: the deviation of answer i is ``Delta_i / rho``.
    noise : (K, d) array of float or Generator
        Unit Gaussians, row i for query i; or where to draw them from, in the same order.

    Returns
    -------
    (K, d) array of float
        The released answers f^_1, ..., f^_K.

    Raises
    ------
    ArgumentError
        If there is no query, the numbers of queries, sensitivities and rows of the tape differ, a number is out of
        range, or an answer is not a finite vector of the same length as the others.

    Notes
    -----
    Source: Algorithm 5, appendix C.1. In the loop the box prints ``zeta_t`` for what can only be zeta_i.
    """
    rho = check.positive(rho=rho)
    deltas = [check.not_negative(sensitivity=value) for value in sensitivities]
    if not queries or len(deltas) != len(queries):
        counts = f"{len(queries)} queries and {len(deltas)} sensitivities"
        raise check.ArgumentError("sensitivities", counts, "must be as many as the queries, and at least one")
    tape = None if isinstance(noise, Generator) else check.array(len(queries), None, noise=noise)
    released: list[Vector] = []
    for i, (query, delta) in enumerate(zip(queries, deltas, strict=True)):
        answer = _ask(i, query, dataset, released)  # "Set f_i = G_i(D, f^_1, ..., f^_{i-1})"
        if tape is not None and tape.shape[1] != len(answer):
            rule = f"must have {len(answer)} columns, one per coordinate of an answer"
            raise check.ArgumentError("noise", f"an array of shape {tape.shape}", rule)
        unit = noise.standard_normal(len(answer)) if isinstance(noise, Generator) else noise[i]
        released.append(answer + delta / rho * unit)  # "Sample random zeta_i", "Set f^_i = f_i + zeta_i"
    return np.array(released)


def replay(dataset: D, queries: Sequence[Query[D]], released: Matrix) -> Matrix:
    """Ask another data set's queries, without noise and with the answers ``released``, shape (K, d), held fixed."""
    released = check.array(len(queries), None, released=released)
    return np.array([_ask(i, query, dataset, released[:i]) for i, query in enumerate(queries)])


def _ask(i: int, query: Query[D], dataset: D, previous: Sequence[Vector] | Matrix) -> Vector:
    """Ask one query; all answers have one length, which the previous ones give."""
    length = len(previous[0]) if i else None
    return check.array(length, **{f"answer_{i + 1}": query(dataset, [answer.copy() for answer in previous])})
