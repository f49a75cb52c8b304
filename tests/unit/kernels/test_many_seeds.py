"""Generators of many seeds at once are the library's, bit for bit: states, half words and shuffles."""

import numpy as np
import pytest

from dpverify.kernels import tape as module
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.jit import python_of
from dpverify.kernels.normal import Words, take_words, wrapping
from dpverify.kernels.tape import (
    generator,
    next_half,
    shuffle,
    shuffle_from,
    words_of_seeds,
)
from dpverify.kernels.typing import Indices
from tests.for_each import for_each

EDGES = [0, 1, 2**32 - 1, 2**32, 2**62 - 1, 2**63 - 1]
SEEDS = np.array(EDGES + np.random.default_rng(1).integers(1 << 62, size=500).tolist())


def _states(stream: int) -> Words:
    return np.array([take_words(generator(int(seed), stream)) for seed in SEEDS])


def _held() -> Words:
    return np.zeros(2, dtype=np.uint64)


@for_each("stream", [0, 1, 2**32 - 1])
def test_states_are_the_librarys(stream: int) -> None:
    assert np.array_equal(words_of_seeds(SEEDS, stream), _states(stream))


def test_no_seeds_have_no_states() -> None:
    assert words_of_seeds(SEEDS[:0], 0).shape == (0, 4)


@for_each("n", [1, 2, 3, 100])
def test_shuffles_are_the_librarys_one_after_the_other(n: int) -> None:
    for seed, words in zip(
        SEEDS[:40].tolist(), words_of_seeds(SEEDS[:40], 0), strict=True
    ):
        rng, held, want, got = generator(seed, 0), _held(), np.arange(n), np.arange(n)
        for _ in range(3):  # half a word is held back from one to the next
            shuffle(rng, want)
            shuffle_from(words, held, got)
            assert np.array_equal(got, want)
        assert np.array_equal(words, take_words(rng))


def test_draws_that_are_rejected_are_the_librarys() -> None:
    n, words, held = 400_000, words_of_seeds(SEEDS[:1], 0)[0], _held()
    first, want, got = int(words[3]), np.arange(n), np.arange(n)
    shuffle(generator(0, 0), want)
    shuffle_from(words, held, got)
    assert np.array_equal(got, want)
    assert 2 * (int(words[3]) - first) - int(held[0]) > n - 1  # more draws than places


def _plain(words: Words, n: int) -> Indices:
    held, order = _held(), np.arange(n)
    with wrapping():
        python_of(shuffle_from)(words, held, order)
    return order


def _plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python bodies call Python bodies."""
    for name in ("next_word", "next_half", "warm_up"):
        monkeypatch.setattr(module, name, python_of(getattr(module, name)))


def test_jitted_and_python_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    want, got = words_of_seeds(SEEDS[:8], 3), np.arange(30)
    words = want[0].copy()
    shuffle_from(words, _held(), got)
    _plainly(monkeypatch)
    with wrapping():
        assert np.array_equal(words_of_seeds(SEEDS[:8], 3), want)
    assert np.array_equal(_plain(want[0], 30), got)
    assert np.array_equal(want[0], words)


def test_halves_of_a_word_come_lower_first() -> None:
    words, held = words_of_seeds(SEEDS[7:8], 0)[0], _held()
    (word,) = generator(int(SEEDS[7]), 0).bit_generator.random_raw(1).tolist()
    assert [int(next_half(words, held)) for _ in range(2)] == [
        word & 0xFFFFFFFF,
        word >> 32,
    ]


@for_each(
    ("name", "value"),
    [
        ("_INIT_A", 0x43B0D7E4), ("_TIMES_A", 0x931E8877), ("_INIT_B", 0), ("_TIMES_B", 3),
        ("_LEFT", np.uint32(1)), ("_RIGHT", np.uint32(1)), ("_BY_16", np.uint32(15)), ("WARM_UP", 11),
    ],
)  # fmt: skip
def test_faults_of_a_port_are_seen(
    name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    _plainly(monkeypatch)
    monkeypatch.setattr(module, name, value)
    with wrapping():
        assert not (words_of_seeds(SEEDS[:20], 0) == _states(0)[:20]).all(axis=1).any()


def test_what_has_no_generator_is_refused() -> None:
    with pytest.raises(ArgumentError, match="seeds must be at least 0, got seeds=-3"):
        words_of_seeds(np.array([5, -3]), 0)
    with pytest.raises(
        ArgumentError,
        match="stream must be an integer, at least 0 and at most 4294967295",
    ):
        words_of_seeds(SEEDS, 1 << 32)
