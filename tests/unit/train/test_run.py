"""The run: against plain numpy, reproducible, honest, and stoppable."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.algorithms.nsgd import SrNsgdSettings
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Vector
from dpverify.problems import logistic_bounds
from dpverify.problems.data import load_dataset
from dpverify.problems.errors import DataError
from dpverify.problems.logistic import LogisticRegression
from dpverify.problems.rows import scale_rows
from dpverify.train.records import Point, Request
from dpverify.train.run import problem_of, steps_to_measure, train
from tests.for_each import for_each


def plain_loss_and_gradient(
    w: Vector, x: Vector, y: Vector, lam: float
) -> tuple[float, Vector]:
    """The textbook formulas, sharing no code with the kernels."""
    phi = 1 / (1 + np.exp(-x @ w))
    loss = -np.mean(y * np.log(phi) + (1 - y) * np.log(1 - phi)) + lam * np.sum(
        w**2 / (1 + w**2)
    )
    return float(loss), x.T @ (phi - y) / len(y) + lam * 2 * w / (1 + w**2) ** 2


def test_without_noise_it_is_normalized_momentum_in_plain_numpy() -> None:
    # With alpha = 1 and one example there is nothing
    # random left: normalized gradient descent.
    result = train(Request(n=1, steps=40, sigma=0.0, alpha=1.0, eta=0.05, lam=0.1))
    data = load_dataset().sample(1, generator(0, 2))
    x = scale_rows(data.dense_x)
    w = np.zeros(30)
    for _ in range(40):
        gradient = plain_loss_and_gradient(w, x, data.y, 0.1)[1]
        w -= 0.05 * gradient / np.linalg.norm(gradient)
    np.testing.assert_allclose(result.w, w, rtol=1e-9, atol=1e-12)
    assert [point.step for point in result.path] == list(range(41))


@for_each("scale", ["unit", "clip"])
def test_the_constants_of_scaled_rows_do_not_depend_on_the_data(scale: str) -> None:
    """They are those of the unit ball also where all rows are far shorter."""
    data = load_dataset()
    short = replace(data, x=1e-3 * data.dense_x)
    problem = problem_of(short, Request(scale=scale, lam=0.1).settle(len(short.x)))
    assert (problem.radius, problem.lipschitz) == (
        1.0,
        logistic_bounds.lipschitz(1.0, 0.1, 30),
    )


def test_points_are_measured_at_the_iterates() -> None:
    result = train(Request(epochs=1, sigma=0.5, seed=4))
    data = load_dataset()
    loss, gradient = plain_loss_and_gradient(
        np.array(result.w), scale_rows(data.dense_x), data.y, 0.001
    )
    last = result.path[-1]
    assert last.step == 569 == result.settings.steps
    assert last.loss == pytest.approx(loss, rel=1e-12)
    assert last.gradient_norm == pytest.approx(
        float(np.linalg.norm(gradient)), rel=1e-10
    )
    assert result.path[0].loss == pytest.approx(math.log(2), rel=1e-13)
    drawn = [point.gradient_norm for point in result.path if point.step < 569]
    assert result.mean_gradient_norm == pytest.approx(sum(drawn) / 100, rel=1e-12)
    assert len(result.path) == 101
    assert not result.interrupted


def test_training_learns_without_noise_and_with_a_little() -> None:
    for sigma in (0.0, 0.2):
        path = train(Request(epochs=10, sigma=sigma)).path
        assert path[-1].loss < 0.6 * path[0].loss
        assert path[-1].gradient_norm < 0.5 * path[0].gradient_norm


def test_the_seed_decides_everything() -> None:
    first, again, other = (
        train(Request(steps=300, n=100, seed=seed)) for seed in (1, 1, 2)
    )
    assert first.w == again.w
    assert first.path == again.path
    assert first.path[0].gradient_norm != other.path[0].gradient_norm, (
        "the seed chooses the examples"
    )
    whole = [train(Request(steps=300, seed=seed)) for seed in (1, 2)]
    assert whole[0].path[0] == whole[1].path[0]
    assert whole[0].w != whole[1].w
    # One permutation for all epochs: the first epoch is the same, the second is not.
    once = train(Request(steps=300, n=100, seed=1, ordering="once"))
    same = [a == b for a, b in zip(first.path, once.path, strict=True)]
    assert same == [point.step <= 100 for point in first.path]


def test_noise_is_what_algorithm_1_prints() -> None:
    result = train(Request(n=64, steps=192, sigma=2.0, alpha=1 / 32))
    # V = (min(8, 6) + 1) * 3 + floor(192/2^7) + floor(192/2^8) with 8 levels.
    assert getattr(result.settings, "depth") == 8  # noqa: B009  the base has none
    assert result.constants.counts == {"V": 7 * 3 + 1}
    G = result.constants.lipschitz
    assert result.constants.node_std["f"] == pytest.approx(
        4 / 32 * G * 2 * math.sqrt(22), rel=1e-15
    )
    # One step of size 1 at alpha = 1: the direction is that of gradient plus noise, so
    # sigma must show in it.
    noisy, quiet = (
        np.array(train(Request(n=2, steps=1, alpha=1.0, eta=1.0, sigma=s)).w)
        for s in (50.0, 0.0)
    )
    assert np.linalg.norm(noisy) == pytest.approx(1)
    assert abs(noisy @ quiet) < 0.9


def test_sr_nsgd_is_algorithm_2_with_the_noise_of_its_box() -> None:
    result = train(Request(algorithm="sr-nsgd", n=64, steps=192, sigma=2.0))
    s, c = result.settings, result.constants
    assert isinstance(s, SrNsgdSettings)
    assert s.gamma == pytest.approx(64 / math.sqrt(64 * 192))
    assert c.counts == {"V_<=2N": 18.0, "V_>2N": 72.0}
    assert c.node_std["G to 2N"] == pytest.approx(4 * c.lipschitz * 2 * math.sqrt(18))
    assert c.node_std["r"] == pytest.approx(2 * s.eta * 64 * 2 * math.sqrt(72))
    assert any("lack the factor L" in note for note in result.notes)
    assert train(Request(algorithm="sr-nsgd", n=64, steps=192, sigma=2.0)).w == result.w
    path = train(Request(algorithm="sr-nsgd", epochs=10, sigma=0.0)).path
    assert path[-1].gradient_norm < 0.5 * path[0].gradient_norm


def test_without_noise_and_with_gamma_1_both_algorithms_are_one() -> None:
    """At gamma = 1 the reconstruction is the window sum itself, and equation 1 puts the momentum together again."""
    runs = [
        train(
            Request(
                algorithm=a,
                n=50,
                steps=210,
                sigma=0.0,
                alpha=0.1,
                gamma=g,
                ordering="once",
            )
        )
        for a, g in (("dp-nsgd", None), ("sr-nsgd", 1.0))
    ]
    np.testing.assert_allclose(runs[0].w, runs[1].w, rtol=1e-9)


def test_privacy_is_never_called_certified_and_notes_name_what_uses_the_data(
    tmp_path: Path,
) -> None:
    bundled = train(Request(steps=5))
    assert bundled.privacy.startswith("not certified")
    assert any("standardised" in note for note in bundled.notes)
    assert any("visits of an example" in note for note in bundled.notes)
    file = tmp_path / "d"
    file.write_text("".join(f"{i % 2} 1:{i + 1} 2:1\n" for i in range(10)))
    raw = train(Request(data=file, scale="none", sigma=0.0, steps=10))
    assert not any("standardised" in note for note in raw.notes)
    assert any("no noise" in note for note in raw.notes)
    assert any("depends on the data" in note for note in raw.notes)
    assert raw.constants.lipschitz > math.hypot(10, 1)
    clipped = train(Request(data=file, scale="clip", steps=10))
    assert 1 < clipped.constants.lipschitz < 1.01
    assert not any("visits of an example" in note for note in clipped.notes)


def test_a_budget_gives_the_smallest_certified_sigma_and_says_so(
    tmp_path: Path,
) -> None:
    file = tmp_path / "d"
    file.write_text("".join(f"{i % 2} 1:{i + 1} 2:1\n" for i in range(10)))
    asked = train(Request(data=file, epsilon=2.0, delta=1e-3, steps=40))
    assert (asked.epsilon, asked.delta) == (2.0, 1e-3)
    assert asked.privacy.startswith(
        "epsilon = 2, delta = 0.001, for replacing one example"
    )
    again = train(Request(data=file, sigma=asked.settings.sigma, delta=1e-3, steps=40))
    assert again.w == asked.w
    assert again.epsilon == pytest.approx(2.0, rel=1e-9)
    more = train(
        Request(data=file, sigma=2 * asked.settings.sigma, delta=1e-3, steps=40)
    ).epsilon
    assert more is not None
    assert more < 1.01
    for change, why in (
        ({"standardise": True}, "would hold had the columns"),
        ({"scale": "none"}, "would hold if G were known"),
        ({"epsilon": None, "sigma": 0.0}, "there is no noise"),
        ({"epsilon": None, "delta": None}, "give epsilon and delta"),
    ):
        arguments: dict[str, Any] = {
            "data": file,
            "epsilon": 2.0,
            "delta": 1e-3,
            "steps": 40,
        }
        result = train(Request(**(arguments | change)))
        assert result.epsilon is None
        assert result.privacy.startswith("not certified")
        assert why in result.privacy


def test_interruption_gives_what_was_done_so_far() -> None:
    seen: list[int] = []

    def stop(step: int, steps: int, point: Point) -> None:
        assert steps == 2000
        assert point.step <= step
        seen.append(step)
        if step >= 405:
            raise KeyboardInterrupt

    result = train(Request(steps=2000), stop)
    whole = train(Request(steps=2000))
    assert result.interrupted
    assert 405 <= seen[-1] == result.path[-1].step <= 420
    assert result.path[:21] == whole.path[:21]
    assert len(result.w) == 30
    data = load_dataset()
    loss, _ = plain_loss_and_gradient(
        np.array(result.w), scale_rows(data.dense_x), data.y, 0.001
    )
    assert result.path[-1].loss == pytest.approx(loss, rel=1e-12)


def test_interruption_before_the_first_step_still_has_the_start() -> None:
    def stop(step: int, steps: int, point: Point) -> None:
        raise KeyboardInterrupt

    result = train(Request(steps=10), stop)
    assert result.interrupted
    assert [point.step for point in result.path] == [0]
    assert result.w == [0.0] * 30


def test_bad_data_and_a_run_that_leaves_the_finite_numbers(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="n must lie in"):
        train(Request(n=570))
    with pytest.raises(DataError, match="no such file"):
        train(Request(data=tmp_path / "nowhere"))
    with pytest.raises(
        ArgumentError, match="must be small enough for the loss to stay finite"
    ):
        train(Request(eta=1.7e308, steps=100, sigma=0.0))
    file = tmp_path / "d"
    file.write_text("1 1:1.7e308 2:1.7e308\n0 1:1\n")
    with pytest.raises(
        ArgumentError, match="scale must be unit or clip for these rows"
    ):
        train(Request(data=file, scale="none"))
    assert train(Request(data=file, steps=4)).constants.lipschitz < 1.01


@for_each(
    ("asked", "points"),
    [
        ({"epochs": 1}, 1),
        ({"epochs": 20}, 10),
        ({"epochs": 1000}, 100),
        ({"epochs": 1, "points": 7}, 7),
        ({"steps": 3, "points": 500}, 3),
        ({"algorithm": "dp-srm", "steps": 100, "batch": 300}, 10),
    ],
)
def test_measuring_takes_a_small_part_of_the_time_unless_asked_for(
    asked: dict[str, Any], points: int
) -> None:
    request = Request(sigma=1.0, **asked)
    problem = LogisticRegression(
        np.zeros((3000, 1000)), np.zeros(3000), lam=0.0, radius=1.0
    )
    steps = steps_to_measure(request, request.settle(3000), problem)
    assert len(steps) == points
    assert steps[-1] == request.settle(3000).steps
    assert steps == sorted(set(steps))


def test_small_data_are_measured_often() -> None:
    assert len(train(Request(n=100, epochs=2, sigma=0.0)).path) == 101
