"""Every form of every case of ``dpverify bench``, timed by pytest-benchmark in this process.

For a look at one thing, and for its plots and files. Forms follow one another here; ``dpverify bench`` measures them in
turns and in several processes, and its numbers are the ones to quote.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from time import perf_counter

import pytest
from _pytest.mark import ParameterSet  # pytest names it from 9.2 on
from pytest_benchmark.fixture import BenchmarkFixture

from dpverify.bench.case import BenchCase, Forms, Missing, Usage, select
from dpverify.bench.measure import CLOCKS, calls_for

ROUNDS = 3
SHORTEST = 0.01  # seconds of one measurement
LONG = 2.0  # seconds of a call that is timed once


def found() -> Iterator[ParameterSet]:
    for group in select([]):
        for case in group.cases:
            for form in case.forms:
                mark = pytest.mark.benchmark(
                    group=f"{group.name}: {case.name}, limit {case.limit}"
                )
                yield pytest.param(
                    case, form, id=f"{group.name}-{case.name}-{form}", marks=mark
                )


# the forms of a case follow one another: its input is made once, and no two at a time
@lru_cache(maxsize=1)
def prepared(case: BenchCase) -> Forms:
    return case.prepare(seed=0, **case.parameters)


@pytest.mark.parametrize(("case", "form"), list(found()))
def test_form(benchmark: BenchmarkFixture, case: BenchCase, form: str) -> None:
    work = prepared(case)[form]
    if isinstance(work, Missing):
        pytest.skip(work.why)
    rounds, calls = (1 if form in case.sparse else ROUNDS), 1
    if form not in case.sparse:
        begin = perf_counter()
        told = work()
        if perf_counter() - begin > LONG:
            rounds = 1
        if not isinstance(told, Usage):  # a command is a measurement by itself
            calls = calls_for(work, CLOCKS["wall"], SHORTEST)[0]
    benchmark.pedantic(work, rounds=rounds, iterations=calls)  # type: ignore[no-untyped-call]  # the plugin types its fixture alone
    benchmark.extra_info.update(
        case.parameters, limit=case.limit, item=case.item, items=case.work
    )
