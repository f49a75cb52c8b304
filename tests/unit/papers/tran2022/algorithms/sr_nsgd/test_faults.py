from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.tape import generator, normal_tape
from dpverify.kernels.typing import Matrix
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.stream import DELTA, G, R
from dpverify.papers.tran2022.algorithms.scales import Scales
from dpverify.papers.tran2022.algorithms.sr_nsgd import faults
from dpverify.papers.tran2022.algorithms.sr_nsgd.faults import SrFault
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import (
    noise_from_tape,
    tape_layout,
    tape_rows,
)
from tests.for_each import for_each

N, T, ALPHA, GAMMA = 4, 27, 0.2, 0.3
P = SrParameters(
    T, ALPHA, GAMMA, 0.05, 1.0, 2.0, scales=Scales(1.0, 2.0, 3.0, 1.0, 4.0)
)
LAYOUT = tape_layout(N, T)
GOOD = noise_from_tape(np.eye(len(LAYOUT)), P, N)

NOISE = [
    *(
        faults.family_scaled(family)
        for family in ("g", "g-first", "g-later", "delta", "r")
    ),
    faults.node_missing("g", 9, 12),
    faults.node_missing("delta", 10, 10),
    faults.node_missing("r", 1, 16),
    faults.coefficient_off("decay"),
    faults.coefficient_off("gamma"),
    *(faults.decay_off(of, 1) for of in ("sums", "windows", "r")),
    faults.decay_off("sums", -1),
]


def weights(fault: SrFault) -> Matrix:
    """Weight of each Gaussian in each faulty m^_t."""
    eye = np.eye(len(LAYOUT))
    found = fault.noise(eye, P, N)
    assert np.array_equal(eye, np.eye(len(LAYOUT)))
    return found


def columns(family: int) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = LAYOUT[:, 0] == family
    return found


@for_each("fault", NOISE, ids=lambda fault: fault.name)
def test_every_fault_of_the_noise_shows(fault: SrFault) -> None:
    assert np.abs(weights(fault) - GOOD).max() > 1e-3
    again = pickle.loads(pickle.dumps(fault))
    tape = normal_tape(generator(2), len(LAYOUT), 2)
    assert np.array_equal(again.noise(tape, P, N), fault.noise(tape, P, N))
    assert np.allclose(fault.noise(tape, P, N), weights(fault) @ tape, atol=1e-12)


def test_names_are_distinct() -> None:
    assert len({fault.name for fault in NOISE}) == len(NOISE)
    assert all(fault.text for fault in NOISE)


@for_each(("family", "place"), [("g", G), ("delta", DELTA), ("r", R)])
def test_scaled(family: faults.Family, place: int) -> None:
    expected = np.where(columns(place), 1.02, 1.0) * GOOD
    assert np.allclose(weights(faults.family_scaled(family)), expected, rtol=1e-12)


def test_only_early_or_late_nodes_scaled() -> None:
    late = LAYOUT[:, 2] > 2 * N
    first = np.where(columns(G) & ~late, 2.0, 1.0) * GOOD
    assert np.allclose(weights(faults.family_scaled("g-first", 2.0)), first, rtol=1e-12)
    later = np.where(columns(G) & late, 2.0, 1.0) * GOOD
    assert np.allclose(weights(faults.family_scaled("g-later", 2.0)), later, rtol=1e-12)


def test_missing() -> None:
    gone = (LAYOUT == (G, 9, 12)).all(axis=1)
    assert gone.sum() == 1
    assert np.array_equal(
        weights(faults.node_missing("g", 9, 12)), np.where(gone, 0.0, GOOD)
    )


def test_coefficients() -> None:
    # at t = 4N the window i epochs back has c_i,
    # and G_[1,N] the weight S_q, which is no c_i
    t, beta = 4 * N, (1 - ALPHA) ** N
    shares = weights(faults.coefficient_off("decay"))[t - 1] / np.where(
        GOOD[t - 1] == 0, 1.0, GOOD[t - 1]
    )
    used = GOOD[t - 1] != 0
    early = LAYOUT[:, 2] <= N
    assert np.allclose(shares[used & early & ~columns(R)], 1.0)
    assert np.allclose(shares[used & ~early & ~columns(R)], beta)
    assert np.allclose(shares[used & columns(R)], 1.0)
    shares = weights(faults.coefficient_off("gamma"))[t - 1] / np.where(
        GOOD[t - 1] == 0, 1.0, GOOD[t - 1]
    )
    assert np.allclose(shares[used & ~early & ~columns(R)], 1 - GAMMA)


def test_decays() -> None:
    wrong = weights(faults.decay_off("r"))
    assert np.array_equal(wrong[:, ~columns(R)], GOOD[:, ~columns(R)])
    used = columns(R) & (LAYOUT[:, 2] == 16)
    assert np.allclose(wrong[20 - 1, used], (1 - ALPHA) * GOOD[20 - 1, used])
    wrong = weights(faults.decay_off("sums", 2))
    first = columns(G) & (LAYOUT[:, 2] == 3) & (LAYOUT[:, 1] == 3)
    assert np.allclose(
        wrong[N + 3 - 1, first], (1 - ALPHA) ** 2 * GOOD[N + 3 - 1, first]
    )
    assert np.array_equal(wrong[: N - 1], GOOD[: N - 1])


def test_bad_faults() -> None:
    with pytest.raises(
        ArgumentError, match="family must be one of g-first, g-later, g, delta, r"
    ):
        faults.family_scaled("x")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ArgumentError, match="family must be one of g, delta, r"):
        faults.node_missing("x", 1, 1)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ArgumentError, match="power_of must be decay or gamma"):
        faults.coefficient_off("x")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ArgumentError, match="of must be one of sums, windows, r"):
        faults.decay_off("x")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ArgumentError, match="steps must be an integer, at least 0"):
        faults.decay_off("windows", -1)
    with pytest.raises(
        ArgumentError, match="missing must be a node that this run reads"
    ):
        faults.node_missing("g", 2, 3).noise(np.eye(len(LAYOUT)), P, N)
    assert tape_rows(N, T) == len(LAYOUT)
