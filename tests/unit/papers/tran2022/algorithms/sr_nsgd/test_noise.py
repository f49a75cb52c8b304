from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.dyadic import floor_log2
from dpverify.kernels.jit import python_of
from dpverify.kernels.normal import NO_WORDS
from dpverify.kernels.tape import generator, normal_tape
from dpverify.kernels.typing import Matrix
from dpverify.papers.tran2022.algorithms.composition import compose
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.literal import (
    reconstruct_literal,
)
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
    Nodes,
    node_intervals,
)
from dpverify.papers.tran2022.algorithms.reconstruction.stream import (
    DELTA,
    G,
    R,
    new_constants,
    new_state,
)
from dpverify.papers.tran2022.algorithms.scales import Scales
from dpverify.papers.tran2022.algorithms.sr_nsgd import noise as module
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import (
    noise_from_generator,
    noise_from_tape,
    tape_layout,
    tape_rows,
)
from tests.for_each import for_each

SCALES = Scales(1.0, 2.0, 3.0, 1.0, 25.0)
BASE = SrParameters(
    steps=30, alpha=0.2, gamma=0.3, eta=0.05, sigma=1.0, lipschitz=2.0, scales=SCALES
)
DEVIATION = {G: 5.0, DELTA: 10.0, R: 15.0}
SIZES = [(1, 1), (1, 9), (2, 11), (3, 30), (4, 17), (5, 3), (7, 40), (8, 64), (40, 30)]


@for_each(("N", "T"), SIZES)
def test_a_row_of_the_tape_for_every_node_that_a_step_reads(N: int, T: int) -> None:
    read = set()
    for t in range(1, T + 1):
        if t < N:
            read |= {(G, int(y), int(z)) for y, z in compose(1, t)}
        else:
            read |= {(G, int(y), int(z)) for y, z in compose(t - N + 1, t)}
        if t >= 2 * N:
            read |= {(DELTA, int(y), int(z)) for y, z in compose(t - N + 1, t)}
        read |= {(R, int(y), int(z)) for y, z in compose(1, t)}
    layout = [(int(f), int(y), int(z)) for f, y, z in tape_layout(N, T)]
    assert len(set(layout)) == len(layout) == tape_rows(N, T) < 5 * T
    assert read <= set(layout)
    # the windows that would read it begin after the run, or end before step 2N
    for f, y, z in set(layout) - read:
        assert f != R
        assert y - 1 + N > T or (f == DELTA and z < 2 * N)
    ends = [z for _, _, z in layout]
    assert ends == sorted(ends)
    for t in range(1, T + 1):
        assert module.rows_until(t, N, floor_log2(N)) == sum(z <= t for z in ends)


def by_algorithm_4(tape: Matrix, parameters: SrParameters, N: int) -> Matrix:
    """Noise put on each node by name, then the literal reconstruction."""
    T = parameters.steps
    rows = {(int(y), int(z)): i for i, (y, z) in enumerate(node_intervals(T))}
    nodes = Nodes(*np.full((3, len(rows), tape.shape[1]), np.nan))
    first, *_ = parameters.deviations(N)
    for unit, (f, y, z) in zip(tape, tape_layout(N, T), strict=True):
        scale = first if f == G and z <= 2 * N else DEVIATION[int(f)]
        nodes[f][rows[int(y), int(z)]] = scale * unit
    return reconstruct_literal(
        nodes, examples=N, alpha=parameters.alpha, gamma=parameters.gamma
    )[0]


@for_each(("N", "T"), SIZES)
@for_each(("alpha", "gamma"), [(0.2, 0.3), (1.0, 0.0), (0.01, 1.0)])
def test_it_is_algorithm_4_on_noise_alone(
    N: int, T: int, alpha: float, gamma: float
) -> None:
    parameters = replace(BASE, steps=T, alpha=alpha, gamma=gamma)
    tape = normal_tape(generator(1), tape_rows(N, T), 4)
    found = noise_from_tape(tape, parameters, N)
    assert np.allclose(
        found,
        by_algorithm_4(tape, parameters, N),
        rtol=0,
        atol=1e-12 * np.abs(found).max(),
    )


