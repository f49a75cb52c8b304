from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.dyadic import level
from dpverify.kernels.jit import kernel, python_of
from dpverify.kernels.tape import generator, normal_tape
from dpverify.kernels.typing import Indices, Matrix, Tape, Vector
from dpverify.papers.tran2022.algorithms.dp_nsgd import optimizer as module
from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import (
    DpNsgd,
    DpNsgdCallable,
    NsgdNumbers,
    NsgdRun,
    NsgdState,
    noisy_step,
)
from dpverify.papers.tran2022.algorithms.parameters import Parameters
from dpverify.papers.tran2022.algorithms.scales import levels, printed_v
from dpverify.papers.tran2022.algorithms.tree_noise.literal import (
    UndrawnNodeError,
    nodes_of_tape,
    noise_from_nodes,
)
from dpverify.shared_types import Ordering
from tests.for_each import for_each

BASE = Parameters(steps=100, alpha=0.2, eta=0.05, sigma=0.5, lipschitz=2.0)
X = np.random.default_rng(0).standard_normal((7, 3))
Y = np.sign(np.random.default_rng(1).standard_normal(7))
START = np.array([0.5, -1.0, 2.0])


@kernel
def pull(w: Vector, x_row: Vector, y: float, out: Vector) -> None:
    """Gradient of ``|w - y x|^2 / 2``."""
    for j in range(w.shape[0]):
        out[j] = w[j] - y * x_row[j]


def pull_index(w: Vector, n: int) -> Vector:
    found: Vector = w - Y[n] * X[n]
    return found


def run(
    parameters: Parameters = BASE, seed: int = 0, tape: Tape | None = None
) -> DpNsgd:
    made = DpNsgd(pull, X, Y, START, parameters, seed=seed, tape=tape, keep=True)
    made.advance()
    return made


def orders(steps: int, examples: int, ordering: Ordering, seed: int) -> Indices:
    """Example of each step, from the definition: the same shuffles, written down anew."""
    rng, order, found = generator(seed, 0), list(range(examples)), []
    for q in range(math.ceil(steps / examples)):
        if q == 0 or ordering == "fresh":
            for i in range(examples - 1, 0, -1):
                j = int(rng.integers(0, i + 1))
                order[i], order[j] = order[j], order[i]
        found += order
    return np.array(found[:steps])


def plain_numpy(parameters: Parameters, noise: Matrix, seed: int = 0) -> Matrix:
    """NSGD with momentum, and given noise."""
    w, m, path = START.copy(), np.zeros(3), [START]
    p = parameters
    for t, n in enumerate(orders(p.steps, len(X), p.ordering, seed)):
        m = (1 - p.alpha) * m + p.alpha * pull_index(w, int(n))
        w = w - p.eta * (m + noise[t]) / np.linalg.norm(m + noise[t])
        path.append(w)
    return np.array(path)


@for_each("ordering", ["fresh", "once"])
@for_each("alpha", [1.0, 0.3, 0.01])
def test_without_noise_it_is_normalized_sgd_with_momentum(
    alpha: float, ordering: Ordering
) -> None:
    parameters = replace(BASE, sigma=0.0, alpha=alpha, ordering=ordering)
    assert np.allclose(
        run(parameters).iterates,
        plain_numpy(parameters, np.zeros((100, 3))),
        rtol=0,
        atol=1e-12,
    )


@for_each("ordering", ["fresh", "once"])
def test_with_noise_it_is_the_box_with_all_nodes_drawn_in_advance(
    ordering: Ordering,
) -> None:
    parameters, tape = (
        replace(BASE, ordering=ordering),
        normal_tape(generator(5), 100, 3),
    )
    depth = levels(100)
    scale = 4 * 0.2 * 2.0 * 0.5 * math.sqrt(printed_v(7, 100, depth))
    made = run(parameters, tape=tape)
    assert made.node_deviation == pytest.approx(scale, rel=1e-14)
    noise = noise_from_nodes(
        nodes_of_tape(tape, depth=depth, scale=scale), 100, depth=depth, alpha=0.2
    )
    assert np.allclose(
        made.iterates, plain_numpy(parameters, noise), rtol=0, atol=1e-11
    )


