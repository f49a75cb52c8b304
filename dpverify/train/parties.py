"""All parties of DDP-SRM on this machine: a process each, with its own rows only, connected over loopback.

``main`` is one such process: its rows and settings come on stdin, the public iterates go to
stdout, a line each.
"""

from __future__ import annotations

import io
import json
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dpverify.algorithms.ddp_srm import DDP_SRM, DdpSettings
from dpverify.algorithms.settings import options
from dpverify.kernels import check
from dpverify.kernels.typing import Vector
from dpverify.mpc.errors import PartyError
from dpverify.mpc.processes import PartyProcesses
from dpverify.problems.sparse.rows import CsrRows, Rows

BATCH_STREAM = 7  # of the seed, for the batches of party j: (seed, 7, j)
CHILD = "from dpverify.train.parties import main; raise SystemExit(main())"


def rows_of(examples: int, parties: int, index: int) -> slice:
    """Say which rows party ``index`` holds: as even a split as can be, in order."""
    return slice(examples * index // parties, examples * (index + 1) // parties)


def batch_seed(seed: int, index: int) -> list[int]:
    """What draws the batches of a party where one user plays all of them."""
    return [seed, BATCH_STREAM, index]


def run_parties(
    x: Rows, y: Vector, settings: DdpSettings, stops: Sequence[int], follow: Callable[[int, Vector], None],
    timeout: float = 30.0,
) -> None:  # fmt: skip
    """Run all parties on scaled rows; ``follow(t, w)`` sees the iterate of each stop, the same from all of them.

    A PartyError tells what ended the run, if something did; no process outlives this call.
    """
    m = check.whole(1, parties=settings.parties)
    with PartyProcesses(m, CHILD, timeout) as processes:
        told = {"peers": processes.addresses, "stops": list(stops), "timeout": timeout, "width": x.shape[1]}
        told["settings"] = {name: getattr(settings, name) for name in options(DdpSettings)}
        messages = []
        for j, listener in enumerate(processes.listeners):
            part = rows_of(len(x), m, j)
            words = json.dumps(told | {"index": j, "fd": listener.fileno()}).encode()
            packed = io.BytesIO()
            np.savez(packed, **_packed(x[part]), y=y[part], told=np.frombuffer(words, dtype=np.uint8))
            messages.append(packed.getvalue())
        processes.feed(messages)
        follow_lines(processes.lines(), stops, follow)


def follow_lines(lines: Iterator[Sequence[bytes]], stops: Sequence[int], follow: Callable[[int, Vector], None]) -> None:
    """Hand on the iterate of each stop, which all parties must have written alike, and wait for the end of all."""
    for t in stops:
        written = next(lines, None)
        if written is None:
            raise PartyError(f"the parties ended before step {t}")
        if len(set(written)) > 1:
            raise PartyError(f"parties differ in what they opened by step {t}")
        follow(t, np.array([float.fromhex(v) for v in written[0].decode().split()]))
    for _ in lines:
        pass


SPARSE = ("starts", "columns", "values")


def _packed(x: Rows) -> dict[str, Any]:
    """Name the arrays of a party's rows."""
    return {name: getattr(x, name) for name in SPARSE} if isinstance(x, CsrRows) else {"x": x}


def main() -> int:
    """Be one party."""
    from dpverify.train.party import run_party
    from dpverify.train.records import Request

    packed = np.load(io.BytesIO(sys.stdin.buffer.read()))
    told = json.loads(packed["told"].tobytes())
    request = Request(DDP_SRM, **told["settings"])
    index = told["index"]
    x = packed["x"] if "x" in packed else CsrRows(**{name: packed[name] for name in SPARSE}, width=told["width"])

    def show(t: int, w: Vector) -> None:
        del t
        sys.stdout.write(" ".join(v.hex() for v in w.tolist()) + "\n")
        sys.stdout.flush()

    try:
        run_party(
            index,
            [(host, port) for host, port in told["peers"]],
            x,
            packed["y"],
            request,
            timeout=told["timeout"],
            listener=socket.socket(fileno=told["fd"]),
            batch_seed=batch_seed(told["settings"]["seed"], index),
            follow=show,
            stops=lambda _: told["stops"],
        )
    except (PartyError, check.ArgumentError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0
