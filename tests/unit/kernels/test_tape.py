import numpy as np
import pytest
from numpy.random import SeedSequence

from dpverify.kernels import tape
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.jit import python_of
from tests.for_each import for_each


@for_each("bits", ["sfc64", "pcg64"])
def test_numpy_a_tape_a_kernel_and_its_python_body_draw_the_same_numbers(
    bits: tape.Bits,
) -> None:
    # about 50 numbers come from the tail of the ziggurat, and 1500 from its slow path
    steps, dimension = 400, 500
    want = tape.generator(7, bits=bits).standard_normal((steps, dimension))
    rng = tape.generator(7, bits=bits)
    assert np.array_equal(tape.normal_tape(rng, steps, dimension), want)
    after = rng.standard_normal(3)
    rng = tape.generator(7, bits=bits)
    one_by_one = np.empty(dimension)
    for row in want:
        python_of(tape.fill_normal)(rng, one_by_one)
        assert np.array_equal(one_by_one, row)
    assert np.array_equal(rng.standard_normal(3), after)


@for_each("bits", ["sfc64", "pcg64"])
def test_shuffle_is_a_permutation_and_the_same_in_python(bits: tape.Bits) -> None:
    order, again = np.arange(1000), np.arange(1000)
    tape.shuffle(tape.generator(1, bits=bits), order)
    python_of(tape.shuffle)(tape.generator(1, bits=bits), again)
    assert np.array_equal(order, again)
    assert np.array_equal(np.sort(order), np.arange(1000))
    assert not np.array_equal(order, np.arange(1000))


def test_shuffle_is_uniform_over_all_orders() -> None:
    rng, order, runs = tape.generator(2), np.arange(4), 24_000
    counts = np.zeros(256)
    for _ in range(runs):
        tape.shuffle(rng, order)
        counts[order @ [64, 16, 4, 1]] += 1
    seen = counts[counts > 0]
    assert len(seen) == 24
    chi_square = ((seen - runs / 24) ** 2).sum() / (runs / 24)
    assert chi_square < 72.4, (
        f"{chi_square} with 23 degrees of freedom has probability below 5e-7"
    )


def test_streams_are_those_of_the_seed_sequence() -> None:
    child = SeedSequence(5).spawn(3)[2]
    assert (
        tape.generator(5, 2).random()
        == tape.generator(child).random()
        == tape.generator([5], 2).random()
    )
    assert tape.generator(child, 0).random() == tape.generator(5, 2, 0).random()


def test_a_seed_sequence_is_not_advanced() -> None:
    seed = SeedSequence(5)
    assert tape.generator(seed, 0).random() == tape.generator(seed, 0).random()
    assert seed.n_children_spawned == 0


@for_each("seed", [-1, 1.5, None, "x", [1, -2], True])
def test_bad_seeds(seed: object) -> None:
    with pytest.raises(ArgumentError, match="seed must be an integer, at least 0"):
        tape.generator(seed)  # type: ignore[arg-type]  # the wrong type is the point


def test_bad_sizes() -> None:
    rng = tape.generator(0)
    with pytest.raises(
        ArgumentError,
        match=r"dimension must be an integer, at least 1, got dimension=0\.",
    ):
        tape.normal_tape(rng, 3, 0)
    with pytest.raises(
        ArgumentError,
        match=r"must fit in memory: 8e\+15 GB are needed.*steps=1000000000000",
    ):
        tape.normal_tape(rng, 10**12, 10**12)
    with pytest.raises(ArgumentError, match="bits must be one of sfc64, pcg64"):
        tape.generator(0, bits="mt")  # type: ignore[arg-type]  # the wrong value is the point
    assert tape.normal_tape(rng, 0, 2).shape == (0, 2)
