import pickle
from collections.abc import Callable

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.jit import python_of
from dpverify.kernels.tape import generator, normal_tape
from dpverify.kernels.typing import Matrix, Tape
from dpverify.papers.tran2022.algorithms.composition import MOST_NODES, compose
from dpverify.papers.tran2022.algorithms.tree_noise import faults
from dpverify.papers.tran2022.algorithms.tree_noise.faults import NoiseFault
from dpverify.papers.tran2022.algorithms.tree_noise.stream import (
    noise_from_tape,
    whiten,
)
from tests.for_each import for_each

STEPS, ALPHA, SCALE = 40, 0.1, 2.0
B = 1 - ALPHA

ALL = [
    faults.scaled(),
    faults.node_missing(8),
    faults.node_missing(8, 12),
    faults.decay_off(),
    faults.decay_off(-1),
    faults.decay_off(of_level=0),
    faults.decay_off(at=5),
    faults.term_off(8, 12),
    faults.redrawn(),
    faults.redrawn(8),
    faults.shared_across_coordinates(),
    faults.wrong_law("uniform"),
    faults.wrong_law("laplace"),
    faults.wrong_law("sign"),
    faults.lagged(),
]


def run(fault: Callable[[Tape, float, float, Matrix], None], tape: Tape) -> Matrix:
    out = np.full_like(tape, np.nan)
    before = tape.copy()
    fault(tape, ALPHA, SCALE, out)
    assert np.array_equal(tape, before)
    assert np.isfinite(out).all()
    return out


def difference(fault: NoiseFault, dimension: int = 3, steps: int = STEPS) -> Matrix:
    tape = normal_tape(generator(6), steps, dimension)
    return run(fault, tape) - noise_from_tape(tape, alpha=ALPHA, scale=SCALE)


def weights(fault: NoiseFault) -> Matrix:
    """Weight of zeta_z in the faulty NOISE_t, in row t - 1 and column z - 1."""
    return run(fault, np.eye(STEPS)) / SCALE


GOOD = noise_from_tape(np.eye(STEPS), alpha=ALPHA, scale=1.0)


@for_each("fault", ALL, ids=lambda fault: fault.name)
def test_every_fault_differs_from_the_good_kernel(fault: NoiseFault) -> None:
    assert np.abs(difference(fault)).max() > 1e-3
    assert fault.text
    again = pickle.loads(pickle.dumps(fault))
    tape = normal_tape(generator(6), STEPS, 2)
    assert np.array_equal(run(again, tape), run(fault, tape))


def test_names_are_distinct() -> None:
    assert len({fault.name for fault in ALL}) == len(ALL)


def test_scaled() -> None:
    assert np.allclose(weights(faults.scaled(1.02)), 1.02 * GOOD, rtol=1e-12)


def test_a_missing_node_is_missing_wherever_it_was_used() -> None:
    wrong = weights(faults.node_missing(8))
    assert not wrong[:, 7].any()
    assert np.count_nonzero(GOOD[:, 7]) == 8
    assert np.array_equal(np.delete(wrong, 7, axis=1), np.delete(GOOD, 7, axis=1))


def test_a_node_missing_at_one_step_is_there_at_the_others() -> None:
    changed = np.argwhere(
        ~np.isclose(weights(faults.node_missing(8, 12)), GOOD, rtol=1e-12, atol=1e-15)
    )
    assert changed.tolist() == [[11, 7]]
    assert weights(faults.node_missing(8, 12))[11, 7] == pytest.approx(0.0, abs=1e-15)


def test_one_decay_off_at_one_step() -> None:
    # step 6 = [1, 4] + [5, 6] decays [1, 4] by B^2;
    # with the fault by B^3, and step 7 inherits it
    want = GOOD.copy()
    want[5, 3] *= B
    want[6, 3] *= B
    assert np.allclose(weights(faults.decay_off(at=6)), want, rtol=1e-12, atol=0)


def test_decays_off_at_one_level_and_at_all() -> None:
    want, everywhere = GOOD.copy(), GOOD.copy()
    for t in range(1, STEPS + 1):
        for _, z in compose(1, t).tolist():
            later = [node for node in compose(1, t).tolist() if node[1] > z]
            want[t - 1, z - 1] *= B ** sum(high - low + 1 == 2 for low, high in later)
            everywhere[t - 1, z - 1] *= B ** len(later)
    assert np.allclose(weights(faults.decay_off(of_level=1)), want, rtol=1e-12, atol=0)
    assert np.allclose(weights(faults.decay_off()), everywhere, rtol=1e-12, atol=0)