@for_each(
    "parameters",
    [
        BASE,
        replace(BASE, sigma=0.0),
        replace(BASE, ordering="once"),
        replace(BASE, steps=1),
        replace(BASE, steps=7, alpha=1.0),
        replace(BASE, v=3, depth=9, eta=0.0),
    ],
)
def test_jitted_callable_and_tape_give_the_same_bits(parameters: Parameters) -> None:
    jitted = run(parameters, seed=3)
    function = DpNsgdCallable(pull_index, 7, START, parameters, seed=3, keep=True)
    function.advance()
    assert np.array_equal(jitted.iterates, function.iterates)
    assert jitted.iterates.shape == (parameters.steps + 1, 3)
    tape = normal_tape(generator(3, 1), parameters.steps, 3)
    assert np.array_equal(run(parameters, seed=3, tape=tape).iterates, jitted.iterates)
    again = DpNsgdCallable(
        pull_index, 7, START, parameters, seed=3, tape=tape, keep=True
    )
    again.advance()
    assert np.array_equal(again.iterates, jitted.iterates)


def test_many_coordinates_use_several_blocks_of_noise() -> None:
    d, steps = 9000, 5
    parameters = replace(BASE, steps=steps)
    jitted = DpNsgd(pull, np.zeros((2, d)), np.ones(2), np.ones(d), parameters, seed=1)
    function = DpNsgdCallable(lambda w, n: w, 2, np.ones(d), parameters, seed=1)
    jitted.advance()
    function.advance()
    assert np.array_equal(jitted.w, function.w)


def test_each_seed_its_own_run_and_the_same_one_again() -> None:
    assert np.array_equal(run(seed=1).iterates, run(seed=1).iterates)
    assert not np.array_equal(run(seed=1).iterates[1:], run(seed=2).iterates[1:])


@for_each("form", ["jitted", "callable"])
def test_pieces_and_interruptions_change_nothing(form: str) -> None:
    def make() -> NsgdRun:
        if form == "jitted":
            return DpNsgd(pull, X, Y, START, BASE, seed=4, keep=True)
        return DpNsgdCallable(pull_index, 7, START, BASE, seed=4, keep=True)

    whole, pieces, seen = make(), make(), []
    whole.advance()
    for steps in (1, 6, 1, 30, 0):
        pieces.advance(steps)
    assert pieces.t == 38

    def interrupt(t: int, w: Vector) -> None:
        seen.append((t, w))
        if len(seen) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pieces.advance(progress=interrupt)
    assert pieces.t == seen[0][0]
    assert np.array_equal(pieces.w, seen[0][1])
    pieces.advance(progress=interrupt)
    assert seen[-1][0] == pieces.t == 100
    assert np.array_equal(whole.iterates, pieces.iterates)


def test_an_interruption_inside_a_gradient_can_be_resumed() -> None:
    whole = run()
    calls = []

    def interrupted(w: Vector, n: int) -> Vector:
        calls.append(n)
        # the first step, the first of an epoch, and one inside
        if len(calls) in (1, 15, 40):
            raise KeyboardInterrupt
        return pull_index(w, n)

    made = DpNsgdCallable(interrupted, 7, START, BASE, keep=True)
    for stopped in (0, 13, 37):
        with pytest.raises(KeyboardInterrupt):
            made.advance()
        assert made.t == stopped
    made.advance()
    assert np.array_equal(made.iterates, whole.iterates)


def test_every_step_has_length_eta_and_every_epoch_all_examples() -> None:
    made = run()
    assert np.allclose(
        np.linalg.norm(np.diff(made.iterates, axis=0), axis=1), BASE.eta, rtol=1e-12
    )
    seen: list[int] = []
    DpNsgdCallable(lambda w, n: seen.append(n) or w, 7, START, BASE).advance()  # type: ignore[func-returns-value]  # a spy
    for q in range(14):
        assert sorted(seen[7 * q : 7 * q + 7]) == list(range(7))
    assert seen[:7] != seen[7:14]
    seen.clear()

    def spy(w: np.ndarray, n: int) -> np.ndarray:
        seen.append(n)
        return w

    DpNsgdCallable(spy, 7, START, replace(BASE, ordering="once")).advance()
    assert seen == (seen[:7] * 15)[:100]


