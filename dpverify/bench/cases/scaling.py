"""Run time of Algorithm 4 over T, N and d: as printed and as a stream, against reading every node once."""

from __future__ import annotations

from dpverify.bench.case import BenchCase, Target, sweep
from dpverify.bench.cases.reconstruction import (
    LOOKED_UP,
    PRINTED,
    READING,
    STREAM,
    all_steps,
    reconstruction_case,
)

ALL = (READING, PRINTED, LOOKED_UP, STREAM)

LINEAR = Target(STREAM, at_most=1.1, kind="exponent", words="linear, as reading")

OVER_T = reconstruction_case(
    "over-t",
    "All steps at N = 256, d = 8, over the number of epochs T/N",
    ALL,
    *(
        Target(literal, at_least=15, to=STREAM, at=(64,))
        for literal in (PRINTED, LOOKED_UP)
    ),
    LINEAR,
    N=256,
    d=8,
)
OVER_N = reconstruction_case(
    "over-n",
    "All steps at T = 8 N, d = 16, over N (two sizes are not powers of two)",
    ALL,
    LINEAR,
    d=16,
    epochs=8,
)
OVER_D = reconstruction_case(
    "over-d", "All steps at N = 256, T = 8 N, over d", ALL, LINEAR, N=256, epochs=8
)

CASES: tuple[BenchCase, ...] = (
    *sweep(OVER_T, "epochs", (8, 16, 32, 64), work=all_steps),
    *sweep(OVER_N, "N", (64, 255, 256, 257, 1024), work=all_steps),
    *sweep(OVER_D, "d", (1, 8, 64, 512), work=all_steps),
)
