"""One connection between two parties: labels and formats of its messages, and limits on their sizes.

A connection belongs to a party only after a complete greeting from an expected party. All other connections are
dropped, and the run continues. A message that is longer than the protocol allows ends the run before the message is
stored; the error names the party that sent it.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
import time
from collections import deque
from typing import TYPE_CHECKING

from mpyc.asyncoro import MessageExchanger

from dpverify.mpc.fixed_point import MOST_INSIDE, MOST_NUMBERS

if TYPE_CHECKING:
    from dpverify.mpc.links import Peers


# Labels of our own messages. MPyC's labels are 64-bit hashes, which equal one of ours
# with probability about 2^-62.
HELLO, ALIVE, FAILED, OPENS, DONE = (-(1 << 63) + i for i in range(5))
MOST_HELLO = 1 << 16  # bytes of a greeting or of a reason for a failure

# MPyC's formats: the index of the connecting party, which its keys follow; then the
# label and size of each message.
PARTY = struct.Struct("<H")
HEADER = struct.Struct("<qI")


class Link(MessageExchanger):  # type: ignore[misc]  # MPyC has no types
    """One connection. It receives messages of MPyC, and messages about the state of the peer."""

    __slots__ = (
        "__weakref__",
        "done",
        "heard",
        "hello",
        "knows",
        "mine",
        "opening",
        "theirs",
        "watch",
    )

    def __init__(self, watch: Peers, peer: int | None = None) -> None:
        super().__init__(watch.runtime, peer)
        self.watch = watch
        self.heard = time.monotonic()
        self.done = False
        self.knows = False  # whether the peer has said that the run failed
        self.hello: asyncio.Future[bytes] = watch.loop.create_future()
        # openings that this party has announced, but not yet the peer
        self.mine = deque[str]()
        # openings that the peer has announced, but not yet this party
        self.theirs = deque[str]()
        self.opening = 0  # size of the peer's latest opening

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send MPyC's greeting and then our settings; a server sends the settings once it knows the peer."""
        super().connection_made(transport)
        # Small messages would be delayed. asyncio sets this option, except for sockets
        # from `socket.create_server`.
        transport.get_extra_info("socket").setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )
        self.watch.add(self)
        if self.peer_pid is not None:
            self.send(HELLO, self.watch.hello)
        if self.watch.failed.done():  # the peer connected too late
            self.send(FAILED, self.watch.failed.result().encode()[:MOST_HELLO])

    def data_received(self, data: bytes) -> None:
        """Process the messages of a peer; drop a connection that does not begin with the greeting of a peer."""
        self.heard = time.monotonic()
        self.bytes.extend(data)
        if self.peer_pid is None and not self._admit():
            return
        try:
            self._sort()
        except (KeyError, IndexError, AttributeError, asyncio.InvalidStateError):
            self.watch.fail(
                f"party {self.peer_pid} sent what is no message of this protocol"
            )

    def _admit(self) -> bool:
        """Test whether an expected party has connected and sent its index, its keys and its greeting."""
        if not self.watch.expected(self.bytes):
            self._drop()
        if len(self.bytes) < PARTY.size:
            return False
        (peer,) = PARTY.unpack_from(self.bytes)
        greeting = PARTY.size + self.runtime._prss_keys_from_peer(peer)
        begin = greeting + HEADER.size
        if len(self.bytes) < begin:
            return False
        label, size = HEADER.unpack_from(self.bytes, greeting)
        is_complete = bool(len(self.bytes) >= begin + size)
        if (
            label != HELLO
            or size > MOST_HELLO
            or (
                is_complete and not is_greeting(bytes(self.bytes[begin : begin + size]))
            )
        ):
            self._drop()
            return False
        if is_complete:
            self.runtime._prss_keys_from_peer(peer, self.bytes[PARTY.size : greeting])
            del self.bytes[:greeting]
            self.peer_pid = peer  # type: ignore[misc]  # a slot of MPyC's class
            self.runtime.set_protocol(peer, self)
            self.send(HELLO, self.watch.hello)
        return is_complete

    def _drop(self) -> None:
        self.bytes.clear()
        self.watch.forget(self)
        self.transport.abort()

    def _sort(self) -> None:
        """Dispatch all complete messages; fail if a message is longer than the protocol allows."""
        while len(self.bytes) >= HEADER.size and not self.transport.is_closing():
            label, size = HEADER.unpack_from(self.bytes)
            if size > self._most(label):
                limit = self._most(label)
                self.watch.fail(
                    f"party {self.peer_pid} sent a message of {size} bytes, and {limit} is the most"
                )
                self.bytes.clear()
                self.transport.abort()
                return
            end = HEADER.size + size
            if len(self.bytes) < end:
                return
            message = bytes(self.bytes[HEADER.size : end])
            del self.bytes[:end]
            if label <= DONE:
                self.ours(label, message)
            elif label in self.buffers:
                self.buffers.pop(label).set_result(message)
            else:
                self.buffers[label] = message

    def _most(self, label: int) -> int:
        """Return the maximum size of a message in bytes, which depends on the size of the announced openings."""
        if label <= DONE:
            return MOST_HELLO
        return 8 * max(MOST_INSIDE, self.watch.opening, self.opening)

    def ours(self, label: int, message: bytes) -> None:
        """Process a message that is not one of MPyC's."""
        if label == HELLO and not self.hello.done():
            self.hello.set_result(message)
        elif label == OPENS:
            announced = message.decode("utf-8", "replace")
            self.opening = numbers_of(announced)
            self.theirs.append(announced)
            self.watch.match(self)
        elif label == DONE:
            self.done = True
        elif label == FAILED:
            self.knows = True
            self.watch.fail(message.decode("utf-8", "replace"))

    def connection_lost(self, exc: Exception | None) -> None:
        """End the run with an error that names the peer, unless the peer is done; MPyC would raise here."""
        del exc
        if self.peer_pid is None:
            self.watch.forget(self)
        elif not self.done:
            self.watch.fail(f"party {self.peer_pid} left, or died")


def is_greeting(message: bytes) -> bool:
    """Test whether a message has the form of a greeting, which carries a party's settings."""
    try:
        same, personal = json.loads(message)
    except (ValueError, TypeError, RecursionError):
        return False
    return isinstance(same, dict) and isinstance(personal, dict)


def numbers_of(announced: str) -> int:
    """Return the size of an announced opening, or 0 if the text is not an announcement."""
    match = re.match(r"([0-9]{1,8}) numbers", announced)
    return min(int(match[1]), MOST_NUMBERS) if match else 0
