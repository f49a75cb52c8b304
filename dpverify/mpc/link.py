"""One connection between two parties: the greeting, the limits of messages, and what a message is for.

A connection counts as a party's only after a complete greeting of a party that is expected. Every other connection is
dropped, and the run goes on. A message that is longer than the protocol can send ends the run with the party's name
before it is stored.
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

from dpverify.mpc.limits import MOST_INSIDE, MOST_NUMBERS

if TYPE_CHECKING:
    from dpverify.mpc.links import Peers

# Labels of messages that are not MPyC's: its own are hashes of 64 bits, which these are not but with chance 2^-62.
HELLO, ALIVE, FAILED, OPENS, DONE = (-(1 << 63) + i for i in range(5))
MOST_HELLO = 1 << 16  # bytes that a party may say of itself or of its failure

# As MPyC sends them: the party that connects, whose keys follow, and then label and size of each message.
PARTY = struct.Struct("<H")
HEADER = struct.Struct("<qI")


class Link(MessageExchanger):  # type: ignore[misc]  # MPyC has no types
    """One connection; what arrives is MPyC's, or tells of the peer's life and end."""

    __slots__ = ("__weakref__", "done", "heard", "hello", "knows", "mine", "opening", "theirs", "watch")

    def __init__(self, watch: Peers, peer: int | None = None) -> None:
        super().__init__(watch.runtime, peer)
        self.watch = watch
        self.heard = time.monotonic()
        self.done = False
        self.knows = False  # that the run has failed: it said so
        self.hello: asyncio.Future[bytes] = watch.loop.create_future()
        self.mine = deque[str]()  # what this party opens, until the peer has announced the same
        self.theirs = deque[str]()  # what the peer opens, until this party has announced the same
        self.opening = 0  # numbers of the peer's latest opening

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send what MPyC sends, and then our own settings; a server does so once it knows the peer."""
        super().connection_made(transport)
        # asyncio does so too, but not for sockets that `socket.create_server` accepts: small messages would wait.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.watch.add(self)
        if self.peer_pid is not None:
            self.send(HELLO, self.watch.hello)
        if self.watch.failed.done():  # too late
            self.send(FAILED, self.watch.failed.result().encode()[:MOST_HELLO])

    def data_received(self, data: bytes) -> None:
        """Sort the messages of a peer; a connection that does not begin with the greeting of a peer is dropped."""
        self.heard = time.monotonic()
        self.bytes.extend(data)
        if self.peer_pid is None and not self._admit():
            return
        try:
            self._sort()
        except (KeyError, IndexError, AttributeError, asyncio.InvalidStateError):
            self.watch.fail(f"party {self.peer_pid} sent what is no message of this protocol")

    def _admit(self) -> bool:
        """Decide whether the other side is a party that is expected: it names itself, sends its keys, and greets."""
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
            or (is_complete and not is_greeting(bytes(self.bytes[begin : begin + size])))
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
        """Hand on every message that is complete; refuse one that is longer than the protocol can send."""
        while len(self.bytes) >= HEADER.size and not self.transport.is_closing():
            label, size = HEADER.unpack_from(self.bytes)
            if size > self._most(label):
                limit = self._most(label)
                self.watch.fail(f"party {self.peer_pid} sent a message of {size} bytes, and {limit} is the most")
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
        """How many bytes a message may have: what is announced of the opening that it belongs to."""
        if label <= DONE:
            return MOST_HELLO
        return 8 * max(MOST_INSIDE, self.watch.opening, self.opening)

    def ours(self, label: int, message: bytes) -> None:
        """Take a message that is not MPyC's."""
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
        """Name the peer, unless it is done; MPyC would raise here."""
        del exc
        if self.peer_pid is None:
            self.watch.forget(self)
        elif not self.done:
            self.watch.fail(f"party {self.peer_pid} left, or died")


def is_greeting(message: bytes) -> bool:
    """Whether a message has the form of the settings that parties send each other first."""
    try:
        same, personal = json.loads(message)
    except (ValueError, TypeError, RecursionError):
        return False
    return isinstance(same, dict) and isinstance(personal, dict)


def numbers_of(announced: str) -> int:
    """How many numbers an announced opening has; 0 where the words are not those of an announcement."""
    match = re.match(r"([0-9]{1,8}) numbers", announced)
    return min(int(match[1]), MOST_NUMBERS) if match else 0
