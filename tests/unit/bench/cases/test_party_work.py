"""What one party is told to do, where nothing is sent; and how often, on a clock of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpverify.bench.cases import parties, party_work
from dpverify.mpc.noise import CHUNK
from tests.for_each import for_each
from tests.unit.bench.cases.tiny import told


class OneParty:
    """A session that keeps what it was asked for."""

    def __init__(self) -> None:
        self.bits: list[int] = []
        self.opened: list[tuple[list[int], str | None]] = []
        self.mpc = SimpleNamespace(
            np_random_bits=self._bits,
            gather=self._wait,
            input=self._share,
            output=self._open,
        )
        self._field = SimpleNamespace(array=np.ndarray.tolist)
        self._watch = SimpleNamespace(until=lambda work: work)

    def _bits(self, field: object, count: int) -> None:
        assert field is self._field
        self.bits.append(count)

    async def _wait(self, shares: None) -> None: ...

    def _share(self, own: list[int]) -> list[Any]:
        return [own, None, None]  # of each party in its turn

    async def _open(self, shared: list[int]) -> None:
        self.opened.append((shared, "bare"))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run(work)

    def open_sum(self, units: Any, *, inside: str | None) -> None:
        self.opened.append((units.tolist(), inside))


def asked(name: str, size: int) -> OneParty:
    session = OneParty()
    stand_in: Any = session
    party_work.work_of(stand_in, name, size)
    return session


@for_each(("name", "inside"), [("bare", "bare"), ("none", None), ("ratio", "ratio")])
def test_what_is_opened_without_noise_of_its_own(name: str, inside: str | None) -> None:
    session = asked(name, 4)
    assert session.opened == [([0, 1, 2, 3], inside)]
    assert not session.bits


def test_shares_of_noise_are_added() -> None:
    ((units, inside),) = asked("shares", 1000).opened
    assert inside is None
    assert 0.5 < np.std(np.array(units) - np.arange(1000)) / party_work.DEVIATION < 1.5


@for_each("size", [1, CHUNK, 2 * CHUNK + 3])
def test_each_number_takes_256_bits_of_as_many_at_a_time_as_noise_from_bits_makes(
    size: int,
) -> None:
    session = asked("bits", size)
    assert sum(session.bits) == 256 * size
    assert max(session.bits) == 256 * min(CHUNK, size)
    assert not session.opened


class Timed(party_work.Parties):
    """Parties that take a time as they are told, whatever they do."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.asked = seconds, list[int]()

    def _slowest_seconds(self, name: str, size: int, times: int) -> float:
        self.asked.append(times)
        return self.seconds / times  # to tell the calls apart


def test_what_is_short_is_done_again_until_it_takes_long_enough() -> None:
    short, long = Timed(0.03), Timed(party_work.MIN_SECONDS)
    assert short.run("bare", 1).seconds == 0.03 / 4
    assert short.asked == [1, 4]
    assert long.run("bare", 1).seconds == party_work.MIN_SECONDS
    assert long.asked == [1]


@pytest.mark.slow
def test_real_parties_open_in_each_form() -> None:
    pytest.importorskip("mpyc", reason="the extra mpc is not installed")
    found = told("parties/secure-sum-3-parties-d-123")
    assert list(found) == [parties.BARE, parties.SUM, parties.SHARES]
    assert all(0.0 < used.seconds < 60.0 for used in found.values())
