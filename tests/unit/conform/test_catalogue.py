"""A catalogue judged with many seeds, and other auditors beside the kit: what they get, and what becomes of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpverify.conform import PrivateOptimizer
from dpverify.conform.catalogue import AuditRequest, audit_request, judge
from tests.for_each import for_each
from tests.unit.conform.catalogue import (
    BATCH,
    CLIP,
    PROMISE,
    N,
    dp_sgd,
    mistakes,
    poisson,
    promise,
    right,
    tree,
)


def test_the_catalogue_has_enough_and_no_name_twice() -> None:
    assert len(mistakes()) >= 25
    assert len(right()) >= 5
    assert not right().keys() & mistakes().keys()


def test_it_counts_seeds_with_a_fault_and_asks_auditors_once() -> None:
    requests: list[AuditRequest] = []

    def silent(request: AuditRequest) -> str:
        requests.append(request)
        return ""

    def broken(request: AuditRequest) -> str:
        raise OSError("no\nsuch thing")

    auditors = {"silent": silent, "broken": broken}
    bad = judge(
        "t",
        "n",
        *mistakes()["no clipping"],
        seed=5,
        seeds=3,
        alpha=1e-4,
        auditors=auditors,
    )
    assert (bad.found, bad.by, bad.target, bad.name) == (3, "sensitivity", "t", "n")
    assert [(a.auditor, a.says, a.broken) for a in bad.answers] == [
        ("silent", "", False), ("broken", "OSError: no such thing", True)
    ]  # fmt: skip
    assert (len(requests), requests[0].seed, requests[0].alpha) == (1, 5, 1e-4)
    good = judge("t", "n", *right()["DP-SGD"], seed=0, seeds=1, alpha=1e-4, auditors={})
    assert (good.found, good.by) == (0, "")


def test_cases_are_neighbours_and_what_is_promised_is_certified() -> None:
    # no clip, no noise
    optimizer = PrivateOptimizer(
        lambda state, g, rng: (state, g.sum(axis=0)), batches=poisson
    )
    cases = {
        case.name: case for case in audit_request(optimizer, PROMISE, 1e-4, 0).cases
    }
    assert list(cases) == [
        "no other examples",
        "other gradients opposite",
        "many equal gradients",
        "all coordinates",
        "batches as drawn",
    ]
    one, other = cases["no other examples"].sample(2, 0)
    assert one.shape == (2, 2 * PROMISE.dimension)
    assert other.max() == 0.0
    assert one[0, 0] == 1e6 * CLIP
    one, other = cases["all coordinates"].sample(1, 0)
    np.testing.assert_allclose(
        one[0, : PROMISE.dimension] @ cases["all coordinates"].direction, 1e6 * CLIP
    )
    one, other = cases["batches as drawn"].sample(400, 0)
    drawn = (one.reshape(400, PROMISE.steps, -1)[:, :, 0] > 0).mean()
    assert abs(drawn - BATCH / N) < 0.05
    assert not other.any()
    exact = cases["no other examples"].allowed_epsilon(1e-5)
    assert 2.5 < exact < 3.2
    assert cases["batches as drawn"].allowed_epsilon(1e-5) < exact


def test_sampling_that_has_no_certified_epsilon_and_noise_that_depends_make_no_case() -> (
    None
):
    optimizer = PrivateOptimizer(dp_sgd, batches=poisson)
    assert len(audit_request(optimizer, promise(sampling="epochs"), 1e-4, 0).cases) == 4
    assert (
        audit_request(
            PrivateOptimizer(tree), promise(covariance=np.eye(6)), 1e-4, 0
        ).cases
        == []
    )
    drawn = audit_request(optimizer, promise(sampling="batches"), 1e-4, 0).cases[-1]
    marks = []

    def step(state: Any, g: Any, rng: np.random.Generator) -> Any:
        marks.append(g[:, 0].sum())
        return state, g.sum(axis=0)

    drawn = audit_request(
        PrivateOptimizer(step, batches=poisson), promise(sampling="batches"), 1e-4, 0
    ).cases[-1]
    drawn.second_run(np.random.default_rng(1))
    assert min(marks) == -1e6 * CLIP
    assert max(marks) == 0.0


@for_each("word", ["seed", "steps"])
def test_a_draw_is_the_same_for_a_seed(word: str) -> None:
    case = audit_request(
        PrivateOptimizer(dp_sgd, batches=poisson), PROMISE, 1e-4, 0
    ).cases[0 if word == "seed" else -1]
    np.testing.assert_array_equal(case.sample(3, 7)[0], case.sample(3, 7)[0])
    assert (case.sample(3, 7)[0] != case.sample(3, 8)[0]).any()
