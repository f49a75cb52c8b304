"""``dpverify train`` without the command line: functions that take plain arguments and return an exit code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpverify.algorithms.settings import Settings, described, options
from dpverify.kernels.check import ArgumentError
from dpverify.ledger.records import encode
from dpverify.problems.data import Dataset, load_dataset
from dpverify.problems.errors import DataError
from dpverify.problems.regression import scaled
from dpverify.report.files import answer, deliver
from dpverify.report.numbers import show_float
from dpverify.report.text.console import rounds_on_stderr
from dpverify.report.words import plural
from dpverify.train.ddp import ddp_epsilon
from dpverify.train.records import (
    NOT_CERTIFIED,
    PartyResult,
    Point,
    Request,
    TrainResult,
)
from dpverify.train.run import train

HOST = re.compile(r"[!-~]{1,255}")
PORT = re.compile(r"[0-9]{1,5}")  # ASCII digits only, and short enough for int()


def run_train(
    algorithm: str | None = None,
    *,
    json: str | None = None,
    figure: Path | None = None,
    **arguments: Any,
) -> int:
    """Train as requested by ``Request(algorithm, **arguments)``, show the progress, and return the exit code.

    The results are written as JSON (``-`` for stdout) and as an SVG figure.
    """

    def work() -> bool:
        request = Request(algorithm, **arguments)
        with rounds_on_stderr() as progress:

            def report(step: int, steps: int, point: Point) -> None:
                progress(
                    step,
                    steps,
                    f"loss {point.loss:.4g}, gradient norm {point.gradient_norm:.4g}",
                )

            result = train(request, report, load(request, progress))

        def draw() -> bytes:
            from dpverify.train.figure import svg  # loads matplotlib

            return svg(result)

        deliver(summary(result), encode(result), json, figure, draw)
        return result.interrupted

    return answer(work, json, figure)


def run_party_command(
    request: Request,
    *,
    index: int,
    peers: str,
    json: str | None,
    timeout: float,
    patience: float,
) -> int:
    """Run one party of the computation, write the public results (``-`` for stdout), and return the exit code.

    If the party's file is unusable, print the reason here, and tell the other parties so that they do not wait.
    """
    is_unusable = False

    def work() -> bool:
        nonlocal is_unusable
        addresses = read_peers(peers)
        try:
            with rounds_on_stderr() as progress:
                dataset = load(request, progress)
            rows = scaled(dataset.x, request.settings["scale"])
        except DataError:
            is_unusable = True
            raise
        from dpverify.train.party import run_party  # the extra

        how: dict[str, Any] = {
            "timeout": timeout,
            "patience": patience,
            "classes": dataset.classes,
        }
        run, s, sizes = run_party(index, addresses, rows, dataset.y, request, **how)
        privacy = NOT_CERTIFIED
        if request.delta is not None and s.sigma > 0.0:
            epsilon = ddp_epsilon(s, sizes, rows.shape[1], request.delta)
            guaranteed = f"epsilon = {epsilon:.6g}, delta = {request.delta:.6g}"
            privacy = (
                f"{guaranteed}, for replacing one example, certified in real arithmetic"
            )
        result = PartyResult(
            settings=s, privacy=privacy, w=run.w.tolist(), output=run.output.tolist()
        )
        name = request.algorithm.name
        text = f"{name}, party {index} of {len(sizes)}: {s.steps} steps\nprivacy: {privacy}"
        deliver(text, encode(result), json, None, bytes)
        return False

    code = answer(work, json)
    if is_unusable:
        from dpverify.train.party import decline

        with suppress(ArgumentError, KeyboardInterrupt):
            decline(
                index, read_peers(peers), request, timeout=timeout, patience=patience
            )
    return code


def load(request: Request, progress: Callable[[int, int, str], None]) -> Dataset:
    """Return the requested data set; show the progress of reading."""
    data = request.data

    def report(done: int, total: int) -> None:
        progress(done, total, f"reading {data}")

    most_classes = request.algorithm.most_classes
    return load_dataset(
        data, standardise=request.standardise, most=most_classes, progress=report
    )


def read_peers(text: str) -> list[tuple[str, int]]:
    """Return the addresses of all parties from ``host:port`` items separated by commas; they must be distinct."""
    addresses = []
    for part in text.split(","):
        host, _, port = part.strip().rpartition(":")
        if (
            not HOST.fullmatch(host)
            or not PORT.fullmatch(port)
            or not 0 < int(port) < 1 << 16
        ):
            raise ArgumentError("peers", part, "must be host:port, separated by commas")
        if (host, int(port)) in addresses:
            raise ArgumentError("peers", part, "must be another address for each party")
        addresses.append((host, int(port)))
    return addresses


# points of the path in the summary, including the first and the last
PRINTED_POINTS = 11


def summary(result: TrainResult) -> str:
    """Return a summary of the run, in several lines."""
    return "\n".join(
        (*_setting(result), "", *_table(result.path), "", *_ending(result))
    )


def _setting(result: TrainResult) -> Iterator[str]:
    s = result.settings
    c = result.constants
    data = result.data
    yield f"{result.algorithm} on {data.name}: N = {data.n}, d = {data.d}, classes {data.called}"
    chosen = ", ".join(f"{letter} = {value}" for letter, value in shown_settings(s))
    yield f"{chosen}, seed {s.seed}"
    bounds = (
        f"G = {c.lipschitz:.6g}, L = {c.smoothness:.6g}, F(w_1) - inf F <= {c.gap:.6g}"
    )
    yield f"certified: {bounds} (lam = {show_float(s.lam)}, rows: {s.scale})"
    counts = ", ".join(
        f"{name} = {show_float(value)}" for name, value in c.counts.items()
    )
    is_alone = len(c.node_std) == 1
    deviations = ", ".join(
        show_float(value) + ("" if is_alone else f" ({name})")
        for name, value in c.node_std.items()
    )
    yield (
        f"deviation of a node's noise: {deviations}"
        if counts
        else f"deviation of the noise: {deviations}"
    )
    if counts:
        yield f"counts of nodes: {counts}, as printed"


COMMON = options(Settings).keys() - {"steps"}
"""Settings of the problem, which are printed on a separate line."""


def shown_settings(s: Settings) -> Iterator[tuple[str, str]]:
    """Yield the letter and the value of T and of each setting of the optimizer."""
    for name, option in described(type(s)).items():
        value = getattr(s, name)
        if name not in COMMON:
            yield (
                option.setting.letter,
                show_float(value) if isinstance(value, float) else str(value),
            )


def _table(path: Sequence[Point]) -> Iterator[str]:
    yield f"{'step':>10}  {'loss':>12}  {'gradient norm':>13}"
    last = len(path) - 1
    chosen = sorted(
        {round(i * last / (PRINTED_POINTS - 1)) for i in range(PRINTED_POINTS)}
    )
    for point in (path[i] for i in chosen):
        loss = f"{point.loss:.6f}" if point.loss < 1e5 else f"{point.loss:.4e}"
        yield f"{point.step:>10}  {loss:>12}  {point.gradient_norm:>13.6f}"


def _ending(result: TrainResult) -> Iterator[str]:
    done = result.path[-1].step
    if result.interrupted:
        yield f"stopped after {done} of {result.settings.steps} steps"
    last = result.path[-1].gradient_norm
    mean = result.mean_gradient_norm
    counted = plural(max(len(result.path) - 1, 1), "iterate")
    yield f"gradient norm: {last:.6f} at the last iterate, {mean:.6f} at a random one (mean over {counted})"
    yield f"{done} steps in {result.seconds:.2f} s, measurements and first compilation included"
    yield f"privacy: {result.privacy}"
    yield from (f"  {note}" for note in result.notes)
