"""A run of another optimizer than the papers': plain gradient descent, one example a step."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.epochs import draw_schedule
from dpverify.kernels.typing import Indices, Vector
from dpverify.problems import stepped_run as module
from dpverify.problems.stepped_run import FunctionRun, IndexGradient
from dpverify.shared_types import Ordering
from tests.for_each import for_each

N, T, RATE = 5, 17, 0.25
CENTRES = np.random.default_rng(0).standard_normal((N, 3))
START = np.array([1.0, -2.0, 0.5])


def pull(w: Vector, n: int) -> Vector:
    found: Vector = w - CENTRES[n]
    return found


class Descent(FunctionRun):
    """``w <- w - RATE gradient``, what a second paper would write."""

    def __init__(
        self, gradient: IndexGradient = pull, *, start: Vector = START, ordering: Ordering = "fresh",
        schedule: Indices | None = None, keep: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(T, N, start, ordering, 3, schedule=schedule, keep=keep)
        self._set_gradient(gradient)
        self._gradient = np.full(len(self._w), np.nan)

    def _step(self, t: int, n: int) -> None:
        self._write_gradient(self._w, n, t, self._gradient)
        if not np.isfinite(self._gradient).all():
            self._refuse(self._gradient[np.newaxis], self._gradient, t)
        self._w -= RATE * self._gradient
        if len(self._iterates):
            self._iterates[t] = self._w
        self._done[0] = t


@for_each("ordering", ["fresh", "once"])
def test_steps_use_the_examples_of_the_schedule(ordering: Ordering) -> None:
    run = Descent(ordering=ordering)
    run.advance()
    w = START.copy()
    for t, n in enumerate(draw_schedule(N, T, ordering, 3)):
        assert np.array_equal(run.iterates[t], w)
        w = w - RATE * pull(w, int(n))
    assert np.array_equal(run.w, w)
    assert (run.t, run.iterates.shape) == (T, (T + 1, 3))


def test_pieces_progress_and_interruptions_change_nothing() -> None:
    whole, pieces, seen, calls = Descent(), Descent(), [], 0
    whole.advance()

    def interrupted(w: Vector, n: int) -> Vector:
        nonlocal calls
        calls += 1
        if calls % 4 == 1:
            raise KeyboardInterrupt
        return pull(w, n)

    broken = Descent(interrupted)
    while broken.t < T:
        try:
            broken.advance()
        except KeyboardInterrupt:
            continue
    assert np.array_equal(broken.iterates, whole.iterates)
    pieces.advance(0)
    pieces.advance(3)
    assert pieces.t == 3
    pieces.advance(progress=lambda t, w: seen.append((t, w.copy())))
    assert np.array_equal(pieces.iterates, whole.iterates)
    assert all(a < b for (a, _), (b, _) in pairwise(seen))
    assert seen[-1][0] == T
    assert np.array_equal(seen[-1][1], whole.w)


def test_what_is_kept_and_handed_out() -> None:
    run, start = Descent(keep=False), START.copy()
    run.advance(2)
    run.w[:] = np.nan
    assert len(run.iterates) == 0
    assert np.isfinite(run.w).all()
    assert np.array_equal(start, START)
    with pytest.raises(ValueError, match="read-only"):
        Descent().iterates[0] = 0.0


def test_a_given_schedule() -> None:
    run = Descent(schedule=np.zeros(T, dtype=int))
    run.advance()
    assert np.allclose(run.w, CENTRES[0] + (1 - RATE) ** T * (START - CENTRES[0]))


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match=r"start must have shape \(any,\)"):
        Descent(start=START[None])
    with pytest.raises(ArgumentError, match=r"schedule must have shape \(17,\)"):
        Descent(schedule=np.zeros(3, dtype=int))
    with pytest.raises(ArgumentError, match="ordering must be fresh or once"):
        Descent(ordering="random")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(
        ArgumentError, match="steps must be an integer, at least 0 and at most 17"
    ):
        Descent().advance(T + 1)
    with pytest.raises(ArgumentError, match=r"gradient must be a function"):
        Descent(3)  # type: ignore[arg-type]  # wrong on purpose


def test_what_is_not_finite_is_named() -> None:
    run = Descent(lambda w, n: np.array([0.0, np.inf, 0.0]) if n == 2 else pull(w, n))
    at = draw_schedule(N, T, "fresh", 3).tolist().index(2) + 1
    with pytest.raises(
        ArgumentError,
        match=rf"got gradient=inf in coordinate 1 for example 2 at step {at}",
    ):
        run.advance()
    assert run.t == at - 1
    with pytest.raises(
        ArgumentError, match="momentum must stay finite, got momentum=inf at step 1"
    ):
        run._refuse(np.ones((1, 3)), np.array([np.inf]), 1)
    assert "coordinate 0 for example 4 at step 9" in str(
        module.not_finite(np.full((1, 1), np.nan), 4, 9)
    )
