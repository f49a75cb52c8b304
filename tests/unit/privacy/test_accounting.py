from __future__ import annotations

import math

import pytest

from dpverify.privacy.accounting import epsilon, event, sigma, steps_of_event
from dpverify.privacy.batches import BatchSteps
from dpverify.privacy.gaussian import epsilon_of
from dpverify.privacy.subsampling import poisson_gaussian_epsilon
from tests.for_each import for_each

SETTINGS = [
    (1.0, 1e-5, 1000, 0.01),
    (0.7, 1e-6, 200, 0.05),
    (2.0, 1e-5, 10_000, 0.004),
    (5.0, 1e-3, 50, 0.5),
]


@for_each(("noise", "delta", "steps", "rate"), SETTINGS)
def test_both_ends_hold_dp_accountings_value_and_are_below_the_renyi_bound(
    noise: float, delta: float, steps: int, rate: float
) -> None:
    events = pytest.importorskip(
        "dp_accounting", reason="the extra `accounting` is not installed"
    )
    pld = pytest.importorskip("dp_accounting.pld")
    sampled = events.PoissonSampledDpEvent(rate, events.GaussianDpEvent(noise))
    event = events.SelfComposedDpEvent(sampled, steps)
    theirs = (
        pld.PLDAccountant(value_discretization_interval=1e-4)
        .compose(event)
        .get_epsilon(delta)
    )
    found = epsilon(noise, delta, steps=steps, rate=rate)
    assert found.lower <= theirs * (1 + 1e-3)
    assert theirs <= found.upper * (1 + 1e-3)
    assert found.upper <= 1.002 * found.lower
    assert found.upper < poisson_gaussian_epsilon(rate, noise, steps, delta)
    assert epsilon(event, delta) == found


@for_each(
    ("sampling", "rate"),
    [("poisson", 0.02), ("batches", 0.02), ("poisson", 1.0), ("batches", 1.0)],
)
def test_the_noise_that_is_found_does_and_a_little_less_does_not(
    sampling: str, rate: float
) -> None:
    noise = sigma(2.0, 1e-5, steps=300, rate=rate, sampling=sampling)  # type: ignore[arg-type]  # one of two words
    assert epsilon(noise, 1e-5, steps=300, rate=rate, sampling=sampling).upper <= 2.0  # type: ignore[arg-type]  # as above
    less = epsilon(noise * (1 - 1e-5), 1e-5, steps=300, rate=rate, sampling=sampling)  # type: ignore[arg-type]  # as above
    assert less.upper > 2.0


def test_all_of_the_data_is_the_gaussian_mechanism() -> None:
    found = epsilon(3.0, 1e-5, steps=7)
    assert found.lower <= epsilon_of(math.sqrt(7) / 3, 1e-5) <= found.upper
    assert found.upper - found.lower < 1e-12
    # one example replaced counts twice
    assert epsilon(3.0, 1e-5, steps=7, sampling="batches").upper > found.upper


class GaussianDpEvent:
    def __init__(self, noise_multiplier: float) -> None:
        self.noise_multiplier = noise_multiplier


class LaplaceDpEvent:
    pass


class ComposedDpEvent:
    def __init__(self, events: list[object]) -> None:
        self.events = events


def test_an_event_is_read_and_another_mechanism_is_refused_by_its_name() -> None:
    assert steps_of_event(ComposedDpEvent([GaussianDpEvent(2.0)])) == [
        BatchSteps(1.0, 2.0)
    ]
    with pytest.raises(ValueError, match="LaplaceDpEvent"):
        epsilon(ComposedDpEvent([GaussianDpEvent(2.0), LaplaceDpEvent()]), 1e-5)


class SelfComposedDpEvent:
    def __init__(self, event: object, count: int) -> None:
        self.event, self.count = event, count


class PoissonSampledDpEvent:
    def __init__(self, sampling_probability: float, event: object) -> None:
        self.sampling_probability, self.event = sampling_probability, event


def test_counts_of_events_within_events_multiply() -> None:
    sampled = SelfComposedDpEvent(PoissonSampledDpEvent(0.25, GaussianDpEvent(2.0)), 3)
    both = ComposedDpEvent([sampled, SelfComposedDpEvent(GaussianDpEvent(5.0), 2)])
    want = [BatchSteps(0.25, 2.0, 12), BatchSteps(1.0, 5.0, 8)]
    assert steps_of_event(SelfComposedDpEvent(both, 4)) == want


