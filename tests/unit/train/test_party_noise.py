"""The noise that one party adds to its sums: its size at each step, and that nobody can draw it again."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, cast

import numpy as np
import pytest

from dpverify.algorithms.dp_srm import DDP_SRM, DdpSettings
from dpverify.algorithms.settings import options
from dpverify.kernels.typing import Indices
from dpverify.mpc.fixed_point import Inside
from dpverify.mpc.session import Session
from dpverify.train import party
from dpverify.train.ddp import scales_of
from dpverify.train.party import run_party, set_up
from dpverify.train.records import Request

D, N = 3000, 6
SETTINGS = DdpSettings(
    steps=3,
    sigma=2.0,
    gamma=0.25,
    eta=0.5,
    lam=0.0,
    seed=7,
    batch=6,
    change_clip=0.01,
    parties=3,
)


class Alone:
    """A session in which the other parties have zeros, and what this one gave is kept."""

    parties = 3
    told = ({"n": N},) * 3

    def __init__(self) -> None:
        self.given: list[Indices] = []

    def open_sum(self, values: Indices, *, inside: Inside | None) -> Indices:
        assert inside is None
        self.given.append(values.copy())
        return values


def given() -> list[Indices]:
    """What a party gives whose rows, and so whose gradients, are 0: its noise."""
    session = Alone()
    set_up(
        cast(Session, session), [N] * 3, np.zeros((N, D)), np.zeros(N), SETTINGS, 5
    ).advance()
    return session.given


def test_a_party_adds_noise_of_its_own_that_no_seed_gives() -> None:
    first, again = given(), given()
    shares = [scale.share for scale in scales_of(SETTINGS, D)]
    assert shares[0] > 2.0 * shares[1]
    for t, values in enumerate(first):
        # the deviation of 3000 draws is off by a tenth with a chance of about 1e-14
        assert abs(values.std() / shares[min(t, 1)] - 1.0) < 0.1
    assert len(first) == len(again) == 3
    assert all(
        (one != other).mean() > 0.99 for one, other in zip(first, again, strict=True)
    )
    assert (first[0] != first[1]).mean() > 0.99
    assert (first[1] != first[2]).mean() > 0.99  # of one scale


def drawn(monkeypatch: pytest.MonkeyPatch, batch_seed: int | None = None) -> list[int]:
    """The state of what draws a party's batches at the end of a run."""
    monkeypatch.setattr(party, "Session", lambda *_, **__: nullcontext(Alone()))
    asked = Request("ddp-srm", parties=3, steps=2, batch=6, sigma=2.0, seed=7)
    peers = [("", 0)] * 3
    run, _, _ = run_party(
        0, peers, np.zeros((N, 2)), np.zeros(N), asked, batch_seed=batch_seed
    )
    state: list[int] = run._draws[0].bit_generator.state["state"]["state"].tolist()
    return state


def test_nobody_who_knows_the_seed_of_a_run_knows_a_partys_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert drawn(monkeypatch) != drawn(monkeypatch)
    assert drawn(monkeypatch, 5) == drawn(monkeypatch, 5)


def test_every_setting_of_a_run_must_be_the_same_for_all_parties(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A party has its own rows, and is given sigma; the parties are counted."""
    compared: dict[str, Any] = {}

    def session(
        index: int, peers: object, same: dict[str, Any], own: object, **options: object
    ) -> Any:
        compared.update(same)
        return nullcontext(Alone())

    monkeypatch.setattr(party, "Session", session)
    request = Request(
        DDP_SRM, steps=2, batch=6, sigma=2.0, seed=7, delta=1e-5, standardise=False
    )
    run_party(0, [("", 0)] * 3, np.zeros((N, 2)), np.zeros(N), request)
    assert compared.keys() == {
        *options(DdpSettings),
        "epochs",
        "delta",
        "standardise",
        "version",
    }
    assert (compared["seed"], compared["noise"], compared["delta"]) == (
        7,
        "shares",
        1e-5,
    )
    assert compared["parties"] == 3


def test_the_noise_is_that_of_as_many_parties_as_have_an_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of three parties two are honest, and not three as of the five that are usual."""
    monkeypatch.setattr(party, "Session", lambda *_, **__: nullcontext(Alone()))
    request = Request(DDP_SRM, steps=2, batch=6, sigma=2.0)
    _, settings, _ = run_party(0, [("", 0)] * 3, np.zeros((N, 2)), np.zeros(N), request)
    assert settings.parties == 3
