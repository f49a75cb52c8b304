from fractions import Fraction

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.jit import kernel, python_of
from dpverify.kernels.normal import take_words, wrapping
from dpverify.kernels.tape import Bits, generator, normal_tape
from dpverify.kernels.typing import Matrix, Tape
from dpverify.papers.tran2022.algorithms.composition import compose
from dpverify.papers.tran2022.algorithms.tree_noise import stream as module
from dpverify.papers.tran2022.algorithms.tree_noise.stream import (
    noise_from_generator,
    noise_from_tape,
    whiten,
)
from tests.for_each import for_each

CLOSE = 1e-12  # a few hundred roundings of numbers of order one


def tape_of(steps: int, dimension: int, seed: int = 0) -> Tape:
    return normal_tape(generator(seed), steps, dimension)


def weights(steps: int, alpha: float) -> Matrix:
    """Weight of zeta_z in NOISE_t, as row t - 1 and column z - 1, from the definition."""
    out = np.zeros((steps, steps))
    for t in range(1, steps + 1):
        for _, z in compose(1, t).tolist():
            out[t - 1, z - 1] = (1.0 - alpha) ** (t - z)
    return out


@for_each("alpha", [1.0, 0.5, 0.03, 1e-9])
@for_each("steps", [1, 2, 3, 7, 8, 9, 64, 100])
def test_noise_is_the_sum_over_compose(steps: int, alpha: float) -> None:
    # column z - 1 of the result is then the weight of zeta_z at each step
    units = np.eye(steps)
    assert np.allclose(
        noise_from_tape(units, alpha=alpha, scale=1.0),
        weights(steps, alpha),
        rtol=CLOSE,
        atol=0,
    )


def test_the_joint_covariance_is_the_one_over_shared_nodes() -> None:
    steps, alpha, scale = 33, Fraction(1, 16), Fraction(3, 2)
    nodes = {
        t: {(y, z) for y, z in compose(1, t).tolist()} for t in range(1, steps + 1)
    }
    want = np.empty((steps, steps))
    for s in range(1, steps + 1):
        for t in range(1, steps + 1):
            shared = sum(
                ((1 - alpha) ** (s - z + t - z) for _, z in nodes[s] & nodes[t]),
                start=Fraction(0),
            )
            want[s - 1, t - 1] = float(scale**2 * shared)
    factor = noise_from_tape(np.eye(steps), alpha=float(alpha), scale=float(scale))
    assert np.allclose(factor @ factor.T, want, rtol=CLOSE, atol=CLOSE)


def plain_numpy(tape: Tape, alpha: float, scale: float) -> Matrix:
    return scale * weights(len(tape), alpha) @ tape


@for_each(
    ("steps", "dimension"), [(1, 1), (1, 5), (100, 1), (257, 3), (70, 64), (19, 2049)]
)
def test_jitted_and_python_and_plain_numpy_agree_on_one_tape(
    steps: int, dimension: int
) -> None:
    tape, alpha, scale = tape_of(steps, dimension), 0.07, 2.5
    out, again = np.empty_like(tape), np.full_like(tape, np.nan)
    before = tape.copy()
    module.stream_noise(tape, alpha, scale, out)
    python_of(module.stream_noise)(tape, alpha, scale, again)
    assert np.array_equal(out, again)
    assert np.array_equal(tape, before)
    assert np.allclose(out, plain_numpy(tape, alpha, scale), rtol=CLOSE, atol=CLOSE)


def test_python_bodies_of_the_inner_kernels_agree() -> None:
    decay, again = module.decays(0.3), python_of(module.decays)(0.3)
    assert np.array_equal(decay, again)
    assert np.allclose(decay[:6], 0.7**2.0 ** np.arange(6), rtol=CLOSE)
    for dimension in (3, 80):
        rows, same, none = (
            tape_of(20, dimension),
            tape_of(20, dimension),
            np.empty((0, dimension)),
        )
        module.combine_rows(1, 20, decay, 2.0, none, 0, rows)
        python_of(module.combine_rows)(1, 20, decay, 2.0, none, 0, same)
        assert np.array_equal(rows, same)
        white, same = np.empty_like(rows), np.empty_like(rows)
        module.whiten_into(rows, 0.3, 2.0, white)
        python_of(module.whiten_into)(rows, 0.3, 2.0, same)
        assert np.array_equal(white, same)


@for_each("bits", ["sfc64", "pcg64"])
@for_each(
    ("steps", "dimension"), [(1, 1), (20_000, 1), (5999, 7), (300, 100), (3, 20_000)]
)
def test_a_tape_and_a_generator_give_the_same_bits(
    steps: int, dimension: int, bits: Bits
) -> None:
    rng, other = generator(3, bits=bits), generator(3, bits=bits)
    drawn = noise_from_generator(rng, steps, dimension, alpha=0.02, scale=1.7)
    tape = normal_tape(other, steps, dimension)
    assert np.array_equal(drawn, noise_from_tape(tape, alpha=0.02, scale=1.7))
    assert rng.random() == other.random()
    library = np.empty_like(drawn)
    module.draw_noise(generator(3, bits=bits), 0.02, 1.7, library)
    assert np.array_equal(drawn, library)