def test_a_sample_of_several_steps_or_of_a_sample_is_no_sample_of_one() -> None:
    """One batch for many steps is not many batches."""
    once = GaussianDpEvent(2.0)
    for inner in (
        SelfComposedDpEvent(once, 3),
        ComposedDpEvent([once, once]),
        PoissonSampledDpEvent(0.5, once),
    ):
        with pytest.raises(ValueError, match="a sample of several steps"):
            steps_of_event(PoissonSampledDpEvent(0.25, inner))


@for_each(
    ("changed", "message"),
    [
        ({"rate": 0.0}, "rate"),
        ({"steps": 0}, "steps must be"),
        ({"sampling": "shuffle"}, "sampling"),
        ({"sigma": -1.0}, "sigma"),
    ],
)
def test_a_number_out_of_its_range_is_refused(
    changed: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        epsilon(**{"sigma": 1.0, "delta": 1e-5, **changed})  # type: ignore[arg-type]  # one wrong value each


class SingleEpochTreeAggregationDpEvent:
    def __init__(self, noise_multiplier: float, step_counts: int | list[int]) -> None:
        self.noise_multiplier, self.step_counts = noise_multiplier, step_counts


@for_each("steps", [1, 2, 3, 7, 8, 100, 1023, 1024])
def test_a_tree_has_as_many_nodes_around_a_step_as_are_counted(steps: int) -> None:
    nodes = [(a << b, (a + 1) << b) for b in range(11) for a in range(steps >> b)]
    around = [sum(low < t <= high for low, high in nodes) for t in range(1, steps + 1)]
    found = epsilon(4.0, 1e-5, steps=steps, sampling="tree")
    assert max(around) == around[0] == steps.bit_length()
    assert found == epsilon(4.0, 1e-5, steps=max(around))
    assert epsilon(SingleEpochTreeAggregationDpEvent(4.0, [1, steps]), 1e-5) == found
    least = sigma(1.0, 1e-5, steps=steps, sampling="tree")
    assert epsilon(least, 1e-5, steps=steps, sampling="tree").upper <= 1.0
    assert epsilon(least * (1 - 1e-9), 1e-5, steps=steps, sampling="tree").lower > 1.0


@for_each(
    ("how", "delta"),
    [
        ({"sigma": 2.0}, 1e-5),
        ({"sigma": 5.0, "steps": 40}, 1e-6),
        ({"sigma": 1.0, "steps": 300, "rate": 0.02}, 1e-5),
        ({"sigma": 6.0, "steps": 1000, "sampling": "tree"}, 1e-5),
    ],
)
def test_an_event_that_is_given_comes_back_and_dp_accounting_agrees(
    how: dict[str, object], delta: float
) -> None:
    accounting = pytest.importorskip(
        "dp_accounting", reason="the extra `accounting` is not installed"
    )
    rdp = pytest.importorskip("dp_accounting.rdp")
    given = event(**how)  # type: ignore[arg-type]  # each value has its argument's type
    found = epsilon(**how, delta=delta)  # type: ignore[arg-type]  # likewise
    assert epsilon(given, delta) == found
    tree = how.get("sampling") == "tree"
    relations = accounting.NeighboringRelation
    # special: by one whose part is 0
    relation = relations.REPLACE_SPECIAL if tree else relations.ADD_OR_REMOVE_ONE
    theirs = (
        rdp.RdpAccountant(neighboring_relation=relation)
        .compose(given)
        .get_epsilon(delta)
    )
    assert found.lower <= found.upper < theirs  # Renyi divergences bound from above
    if not tree:  # their composition of privacy losses has no trees
        tight = (
            accounting.pld.PLDAccountant(value_discretization_interval=1e-4)
            .compose(given)
            .get_epsilon(delta)
        )
        assert found.lower * (1 - 1e-3) <= tight <= found.upper * (1 + 1e-3)


@for_each(
    ("how", "message"),
    [
        ({"sampling": "batches"}, "needs sizes"),
        ({"sampling": "tree", "rate": 0.5}, "must be left out for a tree"),
        ({"sigma": 0.0}, "sigma"),
        ({"rate": 1.5}, "rate"),
        ({"steps": 0}, "steps must be"),
    ],
)
def test_what_has_no_event_is_refused(how: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        event(**{"sigma": 1.0, **how})  # type: ignore[arg-type]  # each value has its argument's type
