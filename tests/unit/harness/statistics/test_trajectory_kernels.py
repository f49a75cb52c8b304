from __future__ import annotations

import numpy as np

from dpverify.harness.statistics import trajectory_kernels as module
from dpverify.kernels.jit import python_of
from tests.for_each import for_each


@for_each(("n", "m"), [(1, 3), (4, 511), (6, 512), (9, 1300)])
def test_sums_squares_and_signs_value_by_value(n: int, m: int) -> None:
    rows = np.random.default_rng(0).standard_normal((n, m))
    rows[0, :2] = 0.0, -0.0  # neither is below 0
    for add in (module.add_up, python_of(module.add_up)):
        sums, squares, signs = np.ones(m), np.ones(m), np.zeros(m, dtype=np.uint64)
        add(rows, sums, squares, 60, signs)
        assert np.allclose(sums, 1.0 + rows.sum(axis=0), rtol=1e-12, atol=1e-12)
        assert np.allclose(squares, 1.0 + np.square(rows).sum(axis=0), rtol=1e-12)
        for j in range(m):
            assert int(signs[j]) == sum(
                1 << (60 + i) % 64 for i in range(n) if rows[i, j] < 0.0
            )
        for add_squares in (module.add_squares, python_of(module.add_squares)):
            again = np.ones(m)
            add_squares(rows, again)
            assert np.array_equal(again, squares)


@for_each("m", [1, 511, 512, 5000])
def test_places_are_those_of_a_sorted_search(m: int) -> None:
    white = 3.0 * np.random.default_rng(1).standard_normal(m)
    white[-1] = np.inf
    want = np.bincount(
        np.searchsorted(np.linspace(-8.0, 8.0, 513), white), minlength=514
    )
    for count in (module.count_places, python_of(module.count_places)):
        counts = np.zeros(514, dtype=np.int64)
        count(white, 8.0, 512, counts)
        assert np.array_equal(counts, want)
    counts = np.zeros(514, dtype=np.int64)
    module.count_places(np.array([np.nan, -np.inf]), 8.0, 512, counts)
    # whatever is not a number has a place too: the sample is refused afterwards
    assert counts[0] == 2


@for_each("m", [1, 4, 7, 100])
def test_products_of_coordinates(m: int) -> None:
    white, start = (
        np.random.default_rng(2).standard_normal((m, 3)),
        np.full((3, 3), 0.5),
    )
    for multiply in (
        module.multiply_coordinates,
        python_of(module.multiply_coordinates),
    ):
        coordinates = start.copy()
        multiply(white, coordinates)
        assert np.allclose(coordinates, start + white.T @ white, rtol=1e-12)
        assert np.array_equal(coordinates, coordinates.T)


@for_each("whitened", [False, True])
def test_all_of_it_in_one_call(whitened: bool) -> None:
    rng, (n, T, d) = np.random.default_rng(3), (6, 5, 2)
    sample, end = rng.standard_normal((n, T, d)), 8.0
    starts, places = np.array([0, 1, 3, 5, 7, 9]), np.array([0, 0, 1, 1, 2, 0, 3, 2, 4])
    weights = rng.standard_normal(9)
    matrix = np.zeros((T, T))
    for t in range(T):
        matrix[t, places[starts[t] : starts[t + 1]]] = weights[
            starts[t] : starts[t + 1]
        ]
    want = sample if whitened else np.einsum("ts,nsd->ntd", matrix, sample)
    entries = (
        (starts[:0], places[:0], weights[:0]) if whitened else (starts, places, weights)
    )
    for sum_up in (module.sum_up, python_of(module.sum_up)):
        white = sample.copy() if whitened else np.empty(sample.shape)
        squares, sums, lengths = np.zeros((3, T * d))
        counts, products, signs = (
            np.zeros(514, dtype=np.int64),
            np.zeros((d, d)),
            np.zeros(T * d, dtype=np.uint64),
        )
        sum_up(
            *entries,
            sample,
            white,
            squares,
            sums,
            lengths,
            2,
            end,
            counts,
            products,
            0,
            signs,
        )
        assert np.allclose(white, want, rtol=1e-12)
        assert np.allclose(squares, np.square(sample).sum(axis=0).ravel(), rtol=1e-12)
        assert np.allclose(sums, want.sum(axis=0).ravel(), rtol=1e-12, atol=1e-12)
        assert np.allclose(lengths, np.square(want).sum(axis=0).ravel(), rtol=1e-12)
        assert counts.sum() == 2 * T * d
        assert np.allclose(products, np.einsum("nta,ntb->ab", want, want), rtol=1e-12)
        assert signs.any()
