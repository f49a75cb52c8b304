"""``compare``: equal privacy, the same numbers again, intervals, Ctrl-C between seeds."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest

from dpverify.algorithms.nsgd import DP_NSGD
from dpverify.compare import CompareRequest, CompareResult, compare
from dpverify.compare.methods import METHODS, measured_steps
from dpverify.compare.records import (
    MEASURES,
    MethodResult,
    SeedOutcome,
    differences,
    interval,
    intervals,
)
from dpverify.compare.run import _load, _split
from dpverify.kernels.check import ArgumentError
from dpverify.papers.tran2022.accounting.noise import AccountedRun, unit_noise
from dpverify.privacy.batches import BatchSteps, upper_epsilon
from dpverify.privacy.gaussian import delta_of
from dpverify.problems.errors import DataError
from tests.for_each import for_each


def run(
    *,
    seeds: int = 2,
    epsilon: float = 2.0,
    n: int = 100,
    standardise: bool = True,
    seed: int = 0,
) -> CompareResult:
    return compare(
        CompareRequest(
            epsilon,
            1e-5,
            n=n,
            epochs=3,
            seeds=seeds,
            standardise=standardise,
            seed=seed,
        )
    )


def outcome(seed: int, norm: float, test_error: float = 0.0) -> SeedOutcome:
    return SeedOutcome(
        seed=seed,
        gradient_norm=norm,
        mean_gradient_norm=norm,
        loss=1.0,
        test_error=test_error,
    )


def named(result: CompareResult, name: str) -> MethodResult:
    return next(method for method in result.methods if method.name == name)


@for_each("epsilon", [1.0, 10.0])
def test_every_private_method_has_the_same_privacy_to_the_last_digits(
    epsilon: float,
) -> None:
    result = run(epsilon=epsilon)
    n, G = result.data.n, result.lipschitz
    gd, sgd = named(result, "dp-gd"), named(result, "dp-sgd")
    mus = {"dp-gd": math.sqrt(gd.steps) * 2 * G / (n * gd.noise_std["gradient"])}
    for name in ("dp-nsgd", "sr-nsgd"):
        method = named(result, name)
        gamma = min(1.0, method.eta * n) if name == "sr-nsgd" else 1.0
        setting = AccountedRun(
            n, method.steps, 1 / n, gamma, method.eta, G, result.smoothness, "fresh"
        )
        assert method.sigma is not None
        mus[name] = unit_noise(name, setting).mu.upper / method.sigma
    for mu in mus.values():
        assert delta_of(mu, epsilon) <= 1e-5 * (1 + 1e-9)
        assert delta_of(mu, epsilon) == pytest.approx(1e-5, rel=1e-6)
    sigma = sgd.noise_std["gradient"] * sgd.batch / (2 * G)
    srm = named(result, "dp-srm")
    for method, s in ((sgd, sigma), (srm, srm.noise_std["v^0"] * srm.batch / 2)):
        found = upper_epsilon([BatchSteps(method.batch / n, s, method.steps)], 1e-5)
        assert found == pytest.approx(epsilon, rel=1e-4)
        assert found <= epsilon


def test_the_methods_see_as_many_gradients_and_the_same_seeds() -> None:
    result = run(seeds=3)
    assert [method.name for method in result.methods] == list(METHODS)
    assert (result.data.n, result.tested, result.done) == (80, 20, 3)
    for method in result.methods:
        assert [outcome.seed for outcome in method.outcomes] == [0, 1, 2]
        gradients = method.steps * method.batch * (2 if method.name == "dp-srm" else 1)
        assert abs(gradients - 240) <= method.batch
        assert all(0 <= outcome.test_error <= 1 for outcome in method.outcomes)
    assert named(result, "nsgd").noise_std == {"f": 0.0}
    assert named(result, "nsgd").epsilon is None


def test_the_mean_over_iterates_is_that_of_the_run_itself() -> None:
    request = CompareRequest(2.0, 1e-5, n=100, epochs=3, seeds=2, standardise=False)
    dataset = _load(request)
    for seed, found in enumerate(named(compare(request), "nsgd").outcomes):
        parts = _split(request, dataset, seed)
        p = parts.problem
        settings = DP_NSGD.complete({"epochs": 3, "sigma": 0.0, "seed": seed}, 80)
        run = DP_NSGD.start(p, settings)
        norms = []
        for _ in range(240):
            norms.append(float(np.linalg.norm(p.gradient(run.w))))
            run.advance(1)
        assert found.mean_gradient_norm == pytest.approx(
            np.mean([norms[step] for step in measured_steps(240)]), rel=1e-12
        )
        assert found.gradient_norm == pytest.approx(
            float(np.linalg.norm(p.gradient(run.w))), rel=1e-12
        )


def test_without_noise_training_works() -> None:
    nsgd = named(run(), "nsgd").means
    assert nsgd["loss"].mean < 0.6  # log 2 at the start
    assert nsgd["test_error"].mean < 0.2


def test_the_same_seeds_give_the_same_numbers_and_others_do_not() -> None:
    first, again, shifted = run(), run(), run(seed=1)
    for one, two, three in zip(
        first.methods, again.methods, shifted.methods, strict=True
    ):
        assert one.outcomes == two.outcomes
        assert one.outcomes != three.outcomes


def test_standardised_columns_leave_nothing_certified() -> None:
    standardised, plain = run(), run(standardise=False)
    for method in standardised.methods:
        assert method.privacy.startswith("not certified")
        assert (method.epsilon, method.delta) == (None, None)
    assert any("no guarantee covers" in note for note in standardised.notes)
    for method in plain.methods[1:]:
        assert (method.epsilon, method.delta) == (2.0, 1e-5)
        assert "for replacing one example" in method.privacy
    assert plain.methods[0].epsilon is None
    assert not any("no guarantee covers" in note for note in plain.notes)


def test_intervals_are_student_s() -> None:
    found = interval([1.0, 2.0, 3.0, 4.0])
    # t of 3 degrees of freedom at 0.975, from tables
    half = 3.182446305284263 * math.sqrt(5 / 3) / 2
    assert found.mean == 2.5
    assert found.low == pytest.approx(2.5 - half)
    assert found.high == pytest.approx(2.5 + half)
    assert interval([7.0]).low is None


def test_intervals_hold_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    found = [interval(list(sample)) for sample in rng.standard_normal((2000, 5))]
    covered = sum(
        one.low <= 0 <= one.high
        for one in found
        if one.low is not None and one.high is not None
    )
    assert abs(covered / 2000 - 0.95) < 5 * math.sqrt(0.05 * 0.95 / 2000)


def test_an_interval_holds_nothing_that_a_mean_cannot_be() -> None:
    apart = [outcome(seed, 10.0 * seed, test_error=1.0 * seed) for seed in range(2)]
    found = intervals(apart)
    assert (found["test_error"].low, found["test_error"].high) == (0.0, 1.0)
    assert found["gradient_norm"].low == 0.0
    assert found["gradient_norm"].high == pytest.approx(5 + 12.706204736174698 * 5)


def test_where_sampling_buys_nothing_composition_is_used() -> None:
    result = compare(
        CompareRequest(0.5, 1e-120, n=100, epochs=1, seeds=2, standardise=False)
    )
    sgd = named(result, "dp-sgd")
    assert "as if the example were in every batch" in sgd.privacy
    mu = (
        math.sqrt(sgd.steps)
        * 2
        * result.lipschitz
        / (sgd.batch * sgd.noise_std["gradient"])
    )
    assert delta_of(mu, 0.5) == pytest.approx(1e-120, rel=1e-6)


def test_differences_are_taken_seed_by_seed() -> None:
    base = [outcome(seed, norm) for seed, norm in enumerate((1.0, 50.0, 9.0))]
    mine = [msgspec.structs.replace(o, gradient_norm=o.gradient_norm + 2) for o in base]
    found = differences(mine, base)
    assert set(found) == set(MEASURES)
    assert (found["gradient_norm"].mean, found["gradient_norm"].low) == (2.0, 2.0)
    assert found["loss"].high == 0.0


def test_ctrl_c_keeps_the_seeds_that_every_method_has_finished() -> None:
    def stop(done: int, total: int, label: str) -> None:
        assert (total, label.startswith("seed ")) == (18, True)
        if done == 8:
            raise KeyboardInterrupt

    request = CompareRequest(2.0, 1e-5, n=50, epochs=1, seeds=3)
    result = compare(request, stop)
    assert result.interrupted
    assert result.done == 1
    assert [len(method.outcomes) for method in result.methods] == [1] * 6
    assert result.methods[0].means["loss"].low is None


def test_a_libsvm_file_of_the_user(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 3))
    text = "".join(
        f"{'+1' if r[0] > 0 else '-1'} 1:{r[0]:.6f} 2:{r[1]:.6f} 3:{r[2]:.6f}\n"
        for r in rows
    )
    file = tmp_path / "mine"
    file.write_text(text)
    result = compare(CompareRequest(8.0, 1e-3, data=file, seeds=2, epochs=2))
    assert (result.data.name, result.data.n, result.tested, result.data.d) == (
        "mine",
        48,
        12,
        3,
    )
    assert named(result, "dp-gd").epsilon == 8.0


BAD = [
    ({"epsilon": 0.0}, "epsilon"),
    ({"epsilon": 1e308}, "epsilon"),
    ({"delta": 1.0}, "delta"),
    ({"seeds": 1}, "seeds"),
    ({"test_part": 1.0}, "test_part"),
    ({"n": 10, "test_part": 0.99}, "test_part"),
    ({"scale": "none"}, "scale"),
    ({"batch": 0}, "batch"),
    ({"n": 10, "batch": 9}, "batch"),
    ({"steps": 1, "epochs": 1}, "steps or epochs"),
    ({"n": 1}, "test_part"),
]


@for_each(("change", "variable"), BAD)
def test_bad_requests_name_the_variable(
    change: dict[str, float], variable: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        compare(CompareRequest(**{"epsilon": 1.0, "delta": 1e-5, "seeds": 2, **change}))  # type: ignore[arg-type]  # wrong on purpose
    assert caught.value.variable == variable


def test_too_many_examples() -> None:
    with pytest.raises(DataError, match=r"n must lie in \[1, 569\]"):
        compare(CompareRequest(1.0, 1e-5, n=570))
