"""Reconstruction of Algorithm 4 at every step: as printed and as a stream, against reading every node once.

The output is a new array each time, but where it is large all forms write into one that is there before: the system
clears the pages of a new one, whoever fills it. What that adds to the stream is a form of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpverify.bench.case import Case, Forms, Target, sweep

GAMMA = 0.05
PRINTED, LOOKED_UP, STREAM, READING = "literal", "literal, coefficients looked up", "stream", "reading"
NEW_OUTPUT = "stream, into a new array each time"


def _forms(*, seed: int, N: int, d: int, epochs: float, one_output: bool = False) -> Forms:
    """All T = epochs N outputs, from nodes of unit Gaussians; a new array each time, or always the same."""
    from functools import partial

    import numpy as np

    from dpverify.bench.cases.arrays import aligned
    from dpverify.bench.cases.reconstruction_limits import read_all
    from dpverify.kernels.normal import fill_normal_from, take_words
    from dpverify.kernels.tape import generator
    from dpverify.papers.tran2022.algorithms.reconstruction.literal import reconstruct_literal
    from dpverify.papers.tran2022.algorithms.reconstruction.nodes import Nodes, node_count
    from dpverify.papers.tran2022.algorithms.reconstruction.stream import reconstruct

    def nodes_of(steps: int) -> Nodes:
        made = aligned(3, node_count(steps), d)
        fill_normal_from(take_words(generator(seed)), made.reshape(-1))
        return Nodes(*made)

    forms: dict[str, Callable[..., Any]] = {
        PRINTED: reconstruct_literal,
        LOOKED_UP: partial(reconstruct_literal, looked_up=True),
        STREAM: reconstruct,
    }
    small = nodes_of(50)
    found = [form(small, examples=7, alpha=1 / 7, gamma=GAMMA)[0] for form in forms.values()]  # compiles
    if not all(np.allclose(one, found[0], rtol=1e-12, atol=1e-12) for one in found):
        raise ValueError("the forms do not agree")
    nodes, total = nodes_of(round(epochs * N)), aligned(d)
    out = aligned(round(epochs * N), d) if one_output else None
    timed: dict[str, Any] = {
        name: partial(form, nodes, examples=N, alpha=1 / N, gamma=GAMMA, out=out) for name, form in forms.items()
    }
    if one_output:
        timed[NEW_OUTPUT] = partial(reconstruct, nodes, examples=N, alpha=1 / N, gamma=GAMMA)
    return {READING: lambda: [read_all(family, total) for family in nodes], **timed}


def _one_output(*, seed: int, N: int, d: int, epochs: float) -> Forms:
    return _forms(seed=seed, N=N, d=d, epochs=epochs, one_output=True)


def _without_literal(*, seed: int, N: int, d: int, epochs: float) -> Forms:
    forms = _one_output(seed=seed, N=N, d=d, epochs=epochs)
    return {name: forms[name] for name in (READING, STREAM, NEW_OUTPUT)}


def _large(*, seed: int, N: int, d: int, epochs: float) -> Forms:
    forms = _one_output(seed=seed, N=N, d=d, epochs=epochs)
    return {name: forms[name] for name in (READING, PRINTED, STREAM, NEW_OUTPUT)}


def _counts(*, N: int, d: int, epochs: float) -> dict[str, dict[str, float]]:
    """Exact, from the bits of t and N; the terms of the printed coefficients are numbers, not vectors."""
    from dpverify.papers.tran2022.run_time.operation_counts_bounds import coefficient_terms, literal_total, stream_total

    steps = round(epochs * N)
    literal, stream = literal_total(steps, N), stream_total(steps, N)
    vectors, nodes = "additions of vectors", "nodes read"
    found = {vectors: float(literal.adds), nodes: float(literal.reads)}
    return {
        PRINTED: {**found, "terms of coefficients": float(coefficient_terms(steps, N))},
        LOOKED_UP: found,
        STREAM: {vectors: float(stream.adds), nodes: float(stream.reads)},
    }


def _counts_of_large(*, N: int, d: int, epochs: float) -> dict[str, dict[str, float]]:
    found = _counts(N=N, d=d, epochs=epochs)
    return {PRINTED: found[PRINTED], STREAM: found[STREAM], NEW_OUTPUT: found[STREAM]}


def _stream_counts(*, N: int, d: int, epochs: float) -> dict[str, dict[str, float]]:
    found = _counts_of_large(N=N, d=d, epochs=epochs)
    return {name: found[name] for name in (STREAM, NEW_OUTPUT)}


def _steps(*, N: int, d: int, epochs: float) -> float:
    return float(round(epochs * N))


def _state(*, seed: int, N: int, d: int, steps: int) -> dict[str, Any]:
    """Step after step with nodes that are made when they are needed: what stays is the state."""

    def run() -> None:
        from dpverify.bench.cases.reconstruction_limits import run_without_nodes

        run_without_nodes(N, d, steps, 1 / N, GAMMA)

    return {STREAM: run}


def _state_times(*, seed: int, N: int, d: int, steps: int) -> Forms:
    from dpverify.bench.cases.arrays import aligned
    from dpverify.bench.cases.reconstruction_limits import add_constants

    run, out = _state(seed=seed, N=N, d=d, steps=steps)[STREAM], aligned(d)
    return {"writing three nodes a step": lambda: add_constants(steps, out), STREAM: run}


def _state_bytes(N: int, d: int) -> float:
    """Four rows of d numbers for each example, and half as much again for all else."""
    return 1.5 * 4 * 8 * N * d + 2e6


CASES: tuple[Case, ...] = (
    *sweep(
        Case(
            "over-t",
            "All steps at N = 256, d = 8, over the number of epochs T/N",
            _forms,
            limit=READING,
            parameters={"N": 256, "d": 8},
            forms=(READING, PRINTED, LOOKED_UP, STREAM),
            item="step",
            counts=_counts,
            targets=[Target(literal, at_least=15, to=STREAM, at=(64,)) for literal in (PRINTED, LOOKED_UP)],
        ),
        "epochs",
        (8, 16, 32, 64),
        work=_steps,
    ),
    *sweep(
        Case(
            "over-n",
            "All steps at T = 8 N, d = 16, N a power of two, one less and one more",
            _forms,
            limit=READING,
            parameters={"d": 16, "epochs": 8},
            forms=(READING, PRINTED, LOOKED_UP, STREAM),
            item="step",
            counts=_counts,
        ),
        "N",
        (255, 256, 257, 512, 1024),
        work=_steps,
    ),
    *sweep(
        Case(
            "over-d",
            "All steps at N = 256, T = 8 N, over d",
            _forms,
            limit=READING,
            parameters={"N": 256, "epochs": 8},
            forms=(READING, PRINTED, LOOKED_UP, STREAM),
            item="step",
            counts=_counts,
        ),
        "d",
        (1, 8, 64, 512),
        work=_steps,
    ),
    Case(
        "large",
        "All steps at N = 1024, T = 64 N, d = 128: 400 MB of nodes, into 67 MB that are there before",
        _large,
        limit=READING,
        parameters={"N": 1024, "d": 128, "epochs": 64},
        forms=(READING, PRINTED, STREAM, NEW_OUTPUT),
        work=64 * 1024,
        item="step",
        counts=_counts_of_large,
        sparse=(PRINTED,),
        targets=[Target(STREAM, at_most=5), Target(PRINTED, at_least=100, to=STREAM)],
        rounds=3,
    ),
    *sweep(
        Case(
            "large-over-t",
            "The stream at N = 1024, d = 128, into an array that is there before, over the number of epochs T/N",
            _without_literal,
            limit=READING,
            parameters={"N": 1024, "d": 128},
            forms=(READING, STREAM, NEW_OUTPUT),
            item="step",
            counts=_stream_counts,
            targets=[Target(STREAM, at_most=5), Target(STREAM, at_most=1.05, kind="exponent")],
            rounds=2,
        ),
        "epochs",
        (32, 64, 128),
        work=_steps,
    ),
    *sweep(
        Case(
            "memory",
            "Memory of the stream at N = 1024, d = 64, nodes made as they are needed",
            _state_times,
            limit="writing three nodes a step",
            parameters={"N": 1024, "d": 64},
            forms=("writing three nodes a step", STREAM),
            item="step",
            memory=_state,
            targets=[
                Target(STREAM, at_most=_state_bytes(1024, 64), kind="memory", words="4 N d numbers and half as much"),
                Target(STREAM, at_most=0.2, kind="memory-exponent", words="nothing that grows with T"),
            ],
        ),
        "steps",
        (8192, 32_768, 131_072),
        work=lambda *, N, d, steps: float(steps),
    ),
)
