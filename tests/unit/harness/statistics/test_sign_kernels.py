from __future__ import annotations

import numpy as np

from dpverify.harness.statistics import trajectory_kernels as module
from dpverify.harness.statistics.trajectory_kernels import AT_ONCE, TILE
from dpverify.kernels.jit import python_of
from dpverify.kernels.normal import wrapping
from tests.for_each import for_each


def random_words(seed: int, *shape: int) -> module.Bits:
    return np.random.default_rng(seed).integers(0, 2**64, size=shape, dtype=np.uint64)


def test_ones_are_counted() -> None:
    some = [0, 1, 2**63, 2**64 - 1, 0x8000000000000001, *random_words(0, 50).tolist()]
    with wrapping():
        for word in some:
            assert int(module.ones(np.uint64(word))) == word.bit_count()
            assert int(python_of(module.ones)(np.uint64(word))) == word.bit_count()


@for_each("T", [1, 2, 3, TILE, TILE + 1, 2 * TILE + 5])
@for_each("words", [AT_ONCE, 3 * AT_ONCE])
def test_opposite_signs_of_all_pairs(T: int, words: int) -> None:
    bits = random_words(1, words, T)
    counts = np.ones(T * (T - 1) // 2, dtype=np.int64)
    module.count_opposite(bits, words, counts)
    rows = np.unpackbits(bits.T.copy().view(np.uint8), axis=1).astype(np.int64)
    ones = rows.sum(axis=1)
    want = ones[:, None] + ones[None, :] - 2 * rows @ rows.T
    assert np.array_equal(counts, 1 + want[np.tril_indices(T, k=-1)])


def test_only_the_words_in_use_are_compared() -> None:
    bits = random_words(2, 2 * AT_ONCE, 10)
    some, all_of_them = np.zeros((2, 45), dtype=np.int64)
    module.count_opposite(bits, AT_ONCE, some)
    module.count_opposite(bits[:AT_ONCE].copy(), AT_ONCE, all_of_them)
    assert np.array_equal(some, all_of_them)


def test_the_python_bodies_count_the_same() -> None:
    bits = random_words(3, AT_ONCE, 9)
    want, found = np.zeros((2, 36), dtype=np.int64)
    module.count_opposite(bits, AT_ONCE, want)
    with wrapping():
        python_of(module.count_opposite)(bits, AT_ONCE, found)
    assert np.array_equal(found, want)
    some, place = np.arange(TILE, dtype=np.uint64), np.zeros(36, dtype=np.int64)
    python_of(module.add_counts)(some, 8, 0, place)
    assert place[28:].tolist() == list(range(8))
    assert not place[:28].any()


@for_each("d", [1, 3, 8])
def test_signs_are_laid_out_by_coordinate_and_forgotten(d: int) -> None:
    T, signs = 11, random_words(4, 11 * d)
    for spread in (module.spread_signs, python_of(module.spread_signs)):
        given, bits = signs.copy(), np.zeros((d + 2, T), dtype=np.uint64)
        spread(given, 1, bits)
        assert np.array_equal(bits[1 : d + 1], signs.reshape(T, d).T)
        assert not bits[0].any()
        assert not bits[d + 1].any()
        assert not given.any()


@for_each("d", [1, 2, 5])
def test_opposite_signs_of_coordinates(d: int) -> None:
    T, signs = 20, random_words(5, 20 * d)
    bits = np.unpackbits(
        signs.reshape(T, d).T.copy().view(np.uint8).reshape(d, -1), axis=1
    )
    want = [int((bits[b] != bits[a]).sum()) for b in range(d) for a in range(b)]
    for count in (
        module.count_opposite_coordinates,
        python_of(module.count_opposite_coordinates),
    ):
        counts = np.zeros(d * (d - 1) // 2, dtype=np.int64)
        with wrapping():
            count(signs, d, counts)
        assert counts.tolist() == want


@for_each(
    ("d", "words"),
    [(1, 64), (3, 64), (8, 64), (31, 64), (32, 64), (33, 36), (100, 100)],
)
def test_whole_groups_of_replications_are_compared_at_once(d: int, words: int) -> None:
    assert module.words_together(d) == words
    assert words % AT_ONCE == 0
    assert words >= d
