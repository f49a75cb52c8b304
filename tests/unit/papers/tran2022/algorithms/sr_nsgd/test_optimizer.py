from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.epochs import check_schedule, draw_schedule
from dpverify.kernels.jit import kernel, python_of
from dpverify.kernels.tape import generator, normal_tape
from dpverify.kernels.typing import Indices, Matrix, Tape, Vector
from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import DpNsgd
from dpverify.papers.tran2022.algorithms.parameters import Parameters, SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.literal import (
    reconstruct_literal,
)
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
    Nodes,
    node_intervals,
)
from dpverify.papers.tran2022.algorithms.reconstruction.stream import G
from dpverify.papers.tran2022.algorithms.scales import Scales
from dpverify.papers.tran2022.algorithms.sr_nsgd import optimizer as module
from dpverify.papers.tran2022.algorithms.sr_nsgd import step as step_module
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import (
    noise_from_tape,
    tape_layout,
    tape_rows,
)
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import (
    REPAIRS,
    SrNsgd,
    SrNsgdCallable,
    SrRun,
)
from dpverify.shared_types import Ordering
from tests.for_each import for_each

SCALES = Scales(1.0, 0.5, 0.25, 1.0, 4.0)
BASE = SrParameters(
    steps=45, alpha=0.2, gamma=0.3, eta=0.05, sigma=0.5, lipschitz=2.0, scales=SCALES
)
X = np.random.default_rng(0).standard_normal((7, 3))
Y = np.sign(np.random.default_rng(1).standard_normal(7))
START = np.array([0.5, -1.0, 2.0])


@kernel
def pull(w: Vector, x_row: Vector, y: float, out: Vector) -> None:
    """Gradient of ``sum (w - y x)^4 / 4``: it depends on w in another way for each example."""
    for j in range(w.shape[0]):
        out[j] = (w[j] - y * x_row[j]) ** 3


def pull_index(w: Vector, n: int) -> Vector:
    out = np.empty_like(w)
    pull(w, X[n], Y[n], out)
    return out


def run(
    parameters: SrParameters = BASE, seed: int = 0, tape: Tape | None = None, N: int = 7
) -> SrNsgd:
    made = SrNsgd(
        pull, X[:N], Y[:N], START, parameters, seed=seed, tape=tape, keep=True
    )
    made.advance()
    return made


def by_the_box(
    parameters: SrParameters, tape: Tape, schedule: Indices, N: int
) -> tuple[Matrix, Matrix]:
    """Algorithm 2 from its definitions: node sums term by term, and Algorithm 4 as it is printed, at each step."""
    p, T = parameters, parameters.steps
    intervals, beta = node_intervals(T), 1 - parameters.alpha
    rows = {(int(y), int(z)): i for i, (y, z) in enumerate(intervals)}
    noise = np.zeros((3, len(rows), 3))
    first, later, of_delta, of_r = p.deviations(N)
    for unit, (f, y, z) in zip(tape, tape_layout(N, T), strict=True):
        scale = (first if z <= 2 * N else later) if f == G else (of_delta, of_r)[f - 1]
        noise[f, rows[int(y), int(z)]] = scale * unit
    nodes, leaves, path, released = (
        Nodes(*np.full((3, len(rows), 3), np.nan)),
        np.zeros((3, T, 3)),
        [START],
        [],
    )
    for t in range(1, T + 1):
        n, q = int(schedule[t - 1]), (t - 1) // N
        here, anchor = pull_index(path[t - 1], n), pull_index(path[q * N], n)
        before = pull_index(path[(q - 1) * N], n) if q > 0 else np.full(3, np.nan)
        leaves[:, t - 1] = anchor, anchor - before, here - anchor
        for y in (y for y, z in rows if z == t):
            row = rows[y, t]
            for f in range(3):
                terms = [beta ** (t - i) * leaves[f, i - 1] for i in range(y, t + 1)]
                nodes[f][row] = np.sum(terms, axis=0) + noise[f, row]
        m_hat = reconstruct_literal(nodes, examples=N, alpha=p.alpha, gamma=p.gamma)[0][
            t - 1
        ]
        released.append(m_hat)
        path.append(path[-1] - p.eta * m_hat / np.linalg.norm(m_hat))
    return np.array(path), np.array(released)


@for_each("N", [1, 2, 3, 4, 5, 7])
@for_each("ordering", ["fresh", "once"])
def test_it_is_the_box(N: int, ordering: Ordering) -> None:
    parameters = replace(BASE, steps=6 * N + 2, ordering=ordering)
    tape = normal_tape(generator(5), tape_rows(N, parameters.steps), 3)
    made = run(parameters, tape=tape, N=N)
    iterates, released = by_the_box(parameters, tape, made.schedule, N)
    assert np.allclose(made.iterates, iterates, rtol=0, atol=1e-10)
    assert np.allclose(made.released, released, rtol=0, atol=1e-10)


