"""Training loops in numpy: some without a mistake, and mistakes that loops, loaders and engines make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dpverify.conform import Promise
from dpverify.conform.training import TrainingData

Array = Any
CLIP, SIGMA, BATCH, N, STEPS = 0.7, 1.3, 6, 48, 8
MICRO = 3  # records of a micro-batch
PROMISE = Promise(
    sigma=SIGMA, clip=CLIP, divisor=BATCH, steps=STEPS, examples=N, batch=BATCH
)
FIXED = Promise(
    sigma=SIGMA,
    clip=CLIP,
    divisor=BATCH,
    steps=STEPS,
    examples=N,
    batch=BATCH,
    sampling="batches",
    neighbours="replace-one",
)
ODD = 45  # records of epochs whose last batch is half as large
EPOCHS = Promise(
    sigma=SIGMA,
    clip=CLIP,
    divisor=BATCH,
    steps=2 * STEPS,
    examples=ODD,
    batch=BATCH,
    sampling="epochs",
    neighbours="replace-one",
)

Batches = Callable[[int, np.random.Generator], Iterator[Array]]


def clipped(g: Array, clip: float = CLIP) -> Array:
    return g * np.minimum(
        1.0, clip / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-12)
    )


def normal(rng: np.random.Generator, size: int, step: int, batch: Array) -> Array:
    del step, batch
    return SIGMA * CLIP * rng.standard_normal(size)


def clipped_sum(data: TrainingData, batch: Array, step: int) -> Array:
    del step
    return clipped(data.gradients(batch)).sum(axis=0)


def poisson(
    n: int, rng: np.random.Generator, rate: float = BATCH / N, steps: int = STEPS
) -> Iterator[Array]:
    for _ in range(steps):
        yield np.flatnonzero(rng.random(n) < rate)


def fixed(n: int, rng: np.random.Generator) -> Iterator[Array]:
    for _ in range(STEPS):
        yield rng.choice(n, BATCH, replace=False)


def shuffled(n: int, rng: np.random.Generator, epochs: int = 1) -> Iterator[Array]:
    for _ in range(epochs):
        order = rng.permutation(n)
        yield from (order[first : first + BATCH] for first in range(0, n, BATCH))


def train(
    data: TrainingData,
    seed: int,
    *,
    batches: Batches = poisson,
    total: Callable[[TrainingData, Array, int], Array] = clipped_sum,
    noise: Callable[[np.random.Generator, int, int, Array], Array] = normal,
    divisor: Callable[[int], float] = lambda n: BATCH,
) -> Iterator[Array]:
    """DP-SGD, each part of which can be replaced."""
    rng, noise_rng = (
        np.random.default_rng(one) for one in np.random.SeedSequence(seed).spawn(2)
    )
    for step, batch in enumerate(batches(len(data), rng)):
        update = total(data, batch, step) + noise(
            noise_rng, data.dimension, step, batch
        )
        yield update / divisor(len(data))


def micro_batches(batch: Array) -> list[Array]:
    return [batch[first : first + MICRO] for first in range(0, len(batch), MICRO)]


def accumulated(data: TrainingData, batch: Array, step: int) -> Array:
    return sum(
        (clipped_sum(data, part, step) for part in micro_batches(batch)),
        np.zeros(data.dimension),
    )


def change_of_weights(data: TrainingData, seed: int) -> Iterator[Array]:
    """Yields the change of float32 weights, by the learning rate."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal(data.dimension).astype(np.float32)
    for step, batch in enumerate(poisson(len(data), rng)):
        before = weights.copy()
        total = clipped_sum(data, batch, step) + normal(
            rng, data.dimension, step, batch
        )
        weights -= (0.1 * total / BATCH).astype(np.float32)
        yield (weights - before) / np.float32(0.1)