def test_one_term_off() -> None:
    want = GOOD.copy()
    want[11, 7] *= B
    assert np.allclose(weights(faults.term_off(8, 12)), want, rtol=1e-12, atol=0)


def test_a_redrawn_node_is_fresh_at_each_later_use() -> None:
    tape = np.zeros((STEPS, 2000))
    tape[7] = generator(0).standard_normal(2000)
    tape[-1, :8] = 1e-30  # the bits that seed the fresh numbers
    out = run(faults.redrawn(8), tape) / SCALE
    used = out[7:15] / B ** np.arange(8)[:, None]  # steps 8..15 use [1, 8]
    assert np.array_equal(used[0], tape[7])
    covariance = used @ used.T / 2000
    # six deviations of a sample variance, sqrt(2 / 2000) each
    assert np.abs(covariance - np.eye(8)).max() < 0.2
    assert not np.delete(out, slice(7, 15), axis=0)[:, 8:].any()


def test_redrawing_every_node_keeps_the_law_of_each_step_alone() -> None:
    n = 20_000
    tape = normal_tape(generator(3), 7, n)
    out = run(faults.redrawn(), tape) / SCALE
    variance = (out**2).mean(axis=1)
    want = (GOOD[:7] ** 2).sum(axis=1)
    assert np.allclose(variance, want, rtol=6 * np.sqrt(2 / n))
    covariance = out @ out.T / n
    # steps 2 and 3 share [1, 2] no more
    assert abs(covariance[1, 2]) < 0.1 < GOOD[1] @ GOOD[2]


def test_jitted_redraw_is_its_python_body() -> None:
    tape, nodes = (
        normal_tape(generator(1), 20, 2),
        np.empty((MOST_NODES, 2), dtype=np.int64),
    )
    out, again = np.empty_like(tape), np.empty_like(tape)
    faults.redraw_nodes(tape, ALPHA, SCALE, out, 4, generator(2), nodes)
    python_of(faults.redraw_nodes)(tape, ALPHA, SCALE, again, 4, generator(2), nodes)
    assert np.allclose(out, again, rtol=1e-12, atol=0)
    decays = np.full(20, 0.5)
    faults.stream_with_decays(tape, decays, SCALE, out)
    python_of(faults.stream_with_decays)(tape, decays, SCALE, again)
    assert np.array_equal(out, again)


def test_shared_noise_is_right_in_one_coordinate_only() -> None:
    assert not difference(faults.shared_across_coordinates(), 1).any()
    wrong = difference(faults.shared_across_coordinates(), 2)
    assert not wrong[:, 0].any()
    assert wrong[:, 1].all()


@for_each(("law", "kurtosis"), [("uniform", 1.8), ("laplace", 6.0), ("sign", 1.0)])
def test_wrong_laws_have_the_right_variance(law: str, kurtosis: float) -> None:
    n = 200_000
    tape = normal_tape(generator(4), 4, n)
    out = run(faults.wrong_law(law), tape)  # type: ignore[arg-type]  # the parameters of the test are the laws
    nodes = whiten(out, alpha=ALPHA, scale=SCALE)
    assert np.allclose(
        nodes @ nodes.T / n, np.eye(4), rtol=0, atol=6 * np.sqrt(kurtosis / n)
    )
    assert (nodes**4).mean() == pytest.approx(kurtosis, rel=0.05)


def test_lagged() -> None:
    wrong = weights(faults.lagged(2))
    assert not wrong[:2].any()
    assert np.allclose(wrong[2:], GOOD[:-2])


@for_each(
    ("make", "text"),
    [
        (
            lambda: faults.node_missing(8, 16),
            r"t must lie in \[8, 15\], the steps that use node \[1, 8\], got t=16\.",
        ),
        (lambda: faults.term_off(8, 7), r"t must lie in \[8, 15\]"),
        (lambda: faults.term_off(8, 8, -1), "steps must be an integer, at least 0"),
        (lambda: faults.redrawn(3), "z must be even"),
        (
            lambda: faults.wrong_law("cauchy"),  # type: ignore[arg-type]  # wrong on purpose
            "law must be one of uniform, laplace, sign",
        ),
        (lambda: faults.decay_off(-2), "steps must be an integer, at least -1"),
    ],
)
def test_bad_arguments(make: Callable[[], NoiseFault], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        make()
