"""Several parties: one opening of d numbers, all of them processes on this machine."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec

from dpverify.bench.case import BenchCase, Forms, Missing, Target, sweep

BARE = "bare input and output"
SUM = "sum"
SHARES = "sum with noise by shares"
BITS = "256 shared random bits"
RATIO = "sum with noise by the ratio of uniforms"
WORK = {BARE: "bare", SUM: "none", SHARES: "shares", BITS: "bits", RATIO: "ratio"}
SIZES = (123, 1000)  # d of a9a, and a larger d
TABLE_4 = {"Table 4 of wang2019, garbled circuits": [(22.0, 3.52), (123.0, 18.04)]}
"""Run time of one noisy aggregation for five parties with Yao's garbled circuits, on ijcnn1 and a9a."""


def _openings(names: tuple[str, ...], *, seed: int, m: int, d: int) -> Forms:
    del seed  # shares and noise come from the system's random numbers

    if find_spec("mpyc") is None:
        return dict.fromkeys(names, Missing("mpyc is not installed"))
    from dpverify.bench.cases.party_work import Parties

    parties = Parties(m)
    return {name: partial(parties.run, WORK[name], d) for name in names}


def _cases(m: int) -> tuple[BenchCase, ...]:
    sums = (BARE, SUM, SHARES)
    inside = (BITS, RATIO)
    return (
        *sweep(
            BenchCase(
                f"secure-sum-{m}-parties",
                f"An opened sum, without noise and with shares of noise, {m} parties",
                partial(_openings, sums),
                forms=sums,
                parameters={"m": m},
                item="number",
                clock="wall",
                targets=[Target(SUM, at_most=1.5), Target(SHARES, at_most=1.5, to=SUM)],
            ),
            "d",
            SIZES,
            work=lambda *, m, d: float(d),
        ),
        *sweep(
            BenchCase(
                f"noise-inside-{m}-parties",
                f"Gaussian noise made inside the computation, {m} parties, against drawing shared random bits",
                partial(_openings, inside),
                forms=inside,
                parameters={"m": m},
                item="number",
                clock="wall",
                passes=3,
                rounds=1,
                long=True,
                printed=TABLE_4 if m == 5 else {},
                targets=[
                    Target(RATIO, at_most=5.0),
                    Target(RATIO, at_most=1.05, kind="exponent"),
                ],
            ),
            "d",
            SIZES,
            work=lambda *, m, d: float(d),
        ),
    )


CASES: tuple[BenchCase, ...] = (*_cases(3), *_cases(5))
