"""Mistakes that were reported in public threads, made again for arrays of any library, each with a correct twin.

From the root of a checkout `dpverify conform tests.unit.conform.reported:mistakes` tests them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dpverify.conform import PrivateOptimizer, Promise
from tests.unit.conform.catalogue import (
    BATCH,
    CLIP,
    SIGMA,
    Array,
    clipped,
    dp_sgd,
    drawn,
    namespace,
    noisy,
    normal,
    of_noise,
    poisson,
    prefix,
    promise,
)

RESTART = 3  # steps of a tree
STEPS = 6
PART = 4  # examples of a micro-batch
PADDED = 64


class Report(NamedTuple):
    """A mistake, its twin, and where the mistake was reported: owner, repository and thread on GitHub."""

    url: str
    mistake: PrivateOptimizer
    twin: PrivateOptimizer
    promise: dict[str, Any] = {}


def sum_of(total: Callable[[Array], Array]) -> PrivateOptimizer:
    return PrivateOptimizer(noisy(total))


def by_layers(g: Array, clip: float) -> Array:
    return (
        namespace(g)
        .hstack([clipped(g[:, :3], clip), clipped(g[:, 3:], clip)])
        .sum(axis=0)
    )


def micro_batches(g: Array) -> list[Array]:
    return [g[first : first + PART] for first in range(0, len(g), PART)]


def accumulated(g: Array) -> Array:
    return (
        clipped(g).sum(axis=0)
        if len(g) <= PART
        else sum(clipped(part).sum(axis=0) for part in micro_batches(g))
    )


def overwritten(g: Array) -> Array:
    """The sum is the gradient's own memory, which the next micro-batch overwrites before it is added."""
    parts = micro_batches(g)
    last = clipped(parts[-1] if parts else g).sum(axis=0)
    return last if len(parts) < 2 else 2 * last


def padded(g: Array) -> Array:
    """Append gradients of 0 up to one size."""
    xp = namespace(g)
    return (
        clipped(xp.concat([g, 0 * xp.tile(g[:1], (PADDED - len(g), 1))])).sum(axis=0)
        if len(g)
        else g.sum(axis=0)
    )


def padded_by_the_last(g: Array) -> Array:
    """Append the last example up to a multiple of four: its index is -1."""
    xp = namespace(g)
    missing = -len(g) % PART
    return clipped(
        xp.concat([g, xp.tile(g[-1:], (missing, 1))]) if len(g) and missing else g
    ).sum(axis=0)


def noise_first(state: Any, g: Array, rng: Any) -> tuple[Any, Array]:
    """Each gradient gets its noise before it is clipped."""
    xp = namespace(g)
    rows = [g[i : i + 1] + normal(rng, g)[None, :] for i in range(len(g))]
    return state, clipped(xp.concat(rows) if rows else g).sum(axis=0) / BATCH


def some_noise(rng: Any, g: Array) -> Array:
    """Coordinates that are not among the accepted ones stay as they are."""
    return normal(rng, g) * (rng.random(g.shape[1]) < 0.7)


def unless_single(rng: Any, g: Array) -> Array:
    return normal(rng, g) * (len(g) > 1)


def one_sided(rng: Any, g: Array) -> Array:
    return SIGMA * CLIP * rng.random(g.shape[1])


def twice_the_mean(state: Any, g: Array, rng: Any) -> tuple[Any, Array]:
    """Two backward passes are accumulated, and the sum is divided by the size of one of them."""
    return state, (accumulated(g) + normal(rng, g)) / (BATCH / 2)


def prefix_sums(*, keeps_noise: bool) -> PrivateOptimizer:
    """Release sums of all gradients so far, with noise of a tree that starts again after three steps."""

    def step(state: Any, g: Array, rng: Any) -> tuple[Any, Array]:
        t, total, old, nodes = state
        t = t + 1
        level = (t & -t).bit_length() - 1
        nodes = {at: z for at, z in nodes.items() if at > level}
        nodes[level] = normal(rng, g)
        total = total + clipped(g).sum(axis=0)
        noise = old + sum(nodes.values())
        after = (
            (t, total, old, nodes)
            if t < RESTART
            else (0, total, noise if keeps_noise else old, {})
        )
        return after, (total + noise) / BATCH

    return PrivateOptimizer(step, start=lambda: (0, 0.0, 0.0, {}))


def nodes_of(t: int) -> set[tuple[int, tuple[int, int]]]:
    """Return the nodes whose noise is in the sum of the first steps: those of earlier trees at their end."""
    trees, last = divmod(t - 1, RESTART)
    ends = [*[RESTART] * trees, last + 1]
    return {(tree, node) for tree, end in enumerate(ends) for node in prefix(end)}


