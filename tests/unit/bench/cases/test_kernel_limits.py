"""What others are divided by does what it says: the numbers are drawn, the rows are read, the steps are done."""

import numpy as np

from dpverify.bench.cases import kernel_limits as module
from dpverify.bench.cases.kernel_limits import (
    common_parts,
    fused_pass,
    sparse_gradients,
)
from dpverify.bench.cases.sparse import sparse_problem
from dpverify.kernels.clipping import pad_rows
from dpverify.kernels.normal import take_words
from dpverify.kernels.tape import generator, normal_tape
from dpverify.papers.tran2022.algorithms.tree_noise.stream import (
    noise_from_generator,
    noise_from_tape,
)
from dpverify.problems.logistic import LogisticRegression, example_gradient


def test_all_numbers_are_drawn() -> None:
    rng, other, row = generator(1), generator(1), np.empty(7)
    assert np.isclose(
        module.draw_only(rng, 5000), other.standard_normal(5000).sum(), rtol=1e-12
    )
    module.draw_rows(rng, 11, row)
    assert np.array_equal(row, other.standard_normal((11, 7))[-1])


def test_the_stream_goes_through_all_steps() -> None:
    steps, d = 1000, 3
    slots, block = np.zeros((steps.bit_length(), d)), np.empty((64, d))
    module.stream_in_blocks(take_words(generator(2)), steps, 0.1, 2.0, slots, block)
    want = noise_from_generator(generator(2), steps, d, alpha=0.1, scale=2.0)
    rest = steps % len(block)
    assert np.array_equal(block[:rest], want[-rest:])


def test_literal_sums_are_the_noise() -> None:
    tape = normal_tape(generator(3), 100, 4)
    out = np.empty_like(tape)
    module.literal_sums(tape, 0.3, out)
    assert np.allclose(
        out, noise_from_tape(tape, alpha=0.3, scale=1.0), rtol=0, atol=1e-12
    )


def test_every_row_is_read_twice_and_every_batch_is_summed() -> None:
    rng = np.random.default_rng(4)
    x, y, batches = (
        rng.standard_normal((50, 6)),
        rng.integers(0, 2, 50).astype(float),
        rng.permutation(50)[:45],
    )
    rows = pad_rows(x, y)
    out, w, first = (
        np.zeros(rows.shape[1]),
        np.zeros(rows.shape[1]),
        np.empty(rows.shape[1]),
    )
    module.read_twice(rows, batches, 10, out)
    assert np.allclose(out[:6], 2 * x[batches].sum(axis=0), rtol=1e-12)
    module.clip_batches(rows, batches, 10, w, 0.5, out)
    module.clipped_logistic(rows, batches[40:], w, 0.5, first)
    assert np.array_equal(out, first)


def test_the_last_gradient_is_there() -> None:
    x, out = np.random.default_rng(5).standard_normal((9, 4)), np.empty(4)
    order, w, want = np.array([3, 8, 1]), np.ones(4), np.empty(4)
    module.gradients_only(example_gradient(0.01), x, np.ones(9), order, w, out)
    example_gradient(0.01)(w, x[1], 1.0, want)
    assert np.array_equal(out, want)


def test_a_fused_pass_is_the_loss_and_its_gradient_and_each_gradient_is_added() -> None:
    problem = sparse_problem(50, 40, 4)
    w, out, bare = (
        np.linspace(-2, 2, 40),
        np.empty(40),
        LogisticRegression(problem.x.dense(), problem.y, lam=0.0),
    )
    assert np.isclose(
        fused_pass(problem.x.arrays, problem.y, w, out), bare.loss(w), rtol=1e-13
    )
    assert np.allclose(out, bare.gradient(w), rtol=0, atol=1e-14)
    total = np.zeros(40)
    sparse_gradients(
        problem.example_gradient, problem.x.arrays, problem.y, np.arange(50), w, total
    )
    assert np.allclose(total / 50, out, rtol=0, atol=1e-14)
    common_parts(problem.common, problem.lam, 3, w, out)
    assert np.allclose(out, problem.gradient(w) - bare.gradient(w), rtol=0, atol=1e-14)
