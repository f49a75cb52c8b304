"""Who is waited for and who is named, without any connection."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from dpverify.mpc.fixed_point import PartyError
from dpverify.mpc.session import load_mpyc
from tests.for_each import for_each

pytest.importorskip("mpyc", reason="the extra mpc is not installed")


@for_each("at_the_end", [True, False])
def test_who_is_done_or_shows_that_he_lives_is_not_silent(
    at_the_end: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that are waited for, at the end of a run or in its middle, one may be still: the other is not named."""
    load_mpyc()
    from dpverify.mpc.links import Peers

    def link(peer: int, done: bool, heard: float) -> Any:
        transport = SimpleNamespace(
            is_closing=lambda: True, close=lambda: None, get_write_buffer_size=lambda: 0
        )
        still = {"done": done, "heard": heard, "knows": False, "transport": transport}
        return SimpleNamespace(peer_pid=peer, send=lambda *_: None, **still)

    links = [link(1, False, np.inf), link(2, not at_the_end, 0.0)]
    monkeypatch.setattr(Peers, "links", property(lambda _: links))
    loop = asyncio.new_event_loop()
    try:
        peers = Peers(
            cast(Any, SimpleNamespace(pid=0, _loop=loop, parties=[SimpleNamespace()])),
            {},
            {},
            0.05,
        )
        if at_the_end:
            with pytest.raises(PartyError, match=r"^party 2 was silent for 0\.05 s"):
                loop.run_until_complete(peers.finish())
        else:
            assert (
                loop.run_until_complete(peers.until(asyncio.sleep(0.3, "opened")))
                == "opened"
            )
    finally:
        loop.close()
