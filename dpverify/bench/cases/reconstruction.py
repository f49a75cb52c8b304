"""Reconstruction of Algorithm 4 at large sizes, and its memory, against reading every node once.

If the output is large, all forms write into an existing array, because the system clears the pages of a new array. A
separate form shows how much a new array costs. If the output is small, it is a new array in each call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from dpverify.bench.case import BenchCase, Forms, Target, aligned, sweep

GAMMA = 0.05
PRINTED = "literal"
LOOKED_UP = "literal, coefficients looked up"
STREAM = "stream"
READING = "reading"
NEW_OUTPUT = "stream, into a new array each time"
LARGE = (READING, PRINTED, STREAM, NEW_OUTPUT)
LARGE_STREAM = (READING, STREAM, NEW_OUTPUT)


def _forms(
    names: tuple[str, ...], *, seed: int, N: int, d: int, epochs: float
) -> Forms:
    """Compute all T = epochs N outputs from nodes of unit Gaussians."""
    import numpy as np

    from dpverify.bench.cases.kernel_limits import read_all
    from dpverify.kernels.normal import fill_normal_from, take_words
    from dpverify.kernels.tape import generator
    from dpverify.papers.tran2022.algorithms.reconstruction.literal import (
        reconstruct_literal,
    )
    from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
        Nodes,
        node_count,
    )
    from dpverify.papers.tran2022.algorithms.reconstruction.stream import reconstruct

    def nodes_of(steps: int) -> Nodes:
        numbers = aligned(3, node_count(steps), d)
        fill_normal_from(take_words(generator(seed)), numbers.reshape(-1))
        return Nodes(*numbers)

    forms: dict[str, Callable[..., Any]] = {
        PRINTED: reconstruct_literal,
        LOOKED_UP: partial(reconstruct_literal, looked_up=True),
        STREAM: reconstruct,
    }
    small = nodes_of(50)
    # compile kernels
    outputs = [
        form(small, examples=7, alpha=1 / 7, gamma=GAMMA)[0] for form in forms.values()
    ]
    if not all(
        np.allclose(output, outputs[0], rtol=1e-12, atol=1e-12) for output in outputs
    ):
        raise ValueError("the forms do not agree")
    nodes = nodes_of(round(epochs * N))
    total = aligned(d)
    out = aligned(round(epochs * N), d) if NEW_OUTPUT in names else None
    timed: dict[str, Any] = {
        name: partial(form, nodes, examples=N, alpha=1 / N, gamma=GAMMA, out=out)
        for name, form in forms.items()
    }
    timed[NEW_OUTPUT] = partial(
        reconstruct, nodes, examples=N, alpha=1 / N, gamma=GAMMA
    )
    timed[READING] = lambda: [read_all(family, total) for family in nodes]
    return {name: timed[name] for name in names}


def all_steps(*, N: int, d: int, epochs: float) -> float:
    """Return the number of steps per call."""
    return float(round(epochs * N))


def _state(*, seed: int, N: int, d: int, steps: int) -> Forms:
    """Run the steps with nodes that are made on demand, so that the added memory is that of the state."""
    from dpverify.bench.cases.kernel_limits import add_constants, run_without_nodes

    out = aligned(d)
    return {
        "writing three nodes a step": lambda: add_constants(steps, out),
        STREAM: lambda: run_without_nodes(N, d, steps, 1 / N, GAMMA),
    }


def _state_bytes(N: int, d: int) -> float:
    """Return the size of four rows of d numbers per example, plus half as much and 2 MB."""
    return 1.5 * 4 * 8 * N * d + 2e6


def reconstruction_case(
    name: str, title: str, forms: tuple[str, ...], *targets: Target, **parameters: int
) -> BenchCase:
    """Return a case with the given forms."""
    return BenchCase(
        name,
        title,
        partial(_forms, forms),
        forms=forms,
        parameters=parameters,
        item="step",
        targets=targets,
    )


AT_LARGE_SIZE = reconstruction_case(
    "large",
    "All steps at N = 1024, T = 64 N, d = 128: 400 MB of nodes, into an array of 67 MB that already exists",
    LARGE,
    Target(STREAM, at_most=5),
    Target(PRINTED, at_least=100, to=STREAM),
    N=1024,
    d=128,
    epochs=64,
)
LARGE_OVER_T = reconstruction_case(
    "large-over-t",
    "The stream at N = 1024, d = 128, into an existing array, over the number of epochs T/N",
    LARGE_STREAM,
    Target(STREAM, at_most=5),
    Target(STREAM, at_most=1.05, kind="exponent"),
    N=1024,
    d=128,
)

CASES: tuple[BenchCase, ...] = (
    replace(AT_LARGE_SIZE, work=64 * 1024, sparse=(PRINTED,), rounds=3),
    *sweep(replace(LARGE_OVER_T, rounds=2), "epochs", (32, 64, 128), work=all_steps),
    *sweep(
        BenchCase(
            "memory",
            "Memory of the stream at N = 1024, d = 64, nodes made on demand",
            _state,
            forms=("writing three nodes a step", STREAM),
            parameters={"N": 1024, "d": 64},
            item="step",
            targets=[
                Target(
                    STREAM,
                    at_most=_state_bytes(1024, 64),
                    kind="memory",
                    words="6 N d numbers",
                ),
                Target(
                    STREAM,
                    at_most=0.2,
                    kind="memory-exponent",
                    words="nothing that grows with T",
                ),
            ],
        ),
        "steps",
        (8192, 32_768, 131_072),
        work=lambda *, N, d, steps: float(steps),
    ),
)
