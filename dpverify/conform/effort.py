"""How much is drawn in large dimensions, and the memory that this takes."""

from __future__ import annotations

from dpverify.conform.coverage import ALL_STEPS, WINDOW, batch_sizes, tested_steps
from dpverify.conform.records import Promise
from dpverify.kernels import check

MOST_NUMBERS = 2**25  # of noise in one array, 268 MB; a run of few steps is kept whole, however long its vectors are
LEAST_WORK = 1.5e9  # what all tests together may take, about 15 s of numpy; the unit is a pass over one number
WORK_PER_ROOT = 6e6  # in large dimensions, times the root of the dimension
NOISE_WORK = 3  # of drawing one number of noise
RUNS = 0.2  # shares of the work: whole runs at gradients of 0
SAMPLES = 0.2  # noise at other gradients
SEARCH = 0.3  # what one example changes
STATE = 0.2
ARRAYS = 4  # of the largest batch: it, its copy, and what an optimizer makes of it
NOISE_ARRAYS = 3  # as large as all runs: their noise, a copy, and what a test makes of it
STEP_VECTORS = 64  # vectors of the dimension that the tests hold besides
SHORTEST = 2  # runs, which their means and variances need


def affordable(share: float, promise: Promise, numbers: float) -> int:
    """Return how many steps a share of the work allows, with so many numbers in a batch; at least 1."""
    work = max(LEAST_WORK, WORK_PER_ROOT * promise.dimension**0.5)
    return max(1, int(share * work / (numbers + NOISE_WORK * promise.released_dimension)))


def steps_of_runs(promise: Promise) -> int:
    """Return how many steps of a run have their noise tested: all of a short one, parts of a long one."""
    last = tested_steps(promise)[-1] + 1
    if promise.covariance is not None:
        return promise.steps
    return last if last <= ALL_STEPS else 3 * WINDOW


def noise_runs(promise: Promise, size: int, requested: int) -> int:
    """Return how many whole runs with batches of this size can be kept and paid for, at most ``requested``."""
    steps = steps_of_runs(promise)
    fit = MOST_NUMBERS // (steps * promise.released_dimension)
    paid = affordable(RUNS / 3, promise, size * promise.dimension) // steps
    return min(requested, max(SHORTEST, min(fit, paid)))


def check_memory(promise: Promise, outputs: int = 0) -> None:
    """Refuse a promise whose tests do not fit in the memory of this machine, before anything is drawn."""
    d = promise.released_dimension
    runs = max(MOST_NUMBERS, SHORTEST * steps_of_runs(promise) * d)
    floats = (
        ARRAYS * max(batch_sizes(promise)) * promise.dimension
        + NOISE_ARRAYS * min(runs, 600 * steps_of_runs(promise) * d)
        + STEP_VECTORS * d
        + ARRAYS * (promise.examples + promise.steps * promise.batch)
        + 4 * outputs * 2 * d
    )
    sizes = {"dimension": promise.dimension, "batch": promise.batch, "steps": promise.steps}
    check.memory(floats, **sizes, examples=promise.examples, **({"outputs": outputs} if outputs else {}))