@for_each("alpha", [1.0, 0.3, 0.01])
@for_each("gamma", [0.0, 0.4, 1.0])
def test_without_noise_and_with_one_order_it_is_normalized_sgd_with_momentum(
    alpha: float, gamma: float
) -> None:
    quiet = replace(BASE, sigma=0.0, alpha=alpha, gamma=gamma, ordering="once")
    made = run(quiet, seed=9)
    plain = DpNsgd(
        pull,
        X,
        Y,
        START,
        Parameters(45, alpha, 0.05, 0.0, 2.0, "once"),
        seed=9,
        keep=True,
    )
    plain.advance()
    assert np.allclose(made.iterates, plain.iterates, rtol=0, atol=1e-11)
    assert np.allclose(
        made.released, made.momenta, rtol=0, atol=1e-12 * np.abs(made.momenta).max()
    )


def test_with_one_order_the_momentum_is_off_by_the_noise_alone() -> None:
    parameters, tape = (
        replace(BASE, ordering="once"),
        normal_tape(generator(3), tape_rows(7, 45), 3),
    )
    made = run(parameters, tape=tape)
    assert np.allclose(
        made.released - made.momenta,
        noise_from_tape(tape, parameters, 7),
        rtol=0,
        atol=1e-11,
    )
    fresh = run(BASE, tape=tape)
    error = np.abs(fresh.released - fresh.momenta - noise_from_tape(tape, BASE, 7)).max(
        axis=1
    )
    # up to step 2N - 1 nothing is taken from the epoch before
    assert error[:13].max() < 1e-11
    assert error[13:].max() > 1e-2


@for_each(
    "parameters",
    [
        BASE,
        replace(BASE, sigma=0.0),
        replace(BASE, ordering="once"),
        replace(BASE, steps=1),
        replace(BASE, steps=7, alpha=1.0),
        replace(BASE, scales=None, eta=0.0),
    ],
)
def test_jitted_callable_and_tape_give_the_same_bits(parameters: SrParameters) -> None:
    jitted = run(parameters, seed=3)
    function = SrNsgdCallable(pull_index, 7, START, parameters, seed=3, keep=True)
    function.advance()
    assert np.array_equal(jitted.iterates, function.iterates)
    assert np.array_equal(jitted.released, function.released)
    assert jitted.iterates.shape == (parameters.steps + 1, 3)
    tape = normal_tape(generator(3, 1), tape_rows(7, parameters.steps), 3)
    assert np.array_equal(run(parameters, seed=3, tape=tape).iterates, jitted.iterates)
    again = SrNsgdCallable(
        pull_index,
        7,
        START,
        parameters,
        seed=3,
        tape=tape,
        schedule=jitted.schedule,
        keep=True,
    )
    again.advance()
    assert np.array_equal(again.iterates, jitted.iterates)


def test_each_seed_its_own_run_and_the_same_one_again() -> None:
    assert np.array_equal(run(seed=1).iterates, run(seed=1).iterates)
    assert not np.array_equal(run(seed=1).iterates[1:], run(seed=2).iterates[1:])


@for_each("form", ["jitted", "callable"])
def test_pieces_and_interruptions_change_nothing(form: str) -> None:
    def make() -> SrRun:
        if form == "jitted":
            return SrNsgd(pull, X, Y, START, BASE, seed=4, keep=True)
        return SrNsgdCallable(pull_index, 7, START, BASE, seed=4, keep=True)

    whole, pieces, seen = make(), make(), []
    whole.advance()
    for steps in (1, 6, 1, 15, 0):
        pieces.advance(steps)
    assert pieces.t == 23

    def interrupt(t: int, w: Vector) -> None:
        seen.append((t, w))
        if len(seen) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pieces.advance(progress=interrupt)
    assert pieces.t == seen[0][0]
    assert np.array_equal(pieces.w, seen[0][1])
    pieces.advance(progress=interrupt)
    assert seen[-1][0] == pieces.t == 45
    assert np.array_equal(whole.iterates, pieces.iterates)


def test_an_interruption_inside_a_gradient_can_be_resumed() -> None:
    whole = run()
    calls = []

    def interrupted(w: Vector, n: int) -> Vector:
        calls.append(n)
        # 14 calls in the first epoch; then in each of a step's three gradients
        if len(calls) in (1, 16, 17, 18, 41):
            raise KeyboardInterrupt
        return pull_index(w, n)

    made = SrNsgdCallable(interrupted, 7, START, BASE, keep=True)
    for stopped in (0, 7, 7, 7, 14):
        with pytest.raises(KeyboardInterrupt):
            made.advance()
        assert made.t == stopped
    made.advance()
    assert np.array_equal(made.iterates, whole.iterates)


