"""All connections of a party: set-up within a time limit, comparison of settings, and monitoring.

MPyC itself waits forever for a party that is stopped. Here each party regularly sends a sign of life while it waits. If
a party is silent for longer than the timeout, the run of all parties ends with an error that names it. A party that
gives up sends the reason to the others, so that all name the same party. Every party forwards the reason to all
others. A party can leave once all others have sent it the reason.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Mapping
from typing import Any

from mpyc.runtime import Runtime

from dpverify.mpc.connection import (
    ALIVE,
    DONE,
    FAILED,
    MOST_HELLO,
    OPENS,
    PARTY,
    Link,
    numbers_of,
)
from dpverify.mpc.fixed_point import PartyError

BEAT_FRACTION = 0.25  # time between two signs of life, as a fraction of the timeout
# longest time in seconds that a party which gives
# up waits for the others to read the reason
LINGER_SECONDS = 5.0
# connections without a greeting; a new connection replaces the oldest
MAX_STRANGERS = 32


class Peers:
    """All connections of one party, and the first failure, which ends them."""

    def __init__(
        self,
        runtime: Runtime,
        same: Mapping[str, Any],
        own: Mapping[str, Any],
        timeout: float,
    ) -> None:
        self.runtime = runtime
        self.loop = runtime._loop
        self.timeout = timeout
        self._same, self._own = dict(same), dict(own)
        self.hello = json.dumps([self._same, self._own]).encode()
        self.made: list[Link] = []  # includes connections to unidentified peers
        self.opening = 0  # size of this party's latest opening
        self.failed: asyncio.Future[str] = self.loop.create_future()
        self._connected: asyncio.Future[None] = self.loop.create_future()
        runtime.parties[runtime.pid].protocol = self._connected

    @property
    def links(self) -> list[Link]:
        """The established connections, in the order of parties."""
        return [
            p.protocol for p in self.runtime.parties if isinstance(p.protocol, Link)
        ]

    def add(self, link: Link) -> None:
        """Add a connection; of the connections without a greeting, only the latest are kept."""
        self.made.append(link)
        strangers = [candidate for candidate in self.made if candidate.peer_pid is None]
        if len(strangers) > MAX_STRANGERS:
            self.forget(strangers[0])
            strangers[0].transport.abort()

    def forget(self, link: Link) -> None:
        """Remove a connection that does not belong to a party."""
        if link in self.made:
            self.made.remove(link)

    def expected(self, begin: bytes | bytearray) -> bool:
        """Test whether the first bytes of a connection can come from a party that has yet to connect."""
        pid = self.runtime.pid
        names = [
            PARTY.pack(peer)
            for peer in range(pid)
            if not isinstance(self.runtime.parties[peer].protocol, Link)
        ]
        return any(name.startswith(bytes(begin[: PARTY.size])) for name in names)

    def fail(self, why: str) -> None:
        """End the run for a reason, and send the reason to all peers, including those that reported it."""
        if self.failed.done():
            return
        self.failed.set_result(why)
        # MPyC's tasks are interrupted
        self.loop.set_exception_handler(lambda _loop, _context: None)
        for link in self.made:
            if not link.transport.is_closing():
                link.send(FAILED, why.encode()[:MOST_HELLO])

    def announce(self, what: str) -> None:
        """Tell all peers what this party opens next, before the messages of the opening."""
        self.opening = numbers_of(what)
        for link in self.links:
            link.send(OPENS, what.encode())
            link.mine.append(what)
            self.match(link)

    def match(self, link: Link) -> None:
        """Compare the announced openings of a peer with those of this party."""
        while link.mine and link.theirs:
            mine = link.mine.popleft()
            theirs = link.theirs.popleft()
            if mine != theirs:
                self.fail(
                    f"party {link.peer_pid} opens {theirs}, and party {self.runtime.pid} {mine}"
                )

    async def connect(
        self, listener: socket.socket, patience: float
    ) -> list[dict[str, Any]]:
        """Accept earlier parties, connect to later ones, compare settings; return the description of each party."""
        pid = self.runtime.pid
        parties = self.runtime.parties
        if len(self.hello) > MOST_HELLO:
            raise PartyError(
                f"party {pid} has settings of {len(self.hello)} bytes, and {MOST_HELLO} is the most"
            )
        server = (
            await self.loop.create_server(lambda: Link(self), sock=listener)
            if pid
            else None
        )
        deadline = time.monotonic() + patience
        calls = [
            self.loop.create_task(self._call(peer.pid, peer.host, peer.port))
            for peer in parties[pid + 1 :]
        ]
        try:
            await self.until(
                asyncio.wait_for(asyncio.shield(self._connected), patience)
            )
            left = max(deadline - time.monotonic(), 0.1)
            greetings = {
                link.peer_pid: await self.until(asyncio.wait_for(link.hello, left))
                for link in self.links
            }
        except TimeoutError:
            missing = [
                p.pid
                for p in parties
                if p.pid != pid and not isinstance(p.protocol, Link)
            ]
            places = (
                f"{i} ({parties[i].host}:{parties[i].port})" if i > pid else f"{i}"
                for i in missing
            )
            raise PartyError(
                f"party {', '.join(places) or 'unknown'} did not come within {patience:g} s"
            ) from None
        finally:
            for call in calls:
                call.cancel()
            if server is not None:
                server.close()
        descriptions = {
            peer: self._compare(peer, greeting)
            for peer, greeting in sorted(greetings.items())
        } | {pid: self._own}
        return [descriptions[i] for i in range(len(parties))]

    async def _call(self, peer: int, host: str, port: int) -> None:
        """Try to connect to a party until it answers. All parties are tried concurrently."""
        while not await self._reach(peer, host, port):
            await asyncio.sleep(0.05)

    async def _reach(self, peer: int, host: str, port: int) -> bool:
        try:
            await self.loop.create_connection(lambda: Link(self, peer), host, port)
        except (OSError, UnicodeError):  # no server, or an invalid host name
            return False
        return True

    def _compare(self, peer: int, greeting: bytes) -> dict[str, Any]:
        """Return a peer's description of itself; raise a PartyError that names the first setting that differs."""
        try:
            theirs, description = json.loads(greeting)
            mine, names = (
                json.loads(self.hello)[0],
                sorted(self._same.keys() | theirs.keys()),
            )
        except (ValueError, AttributeError, TypeError):
            raise PartyError(f"party {peer} sent what is no greeting") from None
        for name in names:
            if mine.get(name) != theirs.get(name):
                low, high = sorted(
                    ((self.runtime.pid, mine.get(name)), (peer, theirs.get(name))),
                    key=lambda x: x[0],
                )
                raise PartyError(
                    f"party {low[0]} has {name} = {low[1]}, and party {high[0]} has {high[1]}"
                )
        return dict(description)

    async def until(self, work: Any) -> Any:
        """Wait for joint work and send signs of life meanwhile; raise a PartyError as soon as a party fails."""
        task = asyncio.ensure_future(work)
        began = time.monotonic()
        while not task.done():
            for link in self.links:
                if not link.transport.is_closing():
                    link.send(ALIVE, b"")
            await asyncio.wait(
                {task, self.failed},
                timeout=BEAT_FRACTION * self.timeout,
                return_when="FIRST_COMPLETED",
            )
            silent = [
                p
                for p in self.links
                if self._silent(max(p.heard, began)) and not p.done
            ]
            if silent and not task.done():
                self.fail(
                    f"party {silent[0].peer_pid} was silent for {self.timeout:g} s"
                )
            if self.failed.done():
                task.cancel()
                raise PartyError(self.failed.result())
        return task.result()

    def _silent(self, heard: float) -> bool:
        return time.monotonic() - heard > self.timeout

    async def finish(self) -> None:
        """Tell all peers that this party is done, wait until they are done too, and close all connections."""
        for link in self.links:
            link.send(DONE, b"")
        began = time.monotonic()
        while not all(link.done for link in self.links) and not self.failed.done():
            silent = [
                p.peer_pid
                for p in self.links
                if not p.done and self._silent(max(p.heard, began))
            ]
            if silent:
                self.fail(f"party {silent[0]} was silent for {self.timeout:g} s")
            await asyncio.sleep(0.01)
        await self.close()
        if self.failed.done():
            raise PartyError(self.failed.result())

    async def close(self) -> None:
        """Close all connections; after a failure, first wait until all peers know about it.

        Closing a connection with unread bytes would lose the reason that this party has sent. Peers that have left, or
        that have been silent for longer than the timeout, are not waited for.
        """
        until = time.monotonic() + min(self.timeout, LINGER_SECONDS)
        while self.failed.done() and time.monotonic() < until:
            await asyncio.sleep(0.02)
            if all(
                link.knows or link.transport.is_closing() or self._silent(link.heard)
                for link in self.links
            ):
                break
        for link in self.made:
            link.transport.close()
        while (
            any(link.transport.get_write_buffer_size() for link in self.links)
            and time.monotonic() < until
        ):
            await asyncio.sleep(0.01)
