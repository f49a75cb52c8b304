"""Who counts as a party, and how long a message may be: nothing of a stranger or beyond the limit is stored."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import pytest

from dpverify.mpc.fixed_point import MOST_INSIDE, MOST_NUMBERS
from dpverify.mpc.session import load_mpyc, start_runtime
from tests.for_each import for_each
from tests.unit.mpc.test_session import ends, running

pytest.importorskip("mpyc", reason="the extra mpc is not installed")

SETTINGS = json.dumps([{"d": 4}, {"n": 1}]).encode()


class Transport:
    """A connection that keeps what is sent."""

    def __init__(self) -> None:
        self.sent = bytearray()
        self.closed = False

    def get_extra_info(self, _: str) -> Transport:
        return self

    def setsockopt(self, *_: object) -> None:
        pass

    def write(self, data: bytes) -> None:
        self.sent.extend(data)

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


@pytest.fixture(scope="module")
def mpyc() -> ModuleType:
    """MPyC, loaded at most once: each loading makes an event loop, which stays open."""
    return sys.modules.get("mpyc.runtime") or load_mpyc()


def make_peers(mpyc: ModuleType) -> Any:
    """Party 2 of three, which waits for parties 0 and 1."""
    runtime = start_runtime(mpyc, 2, [("127.0.0.1", 1 + i) for i in range(3)])
    from dpverify.mpc.links import Peers

    return Peers(runtime, {"d": 4}, {"n": 1}, 30.0)


@pytest.fixture
def peers(mpyc: ModuleType) -> Any:
    return make_peers(mpyc)


def connect(peers: Any) -> tuple[Any, Transport]:
    from dpverify.mpc.connection import Link

    link: Any = Link(peers)
    transport = Transport()
    link.connection_made(transport)
    return link, transport


def greeting(peers: Any, party: int, said: bytes = SETTINGS) -> bytes:
    from dpverify.mpc.connection import HEADER, HELLO, PARTY

    keys = b"k" * int(peers.runtime._prss_keys_from_peer(party))
    return PARTY.pack(party) + keys + HEADER.pack(HELLO, len(said)) + said


def strangers(peers: Any) -> dict[str, bytes]:
    from dpverify.mpc.connection import FAILED, HEADER, HELLO, MOST_HELLO, PARTY

    keys = b"k" * peers.runtime._prss_keys_from_peer(0)
    named = PARTY.pack(0) + keys
    return {
        "http": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "tls": bytes.fromhex("16030100c8010000c40303"),
        "ssh": b"SSH-2.0-OpenSSH_9.6\r\n",
        "two bytes": b"\xff\xff",
        "one byte": b"\xff",
        "itself": greeting(peers, 2),
        "no party": greeting(peers, 3),
        "zeros": bytes(1000),
        "another label": named + HEADER.pack(FAILED, len(SETTINGS)) + SETTINGS,
        "too long": named + HEADER.pack(HELLO, MOST_HELLO + 1),
        "4 GiB": named + HEADER.pack(HELLO, (1 << 32) - 1),
        "no JSON": greeting(peers, 0, b"hello"),
        "no pair": greeting(peers, 0, b"[{}]"),
        "no mapping": greeting(peers, 0, b"[1, 2]"),
        "deep": greeting(peers, 0, b"[" * 50_000),
        "bytes": greeting(peers, 0, b"\xff\xfe"),
    }


NAMES = [
    *(
        "http",
        "tls",
        "ssh",
        "two bytes",
        "one byte",
        "itself",
        "no party",
        "zeros",
        "another label",
        "too long",
    ),
    *("4 GiB", "no JSON", "no pair", "no mapping", "deep", "bytes"),
]


@for_each("size", [1, 7, 1 << 20])
@for_each("name", NAMES)
def test_a_stranger_is_dropped_and_the_run_goes_on(
    name: str, size: int, mpyc: ModuleType
) -> None:
    """However its bytes are cut."""
    peers = make_peers(mpyc)
    link, transport = connect(peers)
    data = strangers(peers)[name]
    for start in range(0, len(data), size):
        if transport.closed:
            break
        link.data_received(data[start : start + size])
    link.connection_lost(None)
    assert transport.closed
    assert not transport.sent, "a stranger learns nothing"
    assert not link.bytes
    assert not peers.failed.done()
    assert peers.made == []
    real, _ = connect(peers)
    real.data_received(greeting(peers, 0))
    assert peers.links == [real], "the party that it named still can come"


@for_each("size", [1, 7, 1 << 20])
def test_a_party_is_known_by_its_whole_greeting(size: int, mpyc: ModuleType) -> None:
    peers = make_peers(mpyc)
    link, transport = connect(peers)
    data = greeting(peers, 1)
    for start in range(0, len(data), size):
        assert peers.links == []
        link.data_received(data[start : start + size])
    assert peers.links == [link]
    assert link.hello.result() == SETTINGS
    assert not transport.closed
    twice, second = connect(peers)
    twice.data_received(greeting(peers, 1))
    assert second.closed, "another connection in its name is a stranger's"
    assert peers.links == [link]


def test_a_stranger_that_says_nothing_is_dropped_for_further_ones(peers: Any) -> None:
    from dpverify.mpc.links import MAX_STRANGERS

    silent = [connect(peers) for _ in range(MAX_STRANGERS + 5)]
    assert [transport.closed for _, transport in silent] == [True] * 5 + [
        False
    ] * MAX_STRANGERS
    assert len(peers.made) == MAX_STRANGERS


@for_each("numbers", [0, 4, MOST_INSIDE + 1, MOST_NUMBERS, 10**7, 10**12])
@for_each("mine", [True, False])
def test_a_message_may_be_as_long_as_what_is_announced(
    numbers: int, mine: bool, mpyc: ModuleType
) -> None:
    peers = make_peers(mpyc)
    from dpverify.mpc.connection import HEADER, OPENS

    link, transport = connect(peers)
    link.data_received(greeting(peers, 0))
    announced = f"{numbers} numbers, with noise from bits"
    if mine:
        peers.announce(announced)
    else:
        link.data_received(HEADER.pack(OPENS, len(announced)) + announced.encode())
    known = numbers if numbers < 10**8 else 0
    most = 8 * max(MOST_INSIDE, min(known, MOST_NUMBERS))
    link.data_received(HEADER.pack(5, most))
    assert not peers.failed.done()
    link.bytes.clear()
    link.data_received(HEADER.pack(6, most + 1) + b"x" * 100)
    assert (
        peers.failed.result()
        == f"party 0 sent a message of {most + 1} bytes, and {most} is the most"
    )
    assert transport.closed
    assert not link.bytes


@for_each("label", range(5))
def test_messages_of_our_own_are_short(label: int, mpyc: ModuleType) -> None:
    peers = make_peers(mpyc)
    from dpverify.mpc.connection import HEADER, HELLO, MOST_HELLO

    link, transport = connect(peers)
    link.data_received(greeting(peers, 0))
    link.data_received(HEADER.pack(HELLO + label, (1 << 32) - 1) + b"x" * 100)
    assert f"{MOST_HELLO} is the most" in peers.failed.result()
    assert transport.closed


@pytest.mark.parametrize(
    ("inside", "size"), [(None, 70_000), ("bits", 300), ("ratio", 300)]
)
def test_no_message_of_a_run_is_longer_than_the_limit(
    inside: str | None, size: int
) -> None:
    """The limit is reached: 8 bytes a number, and 256 bits of 256 coordinates at a time."""
    body = (
        "from dpverify.mpc import links\nfrom dpverify.mpc.fixed_point import MOST_INSIDE\n"
        "real, sizes = links.Link.send, [0]\n"
        "def kept(self, label, payload):\n"
        "    if label > links.DONE: sizes.append(len(payload))\n    real(self, label, payload)\n"
        "links.Link.send = kept\n"
        f"session.open_sum(np.arange({size}), inside={inside!r})\n"
        f"print(max(sizes) / 8 / max(MOST_INSIDE, {size}))"
    )
    with running(body, timeout=60.0) as children:
        found = ends(children)
    assert {code for code, _, _ in found} == {0}, found
    shares = [float(out) for _, out, _ in found]
    assert all(share <= 1.0 for share in shares)
    assert inside == "ratio" or all(share == 1.0 for share in shares)


def test_a_party_with_settings_that_are_too_long_says_so_itself() -> None:
    with running("pass", same="{'labels': 'x' * 70_000}", patience=600.0) as children:
        for code, _, err in ends(children):
            assert code == 2
            assert "has settings of" in err
            assert "65536 is the most" in err