def test_a_momentum_of_length_zero_moves_nothing() -> None:
    made = DpNsgd(pull, X, np.zeros(7), np.zeros(3), replace(BASE, sigma=0.0))
    made.advance()
    assert made.w.tolist() == [0.0, 0.0, 0.0]


@for_each("size", [1e-310, 1e-200, 1e200])
def test_very_small_and_large_gradients_have_a_direction(size: float) -> None:
    once = replace(BASE, steps=1, sigma=0.0)
    made = DpNsgdCallable(
        lambda w, n: np.array([3 * size, -4 * size]), 2, np.zeros(2), once
    )
    with np.errstate(over="ignore"):
        made.advance()
    assert np.allclose(made.w, [-0.6 * BASE.eta, 0.8 * BASE.eta], rtol=1e-9)


def test_smallest_run() -> None:
    parameters = Parameters(steps=1, alpha=1.0, eta=0.5, sigma=1.0, lipschitz=1.0)
    made = DpNsgd(
        pull,
        np.ones((1, 1)),
        np.ones(1),
        np.array([2.0]),
        parameters,
        tape=np.array([[-1.0]]),
        keep=True,
    )
    made.advance()
    assert made.node_deviation == 4.0
    # gradient 1, noise -4: the sign flips
    assert made.iterates.tolist() == [[2.0], [2.5]]


def test_jitted_step_is_its_python_body() -> None:
    results = []
    for step in (noisy_step, python_of(noisy_step)):
        w, m, m_hat, slots = START.copy(), np.zeros(3), np.zeros(3), np.zeros((3, 3))
        iterates, done = np.zeros((6, 3)), np.zeros(1, dtype=np.int64)
        state = NsgdState(np.empty(3), w, m, m_hat, slots, iterates, done)
        numbers = NsgdNumbers(0.1, 0.05, 1.5, np.array([0.9, 0.81, 0.6561]))
        for t in range(1, 6):
            slots[level(t)], state.gradient[:] = float(t), pull_index(w, t % 7)
            assert step(t, numbers, *state)
        assert done[0] == 5
        results.append(np.concatenate([w, m, m_hat, slots.ravel(), iterates.ravel()]))
    assert np.array_equal(results[0], results[1])


def test_jitted_run_is_its_python_body() -> None:
    results = []
    for steps in (module.run_steps, python_of(module.run_steps)):
        made = DpNsgd(pull, X, Y, START, BASE, keep=True)
        order, numbers, state = made._order, made._numbers, made._state
        failed = steps(
            pull, X, Y, 1, 100, order, made._words, made._tape, numbers, state
        )
        assert failed == 0
        results.append(made.iterates)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], run().iterates)


def test_what_is_handed_out_does_not_reach_the_state() -> None:
    made, untouched = (DpNsgd(pull, X, Y, START, BASE, keep=True) for _ in range(2))
    start = START.copy()
    made.advance(3)
    made.w[:] = np.nan
    with pytest.raises(ValueError, match="read-only"):
        made.iterates[0] = 0.0
    made.advance(progress=lambda t, w: w.fill(np.nan))
    untouched.advance()
    assert np.array_equal(made.w, untouched.w)
    assert np.array_equal(START, start)


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
        DpNsgd(leave_out, X, Y, START, BASE).advance()
    rows = np.array([[0.0], [2.0], [0.0]])
    made = DpNsgd(explode, rows, np.ones(3), np.ones(2), replace(BASE, sigma=0.0))
    with pytest.raises(
        ArgumentError,
        match=r"finite number into every coordinate, got gradient=inf in coordinate 1 for example 1",
    ):
        made.advance()
    assert made.t < 3
    assert np.isfinite(made.w).all()
    with (
        np.errstate(over="ignore"),
        pytest.raises(ArgumentError, match="momentum must stay finite"),
    ):
        DpNsgdCallable(
            lambda w, n: np.full(2, 1.7e308),
            1,
            np.zeros(2),
            replace(BASE, sigma=1e308, v=1e100),
        ).advance()


