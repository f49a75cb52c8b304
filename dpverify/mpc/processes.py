"""Parties as child processes. They are read without blocking, and end together as soon as one fails or is stopped.

A child imports only installed modules and the checkout of dpverify, never files in the working directory.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from dpverify.mpc.fixed_point import PartyError

HOST: Final = "127.0.0.1"
POLL: Final = 0.2  # seconds between two checks of the children
# seconds that children have to end after one of
# them has ended; more than links.LINGER_SECONDS
GRACE: Final = 10.0
READ: Final = 1 << 16


def python_command(code: str, *words: str) -> list[str]:
    """Return the command of a child that runs code of dpverify, regardless of files in the working directory."""
    root = str(Path(__file__).resolve().parents[2])
    return [
        sys.executable,
        "-P",
        "-c",
        f"import sys; sys.path.append({root!r}); {code}",
        *words,
    ]


class Party:
    """One child process, with its unsent input and its output."""

    def __init__(self, index: int, listener: socket.socket, code: str) -> None:
        pipe = subprocess.PIPE
        self.index = index
        self.process = subprocess.Popen(
            python_command(code),
            pass_fds=[listener.fileno()],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
        )
        self.unsent = b""
        self.output = bytearray()
        self.errors = bytearray()
        self.stopped_at: float | None = None

    @property
    def reason(self) -> str:
        """The last line that the process wrote to stderr."""
        lines = self.errors.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""

    @property
    def is_stopped(self) -> bool:
        """Whether the process is stopped, as by SIGSTOP, according to the operating system."""
        if self.process.returncode is not None:
            return False
        with suppress(ChildProcessError, AttributeError):
            return (
                os.waitid(
                    os.P_PID, self.process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT
                )
                is not None
            )
        return False


class PartyProcesses:
    """All parties of a run on this machine, each a process with a listening socket; a context manager that ends them.

    ``code``: the program of a party. ``timeout``: seconds for which a party may be stopped before all parties are
    ended, measured with ``clock``.
    """

    def __init__(
        self,
        parties: int,
        code: str,
        timeout: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.timeout = timeout
        self.listeners = [
            socket.create_server((HOST, 0), backlog=parties) for _ in range(parties)
        ]
        self.parties: list[Party] = []
        self._code = code
        self._clock = clock
        self._selector = selectors.DefaultSelector()
        # when the first party was seen to have ended
        self._ended_at: float | None = None

    def __enter__(self) -> Self:
        try:
            for index, listener in enumerate(self.listeners):
                self.parties.append(Party(index, listener, self._code))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for party in self.parties:
            party.process.kill()
            for pipe in (
                party.process.stdin,
                party.process.stdout,
                party.process.stderr,
            ):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()
            party.process.wait()
        for listener in self.listeners:
            listener.close()
        self._selector.close()

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """The addresses at which the parties listen."""
        return [(HOST, listener.getsockname()[1]) for listener in self.listeners]

    def feed(self, messages: list[bytes]) -> None:
        """Set the input of each party, which is written to its stdin while the output of all parties is read."""
        for party, message in zip(self.parties, messages, strict=True):
            party.unsent = message
            for stream, events in (
                (party.process.stdin, selectors.EVENT_WRITE),
                (party.process.stdout, selectors.EVENT_READ),
                (party.process.stderr, selectors.EVENT_READ),
            ):
                if stream is not None:
                    os.set_blocking(stream.fileno(), False)
                    self._selector.register(stream, events, party)

    def lines(self) -> Iterator[list[bytes]]:
        """Yield lists with the next line of each party until all have ended; raise a PartyError if a party fails."""
        while True:
            while all(b"\n" in party.output for party in self.parties):
                yield [_take_line(party) for party in self.parties]
            if not self._selector.get_map() and all(
                p.process.poll() is not None for p in self.parties
            ):
                break
            self._exchange()
            self._judge()
        self._report()

    def _exchange(self) -> None:
        """Write and read what is possible within POLL seconds."""
        for key, _ in self._selector.select(POLL):
            party: Party = key.data
            if key.fileobj is party.process.stdin:
                self._write(party)
                continue
            with suppress(BlockingIOError):
                data = os.read(key.fd, READ)
                (
                    party.output
                    if key.fileobj is party.process.stdout
                    else party.errors
                ).extend(data)
                if not data:
                    self._selector.unregister(key.fileobj)

    def _write(self, party: Party) -> None:
        stream = party.process.stdin
        assert stream is not None
        with suppress(BlockingIOError):
            try:
                party.unsent = party.unsent[
                    os.write(stream.fileno(), party.unsent[:READ]) :
                ]
            except BrokenPipeError:  # the party has ended; its last line has the reason
                party.unsent = b""
            if not party.unsent:
                self._selector.unregister(stream)
                with suppress(BrokenPipeError):
                    stream.close()

    def _judge(self) -> None:
        """Raise a PartyError if a party was stopped for too long, or if only some parties have ended."""
        now = self._clock()
        for party in self.parties:
            if not party.is_stopped:
                party.stopped_at = None
            elif party.stopped_at is None:
                party.stopped_at = now
            elif now - party.stopped_at > self.timeout:
                raise PartyError(
                    f"party {party.index} was stopped for {self.timeout:g} s"
                )
        running = [party for party in self.parties if party.process.poll() is None]
        if len(running) == len(self.parties):
            return
        if self._ended_at is None:
            self._ended_at = now
        failed = any(party.process.returncode for party in self.parties)
        longest = GRACE if failed else GRACE + self.timeout
        if running and now - self._ended_at > longest:
            self._report()
            names = ", ".join(str(party.index) for party in running)
            raise PartyError(
                f"party {names} did not end within {longest:g} s of the others"
            )

    def _report(self) -> None:
        """If a party failed, raise a PartyError with the most frequent reason, or with the party that died."""
        failed = [party for party in self.parties if party.process.poll()]
        reasons = [party.reason for party in failed if party.reason]
        if reasons:
            raise PartyError(max(reasons, key=reasons.count))
        if failed:
            raise PartyError(
                f"party {failed[0].index} died, with exit code {failed[0].process.returncode}"
            )


def _take_line(party: Party) -> bytes:
    line, _, remaining = bytes(party.output).partition(b"\n")
    party.output[:] = remaining
    return line
