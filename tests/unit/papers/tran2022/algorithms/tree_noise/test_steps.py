import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.jit import python_of
from dpverify.kernels.normal import take_words
from dpverify.kernels.tape import Bits, generator
from dpverify.kernels.typing import Matrix
from dpverify.papers.tran2022.algorithms.tree_noise import steps as module
from dpverify.papers.tran2022.algorithms.tree_noise.steps import TreeNoise
from dpverify.papers.tran2022.algorithms.tree_noise.stream import (
    decays,
    noise_from_generator,
)
from tests.for_each import for_each


@for_each(("bits", "fast"), [("sfc64", False), ("pcg64", False), ("sfc64", True)])
@for_each(
    ("steps", "dimension"),
    [(1, 1), (2, 1), (1000, 3), (20_000, 2), (300, 200), (5, 20_000)],
)
def test_step_by_step_gives_the_same_bits_as_the_whole_trajectory(
    steps: int, dimension: int, bits: Bits, fast: bool
) -> None:
    rng, other = generator(8, bits=bits), generator(8, bits=bits)
    want = noise_from_generator(other, steps, dimension, alpha=0.03, scale=0.7)
    noise = TreeNoise(steps, dimension, alpha=0.03, scale=0.7, rng=rng, fast=fast)
    out = np.empty(dimension)
    for t in range(1, steps + 1):
        got = noise.step(out) if t % 3 == 0 else noise.step()
        assert (got is out) == (t % 3 == 0)
        assert noise.t == t
        assert np.array_equal(got, want[t - 1]), t
    assert rng.random() == other.random()  # exactly T*d normals were drawn
    with pytest.raises(
        ArgumentError,
        match=f"steps must be at least the number of calls of step, got steps={steps}",
    ):
        noise.step()


def test_what_is_handed_out_is_a_copy() -> None:
    noise, untouched = (
        TreeNoise(8, 2, alpha=0.5, scale=1.0, rng=generator(0)) for _ in range(2)
    )
    for _ in range(8):
        got = noise.step()
        assert np.array_equal(got, untouched.step())
        got[:] = np.nan


def test_state_is_logarithmic() -> None:
    kept = TreeNoise(1_000_000, 5, alpha=0.5, scale=1.0, rng=generator(0))._slots
    assert kept.shape == (20, 5)  # floor(log2 T) + 1 vectors


def test_jitted_and_python_agree() -> None:
    decay = decays(0.1)
    results: list[tuple[Matrix, Matrix]] = []
    for advance in (
        module.advance,
        python_of(module.advance),
        module.advance_from,
        python_of(module.advance_from),
    ):
        source = generator(1) if len(results) < 2 else take_words(generator(1))
        slots, out = np.zeros((5, 2)), np.empty((6, 2))
        for t in (0, 6, 12):
            advance(source, t, decay, 1.5, slots, out)  # type: ignore[arg-type]  # each has its own source
        results.append((out, slots))
    for out, slots in results[1:]:
        assert np.array_equal(out, results[0][0])
        assert np.array_equal(slots, results[0][1])
    units, again, slots = np.ones((6, 2)), np.ones((6, 2)), np.zeros((5, 2))
    module.combine_block(0, decay, 1.5, slots.copy(), units)
    python_of(module.combine_block)(0, decay, 1.5, slots, again)
    assert np.array_equal(units, again)


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match="steps must be an integer, at least 1"):
        TreeNoise(0, 1, alpha=0.5, scale=1.0, rng=generator(0))
    with pytest.raises(ArgumentError, match="steps and dimension must fit in memory"):
        TreeNoise(10**9, 10**12, alpha=0.5, scale=1.0, rng=generator(0))
    with pytest.raises(ArgumentError, match="rng must draw its bits from SFC64"):
        TreeNoise(1, 1, alpha=0.5, scale=1.0, rng=generator(0, bits="pcg64"), fast=True)
    with pytest.raises(ArgumentError, match=r"alpha must lie in \(0, 1\]"):
        TreeNoise(1, 1, alpha=2.0, scale=1.0, rng=generator(0))
