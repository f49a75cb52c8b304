from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.jit import kernel, python_of
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.algorithms import node_sensitivity as module
from dpverify.papers.tran2022.algorithms.node_sensitivity import anchor_rows, replay
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
    node_count,
    node_intervals,
)
from dpverify.papers.tran2022.algorithms.reconstruction.stream import reconstruct
from dpverify.papers.tran2022.algorithms.scales import Scales
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import noise_from_tape, tape_rows
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd

N, T, ALPHA = 4, 19, 0.2
P = SrParameters(T, ALPHA, 0.3, 0.05, 0.5, 2.0, scales=Scales(1.0, 0.5, 0.25, 1.0, 4.0))
X = np.random.default_rng(0).standard_normal((N, 3))
Y = np.ones(N)
START = np.array([0.5, -1.0, 2.0])
INTERVALS = node_intervals(T)


@kernel
def cubic(w: Vector, x_row: Vector, y: float, out: Vector) -> None:
    for j in range(w.shape[0]):
        out[j] = (w[j] - y * x_row[j]) ** 3


def cubic_index(w: Vector, n: int) -> Vector:
    out = np.empty_like(w)
    cubic(w, X[n], Y[n], out)
    return out


RUN = SrNsgd(cubic, X, Y, START, P, seed=1, keep=True)
RUN.advance()
EXACT = replay(cubic, X, Y, RUN.iterates, RUN.schedule, alpha=ALPHA)


@pytest.mark.skipif(
    python_of(cubic) is cubic, reason="the jit is switched off: nothing is compiled"
)
def test_read_only_iterates_need_no_kernels_of_their_own() -> None:
    assert not RUN.iterates.flags.writeable
    again = replay(cubic, X, Y, RUN.iterates.copy(), RUN.schedule, alpha=ALPHA)
    assert all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(again, EXACT, strict=True)
    )
    assert "readonly" not in str(cast("Any", module.write_leaves).signatures)


def test_nodes_by_definition() -> None:
    w, schedule = RUN.iterates, RUN.schedule
    for row, (y, z) in enumerate(INTERVALS):
        g = delta = r = f = np.zeros(3)
        for t in range(y, z + 1):
            n, q, c = int(schedule[t - 1]), (t - 1) // N, (1 - ALPHA) ** (z - t)
            here, anchor = cubic_index(w[t - 1], n), cubic_index(w[q * N], n)
            before = cubic_index(w[(q - 1) * N], n) if q > 0 else np.full(3, np.nan)
            g, delta, r, f = (
                g + c * anchor,
                delta + c * (anchor - before),
                r + c * (here - anchor),
                f + c * here,
            )
        for found, expected in zip(
            (part[row] for part in EXACT), (g, delta, r, ALPHA * f), strict=True
        ):
            assert np.allclose(found, expected, rtol=0, atol=1e-12, equal_nan=True)
    assert np.array_equal(np.isnan(EXACT.delta[:, 0]), INTERVALS[:, 0] <= N)
    assert np.allclose(EXACT.f, ALPHA * (EXACT.g + EXACT.r), rtol=0, atol=1e-12)


def test_the_nodes_of_a_run_are_the_replayed_ones_and_noise() -> None:
    tape = np.random.default_rng(2).standard_normal((tape_rows(N, T), 3))
    made = SrNsgd(cubic, X, Y, START, P, seed=1, tape=tape, keep=True)
    made.advance()
    exact = replay(cubic, X, Y, made.iterates, made.schedule, alpha=ALPHA)
    released = reconstruct(exact.nodes, examples=N, alpha=ALPHA, gamma=P.gamma)[
        0
    ] + noise_from_tape(tape, P, N)
    assert np.allclose(made.released, released, rtol=0, atol=1e-12)


def test_a_neighbour_moves_the_nodes_that_it_is_in_and_no_others() -> None:
    changed = 2
    x = X.copy()
    x[changed] += 1.0
    far = EXACT.distances(replay(cubic, x, Y, RUN.iterates, RUN.schedule, alpha=ALPHA))
    uses = np.flatnonzero(RUN.schedule == changed) + 1
    touched = np.array([((y <= uses) & (uses <= z)).any() for y, z in INTERVALS])
    assert np.array_equal(far.g > 0, touched)
    assert np.array_equal(far.f > 0, touched)
    made = INTERVALS[:, 0] > N
    assert np.array_equal(far.delta[made] > 0, touched[made])
    assert np.isnan(far.delta[~made]).all()
    assert not (far.r[~touched] > 0).any()
    same = EXACT.distances(EXACT)
    assert not same.g.any()