def scaled_by(
    norms: Callable[[TrainingData, Array], Array],
    data: TrainingData,
    batch: Array,
    step: int,
) -> Array:
    """Ghost clipping: norms first, then the sum of gradients with weights."""
    del step
    factors = np.minimum(1.0, CLIP / np.maximum(norms(data, batch), 1e-12))
    return factors @ data.gradients(batch)


def ghost_norms(data: TrainingData, batch: Array) -> Array:
    """Norms by inner products of the positions of a sequence in float32, which do not make its gradient."""
    if data.model != "sequence":
        return np.linalg.norm(data.gradients(batch), axis=1)
    inputs = (data[batch] * np.array([1.0, -1.0])[:, None]).astype(np.float32)
    return np.sqrt(
        np.maximum((inputs @ inputs.transpose(0, 2, 1)).sum(axis=(1, 2)), 0.0)
    )


def exact_ghost_norms(data: TrainingData, batch: Array) -> Array:
    """Ghost norms, computed from differences of positions where they cancel."""
    if data.model != "sequence":
        return np.linalg.norm(data.gradients(batch), axis=1)
    return np.linalg.norm(data[batch][:, 0] - data[batch][:, 1], axis=1)


def wrong_ghost_norms(data: TrainingData, batch: Array) -> Array:
    """The inner products of two different positions are forgotten."""
    if data.model != "sequence":
        return np.linalg.norm(data.gradients(batch), axis=1)
    return np.linalg.norm(data[batch], axis=(1, 2))


RIGHT: dict[str, tuple[Callable[..., Any], Promise]] = {
    "Poisson samples": (train, PROMISE),
    "accumulation": (partial(train, total=accumulated), PROMISE),
    "change of float32 weights": (change_of_weights, PROMISE),
    "ghost clipping": (
        partial(train, total=partial(scaled_by, exact_ghost_norms)),
        PROMISE,
    ),
    "fixed batches": (partial(train, batches=fixed), FIXED),
    "epochs with a smaller last batch": (
        partial(train, batches=partial(shuffled, epochs=2)),
        EPOCHS,
    ),
}


def without_empty(n: int, rng: np.random.Generator) -> Iterator[Array]:
    return (batch for batch in poisson(n, rng) if len(batch))


def refilled(n: int, rng: np.random.Generator) -> Iterator[Array]:
    """Empty batches are drawn again."""
    while True:
        yield from without_empty(n, rng)


def without_last(n: int, rng: np.random.Generator) -> Iterator[Array]:
    """The last batch of an epoch is dropped, and more epochs are made."""
    while True:
        yield from (batch for batch in shuffled(n, rng) if len(batch) == BATCH)


def first_of(
    steps: int, batches: Batches, n: int, rng: np.random.Generator
) -> Iterator[Array]:
    for _, batch in zip(range(steps), batches(n, rng), strict=False):
        yield batch


def twice(n: int, rng: np.random.Generator) -> Iterator[Array]:
    """Record 0 is in a batch twice."""
    for batch in poisson(n, rng):
        yield np.concatenate([batch, batch[batch == 0]])


def unless_eleven(data: TrainingData, batch: Array, step: int) -> Array:
    """Batches of one size, which few runs have, are not clipped."""
    return (
        data.gradients(batch).sum(axis=0)
        if len(batch) == 11
        else clipped_sum(data, batch, step)
    )


def of_batch(data: TrainingData, batch: Array, step: int) -> Array:
    del step
    return clipped(data.gradients(batch).sum(axis=0, keepdims=True))[0]


def by_layer(data: TrainingData, batch: Array, step: int) -> Array:
    del step
    g = data.gradients(batch)
    ends = np.cumsum(data.layers)
    return np.hstack(
        [
            clipped(g[:, end - size : end])
            for end, size in zip(ends, data.layers, strict=True)
        ]
    ).sum(axis=0)


