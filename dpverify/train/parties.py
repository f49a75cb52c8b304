"""All parties of DDP-SRM on this machine: one process per party, with only its rows, connected over loopback.

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
from dpverify.mpc.limits import PartyError
from dpverify.mpc.processes import PartyProcesses
from dpverify.problems.sparse.rows import CsrRows, Rows

BATCH_STREAM = 7  # stream of the seed for batches; party j has (seed, 7, j)
CHILD = "from dpverify.train.parties import main; raise SystemExit(main())"


def rows_of(examples: int, parties: int, index: int) -> slice:
    """Return the rows of party ``index``. The split is as even as possible, and in order."""
    return slice(examples * index // parties, examples * (index + 1) // parties)


def batch_seed(seed: int, index: int) -> list[int]:
    """Return the seed for the batches of a party if one user runs all parties."""
    return [seed, BATCH_STREAM, index]


def run_parties(
    x: Rows, y: Vector, settings: DdpSettings, stops: Sequence[int], follow: Callable[[int, Vector], None],
    timeout: float = 30.0,
) -> None:  # fmt: skip
    """Run all parties on scaled rows; ``follow(t, w)`` sees the iterate of each stop, the same from all of them.

    Raises PartyError if the run ended early. All processes have ended when this function returns.
    """
    m = check.whole(1, parties=settings.parties)
    with PartyProcesses(m, CHILD, timeout) as processes:
        message = {"peers": processes.addresses, "stops": list(stops), "timeout": timeout, "width": x.shape[1]}
        message["settings"] = {name: getattr(settings, name) for name in options(DdpSettings)}
        messages = []
        for j, listener in enumerate(processes.listeners):
            part = rows_of(len(x), m, j)
            words = json.dumps(message | {"index": j, "fd": listener.fileno()}).encode()
            packed = io.BytesIO()
            np.savez(packed, **_packed(x[part]), y=y[part], told=np.frombuffer(words, dtype=np.uint8))
            messages.append(packed.getvalue())
        processes.feed(messages)
        follow_lines(processes.lines(), stops, follow)


def follow_lines(lines: Iterator[Sequence[bytes]], stops: Sequence[int], follow: Callable[[int, Vector], None]) -> None:
    """Pass on the iterate of each stop, which must be the same from all parties, and wait until all have ended."""
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
    """Run one party."""
    from dpverify.train.party import run_party
    from dpverify.train.records import Request

    packed = np.load(io.BytesIO(sys.stdin.buffer.read()))
    message = json.loads(packed["told"].tobytes())
    request = Request(DDP_SRM, **message["settings"])
    index = message["index"]
    x = packed["x"] if "x" in packed else CsrRows(**{name: packed[name] for name in SPARSE}, width=message["width"])

    def show(t: int, w: Vector) -> None:
        del t
        sys.stdout.write(" ".join(v.hex() for v in w.tolist()) + "\n")
        sys.stdout.flush()

    try:
        run_party(
            index,
            [(host, port) for host, port in message["peers"]],
            x,
            packed["y"],
            request,
            timeout=message["timeout"],
            listener=socket.socket(fileno=message["fd"]),
            batch_seed=batch_seed(message["settings"]["seed"], index),
            follow=show,
            stops=lambda _: message["stops"],
        )
    except (PartyError, check.ArgumentError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0
