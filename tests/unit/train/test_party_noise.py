"""The noise that one party adds to its sums: its size at each step, and that nobody can draw it again."""

from __future__ import annotations

from typing import cast

import numpy as np

from dpverify.kernels.typing import Indices
from dpverify.mpc.limits import Inside
from dpverify.mpc.session import Session
from dpverify.train.ddp import scales_of
from dpverify.train.party import set_up
from dpverify.train.settings import Settings

D, N = 3000, 6
SETTINGS = Settings(
    steps=3, sigma=2.0, alpha=1.0, gamma=0.25, eta=0.5, lam=0.0, ordering="fresh", scale="unit", depth=2, seed=7,
    batch=6, change_clip=0.01, parties=3,
)  # fmt: skip


class Alone:
    """A session in which the other parties have zeros, and what this one gave is kept."""

    parties = 3

    def __init__(self) -> None:
        self.given: list[Indices] = []

    def open_sum(self, values: Indices, *, inside: Inside | None) -> Indices:
        assert inside is None
        self.given.append(values.copy())
        return values


def given() -> list[Indices]:
    """What a party gives whose rows, and so whose gradients, are 0: its noise."""
    session = Alone()
    set_up(cast(Session, session), [N] * 3, np.zeros((N, D)), np.zeros(N), SETTINGS, 5).advance()
    return session.given


def test_a_party_adds_noise_of_its_own_that_no_seed_gives() -> None:
    first, again = given(), given()
    shares = [scale.share for scale in scales_of(SETTINGS, D)]
    assert shares[0] > 2.0 * shares[1]
    for t, values in enumerate(first):
        # the deviation of 3000 draws is off by a tenth with a chance of about 1e-14
        assert abs(values.std() / shares[min(t, 1)] - 1.0) < 0.1
    assert len(first) == len(again) == 3
    assert all((one != other).mean() > 0.99 for one, other in zip(first, again, strict=True))
    assert (first[0] != first[1]).mean() > 0.99
    assert (first[1] != first[2]).mean() > 0.99  # of one scale
