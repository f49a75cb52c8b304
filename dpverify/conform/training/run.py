"""Run all conformance tests of a training: they examine its updates on data sets that they choose.

Noise is tested on whole runs whose gradients are 0. One test examines the batches at the ends of epochs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpverify.apart import check_timeout, packed, run_apart, unpacked
from dpverify.conform.guard import guarded_tests
from dpverify.conform.noise.law import chance_repeats, chance_repeats_text, law_tests
from dpverify.conform.noise.runs import MEAN_NAME, SCALE_NAME, mean_test, scale_test
from dpverify.conform.promise import Promise
from dpverify.conform.records import Conformance, ConformanceTest, untested_result
from dpverify.conform.run import check_options
from dpverify.conform.sampling import sampling_tests
from dpverify.conform.training.contributions import (
    contribution_tests,
    equal_contributions_test,
)
from dpverify.conform.training.runs import (
    CODE_NORM,
    CountedRuns,
    LocalRuns,
    RunPool,
    Runs,
    Training,
    derived_seed,
    pool_of,
    training_data,
)
from dpverify.conform.training.sizes import largest_size, size_tests, steps_test
from dpverify.foreign import originals_watched

# decimals in which noise is compared, because differences of weights are rounded
NOISE_DIGITS = 4
NOISE_LEVEL_PARTS = 6  # number of tests that share the level


def noise_tests(
    pool: RunPool, promise: Promise, alpha: float
) -> Iterator[ConformanceTest]:
    """Test the noise of all coordinates and steps at total level ``alpha``."""
    steps = min(pool.fewest_steps, promise.steps)
    noise = pool.noise(steps)
    x = noise / promise.deviation
    yield _fresh_numbers_test(noise, np.round(x, NOISE_DIGITS))
    level = alpha / NOISE_LEVEL_PARTS
    steps_text = (
        f"steps 1 to {steps}"
        if steps == promise.steps
        else f"steps 1 to {steps} of {promise.steps}"
    )
    mean = mean_test(x, level)
    scale = scale_test(SCALE_NAME, x, level, promise.dtype)
    if (
        not scale.passed
        and scale_test(SCALE_NAME, x - x.mean(axis=0), level, promise.dtype).passed
    ):
        scale = replace(scale, because=MEAN_NAME)
    elif not mean.passed and mean_test(x / (x.std() or 1.0), level).passed:
        mean = replace(mean, because=SCALE_NAME)
    yield replace(scale, found=f"{scale.found}; {steps_text}")
    yield mean
    because = MEAN_NAME if scale.because or scale.passed else SCALE_NAME
    centred = x - x.mean(axis=0)
    # tests that still fail have another cause
    standardized = centred / (centred.std() or 1.0)
    for result, recheck in zip(
        law_tests(x, promise, level),
        law_tests(standardized, promise, level),
        strict=True,
    ):
        yield replace(result, because=because if recheck.passed else "")


def _fresh_numbers_test(noise: Any, rounded_noise: Any) -> ConformanceTest:
    """Test that no update recurs in another step or run, and that every number has noise."""
    updates = rounded_noise.reshape(-1, rounded_noise.shape[2])
    is_repeated = len(updates) - len(np.unique(updates, axis=0)) > chance_repeats(
        len(updates)
    )
    silent_numbers = np.flatnonzero(~noise.any(axis=(0, 1))) + 1
    silent_steps = np.flatnonzero(~noise.any(axis=(0, 2))) + 1
    finding = "no noise is used twice"
    if len(silent_steps):
        finding = f"there is no noise in update {silent_steps[0]}"
    elif len(silent_numbers):
        finding = f"there is no noise in number {silent_numbers[0]} of an update of {noise.shape[2]} numbers"
    elif is_repeated:
        finding = "the same noise is used more than once"
    passed = not is_repeated and not len(silent_numbers)
    chance = chance_repeats_text(len(updates))
    sees = f"noise that is used again, in another step or run, and numbers or updates without noise{chance}"
    return ConformanceTest("fresh numbers", passed, finding, sees)


def has_last_batch(promise: Promise) -> bool:
    """Test whether epochs end with a smaller batch."""
    return promise.sampling == "epochs" and promise.examples % promise.batch > 0


def last_batch_test(pool: RunPool, promise: Promise) -> ConformanceTest:
    """Test whether each epoch ends with a batch of the remaining records."""
    remaining_records = promise.examples % promise.batch
    epoch_steps = -(-promise.examples // promise.batch)
    sizes = pool.members(promise.steps).sum(axis=2)
    is_last = np.arange(1, promise.steps + 1) % epoch_steps == 0
    expected = np.where(is_last, remaining_records, promise.batch)
    mismatches = np.argwhere(sizes != expected)
    finding = f"epochs of {epoch_steps - 1} batches of {promise.batch} and one of {remaining_records}"
    if len(mismatches):
        run, step = mismatches[0]
        finding = f"the batch of step {step + 1} has {sizes[run, step]} records, {expected[step]} are promised"
    return ConformanceTest(
        "last batch",
        not len(mismatches),
        finding,
        "a last batch that is dropped, filled up or cut",
    )


RUNS = 200  # pairs of runs whose batches and noise are tested
MIN_RUNS = 50
MAX_EXAMPLES = 2000  # each example has its own coordinate
MAX_RANKS = 4
LEVEL_PARTS = 3  # number of kinds of tests that share the level


def conformance_of_training(
    make: Training,
    promise: Promise,
    *,
    seed: int = 0,
    alpha: float = 1e-4,
    count: int = RUNS,
    ranks: int = 1,
    timeout: float = 0.0,
) -> Conformance:
    """Test whether a whole training keeps the assumptions of its accounting.

    The tests choose data sets and models, run the training many times, and examine only
    its updates. With the same seed, two data sets of the same size have the same
    batches and the same noise. The difference of the two runs then shows which records
    each batch has and how much each record contributes.

    Parameters
    ----------
    make : callable
        ``make(dataset, seed)`` builds model, loader, engine and optimizer for a
        :class:`TrainingData`, and returns an iterator of the released updates, one per
        step. An update is the noisy gradient, or the change of the weights at learning
        rate 1 without momentum; its sign does not matter. It is an array, a tensor, or
        a list of them, with one number per weight in the order of the model's
        parameters. Any other released numbers, such as running statistics, must follow
        the weights. All randomness must come from ``seed``; the global generators of
        Python, numpy and PyTorch are seeded with it before the call.
    promise : Promise
        Assumptions of the accounting. ``steps`` is the number of updates; ``examples``
        and ``batch`` are the sizes of the data set and of a batch. The tests choose the
        dimension. With Poisson sampling and ``"add-remove"`` neighbours, the training
        is also run with other numbers of records.
    seed : int
        Seed of all random draws, at least 0.
    alpha : float
        Upper bound on the probability that a correct training fails any test, above 0
        and below 1.
    count : int
        Pairs of runs whose batches and noise are tested, at least 50. More pairs detect
        smaller faults.
    ranks : int
        Number of processes that train together, 1 to 4. If it is above 1, each process
        joins a ``torch.distributed`` process group (gloo, CPU) before ``make`` is
        called. All processes get the same data set and the same seed, and must yield
        the same updates. The training must be picklable.
    timeout : float
        Time limit in seconds for one call of the training (to build it or to compute an
        update) or, on ranks, for one run. By default 0: there is no limit, and a
        training without ranks runs in this process. Otherwise it runs in a separate
        process and must be picklable.

    Returns
    -------
    Conformance
        True if every test passed.

    Raises
    ------
    ValueError
        If an argument is out of range, if the promise has ``covariance``, ``memory``,
        ``adaptive_clip``, ``clip_schedule``, a ``statistic`` or a type of 16 bits, or
        if the training must be pickled and cannot be.

    Examples
    --------
    >>> import numpy as np
    >>> import dpverify as dv
    >>> def make(dataset, seed):
    ...     rng = np.random.default_rng(seed)
    ...     for _ in range(4):
    ...         g = dataset.gradients(np.flatnonzero(rng.random(len(dataset)) < 0.25))
    ...         norms = np.linalg.norm(g, axis=1, keepdims=True)
    ...         total = (g * np.minimum(1, 0.7 / np.maximum(norms, 1e-12))).sum(axis=0)
    ...         yield (total + 2.0 * 0.7 * rng.standard_normal(total.shape)) / 4
    >>> promise = dv.Promise(sigma=2.0, clip=0.7, divisor=4, steps=4, examples=16, batch=4)
    >>> bool(dv.conformance_of_training(make, promise, count=50))
    True
    """
    check_training_options(promise, seed, alpha, count, ranks)
    check_timeout(timeout)
    load = partial(_identity, make)
    if timeout == 0.0 or ranks > 1:
        if ranks > 1:
            packed("training", make)
        return Conformance(
            list(
                all_training_tests(
                    make, load, promise, ranks, timeout, seed, alpha, count
                )
            )
        )
    data = packed("training", (make, promise))
    tests = run_apart(timeout, _tests_in_separate_process, data, seed, alpha, count)
    return Conformance(list(guarded_tests("this training", tests)))


def all_training_tests(
    make: Training,
    load: Callable[[], Training],
    promise: Promise,
    ranks: int,
    limit: float,
    seed: int,
    alpha: float,
    count: int = RUNS,
) -> Iterator[ConformanceTest]:
    """Yield all tests of a training, in this process or on ranks, which call ``load`` to get the training."""
    if ranks == 1:
        return training_tests(LocalRuns(make, promise), promise, seed, alpha, count)
    from dpverify.conform.training.ranks import training_tests_on_ranks

    return training_tests_on_ranks(load, promise, ranks, limit, seed, alpha, count)


def _identity(make: Training) -> Training:
    return make


def _tests_in_separate_process(
    data: bytes, seed: int, alpha: float, count: int
) -> Iterator[ConformanceTest]:
    make, promise = unpacked("training", data)
    yield from training_tests(LocalRuns(make, promise), promise, seed, alpha, count)


def check_training_options(
    promise: Promise, seed: int, alpha: float, count: int, ranks: int
) -> None:
    """Raise ValueError for options out of range and for promises that trainings cannot be tested for."""
    check_options(seed, alpha, 0)
    if count < MIN_RUNS:
        raise ValueError(f"count must be at least {MIN_RUNS}, got count={count}.")
    if not 1 <= ranks <= MAX_RANKS:
        raise ValueError(f"ranks must be 1 to {MAX_RANKS}, got ranks={ranks}.")
    if promise.examples > MAX_EXAMPLES:
        raise ValueError(
            f"examples must be at most {MAX_EXAMPLES} for a training, got examples={promise.examples}."
        )
    for name in ("covariance", "memory", "clip_schedule", "statistic"):
        if getattr(promise, name) is not None:
            raise ValueError(
                f"{name} must be None for a training: it is tested with the same noise in each step."
            )
    if promise.dtype not in ("float64", "float32"):
        raise ValueError(
            f"dtype must be float64 or float32 for a training, got dtype={promise.dtype!r}."
        )
    if promise.adaptive_clip:
        raise ValueError(
            "adaptive_clip must be False for a training: it is tested with one clip length."
        )


def training_tests(
    runs: Runs, promise: Promise, seed: int, alpha: float, count: int = RUNS
) -> Iterator[ConformanceTest]:
    """Yield all tests in turn, at total level ``alpha``."""
    counted = CountedRuns(runs)
    with originals_watched():
        yield from guarded_tests(
            "this training", _all_tests(counted, promise, seed, alpha, count)
        )
    finding = f"each of {counted.update_count} updates is finite"
    if counted.non_finite_count:
        finding = (
            f"{counted.non_finite_count} of {counted.update_count} updates are not finite; "
            f"the first is {counted.first_non_finite}"
        )
    sees = "NaN and infinite numbers in any update that these tests saw"
    yield ConformanceTest("finite numbers", not counted.non_finite_count, finding, sees)


def _all_tests(
    runs: Runs, promise: Promise, seed: int, alpha: float, count: int
) -> Iterator[ConformanceTest]:
    dimension = largest_size(promise)
    generator_result = _generator_test(runs, promise, dimension, seed)
    yield generator_result
    pool = pool_of(runs, promise, promise.examples, dimension, seed, count)
    family_alpha = alpha / LEVEL_PARTS
    steps_result = steps_test(pool, promise)
    yield steps_result
    if not pool.fewest_steps:
        return
    if generator_result.passed:
        yield from contribution_tests(runs, promise, dimension, seed, pool)
        yield equal_contributions_test(pool)
        yield from size_tests(runs, promise, pool, dimension, family_alpha, seed)
        if steps_result.passed:
            yield from sampling_tests(
                pool.batches(), promise, family_alpha, seed, count
            )
            if has_last_batch(promise):
                yield last_batch_test(pool, promise)
        else:
            yield untested_result(
                "batches", "the number of updates is not the promised one"
            )
    else:
        for name in ("sensitivity", "number of records", "batches"):
            yield untested_result(name, "no two runs have equal noise and batches")
    yield from noise_tests(pool, promise, family_alpha)


def _generator_test(
    runs: Runs, promise: Promise, dimension: int, seed: int
) -> ConformanceTest:
    """Test whether two runs with the same seed and data are equal; most other tests compare such runs."""
    data = training_data(np.eye(promise.examples, dimension) * CODE_NORM * promise.clip)
    first = runs.updates(data, derived_seed(seed, 0))
    second = runs.updates(data, derived_seed(seed, 0))
    are_equal = np.array_equal(first, second)
    finding = (
        "the same seed gives the same updates"
        if are_equal
        else "the same seed gives different updates"
    )
    if not are_equal:
        finding += "; only noise is tested"
    sees = "batches or noise that do not come from the seed"
    return ConformanceTest("generator", are_equal, finding, sees)