def test_gradients_are_asked_for_at_the_iterate_and_two_anchors() -> None:
    asked: list[tuple[int, Vector]] = []

    def spy(w: Vector, n: int) -> Vector:
        asked.append((n, w))
        return pull_index(w, n)

    made = SrNsgdCallable(spy, 7, START, BASE, keep=True)
    made.advance(20)
    path, schedule = made.iterates, made.schedule
    expected = []
    for t in range(1, 21):
        q = (t - 1) // 7
        expected += [
            (schedule[t - 1], path[row])
            for row in ([7 * q, 7 * (q - 1), t - 1] if q else [0, t - 1])
        ]
    assert [n for n, _ in asked] == [n for n, _ in expected]
    assert np.array_equal([w for _, w in asked], [w for _, w in expected])


def test_schedules() -> None:
    fresh, once = draw_schedule(7, 45, "fresh", 3), draw_schedule(7, 45, "once", 3)
    assert all(sorted(fresh[i : i + 7]) == list(range(7)) for i in range(0, 42, 7))
    assert np.array_equal(once, np.resize(fresh[:7], 45))
    assert not np.array_equal(fresh[:7], fresh[7:14])
    assert np.array_equal(fresh, run(BASE, seed=3).schedule)
    given = np.zeros(45, dtype=np.int64)
    made = SrNsgd(pull, X, Y, START, BASE, schedule=given, keep=True)
    given[:] = 1
    assert not made.schedule.any()
    made.advance()
    alone = SrNsgd(pull, X[[0] * 7], Y[[0] * 7], START, BASE, keep=True)
    alone.advance()
    assert np.array_equal(made.iterates, alone.iterates)
    for bad, text in (
        (np.zeros(44, dtype=int), r"schedule must have shape \(45,\)"),
        (np.zeros(45), "and hold integers"),
        (
            np.full(45, 7),
            r"schedule must hold numbers of examples, 0 to 6, got schedule=7 at \[0\]",
        ),
    ):
        with pytest.raises(ArgumentError, match=text):
            check_schedule(bad, 7, 45)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ArgumentError, match="ordering must be fresh or once"):
        draw_schedule(7, 45, "random", 0)  # type: ignore[arg-type]  # wrong on purpose


def test_a_momentum_of_length_zero_moves_nothing() -> None:
    made = SrNsgd(pull, X, np.zeros(7), np.zeros(3), replace(BASE, sigma=0.0))
    made.advance()
    assert made.w.tolist() == [0.0, 0.0, 0.0]


@for_each("size", [1e-310, 1e-200, 1e200])
def test_very_small_and_large_gradients_have_a_direction(size: float) -> None:
    once = replace(BASE, steps=1, sigma=0.0)
    made = SrNsgdCallable(
        lambda w, n: np.array([3 * size, -4 * size]), 2, np.zeros(2), once
    )
    with np.errstate(over="ignore"):
        made.advance()
    assert np.allclose(made.w, [-0.6 * BASE.eta, 0.8 * BASE.eta], rtol=1e-9)


def test_smallest_run() -> None:
    parameters = SrParameters(
        1, 1.0, 0.5, 0.5, 1.0, 1.0, scales=Scales(1.0, 1.0, 2.0, 9.0, 4.0)
    )
    # the G node and the r node [1, 1], of deviations 3 and 4
    tape = np.array([[-1.0], [0.5]])
    made = SrNsgd(
        pull,
        np.ones((1, 1)),
        np.ones(1),
        np.array([2.0]),
        parameters,
        tape=tape,
        keep=True,
    )
    made.advance()
    assert made.deviations.tolist() == [3.0, 2.0, 2.0, 4.0]
    assert made.released.tolist() == [[1 - 3 + 2]]
    # gradient 1, noise -1: nothing is left, nothing moves
    assert made.iterates.tolist() == [[2.0], [2.0]]


