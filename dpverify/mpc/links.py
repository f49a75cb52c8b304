"""Connections between parties: made in a stated time, greeted with each other's settings, and watched while in use.

A connection counts as a party's only after a complete greeting of a party that is expected. Every other connection is
dropped, and the run goes on. A message that is longer than the protocol can send ends the run with the party's name
before it is stored.

MPyC by itself waits for ever for a party that is stopped. Here each party says every little while that it is alive as
long as it waits for others, and one that is silent for longer than the timeout ends the run of all, by name. Who gives
up tells the others why, so that they name the same party and not the messenger; who is told tells all others in turn,
so that each knows when all know, and may leave.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from mpyc.asyncoro import MessageExchanger
from mpyc.runtime import Runtime

from dpverify.mpc.fixed_point import MOST_INSIDE, MOST_NUMBERS, PartyError

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


BEAT = 0.25  # part of the timeout between two signs of life
LINGER = 5.0  # seconds for which who gives up waits at most until all others have read why
MOST_STRANGERS = 32  # connections that have not greeted yet; the oldest is dropped for a further one


class Peers:
    """All connections of one party, and the one failure that ends them."""

    def __init__(self, runtime: Runtime, same: Mapping[str, Any], own: Mapping[str, Any], timeout: float) -> None:
        self.runtime = runtime
        self.loop = runtime._loop
        self.timeout = timeout
        self._same, self._own = dict(same), dict(own)
        self.hello = json.dumps([self._same, self._own]).encode()
        self.made: list[Link] = []  # those with peers that have not said who they are, too
        self.opening = 0  # numbers of this party's latest opening
        self.failed: asyncio.Future[str] = self.loop.create_future()
        self._connected: asyncio.Future[None] = self.loop.create_future()
        runtime.parties[runtime.pid].protocol = self._connected

    @property
    def links(self) -> list[Link]:
        """Connections that stand, in the order of parties."""
        return [p.protocol for p in self.runtime.parties if isinstance(p.protocol, Link)]

    def add(self, link: Link) -> None:
        """Note a connection; of those that have not greeted yet only the latest are kept."""
        self.made.append(link)
        strangers = [candidate for candidate in self.made if candidate.peer_pid is None]
        if len(strangers) > MOST_STRANGERS:
            self.forget(strangers[0])
            strangers[0].transport.abort()

    def forget(self, link: Link) -> None:
        """Forget a connection that is not a party's."""
        if link in self.made:
            self.made.remove(link)

    def expected(self, begin: bytes | bytearray) -> bool:
        """Whether a connection that begins so may be that of a party which is to connect and has not yet."""
        pid = self.runtime.pid
        names = [PARTY.pack(peer) for peer in range(pid) if not isinstance(self.runtime.parties[peer].protocol, Link)]
        return any(name.startswith(bytes(begin[: PARTY.size])) for name in names)

    def fail(self, why: str) -> None:
        """End the run: what this party or another is at fault for; tell all, those too who are said to know it."""
        if self.failed.done():
            return
        self.failed.set_result(why)
        self.loop.set_exception_handler(lambda _loop, _context: None)  # of MPyC's tasks, which end in the middle
        for link in self.made:
            if not link.transport.is_closing():
                link.send(FAILED, why.encode()[:MOST_HELLO])

    def announce(self, what: str) -> None:
        """Tell all what this party opens next; the message comes before those of the opening."""
        self.opening = numbers_of(what)
        for link in self.links:
            link.send(OPENS, what.encode())
            link.mine.append(what)
            self.match(link)

    def match(self, link: Link) -> None:
        """Hold what a peer opens against what this party does."""
        while link.mine and link.theirs:
            mine = link.mine.popleft()
            theirs = link.theirs.popleft()
            if mine != theirs:
                self.fail(f"party {link.peer_pid} opens {theirs}, and party {self.runtime.pid} {mine}")

    async def connect(self, listener: socket.socket, patience: float) -> list[dict[str, Any]]:
        """Listen for parties before this one, connect to those after it, compare settings; what each says of itself."""
        pid = self.runtime.pid
        parties = self.runtime.parties
        if len(self.hello) > MOST_HELLO:
            raise PartyError(f"party {pid} has settings of {len(self.hello)} bytes, and {MOST_HELLO} is the most")
        server = await self.loop.create_server(lambda: Link(self), sock=listener) if pid else None
        deadline = time.monotonic() + patience
        calls = [self.loop.create_task(self._call(peer.pid, peer.host, peer.port)) for peer in parties[pid + 1 :]]
        try:
            await self.until(asyncio.wait_for(asyncio.shield(self._connected), patience))
            left = max(deadline - time.monotonic(), 0.1)
            greetings = {link.peer_pid: await self.until(asyncio.wait_for(link.hello, left)) for link in self.links}
        except TimeoutError:
            missing = [p.pid for p in parties if p.pid != pid and not isinstance(p.protocol, Link)]
            places = (f"{i} ({parties[i].host}:{parties[i].port})" if i > pid else f"{i}" for i in missing)
            raise PartyError(f"party {', '.join(places) or 'unknown'} did not come within {patience:g} s") from None
        finally:
            for call in calls:
                call.cancel()
            if server is not None:
                server.close()
        descriptions = {peer: self._compare(peer, greeting) for peer, greeting in sorted(greetings.items())} | {
            pid: self._own
        }
        return [descriptions[i] for i in range(len(parties))]

    async def _call(self, peer: int, host: str, port: int) -> None:
        """Try to reach a party, all of them at once, so that one that is late keeps no other waiting."""
        while not await self._reach(peer, host, port):
            await asyncio.sleep(0.05)

    async def _reach(self, peer: int, host: str, port: int) -> bool:
        try:
            await self.loop.create_connection(lambda: Link(self, peer), host, port)
        except (OSError, UnicodeError):  # nobody there, or no name of a host
            return False
        return True

    def _compare(self, peer: int, greeting: bytes) -> dict[str, Any]:
        """Refuse a peer whose settings differ, with the first that does; else what it says of itself."""
        try:
            theirs, description = json.loads(greeting)
            mine, names = json.loads(self.hello)[0], sorted(self._same.keys() | theirs.keys())
        except (ValueError, AttributeError, TypeError):
            raise PartyError(f"party {peer} sent what is no greeting") from None
        for name in names:
            if mine.get(name) != theirs.get(name):
                low, high = sorted(((self.runtime.pid, mine.get(name)), (peer, theirs.get(name))), key=lambda x: x[0])
                raise PartyError(f"party {low[0]} has {name} = {low[1]}, and party {high[0]} has {high[1]}")
        return dict(description)

    async def until(self, work: Any) -> Any:
        """Wait for work of all parties, showing signs of life; a PartyError once one of them fails."""
        task = asyncio.ensure_future(work)
        began = time.monotonic()
        while not task.done():
            for link in self.links:
                if not link.transport.is_closing():
                    link.send(ALIVE, b"")
            await asyncio.wait({task, self.failed}, timeout=BEAT * self.timeout, return_when="FIRST_COMPLETED")
            silent = [p for p in self.links if self._silent(max(p.heard, began)) and not p.done]
            if silent and not task.done():
                self.fail(f"party {silent[0].peer_pid} was silent for {self.timeout:g} s")
            if self.failed.done():
                task.cancel()
                raise PartyError(self.failed.result())
        return task.result()

    def _silent(self, heard: float) -> bool:
        return time.monotonic() - heard > self.timeout

    async def finish(self) -> None:
        """Tell all that this party is done, wait until they are, and close; who waits for another is alive."""
        for link in self.links:
            link.send(DONE, b"")
        began = time.monotonic()
        while not all(link.done for link in self.links) and not self.failed.done():
            silent = [p.peer_pid for p in self.links if not p.done and self._silent(max(p.heard, began))]
            if silent:
                self.fail(f"party {silent[0]} was silent for {self.timeout:g} s")
            await asyncio.sleep(0.01)
        await self.close()
        if self.failed.done():
            raise PartyError(self.failed.result())

    async def close(self) -> None:
        """Close all connections; after a failure only once all others know, since closing on unread bytes loses ours.

        Nobody waits for who is gone, nor for who has been silent for as long as ends a run.
        """
        until = time.monotonic() + min(self.timeout, LINGER)
        while self.failed.done() and time.monotonic() < until:
            await asyncio.sleep(0.02)
            if all(link.knows or link.transport.is_closing() or self._silent(link.heard) for link in self.links):
                break
        for link in self.made:
            link.transport.close()
        while any(link.transport.get_write_buffer_size() for link in self.links) and time.monotonic() < until:
            await asyncio.sleep(0.01)
