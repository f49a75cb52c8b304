"""Algorithm 4 as the paper prints it: m^_t from the noisy nodes, with every window summed again at each step.

Step t sums about t/N windows of O(log N) nodes in two families, so a run costs O(T^2
log(N) d / N). The paper prints the coefficient c_i inside the loop over i, as a sum of
i scalars, and this module computes it there: T^3 / (6 N^2) scalar terms in a run.
Powers and coefficients are the same at every step, so they can optionally be read from
tables, with the same result, bit for bit. This is the slow reference for
``reconstruction.stream``.

The printed algorithm does not run. Each repair is listed in ``REPAIRS`` and marked in the code with its id.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.dyadic import level
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices, Intervals, Matrix, Vector
from dpverify.papers.tran2022.algorithms.composition import MOST_NODES, compose_into
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
    Nodes,
    check_nodes,
    first_rows,
)


class Repair(NamedTuple):
    """A change that a printed algorithm needs to run."""

    id: str  # id of the claim that records the line, if there is one
    printed: str  # the printed line
    done: str  # the line that this implementation uses
    why: str  # why the printed line does not work


REPAIRS = (
    Repair(
        "algorithm-4-input",
        "Input: arrays F^G, F^Delta, F^r, alpha, gamma, t",
        "the number of examples N is an input too",
        "q = floor(t / N) and every window need it",
    ),
    Repair(
        "algorithm-4-empty-prefix",
        "G_[1,r] = sum over COMPOSE(1, r)",
        "COMPOSE(1, 0) is empty and its sum 0",
        "r = 0 whenever N divides t, and Algorithm 3 finds no k for a > b",
    ),
    Repair(
        "algorithm-4-first-window",
        "G_[r+1,r+N] = sum over COMPOSE(r + 1, r + N), at every t",
        "only where t >= N",
        "for t < N the window is [t + 1, t + N], whose nodes are not made yet; no term uses it",
    ),
    Repair(
        "algorithm-4-loop",
        "for i = 0 ... q - 1: G and Delta of the window [t - iN + 1, t - (i-1)N]",
        "for i = 0 neither window is summed; G_[r+1,r+N] is added as for the other i",
        "for i = 0 the window is [t + 1, t + N], whose nodes are not made yet; its coefficient is an empty sum, 0",
    ),
    Repair(
        "algorithm-4-assignment",
        "G_[1,t] + c_i (...) + (1-alpha)^{Ni} (1-gamma)^{q-i-1} G_[r+1,r+N]",
        "G_[1,t] <- that expression",
        "the line is assigned to nothing; the comment before the loop says that G_[1,t] is updated in it",
    ),
)
"""All changes that the box of Algorithm 4 needs in order to run, in the order of its lines."""


@kernel
def power(base: float, n: int, table: Vector) -> float:
    """Return ``base ** n``, from the table if it is not empty."""
    value: float = table[n] if table.shape[0] > 0 else base ** float(n)
    return value


@kernel
def coefficient(
    i: int, N: int, alpha: float, gamma: float, powers: Vector, keeps: Vector
) -> float:
    """Return c_i = sum_{j=0}^{i-1} (1 - gamma)^j (1 - alpha)^{(i-1-j)N}, as printed; tables as in ``power``."""
    c = 0.0
    for j in range(i):
        c += power(1.0 - gamma, j, keeps) * power(1.0 - alpha, (i - 1 - j) * N, powers)
    return c


class Tables(NamedTuple):
    """Powers and coefficients that do not depend on the step; empty if tables are not used."""

    powers: Vector  # (T + 1,) (1 - alpha)^n
    keeps: Vector  # (floor(T / N) + 1,) (1 - gamma)^n
    c: Vector  # (floor(T / N) + 1,) c_i


@kernel
def fill_tables(alpha: float, gamma: float, N: int, tables: Tables) -> None:
    """Write the powers and coefficients that Algorithm 4 uses in T steps."""
    for n in range(tables.powers.shape[0]):
        tables.powers[n] = (1.0 - alpha) ** float(n)
    for i in range(tables.c.shape[0]):
        tables.keeps[i] = (1.0 - gamma) ** float(i)
    for i in range(tables.c.shape[0]):
        tables.c[i] = coefficient(i, N, alpha, gamma, tables.powers, tables.keeps)


@kernel
def node_sum(
    a: int,
    b: int,
    alpha: float,
    F: Matrix,
    first: Indices,
    powers: Vector,
    nodes: Intervals,
    out: Vector,
) -> int:
    """Write the sum over COMPOSE(a, b) of (1 - alpha)^{b-z} F_[y,z] into ``out``; return the number of nodes."""
    count = compose_into(a, b, nodes)
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(count):
        y = nodes[i, 0]
        z = nodes[i, 1]
        k = level(z - y + 1)
        row = first[k] + ((y - 1) >> k)
        weight = power(1.0 - alpha, b - z, powers)
        for j in range(out.shape[0]):
            out[j] += weight * F[row, j]
    return count


@kernel
def literal_step(
    t: int,
    N: int,
    alpha: float,
    gamma: float,
    F: Nodes,
    first: Indices,
    tables: Tables,
    nodes: Intervals,
    work: Matrix,
    out: Vector,
) -> int:
    """Write m^_t into ``out``, line by line as Algorithm 4 prints it; return the number of vector additions.

    N is the number of examples (repair algorithm-4-input); ``nodes`` and ``work`` are working space, ``first`` comes
    from ``first_rows``. Shapes: ``first`` (levels,), ``nodes`` (MOST_NODES, 2), ``work`` (3, d), ``out`` (d,).
    """
    F_G = F.g
    F_Delta = F.delta
    F_r = F.r
    powers = tables.powers
    keeps = tables.keeps
    c = tables.c
    d = out.shape[0]
    window = work[0]
    G = work[1]
    Delta = work[2]
    q = t // N  # "q <- floor(t / N)"
    r = t - q * N  # "r = t - qN"
    # "G^_[1,r] = ..."; algorithm-4-empty-prefix
    adds = node_sum(1, r, alpha, F_G, first, powers, nodes, out)
    if q > 0:  # algorithm-4-first-window
        # "G^_[r+1,r+N] = ..."
        adds += node_sum(r + 1, r + N, alpha, F_G, first, powers, nodes, window)
    decay = power(1.0 - alpha, t - r, powers)
    for j in range(d):
        out[j] *= decay  # "G^_[1,t] = (1 - alpha)^{t-r} G^_[1,r]"
    for i in range(q):  # "for i = 0 ... q - 1 do"
        if i > 0:  # algorithm-4-loop
            a = t - i * N + 1
            b = t - (i - 1) * N
            # "G^_[t-iN+1,t-(i-1)N] = ..."
            adds += node_sum(a, b, alpha, F_G, first, powers, nodes, G)
            # "Delta^_[t-iN+1,t-(i-1)N] = ..."
            adds += node_sum(a, b, alpha, F_Delta, first, powers, nodes, Delta)
            c_i = (
                c[i]
                if c.shape[0] > 0
                else coefficient(i, N, alpha, gamma, powers, keeps)
            )
            for j in range(d):  # algorithm-4-assignment
                out[j] += c_i * ((1.0 - gamma) * Delta[j] + gamma * G[j])
            adds += 2
        share = power(1.0 - alpha, N * i, powers) * power(1.0 - gamma, q - i - 1, keeps)
        for j in range(d):  # algorithm-4-assignment
            # "... + (1 - alpha)^{Ni} (1 - gamma)^{q-i-1} G^_[r+1,r+N]"
            out[j] += share * window[j]
        adds += 1
    adds += node_sum(1, t, alpha, F_r, first, powers, nodes, G)  # "r^_t = ..."
    for j in range(d):
        out[j] = alpha * out[j] + alpha * G[j]  # "m^_t = alpha G^_[1,t] + alpha r^_t"
    return adds + 1


@kernel
def literal_run(
    N: int,
    alpha: float,
    gamma: float,
    F: Nodes,
    first: Indices,
    tables: Tables,
    nodes: Intervals,
    work: Matrix,
    out: Matrix,
    adds: Indices,
) -> None:
    """Write m^_1..m^_T into ``out``, shape (T, d), and the results of ``literal_step`` into ``adds``, shape (T,)."""
    for t in range(1, out.shape[0] + 1):
        adds[t - 1] = literal_step(
            t, N, alpha, gamma, F, first, tables, nodes, work, out[t - 1]
        )


def reconstruct_literal(
    nodes: Nodes,
    *,
    examples: int,
    alpha: float,
    gamma: float,
    looked_up: bool = False,
    out: Matrix | None = None,
) -> tuple[Matrix, Indices]:
    """Return m^_1..m^_T by the printed Algorithm 4, run once per step.

    Parameters
    ----------
    nodes, examples, alpha, gamma, out
        As in ``reconstruct``.
    looked_up : bool
        Whether powers and coefficients come from tables. False: they are computed where
        the paper prints them.

    Returns
    -------
    m_hat : (T, d) array of float
        Row t - 1 is m^_t.
    adds : (T,) array of int
        Number of additions of vectors of length d at step t: a cost that does not
        depend on the machine.

    Raises
    ------
    ArgumentError
        If a number is out of range, the shape of the nodes is not that of a tree, or
        ``out`` cannot hold the result.

    Notes
    -----
    Source: Algorithm 4, appendix B, with ``REPAIRS``.
    """
    nodes, steps, d = check_nodes(nodes)
    N = check.whole(1, examples=examples)
    alpha = check.weight(alpha=alpha)
    gamma = check.proportion(gamma=gamma)
    sizes = (steps + 1, steps // N + 1, steps // N + 1) if looked_up else (0, 0, 0)
    check.memory(steps * (d + 2) + sum(sizes), steps=steps, dimension=d)
    tables = Tables(*(np.empty(size) for size in sizes))
    fill_tables(alpha, gamma, N, tables)
    m_hat = check.output_array(steps, d, inputs=nodes, out=out)
    adds = np.empty(steps, dtype=np.int64)
    space = np.empty((MOST_NODES, 2), dtype=np.int64), np.zeros((3, d))
    literal_run(N, alpha, gamma, nodes, first_rows(steps), tables, *space, m_hat, adds)
    return m_hat, adds
