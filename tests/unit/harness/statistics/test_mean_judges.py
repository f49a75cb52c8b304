from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpverify.harness import (
    Bounded,
    Context,
    MeanBound,
    MeanEffect,
    MeanLaw,
    ProportionBound,
    ProportionEffect,
    SubGaussian,
    TrajectoryEffect,
)
from dpverify.harness.statistics.mean_judges import MeanMoments
from dpverify.ledger.records import Relation
from dpverify.ledger.statements import Statement
from tests.for_each import for_each


@pytest.fixture
def size(context: Context, statements: dict[str, Statement]) -> Context:
    """A statement that bounds a mean by 7/10."""
    return replace(context, statement=statements["size"])


def test_moments_add_up(size: Context) -> None:
    values = np.random.default_rng(0).normal(5.0, 2.0, 1000)
    judge = MeanLaw(lambda _: 5.0, SubGaussian(2.0))
    parts: MeanMoments = judge.collect(size, values[:300]) + judge.collect(
        size, values[300:]
    )
    assert parts.n == 1000
    assert parts.mean == pytest.approx(values.mean())
    assert parts.variance == pytest.approx(values.var(ddof=1))


def test_mean_law_is_two_sided(size: Context) -> None:
    judge = MeanLaw(lambda _: 1.0, SubGaussian(1.0))
    radius = SubGaussian(1.0).radius(100, 0.0, 0.005)
    for mean, says in (
        (1.0 + radius * 1.01, "disagrees"),
        (1.0 - radius * 1.01, "disagrees"),
        (1.05, "agrees"),
    ):
        assert judge.decide(size, MeanMoments(100, mean, 0.0), 0.01).outcome == says


def test_a_bound_is_refuted_by_a_confidence_limit_and_not_by_a_mean(
    size: Context,
) -> None:
    judge = MeanBound(SubGaussian(1.0))
    radius = SubGaussian(1.0).radius(100, 0.0, 0.01)
    above = judge.decide(size, MeanMoments(100, 0.7 + 0.9 * radius, 0.0), 0.01)
    assert above.outcome == "agrees"
    beyond = judge.decide(size, MeanMoments(100, 0.7 + 1.1 * radius, 0.0), 0.01)
    assert beyond.outcome == "refutes"
    assert beyond.lhs is not None
    assert float(beyond.lhs.float) == pytest.approx(0.7 + 0.1 * radius)
    assert beyond.rhs is not None
    assert beyond.rhs.float == 0.7


def test_a_lower_bound_looks_the_other_way(size: Context) -> None:
    judge = MeanBound(Bounded(0.0, 1.0), bound=lambda _: 0.5)
    relations: tuple[Relation, ...] = (">=", ">")
    for relation in relations:
        lower = replace(size, statement=replace(size.statement, relation=relation))
        assert (
            judge.decide(lower, MeanMoments(10**6, 0.4, 0.0), 0.01).outcome == "refutes"
        )
        assert (
            judge.decide(lower, MeanMoments(10**6, 0.6, 0.0), 0.01).outcome == "agrees"
        )


def test_an_equation_is_no_bound(size: Context) -> None:
    equation = replace(size, statement=replace(size.statement, relation="="))
    with pytest.raises(ValueError, match="use MeanLaw"):
        MeanBound(SubGaussian(1.0)).decide(equation, MeanMoments(10, 0.0, 0.0), 0.01)


def test_a_tail_may_depend_on_the_point(size: Context) -> None:
    here = replace(size, point={"scale": Fraction(1, 2)})
    judge = MeanLaw(
        lambda _: 0.0, lambda context: SubGaussian(float(context.point["scale"]))
    )
    assert (
        "+- 0.5" not in judge.decide(here, MeanMoments(100, 0.0, 0.0), 0.01).statistic
    )
    assert (
        f"{SubGaussian(0.5).radius(100, 0.0, 0.005):.3g}"
        in judge.decide(here, MeanMoments(100, 0.0, 0.0), 0.01).statistic
    )


def test_planted_means_are_exactly_beyond(size: Context) -> None:
    rng = np.random.default_rng(0)
    sample = rng.standard_normal(100)
    effect = MeanEffect(0.25, SubGaussian(1.0))
    (law,) = MeanLaw(lambda _: 3.0, SubGaussian(1.0)).planted(size, effect)
    assert law.change(size, sample, rng).mean() == pytest.approx(3.25)
    (bound,) = MeanBound(SubGaussian(1.0)).planted(size, effect)
    assert bound.change(size, sample, rng).mean() == pytest.approx(0.95)


def test_proportions(size: Context) -> None:
    judge = ProportionBound(bound=lambda _: 0.1)
    few, many = np.zeros(1000), np.zeros(1000)
    few[:110], many[:300] = 1.0, 1.0
    assert judge.decide(size, judge.collect(size, few), 1e-3).outcome == "agrees"
    said = judge.decide(size, judge.collect(size, many), 1e-3)
    assert said.outcome == "refutes"
    assert said.statistic.startswith("300 of 1000, lower confidence limit 0.2")
    (fault,) = judge.planted(size, ProportionEffect(0.1, 0.4))
    tosses = fault.change(size, few, np.random.default_rng(1))
    assert 0.4 < tosses.mean() < 0.6


def test_a_limit_at_the_bound_refutes_nothing(size: Context) -> None:
    never, always = np.zeros(50), np.ones(50)
    for bound, sample, says in (
        (0.0, never, "agrees"),
        (0.0, always, "refutes"),
        (1.0, always, "agrees"),
    ):
        judge = ProportionBound(bound=lambda _, bound=bound: bound)  # type: ignore[misc]  # the loop's own bound
        assert judge.decide(size, judge.collect(size, sample), 0.5).outcome == says


def test_an_effect_of_another_kind_is_refused(size: Context) -> None:
    wrong = TrajectoryEffect(2, 1, scale=1.1)
    with pytest.raises(TypeError, match="MeanEffect"):
        MeanBound(SubGaussian(1.0)).planted(size, wrong)
    with pytest.raises(TypeError, match="ProportionEffect"):
        ProportionBound().planted(size, wrong)


@for_each(
    ("sample", "message"),
    [
        (np.zeros((2, 2)), "shape"),
        (np.array([]), "shape"),
        (np.array([1.0, np.inf]), "must be finite"),
    ],
)
def test_samples_that_are_no_numbers_are_refused(
    size: Context, sample: np.ndarray[tuple[int, ...]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        MeanLaw(lambda _: 0.0, SubGaussian(1.0)).collect(size, sample)


def test_proportions_need_zeros_and_ones(size: Context) -> None:
    with pytest.raises(ValueError, match="zeros and ones"):
        ProportionBound().collect(size, np.array([0.0, 0.5]))
