"""Party processes for benchmarks: they stay connected over loopback and run openings on request."""

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

MIN_SECONDS = 0.1  # minimal seconds per measurement
DEVIATION = 1e6  # standard deviation of a party's share of noise, in units


def shared_bits(session: Session, size: int) -> None:
    """Generate 256 shared random bits per number, in the same chunks as for noise from bits."""

    async def work() -> None:
        for start in range(0, size, CHUNK):
            count = 256 * min(CHUNK, size - start)
            await session.mpc.gather(session.mpc.np_random_bits(session._field, count))

    session._run(session._watch.until(work()))


def bare(session: Session, size: int) -> None:
    """Share arrays of all parties and open one of them, with MPyC only."""

    async def work() -> None:
        shares = session._field.array(np.arange(size, dtype=object))
        await session.mpc.output(session.mpc.input(shares)[0])

    session._run(work())


def opened(session: Session, size: int, noise: str) -> None:
    """Open a sum as a run does; ``noise``: inside (``ratio``), by ``shares`` of the parties, or ``none``."""
    units = np.arange(size)
    if noise == "shares":
        units += own_noise(random.SystemRandom(), DEVIATION, size)
    session.open_sum(units, inside="ratio" if noise == "ratio" else None)


def work_of(session: Session, name: str, size: int) -> None:
    """Run the named work once."""
    if name == "bits":
        shared_bits(session, size)
    elif name == "bare":
        bare(session, size)
    else:
        opened(session, size, name)


class Parties:
    """Processes of several parties, which end with this object."""

    def __init__(self, parties: int) -> None:
        listeners = [
            socket.create_server(("127.0.0.1", 0), backlog=parties)
            for _ in range(parties)
        ]
        peers = [("127.0.0.1", s.getsockname()[1]) for s in listeners]
        self._children = []
        for j, listener in enumerate(listeners):
            arguments = json.dumps([j, peers, listener.fileno()])
            command = python_command(f"from {__name__} import main; main()", arguments)
            pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
            child = subprocess.Popen(
                command, pass_fds=[listener.fileno()], text=True, bufsize=1, **pipes
            )
            self._children.append(child)
            finalize(self, end, child)
            listener.close()

    def run(self, name: str, size: int) -> Usage:
        """Return the seconds of one execution by all parties; repeat short work for at least :data:`MIN_SECONDS`."""
        seconds = self._slowest_seconds(name, size, 1)
        if seconds < MIN_SECONDS:
            seconds = self._slowest_seconds(name, size, 1 + int(MIN_SECONDS / seconds))
        return Usage(seconds=seconds)

    def _slowest_seconds(self, name: str, size: int, times: int) -> float:
        for child in self._children:
            assert child.stdin is not None
            child.stdin.write(f"{name} {size} {times}\n")
        lines = [
            child.stdout.readline()
            for child in self._children
            if child.stdout is not None
        ]
        if not all(lines):
            raise RuntimeError(f"a party ended while {name} was measured")
        return max(map(float, lines))


def end(child: subprocess.Popen[str]) -> None:
    """Kill a party process and wait for its end."""
    child.kill()
    child.communicate()


def main() -> None:
    """Run one party: read work, size and repetitions from lines of stdin, and write the seconds to stdout."""
    index, peers, descriptor = json.loads(sys.argv[1])
    listener = socket.socket(fileno=descriptor)
    with Session(
        index,
        [(host, port) for host, port in peers],
        {},
        {},
        timeout=60.0,
        listener=listener,
    ) as session:
        for line in sys.stdin:
            name, size, times = line.split()
            begin = perf_counter()
            for _ in range(int(times)):
                work_of(session, name, int(size))
            sys.stdout.write(f"{(perf_counter() - begin) / int(times)}\n")
            sys.stdout.flush()