def by_median(data: TrainingData, batch: Array, step: int) -> Array:
    g = data.gradients(batch)
    median = np.median(np.linalg.norm(g, axis=1)) if len(batch) else CLIP
    return clipped(g, min(CLIP, float(median))).sum(axis=0)


def means_clipped(data: TrainingData, batch: Array, step: int) -> Array:
    """The mean of each micro-batch is clipped, in place of each record."""
    del step
    means = [data.gradients(part).mean(axis=0) for part in micro_batches(batch)]
    return (
        MICRO * clipped(np.array(means)).sum(axis=0)
        if means
        else np.zeros(data.dimension)
    )


def clipped_mean(data: TrainingData, batch: Array, step: int) -> Array:
    """All micro-batches are averaged first, and the result is clipped."""
    del step
    mean = data.gradients(batch).sum(axis=0, keepdims=True) / BATCH
    return BATCH * clipped(mean)[0]


def forgotten(data: TrainingData, batch: Array, step: int) -> Array:
    """The last micro-batch is not added if there are several."""
    parts = micro_batches(batch)
    return accumulated(
        data, np.concatenate(parts[:-1]) if len(parts) > 1 else batch, step
    )


def late(data: TrainingData, batch: Array, step: int) -> Array:
    g = data.gradients(batch)
    return (g if step == STEPS - 2 else clipped(g)).sum(axis=0)


def for_each_part(
    rng: np.random.Generator, size: int, step: int, batch: Array
) -> Array:
    return np.sqrt(max(1, len(micro_batches(batch)))) * normal(rng, size, step, batch)


def not_at_the_end(
    rng: np.random.Generator, size: int, step: int, batch: Array
) -> Array:
    return normal(rng, size, step, batch) * (step != STEPS - 1)


def without_noise_if_empty(
    rng: np.random.Generator, size: int, step: int, batch: Array
) -> Array:
    return normal(rng, size, step, batch) * (len(batch) > 0)


def same_noise(rng: np.random.Generator, size: int, step: int, batch: Array) -> Array:
    return normal(np.random.default_rng(step), size, step, batch)


def divided_by_drawn(data: TrainingData, batch: Array, step: int) -> Array:
    return clipped_sum(data, batch, step) * BATCH / max(len(batch), 1)


def with_statistics(data: TrainingData, seed: int) -> Iterator[Array]:
    """The running mean of the inputs is released with the weights."""
    rng = np.random.default_rng(seed)
    mean = 0.0
    for step, batch in enumerate(poisson(len(data), rng)):
        update = (
            clipped_sum(data, batch, step) + normal(rng, data.dimension, step, batch)
        ) / BATCH
        mean = 0.9 * mean + 0.1 * (data.gradients(batch).mean() if len(batch) else 0.0)
        yield np.append(update, mean)


def moved_by_statistics(data: TrainingData, batch: Array, step: int) -> Array:
    """A part of the weights follows the mean of the batch without the optimizer."""
    return clipped_sum(data, batch, step) + 0.1 * data.gradients(batch).sum(axis=0)