def test_a_distance_by_hand() -> None:
    # a linear loss: the gradient is the example, whatever w is, so Delta and r are 0
    # and G adds up occurrences
    @kernel
    def linear(w: Vector, x_row: Vector, y: float, out: Vector) -> None:
        for j in range(w.shape[0]):
            out[j] = x_row[j]

    schedule, w = np.array([0, 1, 1, 0]), np.zeros((4, 1))
    first = replay(linear, np.array([[1.0], [0.0]]), np.ones(2), w, schedule, alpha=0.5)
    second = replay(
        linear, np.array([[-1.0], [0.0]]), np.ones(2), w, schedule, alpha=0.5
    )
    far = first.distances(second)
    assert far.g.tolist() == [2.0, 0.0, 0.0, 2.0, 1.0, 2.0, 2.25]
    assert far.f.tolist() == [1.0, 0.0, 0.0, 1.0, 0.5, 1.0, 1.125]
    assert not np.nansum(far.delta)
    assert not far.r.any()


def test_anchors() -> None:
    assert anchor_rows(2, 5).tolist() == [[0, -1], [0, -1], [2, 0], [2, 0], [4, 2]]
    assert anchor_rows(1, 3).tolist() == [[0, -1], [1, 0], [2, 1]]
    given = np.zeros((T, 2), dtype=np.int64)
    found = replay(cubic, X, Y, RUN.iterates, RUN.schedule, alpha=ALPHA, anchors=given)
    assert not found.delta.any()
    assert np.allclose(found.g[0], cubic_index(START, int(RUN.schedule[0])))


def test_jitted_leaves_are_their_python_body() -> None:
    results = []
    for write in (module.write_leaves, python_of(module.write_leaves)):
        out = np.full((4, T, 3), np.nan)
        write(
            cubic, X, Y, RUN.iterates[:T].copy(), RUN.schedule, anchor_rows(N, T), out
        )
        results.append(out)
    assert np.array_equal(results[0], results[1], equal_nan=True)


@kernel
def broken(w: Vector, x_row: Vector, y: float, out: Vector) -> None:
    out[:] = w
    if w[0] != 0.5:
        out[0] = np.inf


@kernel
def too_few(w: Vector, out: Vector) -> None:
    out[:] = w


def test_bad_arguments() -> None:
    w, schedule = RUN.iterates, RUN.schedule
    with pytest.raises(ArgumentError, match=r"iterates must have 19 rows, or one more"):
        replay(cubic, X, Y, w[:5], schedule, alpha=ALPHA)
    with pytest.raises(
        ArgumentError, match=r"schedule must hold numbers of examples, 0 to 2"
    ):
        replay(cubic, X[:3], Y[:3], w, schedule, alpha=ALPHA)
    with pytest.raises(ArgumentError, match=r"alpha must lie in \(0, 1\]"):
        replay(cubic, X, Y, w, schedule, alpha=0.0)
    for anchors in (
        np.zeros((3, 2), dtype=int),
        np.full((T, 2), T),
        np.full((T, 2), -1),
    ):
        with pytest.raises(
            ArgumentError,
            match=r"anchors must have shape \(19, 2\) and hold rows of the iterates",
        ):
            replay(cubic, X, Y, w, schedule, alpha=ALPHA, anchors=anchors)
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(ArgumentError, match="not finite at step 2, at the iterate"),
    ):
        replay(broken, X, Y, w, schedule, alpha=ALPHA)
    with pytest.raises(ArgumentError, match=r"other must have nodes of shape"):
        EXACT.distances(replay(cubic, X, Y, w[:5], schedule[:5], alpha=ALPHA))


@pytest.mark.skipif(
    python_of(cubic) is cubic, reason="the jit is switched off: nothing is compiled"
)
def test_a_gradient_that_does_not_compile_is_one_clear_error() -> None:
    with pytest.raises(
        ArgumentError, match=r"gradient must compile as \(w, x_row, y, out\)"
    ):
        replay(too_few, X, Y, RUN.iterates, RUN.schedule, alpha=ALPHA)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ArgumentError, match="gradient must be a kernel"):
        replay(python_of(cubic), X, Y, RUN.iterates, RUN.schedule, alpha=ALPHA)


def test_one_order_makes_the_reconstruction_exact() -> None:
    made = SrNsgd(cubic, X, Y, START, replace(P, ordering="once"), seed=5, keep=True)
    made.advance()
    exact = replay(cubic, X, Y, made.iterates, made.schedule, alpha=ALPHA)
    found, _ = reconstruct(exact.nodes, examples=N, alpha=ALPHA, gamma=P.gamma)
    assert np.allclose(
        found, made.momenta, rtol=0, atol=1e-12 * np.abs(made.momenta).max()
    )
    assert len(exact.g) == node_count(T)