@pytest.mark.skipif(
    python_of(pull) is pull, reason="the jit is switched off: nothing is compiled"
)
def test_a_gradient_that_does_not_compile_is_one_clear_error() -> None:
    with pytest.raises(
        ArgumentError, match=r"gradient must compile as \(w, x_row, y, out\)"
    ):
        DpNsgd(too_few, X, Y, START, BASE).advance()  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ArgumentError, match="gradient must be a kernel"):
        DpNsgd(python_of(pull), X, Y, START, BASE)


@for_each(
    ("gradient", "text"),
    [
        (lambda w, n: np.ones(2), r"must be an array of numbers of shape \(3,\), got gradient=float64 of shape \(2,\)"),
        (lambda w, n: "text", "gradient must be an array of numbers"),
        (lambda w, n: None, "gradient must be an array of numbers"),
        (lambda w, n: [1.0, math.nan, 0.0], "got gradient=nan in coordinate 1 for example . at step 1"),
        ("no function", "gradient must be a function"),
    ],
)  # fmt: skip
def test_bad_functions(gradient: object, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        DpNsgdCallable(gradient, 7, START, BASE).advance()  # type: ignore[arg-type]  # wrong on purpose


@for_each(
    ("x", "y", "start", "text"),
    [
        (X[0], Y, START, r"x must have shape \(any, any\)"),
        (X, Y[:5], START, r"y must have shape \(7,\)"),
        (X * np.nan, Y, START, r"x must be finite everywhere, got x=nan at \[0, 0\]"),
        (X, Y, START[None], r"start must have shape \(any,\)"),
        (X[:0], Y[:0], START, r"x must have shape"),
    ],
)
def test_bad_data(x: Matrix, y: Vector, start: Vector, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        DpNsgd(pull, x, y, start, BASE)


def test_bad_sizes() -> None:
    with pytest.raises(
        ArgumentError, match=r"steps and dimension and examples must fit in memory"
    ):
        DpNsgd(pull, X, Y, START, replace(BASE, steps=10**14), keep=True)
    with pytest.raises(ArgumentError, match=r"tape must have shape \(100, 3\)"):
        DpNsgd(pull, X, Y, START, BASE, tape=np.zeros((99, 3)))
    with pytest.raises(
        ArgumentError,
        match="steps must be an integer, at least 0 and at most 100, got steps=101",
    ):
        DpNsgd(pull, X, Y, START, BASE).advance(101)
    with pytest.raises(ArgumentError, match="examples must be an integer, at least 1"):
        DpNsgdCallable(pull_index, 0, START, BASE)


@for_each(
    ("change", "text"),
    [
        ({"steps": 0}, "steps must be an integer, at least 1"),
        ({"alpha": 0.0}, r"alpha must lie in \(0, 1\], got alpha=0\.0\."),
        ({"eta": -1.0}, "eta must be finite and at least 0"),
        ({"eta": math.nan}, "eta must be finite and at least 0"),
        ({"sigma": -1.0}, "sigma must be finite and at least 0"),
        ({"lipschitz": 0.0}, "lipschitz must be finite and above 0"),
        ({"ordering": "random"}, "ordering must be fresh or once, got ordering=random"),
        ({"v": 0}, "v must be finite and above 0"),
    ],
)
def test_bad_parameters(change: dict[str, object], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        replace(BASE, **change)  # type: ignore[arg-type]  # wrong on purpose


def test_depth_and_v() -> None:
    assert (
        BASE.node_deviation(7)
        == replace(BASE, depth=7).node_deviation(7)
        == replace(BASE, depth=20).node_deviation(7)
    )
    assert replace(BASE, v=Fraction(1, 4)).node_deviation(7) == 4 * 0.2 * 2.0 * 0.5 / 2
    with pytest.raises(
        UndrawnNodeError, match=r"node \[1, 64\] is used at step t=64 but never drawn"
    ):
        replace(BASE, depth=6)