def subset_first(n: int, steps: int, rng: Any) -> Any:
    """Half of the records are chosen once, and Poisson samples come from these."""
    half = np.argsort(drawn(rng, n))[: n // 2]
    return (half[drawn(rng, len(half)) < 2 * BATCH / n] for _ in range(steps))


DP_SGD = PrivateOptimizer(dp_sgd)
TREES = {
    "memory": np.tril(np.ones((STEPS, STEPS))),
    "covariance": [
        [len(nodes_of(s) & nodes_of(t)) for t in range(1, STEPS + 1)]
        for s in range(1, STEPS + 1)
    ],
}
REPORTS: dict[str, Report] = {
    "noise is scaled by the squared clip length": Report(
        "greenelab/SPRINT_gan/issues/5", PrivateOptimizer(of_noise(lambda rng, g: CLIP * normal(rng, g))), DP_SGD
    ),
    "the clip length is not passed on": Report(
        "meta-pytorch/opacus/pull/664", sum_of(lambda g: clipped(g, 1.0).sum(axis=0)), DP_SGD
    ),
    "each parameter is clipped to the whole length": Report(
        "fedbiomed/fedbiomed/issues/1443",
        sum_of(lambda g: by_layers(g, CLIP)),
        sum_of(lambda g: by_layers(g, CLIP / 2**0.5)),
    ),
    "noise for the clip length of one layer": Report(
        "meta-pytorch/opacus/issues/202",
        sum_of(lambda g: by_layers(g, CLIP)),
        PrivateOptimizer(noisy(lambda g: by_layers(g, CLIP), lambda rng, g: 2**0.5 * normal(rng, g))),
        {"clip": 2**0.5 * CLIP},
    ),
    "noise between 0 and 1": Report("fedbiomed/fedbiomed/issues/1443", PrivateOptimizer(of_noise(one_sided)), DP_SGD),
    "accumulated passes are not averaged": Report(
        "meta-pytorch/opacus/issues/683", PrivateOptimizer(twice_the_mean), sum_of(accumulated)
    ),
    "the mean of the batch is added": Report(
        "dayu11/Differentially-Private-Deep-Learning/issues/7",
        sum_of(lambda g: clipped(g).sum(axis=0) + (g.mean(axis=0) if len(g) else 0.0)),
        DP_SGD,
    ),
    "some coordinates have no noise": Report(
        "NVIDIA/NVFlare/issues/343", PrivateOptimizer(of_noise(some_noise)), DP_SGD
    ),
    "the sum of micro-batches is overwritten": Report(
        "meta-pytorch/opacus/pull/707", sum_of(overwritten), sum_of(accumulated)
    ),
    "tied weights are clipped as two examples": Report(
        "meta-pytorch/opacus/issues/413", sum_of(lambda g: 2 * clipped(g / 2).sum(axis=0)), DP_SGD
    ),
    "noise before clipping": Report("illidanlab/dpgan/issues/4", PrivateOptimizer(noise_first), DP_SGD),
    "noise of earlier trees is dropped": Report(
        "google-research/DP-FTRL/issues/2", prefix_sums(keeps_noise=False), prefix_sums(keeps_noise=True), TREES
    ),
    "no noise for batches of one": Report(
        "DPBayes/ADADP/pull/3", PrivateOptimizer(of_noise(unless_single)), DP_SGD
    ),
    "ranks have the same data": Report(
        "meta-pytorch/opacus/pull/196", sum_of(lambda g: 2 * clipped(g).sum(axis=0)), DP_SGD
    ),
    "a subset is drawn once": Report(
        "TL-System/plato/pull/194",
        PrivateOptimizer(dp_sgd, batches=subset_first),
        PrivateOptimizer(dp_sgd, batches=poisson),
    ),
    "padding repeats the last example": Report(
        "google-deepmind/jax_privacy/pull/126", sum_of(padded_by_the_last), sum_of(padded)
    ),
}  # fmt: skip


def mistakes() -> dict[str, tuple[PrivateOptimizer, Promise]]:
    """A reported mistake each."""
    return {
        name: (report.mistake, promise(**report.promise))
        for name, report in REPORTS.items()
    }


def twins() -> dict[str, tuple[PrivateOptimizer, Promise]]:
    """The same optimizers without the mistakes."""
    return {
        name: (report.twin, promise(**report.promise))
        for name, report in REPORTS.items()
    }
