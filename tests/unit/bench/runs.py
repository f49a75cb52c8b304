"""Runs of the benchmarks that nobody measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpverify.bench.case import BenchCase, Forms, Target
from dpverify.bench.measure import FormTimes, Measured
from dpverify.bench.results import Bench, BenchInfo, CaseRecord
from dpverify.bench.run import case_record

Seconds = Mapping[str, Sequence[float]]


def nothing(*, seed: int, **_: float) -> Forms:
    del seed
    return {"limit": lambda: None, "ours": lambda: None}


def case(
    name: str = "sum",
    *,
    targets: Sequence[Target] = (),
    forms: Sequence[str] = ("limit", "ours"),
    **fields: object,
) -> BenchCase:
    return BenchCase(name, f"The {name}", nothing, forms, targets=targets, **fields)  # type: ignore[arg-type]  # any field


def measured(seconds: Seconds) -> Measured:
    return Measured({name: FormTimes(list(values)) for name, values in seconds.items()})


def record(
    case_: BenchCase,
    passes: Sequence[Seconds | Measured],
    group: str = "noise",
    error: str = "",
) -> CaseRecord:
    found = [each if isinstance(each, Measured) else measured(each) for each in passes]
    return case_record(group, case_, found, error)


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


def bench(*cases: CaseRecord, **fields: object) -> Bench:
    names = list(dict.fromkeys(each.group for each in cases))
    return Bench(
        runs=[info(names, **fields)],
        groups={name: f"All {name}" for name in names},
        cases=list(cases),
    )