def test_weights_of_one_step_by_hand() -> None:
    # N = 2, t = 5: q = 2, r = 1. G_[1,1], S_2 G_[2,3], c_1 = 1 times the window [4, 5],
    # and r over COMPOSE(1, 5).
    b, g, a = 0.8, 0.3, 0.2
    weights = noise_from_tape(np.eye(tape_rows(2, 5)), replace(BASE, steps=5), 2)[4]
    found = {
        (int(f), int(y), int(z)): weight
        for (f, y, z), weight in zip(tape_layout(2, 5), weights, strict=True)
    }
    s = (1 - g) + b**2
    expected = {
        (G, 1, 1): b**4, (G, 2, 2): s * b, (G, 3, 3): s, (G, 4, 4): g * b, (G, 5, 5): 5 * g,
        (DELTA, 4, 4): 10 * (1 - g) * b, (DELTA, 5, 5): 10 * (1 - g), (R, 1, 4): 15 * b, (R, 5, 5): 15.0,
    }  # fmt: skip
    for node, weight in found.items():
        assert weight == pytest.approx(
            a * expected.pop(node, 0.0), rel=1e-12, abs=1e-15
        ), node
    assert not expected


@for_each(("N", "T", "d"), [(1, 5, 1), (3, 30, 2), (8, 64, 5)])
def test_a_generator_gives_the_same_bits_as_its_tape(N: int, T: int, d: int) -> None:
    parameters = replace(BASE, steps=T)
    rng = generator(7)
    tape = normal_tape(generator(7), tape_rows(N, T), d)
    assert np.array_equal(
        noise_from_generator(rng, d, parameters, N),
        noise_from_tape(tape, parameters, N),
    )
    used = generator(7)
    used.standard_normal(tape.size)
    assert rng.standard_normal() == used.standard_normal()


def test_linear_in_the_tape() -> None:
    one, two = (normal_tape(generator(seed), tape_rows(4, 30), 2) for seed in (1, 2))
    both = noise_from_tape(one + 3 * two, BASE, 4)
    assert np.allclose(
        both,
        noise_from_tape(one, BASE, 4) + 3 * noise_from_tape(two, BASE, 4),
        atol=1e-11,
    )
    assert not noise_from_tape(one, replace(BASE, sigma=0.0), 4).any()


def test_jitted_noise_is_its_python_body() -> None:
    N, T, K = 3, 25, 1
    tape = normal_tape(generator(1), tape_rows(N, T), 2)
    expected = noise_from_tape(tape, replace(BASE, steps=T), N)
    constants, state, out = (
        new_constants(N, 0.2, 0.3),
        new_state(N, T, 2),
        np.zeros((T, 2)),
    )
    space, noise = (
        np.zeros_like(state.prefixes),
        module.NodeNoise(BASE.deviations(N), tape, NO_WORDS, generator(0), np.empty(2)),
    )
    python_of(module.noise_run)(K, constants, noise, space, state, out)
    assert np.array_equal(out, expected)
    layout = np.empty((len(tape), 3), dtype=np.int64)
    python_of(module.fill_layout)(T, N, K, layout)
    assert np.array_equal(layout, tape_layout(N, T))
    for t, f in itertools.product(range(1, 20), (G, DELTA, R)):
        assert python_of(module.is_drawn)(f, 0, t, N, K) == module.is_drawn(
            f, 0, t, N, K
        )
    assert python_of(module.rows_until)(T, N, K) == tape_rows(N, T)
    rows = python_of(module.add_noise)(12, N, K, noise, 0, space)
    assert rows == module.rows_until(12, N, K) - module.rows_until(11, N, K)


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match=r"tape must have shape \(\d+, any\)"):
        noise_from_tape(np.zeros((3, 2)), BASE, 4)
    with pytest.raises(ArgumentError, match="dimension must be an integer, at least 1"):
        noise_from_generator(generator(0), 0, BASE, 4)
    with pytest.raises(
        ArgumentError, match="examples and steps and dimension must fit in memory"
    ):
        noise_from_generator(generator(0), 10**12, BASE, 4)
    with pytest.raises(ArgumentError, match="examples and steps must fit in memory"):
        tape_layout(4, 10**14)
