"""Parties that are measured: processes that stay connected over loopback, and do one kind of opening when told to."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
from time import perf_counter
from typing import Any
from weakref import finalize

import numpy as np

from dpverify.bench.case import Usage
from dpverify.mpc.noise import CHUNK, own_noise
from dpverify.mpc.processes import python_command
from dpverify.mpc.session import Session

SHORTEST = 0.1  # seconds that one measurement lasts at least
DEVIATION = 1e6  # units, of a party's share of noise


def shared_bits(session: Session, size: int) -> None:
    """Make 256 shared random bits for each number, as many numbers at a time as noise from bits makes."""

    async def work() -> None:
        for start in range(0, size, CHUNK):
            count = 256 * min(CHUNK, size - start)
            await session.mpc.gather(session.mpc.np_random_bits(session._field, count))

    session._run(session._watch.until(work()))


def bare(session: Session, size: int) -> None:
    """Share arrays of all parties and open one, by MPyC alone."""

    async def work() -> None:
        shares = session._field.array(np.arange(size, dtype=object))
        await session.mpc.output(session.mpc.input(shares)[0])

    session._run(work())


def opened(session: Session, size: int, noise: str) -> None:
    """Open a sum as a run does, with noise made inside, of ``shares`` of the parties, or without any (``none``)."""
    units = np.arange(size)
    if noise == "shares":
        units += own_noise(random.SystemRandom(), DEVIATION, size)
    session.open_sum(units, inside="ratio" if noise == "ratio" else None)


def work_of(session: Session, name: str, size: int) -> None:
    """Do it once."""
    if name == "bits":
        shared_bits(session, size)
    elif name == "bare":
        bare(session, size)
    else:
        opened(session, size, name)


class Parties:
    """Processes of some parties; they end with this."""

    def __init__(self, parties: int) -> None:
        listeners = [socket.create_server(("127.0.0.1", 0), backlog=parties) for _ in range(parties)]
        peers = [("127.0.0.1", s.getsockname()[1]) for s in listeners]
        self._children = []
        for j, listener in enumerate(listeners):
            arguments = json.dumps([j, peers, listener.fileno()])
            command = python_command(f"from {__name__} import main; main()", arguments)
            pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
            child = subprocess.Popen(command, pass_fds=[listener.fileno()], text=True, bufsize=1, **pipes)
            self._children.append(child)
            finalize(self, end, child)
            listener.close()

    def run(self, name: str, size: int) -> Usage:
        """Let all do it, and again as often as takes long enough where it is short: seconds of one time."""
        seconds = self._all(name, size, 1)
        if seconds < SHORTEST:
            seconds = self._all(name, size, 1 + int(SHORTEST / seconds))
        return Usage(seconds=seconds)

    def _all(self, name: str, size: int, times: int) -> float:
        for child in self._children:
            assert child.stdin is not None
            child.stdin.write(f"{name} {size} {times}\n")
        lines = [child.stdout.readline() for child in self._children if child.stdout is not None]
        if not all(lines):
            raise RuntimeError(f"a party ended while {name} was measured")
        return max(map(float, lines))


def end(child: subprocess.Popen[str]) -> None:
    """End a party, and wait for it."""
    child.kill()
    child.communicate()


def main() -> None:
    """Be one of them: a line of stdin says what to do, on how many numbers and how often; stdout has its seconds."""
    index, peers, descriptor = json.loads(sys.argv[1])
    listener = socket.socket(fileno=descriptor)
    with Session(index, [(host, port) for host, port in peers], {}, {}, timeout=60.0, listener=listener) as session:
        for line in sys.stdin:
            name, size, times = line.split()
            begin = perf_counter()
            for _ in range(int(times)):
                work_of(session, name, int(size))
            sys.stdout.write(f"{(perf_counter() - begin) / int(times)}\n")
            sys.stdout.flush()
