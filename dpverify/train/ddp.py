"""DDP-SRM of wang2019 with all parties on this machine: processes, scales of the opened sums, and the guarantee.

Each party is a process that has only its own rows; the processes are connected over
loopback. ``main`` is the program of a party: it reads its rows and settings from stdin,
and writes each public iterate to stdout as a line.

sigma is the standard deviation of the noise over the sensitivity of the rounded sum. A batch has equally many examples
of each party. Party j draws its examples at the rate b_j/n_j, independently of the other parties, so the accountant
uses the largest of these rates.
"""

from __future__ import annotations

import io
import json
import math
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from dpverify.algorithms.algorithm import sampled_epsilon
from dpverify.algorithms.dp_srm import DDP_SRM, DdpSettings, sum_moves
from dpverify.algorithms.settings import options
from dpverify.kernels import check
from dpverify.kernels.typing import Vector
from dpverify.mpc.fixed_point import (
    DEVIATIONS,
    Inside,
    PartyError,
    Scale,
    choose_scale,
    largest_sigma,
)
from dpverify.mpc.processes import PartyProcesses
from dpverify.privacy import binomial_noise, ratio_noise
from dpverify.privacy.subsampling import without_replacement_rdp
from dpverify.problems.sparse.rows import CsrRows, Rows

BATCH_STREAM = 7  # stream of the seed for batches; party j uses (seed, 7, j)
CHILD = "from dpverify.train.ddp import main; raise SystemExit(main())"


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
    """Run all parties on scaled rows, and call ``follow(t, w)`` with the iterate at each stop.

    Raises PartyError if the run ended early or the parties' iterates differ. All processes have ended when this
    function returns.
    """
    m = check.whole(1, parties=settings.parties)
    with PartyProcesses(m, CHILD, timeout) as processes:
        message = {
            "peers": processes.addresses,
            "stops": list(stops),
            "timeout": timeout,
            "width": x.shape[1],
        }
        message["settings"] = {
            name: getattr(settings, name) for name in options(DdpSettings)
        }
        messages = []
        for j, listener in enumerate(processes.listeners):
            part = rows_of(len(x), m, j)
            words = json.dumps(message | {"index": j, "fd": listener.fileno()}).encode()
            packed = io.BytesIO()
            np.savez(
                packed,
                **_packed(x[part]),
                y=y[part],
                told=np.frombuffer(words, dtype=np.uint8),
            )
            messages.append(packed.getvalue())
        processes.feed(messages)
        follow_lines(processes.lines(), stops, follow)


def follow_lines(
    lines: Iterator[Sequence[bytes]],
    stops: Sequence[int],
    follow: Callable[[int, Vector], None],
) -> None:
    """Call ``follow`` with the iterate at each stop, which must be the same for all parties; wait until all end."""
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
    """Return the arrays of a party's rows by name."""
    return (
        {name: getattr(x, name) for name in SPARSE}
        if isinstance(x, CsrRows)
        else {"x": x}
    )


def main() -> int:
    """Run one party and return its exit code."""
    from dpverify.train.party import run_party
    from dpverify.train.records import Request

    packed = np.load(io.BytesIO(sys.stdin.buffer.read()))
    message = json.loads(packed["told"].tobytes())
    request = Request(DDP_SRM, **message["settings"])
    index = message["index"]
    x = (
        packed["x"]
        if "x" in packed
        else CsrRows(**{name: packed[name] for name in SPARSE}, width=message["width"])
    )

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


RESERVED_SHARE: Final = 0.01
"""Fraction of delta for the distance between the exact and the accounted distribution of noise made inside."""


def scales_of(s: DdpSettings, dimension: int) -> tuple[Scale, Scale]:
    """Return the scale of the first sum and the scale of the later sums."""
    first, later = (
        choose_scale(s.noise, move, s.sigma, s.parties, dimension, s.fraction_bits)
        for move in sum_moves(s)
    )
    return first, later


def check_batch(s: DdpSettings, sizes: Sequence[int]) -> None:
    """Raise an ArgumentError if the parties cannot draw equal parts of a batch."""
    m = len(sizes)
    if s.batch % m or s.batch // m > min(sizes):
        rule = f"must be a multiple of the {m} parties, at most {m} times {min(sizes)}, the fewest examples of one"
        raise check.ArgumentError("batch", s.batch, rule)


