"""DP-SRM as a run: it can be stopped, it repeats itself, its ends are what they should be, and bad input is refused."""

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.tape import normal_tape
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.papers.wang2019.estimator.bounds import noise_covariance
from dpverify.problems.example_gradients import ExampleGradients
from dpverify.problems.logistic import LogisticRegression, RecursiveGradient
from dpverify.problems.rows import scale_rows
from tests.for_each import for_each

PROBLEM = LogisticRegression(
    scale_rows(np.random.default_rng(1).standard_normal((60, 5))),
    (np.arange(60) % 2).astype(np.float64),
    radius=1.0,
)


def parameters(**changes: float) -> SrmParameters:
    numbers = {
        "steps": 40,
        "batch_0": 30,
        "batch": 7,
        "gamma": 0.2,
        "zeta": 0.1,
        "std_0": 0.1,
        "std": 0.05,
        **changes,
    }
    return SrmParameters(smoothness=PROBLEM.smoothness, **numbers)  # type: ignore[arg-type]


def run(p: SrmParameters, seed: int = 0, **more: object) -> DpSrm:
    return DpSrm(RecursiveGradient(PROBLEM), 60, PROBLEM.start, p, seed=seed, **more)  # type: ignore[arg-type]


def test_a_run_in_pieces_is_the_run_in_one() -> None:
    whole, pieces = run(parameters(), keep=True), run(parameters(), keep=True)
    whole.advance()
    for steps in (1, 0, 17, 22):
        pieces.advance(steps)
    assert np.array_equal(whole.iterates, pieces.iterates)
    assert np.array_equal(whole.output, pieces.output)
    assert whole.t == 40
    other = run(parameters(), seed=1, keep=True)
    other.advance()
    assert not np.array_equal(whole.iterates, other.iterates)


def test_the_output_is_each_of_the_first_iterates_as_often() -> None:
    counts = np.zeros(4, dtype=int)
    for seed in range(400):
        one = run(parameters(steps=4), seed=seed, keep=True)
        one.advance()
        counts[
            [np.array_equal(one.output, w) for w in one.iterates[:4]].index(True)
        ] += 1
    # a chi-square of 3 degrees of freedom: 1e-6
    assert ((counts - 100) ** 2 / 100).sum() < 30


def test_no_step_is_longer_than_the_accuracy_allows() -> None:
    one = run(parameters(zeta=0.01), keep=True)
    one.advance()
    lengths = np.linalg.norm(np.diff(one.iterates, axis=0), axis=1)
    # each estimate is longer than 2 zeta here,
    # so that each step is as long as is allowed
    assert np.allclose(lengths, 0.01 / PROBLEM.smoothness, rtol=1e-12, atol=0)


def test_without_noise_on_all_examples_it_is_gradient_descent() -> None:
    p = parameters(batch_0=60, batch=60, gamma=1.0, zeta=10.0, std_0=0.0, std=0.0)
    one, w = run(p), PROBLEM.start.copy()
    one.advance()
    for _ in range(40):
        w -= PROBLEM.gradient(w) / (2 * PROBLEM.smoothness)
    assert np.allclose(one.w, w, rtol=0, atol=1e-12)


def test_recursive_estimates_of_all_examples_are_the_gradient_whatever_gamma_is() -> (
    None
):
    one = run(
        parameters(batch_0=60, batch=60, gamma=0.1, std_0=0.0, std=0.0), keep=True
    )
    for t in range(5):
        one.advance(1)
        assert np.allclose(one.v, PROBLEM.gradient(one.iterates[t]), rtol=0, atol=1e-12)


def test_one_step_one_example_and_a_tape() -> None:
    tape = normal_tape(np.random.default_rng(0), 1, 5)
    one = run(parameters(steps=1, batch=1, batch_0=1), tape=tape)
    one.advance()
    assert np.array_equal(one.output, PROBLEM.start)


def test_the_law_of_the_noise_is_the_sum_of_what_each_step_adds() -> None:
    law = noise_covariance(6, 0.25, 3.0, 2.0)
    weights = np.tril(0.75 ** np.subtract.outer(np.arange(6.0), np.arange(6.0)).clip(0))
    added = np.diag([9.0, 4.0, 4.0, 4.0, 4.0, 4.0])
    assert np.allclose(law, weights @ added @ weights.T, rtol=1e-14)


@for_each(
    ("changes", "name"),
    [
        ({"batch": 61}, "batch"),
        ({"batch_0": 0}, "batch_0"),
        ({"gamma": 1.5}, "gamma"),
        ({"zeta": 0.0}, "zeta"),
        ({"std": -1.0}, "std"),
        ({"steps": 0}, "steps"),
    ],
)
def test_what_is_out_of_range_is_named(changes: dict[str, float], name: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{name} "):
        run(parameters(**changes))


def test_an_output_that_is_not_reached_is_refused() -> None:
    one = next(
        r for r in (run(parameters(), seed=s) for s in range(50)) if r._chosen > 0
    )
    with pytest.raises(ArgumentError, match="must have reached"):
        _ = one.output


@for_each(
    ("length", "moved"),
    [(0.05, 0.025), (0.15, 0.075), (0.2, 0.1), (0.25, 0.1), (40.0, 0.1)],
)
def test_a_step_is_half_the_estimate_over_l_up_to_the_accuracy_over_l(
    length: float, moved: float
) -> None:
    """At zeta = 0.1 and L = 1, estimates of between zeta and 2 zeta among them: min(zeta/(L |v|), 1/(2L)) |v|."""
    gradients = ExampleGradients(lambda w, batch: np.full((len(batch), 1), length))
    one = DpSrm(gradients, 4, np.zeros(1), SrmParameters(1, 4, 4, 0.2, 0.1, 1.0))
    one.advance()
    assert one.w == pytest.approx([-moved], rel=1e-12)


def test_whole_batches_need_not_be_split_evenly_among_parties() -> None:
    p = SrmParameters(3, 60, 14, 0.2, 0.1, 1.0, parties=7)
    one = run(p)
    one.advance()
    assert one.t == 3
