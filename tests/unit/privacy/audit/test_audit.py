"""Audits of mechanisms that are private, nearly private, and broken in every way we could think of."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from dpverify.ledger.records import encode
from dpverify.privacy.audit.audit import _p_value, audit, default_datasets
from dpverify.privacy.audit.records import AuditError, AuditFinding, AuditResult
from dpverify.privacy.gaussian import mu_of
from tests.for_each import for_each

Floats = NDArray[np.float64]
SIGMA = 1.0 / mu_of(1.0, 1e-5)


def gaussian(dataset: Floats, rng: Generator, size: int) -> Any:
    return dataset.sum() + SIGMA * rng.normal(size=size)


def short(dataset: Floats, rng: Generator, size: int) -> Any:
    return dataset.sum() + 0.85 * SIGMA * rng.normal(size=size)


def one_by_one(dataset: Floats, rng: Generator) -> Any:
    return dataset.sum() + SIGMA * rng.normal()


def laplace(dataset: Floats, rng: Generator, size: int) -> Any:
    return dataset.sum() + rng.laplace(size=size)


def constant(dataset: Floats, rng: Generator) -> float:
    del dataset, rng
    return 3.0


def vector(dataset: Floats, rng: Generator, size: int) -> Any:
    return dataset + SIGMA * rng.normal(size=(size, 10))


def rounded(dataset: Floats, rng: Generator, size: int) -> Any:
    return np.round(dataset.sum() + SIGMA * rng.normal(size=size))


@for_each("mechanism", [gaussian, laplace, constant, vector, rounded, one_by_one])
def test_a_private_mechanism_is_not_refuted(mechanism: Callable[..., Any]) -> None:
    result = audit(mechanism, epsilon=1.0, n=20_000)
    assert result.verdict == "not refuted"
    assert result.epsilon <= 1.0


def test_the_bound_comes_near_the_truth() -> None:
    """0.58 and 0.93 of the true epsilon are asked for on average at n = 10^5; 0.62 and 0.97 are measured."""
    free = [audit(gaussian, seed=seed).epsilon for seed in range(24)]
    given = [audit(gaussian, law="gaussian", seed=seed).epsilon for seed in range(8)]
    assert 0.58 <= float(np.mean(free)) <= 1.0
    assert 0.94 <= float(np.mean(given)) <= 1.0


def test_sigma_15_percent_short_is_flagged_where_the_law_is_given() -> None:
    assert audit(short, epsilon=1.0, law="gaussian").verdict == "refuted"
    result = audit(short, epsilon=1.0, n=20_000)
    assert result.verdict == "not refuted"
    assert result.power is not None
    assert result.power.shortfall is not None
    assert result.power.shortfall > 0.15
    assert result.power.n_for_15_percent is not None
    assert result.power.n_for_15_percent > 10**6
    assert any("Gaussian law" in note for note in result.notes)
    flagged = audit(short, epsilon=1.0, n=40_000)
    assert flagged.verdict == "not refuted"
    assert any(
        "more than is claimed: nothing is decided here, the law 'gaussian' judges it"
        in n
        for n in flagged.notes
    )
    assert not any(
        "more than is claimed" in note
        for note in audit(short, epsilon=1.5, n=40_000).notes
    )


def without_rng(dataset: Floats, rng: Generator) -> Any:
    del rng
    return dataset.sum() + SIGMA * np.random.default_rng(0).normal()


def same_batch(dataset: Floats, rng: Generator, size: int) -> Any:
    del rng
    return dataset.sum() + SIGMA * np.random.default_rng(0).normal(size=size)


def few_seeds(dataset: Floats, rng: Generator) -> Any:
    return (
        dataset.sum() + SIGMA * np.random.default_rng(int(rng.integers(100))).normal()
    )


def rare_leak(dataset: Floats, rng: Generator, size: int) -> Any:
    out = gaussian(dataset, rng, size)
    out[rng.random(size) < 0.003] = dataset.sum()
    return out


def outright(dataset: Floats, rng: Generator) -> Any:
    del rng
    return dataset


def variance_tells(dataset: Floats, rng: Generator, size: int) -> Any:
    return SIGMA * (1.0 + dataset[0]) * rng.normal(size=size)


def noise_cancels(dataset: Floats, rng: Generator, size: int) -> Any:
    noise = SIGMA * rng.normal(size=size)
    return np.stack([dataset.sum() + noise, noise], axis=1)


def one_draw_for_all(dataset: Floats, rng: Generator, size: int) -> Any:
    return dataset + SIGMA * rng.normal(size=(size, 1))


def a_coordinate_without_noise(dataset: Floats, rng: Generator, size: int) -> Any:
    out = vector(dataset, rng, size)
    out[:, 0] = dataset[0]
    return out


def off_the_grid(dataset: Floats, rng: Generator, size: int) -> Any:
    return 0.5003 * dataset.sum() + np.round(SIGMA * rng.normal(size=size), 2)


def bounded_noise(dataset: Floats, rng: Generator, size: int) -> Any:
    return dataset.sum() + rng.uniform(-10.0, 10.0, size=size)


def sign_product(dataset: Floats, rng: Generator, size: int) -> Any:
    sign = rng.choice([-1.0, 1.0], size=size)
    other = sign * (1.0 if dataset.sum() > 0.0 else -1.0)
    return np.stack([sign, other], axis=1) + 0.5 * rng.normal(size=(size, 2))


def huge(dataset: Floats, rng: Generator, size: int) -> Any:
    return 1e300 * (dataset.sum() + rng.normal(size=size))


class Stateful:
    """Uses each noise twice, for two calls in a row."""

    def __init__(self) -> None:
        self.calls, self.noise = 0, 0.0

    def __call__(self, dataset: Floats, rng: Generator) -> Any:
        if self.calls % 2 == 0:
            self.noise = SIGMA * rng.normal()
        self.calls += 1
        return dataset.sum() + self.noise


@for_each("mechanism", [
    without_rng, same_batch, few_seeds, rare_leak, outright, variance_tells, noise_cancels, one_draw_for_all,
    a_coordinate_without_noise, off_the_grid, bounded_noise, sign_product, huge, Stateful(),
])  # fmt: skip
def test_a_broken_mechanism_is_refuted(mechanism: Callable[..., Any]) -> None:
    assert audit(mechanism, epsilon=1.0, n=30_000).verdict == "refuted"


@for_each(
    "mechanism", [outright, noise_cancels, one_draw_for_all, a_coordinate_without_noise]
)
def test_no_noise_in_a_direction_is_an_infinite_epsilon_where_the_law_is_gaussian(
    mechanism: Callable[..., Any],
) -> None:
    result = audit(mechanism, epsilon=50.0, n=2000, law="gaussian")
    assert result.verdict == "refuted"
    assert math.isinf(result.epsilon)


@for_each("mechanism", [laplace, bounded_noise, variance_tells])
def test_outputs_that_contradict_the_given_law_are_refused(
    mechanism: Callable[..., Any],
) -> None:
    with pytest.raises(AuditError, match="law: gaussian: the outputs contradict it"):
        audit(mechanism, law="gaussian", n=20_000)


def one_noise_per_batch(dataset: Floats, rng: Generator, size: int) -> Any:
    return dataset.sum() + SIGMA * rng.normal() * np.ones(size)


def raises(dataset: Floats, rng: Generator) -> float:
    if rng.random() < 0.01:
        raise RuntimeError("no\nmore")
    return float(dataset[0])


def not_a_number(dataset: Floats, rng: Generator) -> float:
    return math.nan if rng.random() < 0.01 else float(dataset[0])


def changes_shape(dataset: Floats, rng: Generator) -> Any:
    return dataset[: 1 if rng.random() < 0.01 else 2]


def changes_data(dataset: Floats, rng: Generator) -> float:
    dataset += rng.normal(size=dataset.shape)
    return float(dataset.sum())


def wrong_size(dataset: Floats, rng: Generator, size: int) -> Any:
    return gaussian(dataset, rng, size + 1)


@for_each(("mechanism", "message"), [
    (one_noise_per_batch, "its batches differ"),
    (raises, r"mechanism: raised RuntimeError: no more \(call \d+, data set [01]\)"),
    (not_a_number, r"mechanism: returned nan \(call \d+, data set [01]\): must be finite"),
    (changes_shape, "must not change its shape"),
    (changes_data, "changes its data set in place"),
    (wrong_size, "its first axis must be the size"),
    (lambda dataset, rng: "text", "must be real numbers"),
    (lambda dataset, rng: None, "must be real numbers"),
    (lambda dataset, rng: [], "must not be empty"),
    (lambda: 0.0, "mechanism: raised TypeError"),
    (3.0, "must be a function"),
])  # fmt: skip
@for_each("law", ["any", "gaussian"])
def test_a_mechanism_that_cannot_be_audited_gets_one_line(
    mechanism: Any, message: str, law: Any
) -> None:
    if mechanism is one_noise_per_batch and law == "gaussian":
        return
    with pytest.raises(AuditError, match=message) as error:
        audit(mechanism, n=5000, law=law)
    assert "\n" not in str(error.value)


@for_each(("options", "message"), [
    ({"n": 0}, "n: 0"), ({"delta": 1.0}, "delta"), ({"delta": -1e-9}, "delta"), ({"epsilon": math.nan}, "epsilon"),
    ({"confidence": 1.0}, "confidence"), ({"law": "laplace"}, "law"), ({"seed": -1}, "seed"),
    ({"datasets": (1, 2, 3)}, "datasets"), ({"law": "gaussian", "score": abs}, "score"),
    ({"score": lambda y: y[:3]}, "score: returned shape"), ({"score": lambda y: 1 / 0}, "score: raised"),
])  # fmt: skip
def test_an_argument_out_of_range_gets_one_line(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(AuditError, match=re.escape(message)):
        audit(gaussian, **({"n": 1000} | options))


@for_each("n", [1, 2, 5, 30, 101])
@for_each("law", ["any", "gaussian"])
def test_small_samples_give_a_bound_all_the_same(n: int, law: Any) -> None:
    result = audit(gaussian, epsilon=1.0, n=n, law=law)
    assert 0.0 <= result.epsilon < 20.0


@for_each(
    ("epsilon", "delta"), [(1e-6, 1e-300), (50.0, 1e-5), (0.0, 0.0), (1.0, 0.999)]
)
@for_each("law", ["any", "gaussian"])
def test_extreme_claims_are_judged(epsilon: float, delta: float, law: Any) -> None:
    result = audit(gaussian, epsilon=epsilon, delta=delta, n=2000, law=law)
    assert result.power is not None
    assert result.verdict == ("refuted" if result.epsilon > epsilon else "not refuted")


def test_the_same_seed_gives_the_same_result() -> None:
    first, second = (encode(audit(vector, n=3000, seed=7)) for _ in range(2))
    assert first == second


def test_a_score_of_the_users_own_sees_outputs_in_their_shape() -> None:
    shapes = set()

    def score(outputs: Floats) -> Any:
        shapes.add(outputs.shape[1:])
        return outputs[:, 0, 0]

    def matrix(dataset: Floats, rng: Generator, size: int) -> Any:
        return dataset.sum() + rng.normal(size=(size, 2, 3))

    result = audit(matrix, n=5000, score=score)
    assert shapes == {(2, 3)}
    assert result.evidence.rule == "the score that was given"
    assert 1.0 < result.epsilon < 5.0


@for_each("law", ["any", "gaussian"])
def test_ctrl_c_keeps_what_was_drawn(law: Any) -> None:
    def interrupt(done: int, total: int, label: str) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    result: AuditResult = audit(gaussian, n=40_000, law=law, report=interrupt)
    assert result.interrupted
    assert 0 < result.evidence.trials < 72_000
    assert result.epsilon > 0.0


def test_the_default_data_sets_differ_in_one_example() -> None:
    first, second = default_datasets()
    assert int((first != second).sum()) == 1


@for_each("claim", [0.9, 0.95, 1.0])
def test_the_p_value_is_the_level_at_which_the_bound_is_the_claim(claim: float) -> None:
    """It is one value of the distribution function, to two digits, where the bound at a level is searched for."""

    def at(confidence: float) -> AuditResult:
        return audit(
            gaussian,
            epsilon=claim,
            law="gaussian",
            n=30_000,
            seed=7,
            confidence=confidence,
        )

    p = at(0.95).p_value
    assert p is not None
    assert 1e-12 < p < 0.9
    assert at(1.0 - 0.94 * p).epsilon < claim < at(1.0 - 1.06 * p).epsilon


@for_each(
    ("bound", "p"),
    [
        (lambda level: 3.0 + math.log10(level), 0.01),  # 1 at this level
        (lambda level: 1.0 + level, 1e-12),
        (lambda level: level, 1.0),
        (None, 1.0),
    ],
)
def test_a_p_value_without_a_closed_form_is_searched_for(
    bound: Callable[[float], float] | None, p: float
) -> None:
    found = AuditFinding("a rule", trials=1, epsilon_at=bound)
    assert _p_value(1.0, found) == pytest.approx(p, rel=0.02)


@for_each("seed", [0, 1])
def test_a_leak_in_the_signs_of_three_coordinates_is_found_by_trees(seed: int) -> None:
    """No coordinate and no pair of them tells the data sets apart."""

    def product(dataset: Floats, rng: Generator, size: int) -> Floats:
        outputs = rng.uniform(-1.0, 1.0, (size, 6))
        signed = np.abs(outputs[:, 2]) * np.sign(outputs[:, 0] * outputs[:, 1])
        leaks = (rng.random(size) < 0.9) & (dataset.sum() > 0.0)
        outputs[:, 2] = np.where(leaks, signed, outputs[:, 2])
        return outputs

    result = audit(product, n=10_000, seed=seed)
    assert result.evidence.rule == "boosted trees"
    assert result.epsilon > 0.5