def test_jitted_run_is_its_python_body(monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for body in (False, True):
        made = SrNsgd(pull, X[:3], Y[:3], START, replace(BASE, steps=15), keep=True)
        if body:
            with monkeypatch.context() as patch:
                patch.setattr(step_module, "grow", python_of(step_module.grow))
                patch.setattr(module, "sr_step", python_of(step_module.sr_step))
                failed = python_of(module.run_sr_steps)(
                    pull,
                    made._x,
                    made._y,
                    1,
                    15,
                    made._order,
                    made._numbers,
                    made._noise,
                    made._state,
                )
            assert failed == 0
        else:
            made.advance()
        results.append(
            np.concatenate(
                [made.iterates.ravel(), made.released.ravel(), made.momenta.ravel()]
            )
        )
    assert np.array_equal(results[0], results[1])


def test_what_is_handed_out_does_not_reach_the_state() -> None:
    made, untouched = (SrNsgd(pull, X, Y, START, BASE, keep=True) for _ in range(2))
    start = START.copy()
    made.advance(3)
    made.w[:] = np.nan
    made.deviations[:] = np.nan
    for view in (made.iterates, made.momenta, made.released):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 0.0
    made.advance(progress=lambda t, w: w.fill(np.nan))
    untouched.advance()
    assert np.array_equal(made.w, untouched.w)
    assert np.array_equal(START, start)
    unkept = SrNsgd(pull, X, Y, START, BASE)
    unkept.advance()
    assert np.array_equal(unkept.w, untouched.w)
    assert unkept.iterates.shape == unkept.momenta.shape == (0, 3)


@kernel
def leave_out(w: Vector, x_row: Vector, y: float, out: Vector) -> None:
    out[0] = w[0]


@kernel
def explode(w: Vector, x_row: Vector, y: float, out: Vector) -> None:
    out[:] = w
    if x_row[0] == 2.0:
        out[1] = np.inf


@kernel
def too_few(w: Vector, out: Vector) -> None:
    out[:] = w


def test_a_gradient_that_is_not_finite_is_named() -> None:
    with pytest.raises(
        ArgumentError,
        match=r"got gradient=nan in coordinate 1 for example \d at step 1",
    ):
        SrNsgd(leave_out, X, Y, START, BASE).advance()
    rows = np.array([[0.0], [2.0], [0.0]])
    made = SrNsgd(
        explode,
        rows,
        np.ones(3),
        np.ones(2),
        replace(BASE, sigma=0.0),
        schedule=np.arange(45) // 40,
    )
    text = r"finite number into every coordinate, got gradient=inf in coordinate 1 for example 1 at step 41"
    with np.errstate(invalid="ignore"), pytest.raises(ArgumentError, match=text):
        made.advance()
    assert made.t == 40
    assert np.isfinite(made.w).all()
    loud = replace(BASE, sigma=1e308, scales=replace(SCALES, v_first=1e100))
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(ArgumentError, match="momentum must stay finite"),
    ):
        SrNsgdCallable(lambda w, n: np.full(2, 1e300), 1, np.zeros(2), loud).advance()


@pytest.mark.skipif(
    python_of(pull) is pull, reason="the jit is switched off: nothing is compiled"
)
def test_a_gradient_that_does_not_compile_is_one_clear_error() -> None:
    with pytest.raises(
        ArgumentError, match=r"gradient must compile as \(w, x_row, y, out\)"
    ):
        SrNsgd(too_few, X, Y, START, BASE).advance()  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ArgumentError, match="gradient must be a kernel"):
        SrNsgd(python_of(pull), X, Y, START, BASE)


@for_each(
    ("gradient", "text"),
    [
        (lambda w, n: np.ones(2), r"must be an array of numbers of shape \(3,\), got gradient=float64 of shape \(2,\)"),
        (lambda w, n: "text", "gradient must be an array of numbers"),
        (lambda w, n: [1.0, math.nan, 0.0], "got gradient=nan in coordinate 1 for example . at step 1"),
        ("no function", "gradient must be a function"),
    ],
)  # fmt: skip
def test_bad_functions(gradient: object, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        SrNsgdCallable(gradient, 7, START, BASE).advance()  # type: ignore[arg-type]  # wrong on purpose


def test_bad_data_and_sizes() -> None:
    with pytest.raises(ArgumentError, match=r"x must have shape \(any, any\)"):
        SrNsgd(pull, X[0], Y, START, BASE)
    with pytest.raises(ArgumentError, match=r"y must have shape \(7,\)"):
        SrNsgd(pull, X, Y[:5], START, BASE)
    with pytest.raises(
        ArgumentError, match="steps and dimension and examples must fit in memory"
    ):
        SrNsgd(pull, X, Y, START, replace(BASE, steps=10**14), keep=True)
    with pytest.raises(ArgumentError, match=r"tape must have shape \(\d+, 3\)"):
        SrNsgd(pull, X, Y, START, BASE, tape=np.zeros((45, 3)))
    with pytest.raises(
        ArgumentError,
        match="steps must be an integer, at least 0 and at most 45, got steps=46",
    ):
        SrNsgd(pull, X, Y, START, BASE).advance(46)


def test_long_runs_keep_no_trajectory() -> None:
    made = SrNsgd(pull, X, Y, START, replace(BASE, steps=10**9))
    made.advance(1000)
    held = sum(
        part.size for part in vars(made).values() if isinstance(part, np.ndarray)
    )
    state = (*made._state, *made._state.stream)
    assert (
        held + sum(part.size for part in state if isinstance(part, np.ndarray)) < 1000
    )


def test_repairs() -> None:
    assert len({repair.id for repair in REPAIRS}) == len(REPAIRS)
    assert all(part for repair in REPAIRS for part in repair)