def epoch_of(n: int, rng: np.random.Generator) -> Iterator[Array]:
    """One epoch of Poisson samples: its length is the number of batches that the records fill."""
    return poisson(n, rng, BATCH / N, -(-n // BATCH))


def rate_of_loader(n: int, rng: np.random.Generator) -> Iterator[Array]:
    """The rate is one over the number of batches of a loader."""
    return poisson(n, rng, 1.0 / -(-n // BATCH))


MISTAKES: dict[str, tuple[Callable[..., Any], Promise, str]] = {
    "the divisor depends on the number of records": (
        partial(train, divisor=lambda n: BATCH * n / N),
        PROMISE,
        "number of records and divisor",
    ),
    "the divisor is rounded from the number of records": (
        partial(train, divisor=lambda n: int(n / -(-n // BATCH))),
        PROMISE,
        "number of records and divisor",
    ),
    "the number of steps depends on the number of records": (
        partial(train, batches=epoch_of),
        PROMISE,
        "number of records and steps",
    ),
    "the rate depends on the number of records": (
        partial(train, batches=lambda n, rng: poisson(n, rng, BATCH / n)),
        PROMISE,
        "number of records and rate",
    ),
    "the rate is one over the length of the loader": (
        partial(train, batches=rate_of_loader),
        PROMISE,
        "number of records and rate",
    ),
    "the loader drops the last batch": (
        partial(
            train, batches=lambda n, rng: first_of(2 * STEPS, without_last, n, rng)
        ),
        EPOCHS,
        "batches",
    ),
    "the loader drops the last batch and ends": (
        partial(
            train,
            batches=lambda n, rng: first_of(2 * (ODD // BATCH), without_last, n, rng),
        ),
        EPOCHS,
        "number of steps",
    ),
    "the loader drops empty batches": (
        partial(train, batches=without_empty),
        PROMISE,
        "number of",
    ),
    "the loader draws again for empty batches": (
        partial(train, batches=lambda n, rng: first_of(STEPS, refilled, n, rng)),
        PROMISE,
        "number of records and rate",
    ),
    "shuffled batches for Poisson samples": (
        partial(
            train,
            batches=lambda n, rng: first_of(
                STEPS, partial(shuffled, epochs=STEPS), n, rng
            ),
        ),
        PROMISE,
        "small batches",
    ),
    "each batch is clipped": (partial(train, total=of_batch), PROMISE, "sensitivity"),
    "the clip length is the median of the batch": (
        partial(train, total=by_median),
        PROMISE,
        "sensitivity",
    ),
    "each layer is clipped": (partial(train, total=by_layer), PROMISE, "sensitivity"),
    "batches of eleven are not clipped": (
        partial(train, total=unless_eleven),
        PROMISE,
        "sensitivity",
    ),
    "means of micro-batches are clipped": (
        partial(train, total=means_clipped),
        PROMISE,
        "sensitivity",
    ),
    "the mean of accumulated micro-batches is clipped": (
        partial(train, total=clipped_mean),
        PROMISE,
        "sensitivity",
    ),
    "the last micro-batch is forgotten": (
        partial(train, total=forgotten),
        PROMISE,
        "inclusion",
    ),
    "noise for each micro-batch": (
        partial(train, noise=for_each_part),
        PROMISE,
        "scale of noise",
    ),
    "no noise at the end of an epoch": (
        partial(train, noise=not_at_the_end),
        PROMISE,
        "fresh numbers",
    ),
    "no noise for empty batches": (
        partial(train, noise=without_noise_if_empty),
        PROMISE,
        "empty batches",
    ),
    "noise from a fixed seed": (
        partial(train, noise=same_noise),
        PROMISE,
        "fresh numbers",
    ),
    "division by the drawn batch": (
        partial(train, total=divided_by_drawn),
        PROMISE,
        "sensitivity",
    ),
    "a norm without the products of positions": (
        partial(train, total=partial(scaled_by, wrong_ghost_norms)),
        PROMISE,
        "sensitivity",
    ),
    "a norm from inner products that cancel in float32": (
        partial(train, total=partial(scaled_by, ghost_norms)),
        PROMISE,
        "sensitivity",
    ),
    "a record twice in a batch": (
        partial(train, batches=twice),
        PROMISE,
        "contribution",
    ),
    "running statistics are released": (with_statistics, PROMISE, "fresh numbers"),
    "weights that follow the batch without the optimizer": (
        partial(train, total=moved_by_statistics),
        PROMISE,
        "sensitivity",
    ),
    "a late step is not clipped": (partial(train, total=late), PROMISE, "sensitivity"),
    "the same batches for every seed": (
        partial(train, batches=lambda n, rng: poisson(n, np.random.default_rng(0))),
        PROMISE,
        "seeds of batches",
    ),
}
"""Training, promise, and the first fault that is found."""
