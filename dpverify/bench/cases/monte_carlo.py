"""Monte Carlo: the noise-law check compared with drawing alone, and the engine that runs blocks in processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpverify.bench.case import BenchCase, Forms, Missing, Target, Usage, peer, sweep

if TYPE_CHECKING:
    from dpverify.harness.statistics.trajectory_sums import Pairs

WORKERS = 2
BLOCK = 2048  # replications per block, as in the check
DRAW = "draw"
RUNS = "draw whole runs"
CHECK = "draw, whiten, sum up"
SLEEP = "sleep"
ENGINE = "engine"
POOL = "process pool"
JOBLIB = "joblib"


def _blocks(size: int, T: int, d: int, pairs: Pairs) -> dict[str, Any]:
    """Return forms that process one block of replications by seed. All forms draw the same normal numbers in pieces."""
    from dataclasses import replace
    from fractions import Fraction

    import numpy as np

    from dpverify.bench.cases.sleeps import some_context
    from dpverify.harness.statistics.pieces import drawn_in_pieces
    from dpverify.harness.statistics.trajectory_sums import TrajectoryStatistics
    from dpverify.kernels.tape import fill_normal
    from dpverify.papers.tran2022.noise.checks import whole_runs

    point = {"T": Fraction(T), "d": Fraction(d), "alpha": Fraction(1, 8)}
    context = replace(some_context(), point=point)
    law = whole_runs.judge(pairs)

    def draw(seed: int) -> None:
        rng = whole_runs.spawned(np.random.default_rng(seed))
        for _ in drawn_in_pieces(
            size, (T, d), lambda room: fill_normal(rng, room.reshape(-1))
        ).parts:
            pass

    def runs(seed: int) -> None:
        for _ in whole_runs.streams(context, np.random.default_rng(seed), size).parts:
            pass

    def check(seed: int) -> TrajectoryStatistics:
        return law.collect(
            context, whole_runs.streams(context, np.random.default_rng(seed), size)
        )

    return {DRAW: draw, RUNS: runs, CHECK: check}


def _law(*, seed: int, size: int, T: int, d: int, threads: int) -> Forms:
    """Process a block on each thread, with single-threaded linear algebra, as in a run."""
    from concurrent.futures import ThreadPoolExecutor
    from functools import partial

    import scipy.linalg  # noqa: F401  loads scipy's own BLAS, so that the limit below reaches it
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    pool = ThreadPoolExecutor(threads)
    seeds = range(seed, seed + threads)

    def run(form: Any) -> list[Any]:
        return list(pool.map(form, seeds))

    return {
        name: partial(run, form) for name, form in _blocks(size, T, d, "signs").items()
    }


def _sequential_blocks(
    *, seed: int, replications: int, size: int, T: int, d: int
) -> Forms:
    def run(form: Any) -> Any:
        total = None
        for block in range(replications // size):
            part = form(seed + block)
            total = part if total is None else total + part
        return total

    forms = _blocks(size, T, d, "products")
    return {
        DRAW: lambda: [forms[DRAW](seed + k) for k in range(replications // size)],
        CHECK: lambda: run(forms[CHECK]),
    }


def _engine(*, seed: int, tasks: int) -> Forms:
    """Run sleeping tasks on two workers. The limit runs one worker's share of the tasks in this process."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from time import perf_counter

    from dpverify.bench.cases import sleeps

    del seed

    def sleep_in_sequence() -> None:
        for _ in range(tasks // WORKERS):
            sleeps.sleep_once()

    def pool() -> Usage:
        with ProcessPoolExecutor(
            WORKERS, multiprocessing.get_context("spawn")
        ) as executor:
            list(executor.map(sleeps.sleep_once, range(sleeps.WARM)))
            begin = perf_counter()
            list(executor.map(sleeps.sleep_once, range(tasks)))
            return Usage(seconds=perf_counter() - begin)

    def by_joblib(joblib: Any) -> Any:
        def run() -> Usage:
            with joblib.Parallel(n_jobs=WORKERS) as parallel:
                parallel(
                    joblib.delayed(sleeps.sleep_once)() for _ in range(sleeps.WARM)
                )
                begin = perf_counter()
                parallel(joblib.delayed(sleeps.sleep_once)() for _ in range(tasks))
                return Usage(seconds=perf_counter() - begin)

        return run

    joblib_form: Any | Missing = peer("joblib", by_joblib)
    return {
        SLEEP: sleep_in_sequence,
        ENGINE: lambda: Usage(seconds=sleeps.engine_seconds(tasks, WORKERS)),
        POOL: pool,
        JOBLIB: joblib_form,
    }


def _engine_from_the_start(*, seed: int, tasks: int) -> Forms:
    """Run the same tasks, including the start of the workers and their imports."""
    from dpverify.bench.cases import sleeps

    forms = _engine(seed=seed, tasks=tasks)
    return {
        SLEEP: forms[SLEEP],
        ENGINE: lambda: Usage(seconds=sleeps.engine_seconds(tasks, WORKERS, warm=0)),
    }


def _law_case(threads: int, words: str) -> BenchCase:
    target = Target(CHECK, at_most=1 / 0.6, words="0.6 of the rate of drawing alone")
    return BenchCase(
        f"noise-law-threads-{threads}",
        f"The noise-law check at T = 1023, d = 8, all pairs of steps compared by signs, {words}",
        _law,
        forms=(DRAW, RUNS, CHECK),
        parameters={"size": BLOCK, "T": 1023, "d": 8, "threads": threads},
        work=BLOCK * threads,
        item="trajectory",
        clock="wall" if threads > 1 else "process",
        targets=[target] if threads == WORKERS else [],
    )


CASES: tuple[BenchCase, ...] = (
    _law_case(1, "one thread"),
    _law_case(WORKERS, "two threads"),
    *sweep(
        BenchCase(
            "replications",
            "The noise-law check at T = 255, by inner products, over the number of replications, in blocks of 64",
            _sequential_blocks,
            forms=(DRAW, CHECK),
            parameters={"size": 64, "T": 255, "d": 8},
            item="trajectory",
            targets=[
                Target(
                    CHECK,
                    at_most=0.1,
                    kind="memory-exponent",
                    words="flat in the number of replications",
                )
            ],
        ),
        "replications",
        (128, 512, 2048),
        work=lambda *, replications, size, T, d: float(replications),
    ),
    BenchCase(
        "engine",
        "Tasks that sleep 5 ms on two running workers, without the start of the workers and their first tasks",
        _engine,
        forms=(SLEEP, ENGINE, POOL, JOBLIB),
        parameters={"tasks": 1000},
        work=1000,
        item="task",
        clock="wall",
        sparse=(POOL, JOBLIB),
        peers=(POOL, JOBLIB),
        targets=[
            Target(ENGINE, at_most=1 / 0.98, words="0.98 of what two workers can do")
        ],
        rounds=1,
    ),
    BenchCase(
        "engine-from-the-start",
        "The same with the start of the workers, from the call to the result",
        _engine_from_the_start,
        forms=(SLEEP, ENGINE),
        parameters={"tasks": 1000},
        work=1000,
        item="task",
        clock="wall",
        sparse=(SLEEP, ENGINE),
        passes=3,
    ),
)
