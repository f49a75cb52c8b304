"""Runs of the benchmarks that nobody measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpverify.bench import yardstick
from dpverify.bench.case import Case, Forms, Target
from dpverify.bench.child import Answer
from dpverify.bench.collect import Desk, fits
from dpverify.bench.measure import Measured, Times
from dpverify.report.bench.records import Bench, BenchInfo


def nothing(*, seed: int, **_: float) -> Forms:
    del seed
    return {"limit": lambda: None, "ours": lambda: None}


def case(name: str = "sum", *, targets: Sequence[Target] = (), **fields: object) -> Case:
    return Case(name, f"The {name}", nothing, limit="limit", targets=targets, **fields)  # type: ignore[arg-type]  # any field


def measured(seconds: Mapping[str, Sequence[float]]) -> Measured:
    times = {name: Times(list(values)) for name, values in seconds.items()}
    return Measured(times=times, yardstick=times.pop(yardstick.NAME, None))


def desk(case_: Case, passes: Sequence[Mapping[str, Sequence[float]]], group: str = "noise") -> Desk:
    made = Desk(group, case_)
    for seconds in passes:
        made.take(Answer(case=case_.name, measured=measured(seconds)))
    return made


def info(groups: Sequence[str] = ("noise",), **fields: object) -> BenchInfo:
    return BenchInfo(
        groups=list(groups),
        versions={"python": "3.11"},
        commit="abc",
        machine={"system": "Linux"},
        cores=2,
        seed=0,
        passes=9,
        rounds=5,
        **fields,  # type: ignore[arg-type]  # any field
    )


def bench(*desks: Desk, **fields: object) -> Bench:
    names = list(dict.fromkeys(each.group for each in desks))
    records = [record for each in desks if (record := each.record()) is not None]
    return Bench(
        runs=[info(names, **fields)], groups={name: f"All {name}" for name in names}, cases=records, fits=fits(desks)
    )