def test_the_fast_draw_and_its_python_body_give_the_same_bits() -> None:
    out, again = np.empty((40, 5)), np.empty((40, 5))
    module.draw_noise_from(take_words(generator(6)), 0.2, 0.5, out)
    with wrapping():
        python_of(module.draw_noise_from)(take_words(generator(6)), 0.2, 0.5, again)
    assert np.array_equal(out, again)


def test_many_trajectories_are_one_after_the_other() -> None:
    many, rng = np.empty((3, 50, 2)), generator(4)
    module.draw_noises_from(take_words(generator(4)), 0.1, 1.0, many)
    for one in many:
        assert np.array_equal(
            one, noise_from_generator(rng, 50, 2, alpha=0.1, scale=1.0)
        )


@for_each("alpha", [1.0, 0.3, 0.001])
def test_whitening_gives_the_tape_back(alpha: float) -> None:
    tape = tape_of(1023, 4)
    noise = noise_from_tape(tape, alpha=alpha, scale=0.3)
    assert np.allclose(whiten(noise, alpha=alpha, scale=0.3), tape, rtol=0, atol=CLOSE)


def test_without_memory_the_noise_is_the_tape() -> None:
    tape = tape_of(40, 3)
    assert np.array_equal(noise_from_tape(tape, alpha=1.0, scale=1.0), tape)


def test_no_scale_no_noise() -> None:
    assert not noise_from_tape(tape_of(40, 3), alpha=0.1, scale=0.0).any()


@kernel
def norms(tape: Tape, alpha: float, out: Matrix) -> float:
    module.stream_noise(tape, alpha, 1.0, out)
    return float((out * out).sum())


def test_from_inside_a_kernel() -> None:
    tape = tape_of(30, 2)
    out = np.empty_like(tape)
    assert norms(tape, 0.2, out) == pytest.approx(
        (plain_numpy(tape, 0.2, 1.0) ** 2).sum(), rel=CLOSE
    )


def test_the_sample_covariance_is_near_the_exact_one() -> None:
    steps, n, rng = 15, 40_000, generator(5)
    sample = np.empty((n, steps, 1))
    for run in sample:  # by the library's own draw
        module.draw_noise(rng, 0.1, 1.0, run)
    factor = weights(steps, 0.1)
    white = np.linalg.solve(factor, sample[:, :, 0].T)
    errors = np.abs(white @ white.T / n - np.eye(steps)) * np.sqrt(
        n / (1 + np.eye(steps))
    )
    assert errors.max() < 6.5, (
        f"{errors.max():.2f} deviations; among 120 numbers that has probability below 1e-8"
    )


@for_each(
    ("alpha", "scale", "tape", "text"),
    [
        (0.0, 1.0, np.ones((2, 2)), r"alpha must lie in \(0, 1\], got alpha=0\.0\."),
        (0.5, -1.0, np.ones((2, 2)), "scale must be finite and at least 0, got scale="),
        (0.5, 1.0, np.ones(2), r"tape must have shape \(any, any\)"),
        (0.5, 1.0, np.ones((0, 2)), r"tape must have shape \(any, any\)"),
        (
            0.5,
            1.0,
            np.array([[1.0], [np.nan]]),
            r"tape must be finite everywhere, got tape=nan at \[1, 0\]\.",
        ),
    ],
)
def test_bad_arguments(alpha: float, scale: float, tape: Tape, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        noise_from_tape(tape, alpha=alpha, scale=scale)


@for_each("bits", ["sfc64", "pcg64"])
def test_an_array_that_is_given_receives_the_noise(bits: Bits) -> None:
    tape, out = normal_tape(generator(3, bits=bits), 40, 5), np.full((40, 5), np.nan)
    want = noise_from_tape(tape, alpha=0.1, scale=2.0)
    assert noise_from_tape(tape, alpha=0.1, scale=2.0, out=out) is out
    assert np.array_equal(out, want)
    out[:] = np.nan
    assert (
        noise_from_generator(
            generator(3, bits=bits), 40, 5, alpha=0.1, scale=2.0, out=out
        )
        is out
    )
    assert np.array_equal(out, want)


@for_each(
    ("out", "text"),
    [
        (
            np.empty((3, 2)),
            r"out must be an array of float64 of shape \(4, 2\), got out=an array of float64",
        ),
        (np.empty((4, 2), dtype=np.float32), "out must be an array of float64"),
        ([[0.0, 0.0]] * 4, "out must be an array of float64"),
        (np.empty((2, 4)).T, "out must be contiguous, aligned and writeable"),
    ],
)
def test_an_array_that_cannot_receive_the_noise(out: Matrix, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        noise_from_tape(np.ones((4, 2)), alpha=0.5, scale=1.0, out=out)
    with pytest.raises(ArgumentError, match=text):
        noise_from_generator(generator(0), 4, 2, alpha=0.5, scale=1.0, out=out)
    tape = np.ones((4, 2))
    with pytest.raises(
        ArgumentError, match="out must not share memory with what is read"
    ):
        noise_from_tape(tape, alpha=0.5, scale=1.0, out=tape)


def test_sizes_that_cannot_fit() -> None:
    with pytest.raises(ArgumentError, match="steps and dimension must fit in memory"):
        noise_from_generator(generator(0), 10**10, 10**6, alpha=0.5, scale=1.0)
    with pytest.raises(ArgumentError, match="scale must be finite and above 0"):
        whiten(np.ones((2, 2)), alpha=0.5, scale=0.0)
