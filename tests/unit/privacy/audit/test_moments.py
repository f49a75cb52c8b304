"""Sums over outputs, against scipy's moments; and what contradicts a Gaussian law, to either side."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpverify.kernels.typing import Matrix
from dpverify.privacy.audit.gaussian import (
    BLOCK_NUMBERS,
    MIN_LAW_OUTPUTS,
    ClassMoments,
    add_outputs,
    check_law,
)
from dpverify.privacy.audit.records import AuditError
from tests.for_each import for_each

N = 4001


def quantiles(law: object = stats.norm) -> Matrix:
    """One column of numbers that have a law as exactly as so many can."""
    at = (np.arange(N) + 0.5) / N
    return np.asarray(law.ppf(at))[:, None]  # type: ignore[attr-defined]  # of scipy's frozen laws


@for_each("far", [0.0, 1e3])
@for_each("blocks", [1, 3])
def test_scores_are_those_of_scipy_however_outputs_come(
    far: float, blocks: int
) -> None:
    x = (
        np.random.default_rng(0).gamma(3.0, size=(BLOCK_NUMBERS // 2 + 7, 3))
        * [1.0, -1.0, 0.01]
        + far
    )
    moments = ClassMoments(x[:50].mean(axis=0))
    for part in np.array_split(x, blocks):
        moments.add(part)
    n = len(x)
    expected = [
        stats.skew(x, axis=0) * np.sqrt(n / 6.0),
        stats.kurtosis(x, axis=0) * np.sqrt(n / 24.0),
    ]
    np.testing.assert_allclose(
        np.transpose(moments.shape_scores()), expected, rtol=1e-6
    )
    np.testing.assert_allclose(
        moments.centre + moments.mean, x.mean(axis=0), rtol=1e-12
    )
    np.testing.assert_allclose(
        moments.scatter, np.cov(x.T) * (n - 1), rtol=1e-9, atol=1e-9
    )


@for_each("sign", [1.0, -1.0])
@for_each("which", [0, 1])
@for_each(
    ("law", "words"),
    [
        (stats.gamma(3.0), "skewness"),
        (stats.laplace(), "kurtosis"),
        (stats.uniform(), "kurtosis"),
    ],
)
def test_skewness_and_kurtosis_contradict_the_law_to_either_side_on_either_data_set(
    law: object, words: str, which: int, sign: float
) -> None:
    sides = [quantiles(), quantiles()]
    sides[which] = sign * quantiles(law)
    with pytest.raises(
        AuditError, match=f"the {words} of output 0 on data set {which} is"
    ):
        check_law(*add_outputs(None, *sides))


@for_each("power", [0.5, -0.5])
def test_a_variance_that_differs_contradicts_it_to_either_side(power: float) -> None:
    """The logarithm of the ratio has the variance 4/n: the limit of 8 deviations lies at exp(8 sqrt(4/n))."""
    limit = np.exp(8.0 * np.sqrt(4.0 / N))
    check_law(*add_outputs(None, quantiles(), quantiles() * (0.99 * limit) ** power))
    with pytest.raises(AuditError, match="the variance of output 0 is"):
        check_law(
            *add_outputs(None, quantiles(), quantiles() * (1.01 * limit) ** power)
        )


def test_few_outputs_contradict_nothing() -> None:
    few = quantiles(stats.laplace())[:: N // (MIN_LAW_OUTPUTS - 1)][
        : MIN_LAW_OUTPUTS - 1
    ]
    check_law(*add_outputs(None, few, few))
