"""All parties of DDP-SRM on this machine: a process each, with its own rows only, connected over loopback.

``main`` is one such process: its rows and settings come on stdin, the public iterates go to
stdout, a line each.
"""

from __future__ import annotations

import dataclasses
import io
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.typing import Vector
from dpverify.mpc.errors import PartyError
from dpverify.problems.sparse.rows import CsrRows, Rows
from dpverify.train.records import Request

BATCH_STREAM = 7  # of the seed, for the batches of party j: (seed, 7, j)
HOST = "127.0.0.1"


def rows_of(examples: int, parties: int, index: int) -> slice:
    """Say which rows party ``index`` holds: as even a split as can be, in order."""
    return slice(examples * index // parties, examples * (index + 1) // parties)


def batch_seed(seed: int, index: int) -> list[int]:
    """What draws the batches of a party where one user plays all of them."""
    return [seed, BATCH_STREAM, index]


def run_parties(
    x: Rows, y: Vector, request: Request, stops: Sequence[int], follow: Callable[[int, Vector], None],
    timeout: float = 30.0,
) -> None:  # fmt: skip
    """Run all parties on scaled rows; ``follow(t, w)`` sees the iterate of each stop, the same from all of them.

    A PartyError tells what ended the run, if something did; no process outlives this call.
    """
    m = check.whole(1, parties=request.parties)
    with _processes(m) as (children, listeners):
        peers = [(HOST, s.getsockname()[1]) for s in listeners]
        for j, child in enumerate(children):
            part = rows_of(len(x), m, j)
            told = {"index": j, "peers": peers, "stops": list(stops), "timeout": timeout, "fd": listeners[j].fileno()}
            told["request"] = {k: v for k, v in dataclasses.asdict(request).items() if not isinstance(v, Path)}
            packed = io.BytesIO()
            told["width"] = x.shape[1]
            words = np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)
            np.savez(packed, **_packed(x[part]), y=y[part], told=words)
            assert child.stdin is not None
            with suppress(BrokenPipeError):  # it has ended; its last line says why
                child.stdin.write(packed.getvalue())
                child.stdin.close()
        for t in stops:
            lines = [child.stdout.readline() for child in children if child.stdout is not None]
            if not all(lines):
                break
            if len(set(lines)) > 1:
                raise PartyError(f"parties differ in what they opened by step {t}")
            follow(t, np.array([float.fromhex(v) for v in lines[0].decode().split()]))
        errors = [child.stderr.read().decode() for child in children if child.stderr is not None]
        if any(child.wait() for child in children):
            ends = [error.strip().splitlines()[-1] for error in errors if error.strip()]
            raise PartyError(max(set(ends), key=ends.count) if ends else "a party died")


SPARSE = ("starts", "columns", "values")


def _packed(x: Rows) -> dict[str, Any]:
    """Name the arrays of a party's rows."""
    return {name: getattr(x, name) for name in SPARSE} if isinstance(x, CsrRows) else {"x": x}


@contextmanager
def _processes(parties: int) -> Iterator[tuple[list[subprocess.Popen[bytes]], list[socket.socket]]]:
    """Start a process for each party, with a listening socket of its own; none is left."""
    listeners = [socket.create_server((HOST, 0), backlog=parties) for _ in range(parties)]
    children: list[subprocess.Popen[bytes]] = []
    try:
        for listener in listeners:
            command = [sys.executable, "-c", "from dpverify.train.parties import main; raise SystemExit(main())"]
            pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
            children.append(subprocess.Popen(command, pass_fds=[listener.fileno()], **pipes))
        yield children, listeners
    finally:
        for child in children:
            child.kill()
            for pipe in (child.stdin, child.stdout, child.stderr):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()
            child.wait()
        for listener in listeners:
            listener.close()


def main() -> int:
    """Be one party."""
    from dpverify.train.party import run_party

    packed = np.load(io.BytesIO(sys.stdin.buffer.read()))
    told = json.loads(packed["told"].tobytes())
    request, index = Request(**told["request"]), told["index"]
    x = packed["x"] if "x" in packed else CsrRows(**{name: packed[name] for name in SPARSE}, width=told["width"])

    def show(t: int, w: Vector) -> None:
        del t
        sys.stdout.write(" ".join(v.hex() for v in w.tolist()) + "\n")
        sys.stdout.flush()

    try:
        run_party(
            index, [(host, port) for host, port in told["peers"]], x, packed["y"], request,
            timeout=told["timeout"], listener=socket.socket(fileno=told["fd"]),
            batch_seed=batch_seed(request.seed, index), follow=show, stops=lambda _: told["stops"],
        )  # fmt: skip
    except (PartyError, check.ArgumentError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0
