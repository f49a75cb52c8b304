"""Monte Carlo: the noise-law check against drawing alone, and the engine that runs blocks in several processes."""

from __future__ import annotations

from typing import Any

from dpverify.bench.case import Case, Forms, Missing, Target, Usage, peer, sweep

WORKERS = 2
DRAW, RUNS, CHECK = "draw", "draw whole runs", "draw, whiten, sum up"
SLEEP, ENGINE, POOL, JOBLIB = "sleep", "engine", "process pool", "joblib"


def _blocks(size: int, T: int, d: int) -> dict[str, Any]:
    """One block of replications by its seed: the same normal numbers in every form, in the same order."""
    from dataclasses import replace
    from fractions import Fraction

    import numpy as np

    from dpverify.bench.naps import some_context
    from dpverify.harness import TrajectoryLaw
    from dpverify.harness.trajectory_statistics import TrajectoryStatistics
    from dpverify.kernels.tape import fill_normal
    from dpverify.papers.tran2022.checks import whole_runs

    point = {"T": Fraction(T), "d": Fraction(d), "alpha": Fraction(1, 8)}
    context, law = replace(some_context(), point=point), TrajectoryLaw(whole_runs.law)

    def draw(seed: int) -> None:
        fill_normal(np.random.default_rng(seed), np.empty(size * T * d))

    def runs(seed: int) -> None:
        whole_runs.streams(context, np.random.default_rng(seed), size)

    def check(seed: int) -> TrajectoryStatistics:
        return law.collect(context, whole_runs.streams(context, np.random.default_rng(seed), size))

    return {DRAW: draw, RUNS: runs, CHECK: check}


def _law(*, seed: int, size: int, T: int, d: int, threads: int) -> Forms:
    """A block on each thread, linear algebra on one thread each, as in a run."""
    from concurrent.futures import ThreadPoolExecutor
    from functools import partial

    import scipy.linalg  # noqa: F401  loads scipy's own BLAS, so that the limit below reaches it
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    pool, seeds = ThreadPoolExecutor(threads), range(seed, seed + threads)

    def run(form: Any) -> None:
        list(pool.map(form, seeds))

    return {name: partial(run, form) for name, form in _blocks(size, T, d).items()}


def _one_after_the_other(*, seed: int, replications: int, size: int, T: int, d: int) -> Forms:
    def run(form: Any) -> None:
        total = None
        for block in range(replications // size):
            part = form(seed + block)
            total = part if total is None else total + part

    forms = _blocks(size, T, d)
    return {
        DRAW: lambda: [forms[DRAW](seed + k) for k in range(replications // size)],
        CHECK: lambda: run(forms[CHECK]),
    }


def _memory(*, seed: int, replications: int, size: int, T: int, d: int) -> dict[str, Any]:
    return {CHECK: _one_after_the_other(seed=seed, replications=replications, size=size, T=T, d=d)[CHECK]}


def _engine(*, seed: int, tasks: int) -> Forms:
    """The same sleeping tasks in turn in one process, half of them for each of two workers; and sent to workers.

    What is timed begins when all workers are at work.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from time import perf_counter

    from dpverify.bench import naps

    del seed

    def turn() -> None:
        for _ in range(tasks // WORKERS):
            naps.nap()

    def pool() -> Usage:
        with ProcessPoolExecutor(WORKERS, multiprocessing.get_context("spawn")) as made:
            list(made.map(naps.nap, range(naps.WARM)))
            begin = perf_counter()
            list(made.map(naps.nap, range(tasks)))
            return Usage(0, {}, perf_counter() - begin)

    def by_joblib(joblib: Any) -> Any:
        def run() -> Usage:
            with joblib.Parallel(n_jobs=WORKERS) as made:
                made(joblib.delayed(naps.nap)() for _ in range(naps.WARM))
                begin = perf_counter()
                made(joblib.delayed(naps.nap)() for _ in range(tasks))
                return Usage(0, {}, perf_counter() - begin)

        return run

    theirs: Any | Missing = peer("joblib", by_joblib)
    return {
        SLEEP: turn,
        ENGINE: lambda: Usage(0, {}, naps.engine_seconds(tasks, WORKERS)),
        POOL: pool,
        JOBLIB: theirs,
    }


def _law_case(threads: int, words: str) -> Case:
    target = Target(CHECK, at_most=1 / 0.6, words="0.6 of the rate of drawing alone")
    return Case(
        f"noise-law-threads-{threads}",
        f"The noise-law check at T = 1023, d = 8, {words}",
        _law,
        limit=DRAW,
        forms=(DRAW, RUNS, CHECK),
        parameters={"size": 128, "T": 1023, "d": 8, "threads": threads},
        work=128 * threads,
        item="trajectory",
        clock="wall" if threads > 1 else "process",
        targets=[target] if threads == WORKERS else [],
    )


CASES: tuple[Case, ...] = (
    _law_case(1, "one thread"),
    _law_case(WORKERS, "two threads"),
    *sweep(
        Case(
            "replications",
            "The noise-law check over the number of replications, in blocks of 64",
            _one_after_the_other,
            limit=DRAW,
            forms=(DRAW, CHECK),
            parameters={"size": 64, "T": 255, "d": 8},
            item="trajectory",
            memory=_memory,
            targets=[Target(CHECK, at_most=0.1, kind="memory-exponent", words="flat in the number of replications")],
        ),
        "replications",
        (128, 512, 2048),
        work=lambda *, replications, size, T, d: float(replications),
    ),
    Case(
        "engine",
        "Tasks of 5 ms, sleeping, on two workers; without the start of the workers",
        _engine,
        limit=SLEEP,
        forms=(SLEEP, ENGINE, POOL, JOBLIB),
        parameters={"tasks": 400},
        work=400,
        item="task",
        clock="wall",
        sparse=(ENGINE, POOL, JOBLIB),
        peers=(POOL, JOBLIB),
        targets=[Target(ENGINE, at_most=1 / 0.98, words="0.98 of what two workers can do")],
        passes=3,
    ),
)