def even_split(examples: int, parties: int) -> list[int]:
    """Return the number of examples of each party when a data set is split among them."""
    parts = (rows_of(examples, parties, j) for j in range(parties))
    return [part.stop - part.start for part in parts]


def rounding_bound(s: DdpSettings, dimension: int, smoothness: float) -> float:
    """Bound the distance between the last iterate and that of an unrounded run on the union, with the same batches.

    Every opened mean is within r = sqrt(d) (m/2) unit/b of the exact mean. Line 5 moves theta by 1/(2L) times the
    projection of v_p onto a ball, and clipping is a projection; projections do not increase distances. Let e_t be the
    distance between the estimates, and D_t be L times the distance between the iterates. Then D_(t+1) <= D_t + e_t/2
    and e_(t+1) <= (1 - gamma) e_t + D_(t+1) + (1 - gamma) D_t + r, with D_0 = 0 and e_0 = r. The bound ignores the
    rounding of floats, which is far smaller.
    """
    rounded = [
        math.sqrt(dimension) * s.parties / 2 * scale.unit / s.batch
        for scale in scales_of(s, dimension)
    ]
    iterates, estimates = 0.0, rounded[0]
    for _ in range(s.steps):
        moved = iterates + estimates / 2.0
        estimates = (1.0 - s.gamma) * (estimates + iterates) + moved + rounded[1]
        iterates = moved
    return iterates / smoothness


def ddp_epsilon(
    s: DdpSettings, sizes: Sequence[int], dimension: int, delta: float
) -> float:
    """Bound epsilon of the whole run, for replacing one example and against any floor((m-1)/2) colluding parties."""
    rate = s.batch / len(sizes) / min(sizes)
    if s.noise == "shares":
        return sampled_epsilon(rate, s.sigma, s.steps, delta)
    shift, numbers = DEVIATIONS[s.noise] / s.sigma, float(s.steps * dimension)
    law = binomial_noise if s.noise == "bits" else ratio_noise
    epsilon = _renyi_epsilon(
        law.renyi_bounds(shift), rate, s.steps, (1.0 - RESERVED_SHARE) * delta
    )
    return (
        epsilon
        if law.delta_spent(numbers, epsilon) <= RESERVED_SHARE * delta
        else math.inf
    )


def with_inside_sigma(
    s: DdpSettings,
    noise: Inside,
    sizes: Sequence[int],
    dimension: int,
    epsilon: float,
    delta: float,
) -> DdpSettings:
    """Return the settings with the smallest sigma, to six digits, for which ``ddp_epsilon`` certifies ``epsilon``.

    This is for noise that is made inside the computation. The search begins at the largest sigma that the fixed-point
    numbers allow and halves it, because accounting is slowest for small noise.
    """

    def certified(sigma: float) -> bool:
        return (
            ddp_epsilon(
                msgspec.structs.replace(s, sigma=sigma), sizes, dimension, delta
            )
            <= epsilon
        )

    high = largest_sigma(noise, dimension)
    if not certified(high):
        least = ddp_epsilon(
            msgspec.structs.replace(s, sigma=high), sizes, dimension, delta
        )
        rule = f"is out of reach at delta={delta!r} for noise={noise}: with the most noise, sigma={high:g}, "
        rule += (
            f"{least:g} is certified"
            if math.isfinite(least)
            else "nothing is certified"
        )
        raise check.ArgumentError("epsilon", epsilon, rule)
    low = 0.5 * high
    while certified(low):
        high = low
        low = 0.5 * low
    while high > (1.0 + 1e-6) * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if certified(middle) else (middle, high)
    return msgspec.structs.replace(s, sigma=high)


def _renyi_epsilon(
    bounds: Sequence[float], rate: float, steps: int, delta: float
) -> float:
    """Return the smallest epsilon from Renyi bounds of orders 2, 3, ... on one release, or infinity."""
    from dpverify.privacy.conversions import improved_epsilon  # loads scipy

    epsilons = [math.inf]
    for order, bound in enumerate(bounds, start=2):
        if math.isfinite(bound):
            rdp = steps * without_replacement_rdp(order, rate, bounds[: order - 1])
            epsilons.append(improved_epsilon(order, rdp, delta))
    return min(epsilons)
