"""A catalogue of mistakes that private optimizers make, beside optimizers without one.

From the root of a checkout `dpverify conform tests/unit/conform/catalogue.py:mistakes` tests them all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from dpverify.conform import PrivateOptimizer, Promise
from dpverify.conform.guard import to_numpy

Array = Any
# no powers of two, by which float32 stays float32
SIGMA, CLIP, BATCH, N = 1.9, 0.7, 8, 64
PROMISE = Promise(
    sigma=SIGMA, clip=CLIP, divisor=BATCH, steps=6, dimension=6, examples=N, batch=BATCH
)


def namespace(array: Array) -> Any:
    """Return the functions of an array's library, under their names in numpy."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return of_torch(array.device)
    return array.__array_namespace__()


@cache
def of_torch(device: Any) -> Any:
    torch = sys.modules["torch"]
    return SimpleNamespace(
        arange=partial(torch.arange, device=device),
        clip=torch.clip,
        concat=torch.concat,
        hstack=torch.hstack,
        linalg=torch.linalg,
        maximum=lambda x, least: torch.clamp(x, min=least),
        minimum=lambda x, most: torch.clamp(x, max=most),
        tile=lambda x, times: x.repeat(times),
        where=torch.where,
    )


def rounded(x: Array) -> Array:
    """Round to float32, and return float64."""
    if hasattr(x, "astype"):
        return x.astype(np.float32).astype(np.float64)
    return x.float().double()


def another(rng: Any, seed: int | None) -> Any:
    """Return a generator of the same library with a seed of its own, or with one of the operating system."""
    return (
        np.random.default_rng(seed)
        if isinstance(rng, np.random.Generator)
        else rng.another(seed)
    )


def norms(g: Array) -> Array:
    return namespace(g).linalg.vector_norm(g, axis=1, keepdims=True)


def clipped(g: Array, clip: float = CLIP) -> Array:
    xp = namespace(g)
    return g * xp.minimum(clip / xp.maximum(norms(g), 1e-12), 1.0)


def normal(rng: np.random.Generator, g: Array) -> Array:
    return SIGMA * CLIP * rng.standard_normal(g.shape[1])


def dp_sgd(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    return state, (clipped(g).sum(axis=0) + normal(rng, g)) / BATCH


def poisson(n: int, steps: int, rng: np.random.Generator) -> Any:
    return rate(1.0)(n, steps, rng)


def fixed(n: int, steps: int, rng: np.random.Generator) -> Any:
    return (rng.choice(n, BATCH, replace=False) for _ in range(steps))


def epochs(n: int, steps: int, rng: np.random.Generator) -> Any:
    for _ in range(steps):
        yield from rng.permutation(n).reshape(-1, BATCH)


def momentum(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    """Averages what was released, which costs no privacy, and releases the noisy sum."""
    old, released = 0.0 if state is None else state, dp_sgd(None, g, rng)[1]
    return 0.9 * old + released, released


def scaled(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    return state, (
        clipped(g).sum(axis=0) + rng.normal(0.0, SIGMA * CLIP, g.shape[1])
    ) / BATCH


def tree(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    """Gradients whose sums have the noise of a tree's nodes."""
    t, nodes = (1, {}) if state is None else (state[0] + 1, dict(state[1]))
    level = (t & -t).bit_length() - 1
    nodes = {k: z for k, z in nodes.items() if k > level}
    nodes[level] = rng.standard_normal(g.shape[1])
    return (t, nodes), (
        clipped(g).sum(axis=0) + SIGMA * CLIP * sum(nodes.values())
    ) / BATCH


def adds_up(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    """Gradients with the noise of all steps so far."""
    noise = normal(rng, g) + (0.0 if state is None else state)
    return noise, (clipped(g).sum(axis=0) + noise) / BATCH


def prefix(t: int) -> set[tuple[int, int]]:
    found, end = set(), t
    while end:
        found.add((end - (end & -end), end))
        end &= end - 1
    return found


SHARED = [[len(prefix(s) & prefix(t)) for t in range(1, 7)] for s in range(1, 7)]
SETTINGS: dict[str, tuple[PrivateOptimizer, dict[str, Any]]] = {
    "DP-SGD": (PrivateOptimizer(dp_sgd, batches=poisson), {}),
    "noise by normal": (PrivateOptimizer(scaled, batches=poisson), {}),
    "momentum": (PrivateOptimizer(momentum, batches=poisson), {}),
    "fixed batches": (
        PrivateOptimizer(dp_sgd, batches=fixed),
        {"sampling": "batches", "neighbours": "replace-one"},
    ),
    "epochs": (
        PrivateOptimizer(dp_sgd, batches=epochs),
        {"sampling": "epochs", "neighbours": "replace-one"},
    ),
    "tree": (PrivateOptimizer(tree), {"covariance": SHARED}),
    "noise that adds up": (
        PrivateOptimizer(adds_up),
        {"covariance": np.minimum.outer(np.arange(1, 7), np.arange(1, 7))},
    ),
}


def promise(**changed: Any) -> Promise:
    kept = {name: getattr(PROMISE, name) for name in PROMISE.__dataclass_fields__}
    return Promise(**{**kept, **changed})


def noisy(
    sum_of: Callable[[Array], Array], noise: Callable[..., Array] = normal
) -> Callable[..., Any]:
    return lambda state, g, rng: (state, (sum_of(g) + noise(rng, g)) / BATCH)


def of_noise(noise: Callable[..., Array]) -> Callable[..., Any]:
    return noisy(lambda g: clipped(g).sum(axis=0), noise)


def keeps_clean(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    old = 0.5 * (0.0 if state is None else state) + 0.5 * clipped(g).sum(axis=0)
    return old, (old + normal(rng, g)) / BATCH


def error_feedback(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    total = g.sum(axis=0) + (0.0 if state is None else state)
    kept = clipped(total[None, :])[0]
    return total - kept, (kept + normal(rng, g)) / BATCH


def reuses(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    t, old = (0, None) if state is None else state
    noise = old if t % 2 else normal(rng, g)
    return (t + 1, noise), (clipped(g).sum(axis=0) + noise) / BATCH


def decays(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    t = 0 if state is None else state
    return t + 1, (clipped(g).sum(axis=0) + 0.95**t * normal(rng, g)) / BATCH


def adaptive(g: Array) -> Array:
    return clipped(
        g, 1.1 * float(np.median(to_numpy(norms(g)))) if len(g) else CLIP
    ).sum(axis=0)


def without_bias(g: Array) -> Array:
    xp = namespace(g)
    return (g * xp.minimum(CLIP / xp.maximum(norms(g[:, 1:]), 1e-12), 1.0)).sum(axis=0)


def by_the_largest(g: Array) -> Array:
    return (g / max(float(norms(g).max()) if len(g) else 0.0, 1e-9)).sum(axis=0)


def by_batch(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    return state, (clipped(g).sum(axis=0) + normal(rng, g)) / max(len(g), 1)


def follows_unseen(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    """The clip length follows the data below what the noise is for: no step changes too much, the next ones tell."""
    clip = CLIP if state is None else state
    share = float(np.mean(to_numpy(norms(g) <= clip))) if len(g) else 0.5
    return min(CLIP, clip * float(np.exp(0.4 * (0.5 - share)))), (
        clipped(g, clip).sum(axis=0) + normal(rng, g)
    ) / BATCH


def centred_later(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    """A mean of earlier gradients is taken off each before it is clipped; the first step does not count."""
    t, mean = (0, 0.0) if state is None else state
    new = 0.9 * mean + 0.1 * g.sum(axis=0) / BATCH if t else mean
    return (t + 1, new), (clipped(g - mean).sum(axis=0) + normal(rng, g)) / BATCH


def halved_after_an_outlier(
    state: Any, g: Array, rng: np.random.Generator
) -> tuple[Any, Array]:
    """A scale against overflow falls after a huge gradient, and the noise with it."""
    scale = 1.0 if state is None else state
    is_huge = len(g) > 0 and float(norms(g).max()) > 1e4 * CLIP
    return scale / 2 if is_huge else scale, (
        clipped(g).sum(axis=0) + scale * normal(rng, g)
    ) / BATCH


def put_off(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    """Fewer than four examples wait for the next step."""
    kept = g if state is None else namespace(g).concat([state, g])
    ready = len(kept) >= 4
    return kept[: 0 if ready else None], (
        ready * clipped(kept).sum(axis=0) + normal(rng, g)
    ) / BATCH


def fourth_as_it_is(
    state: Any, g: Array, rng: np.random.Generator
) -> tuple[Any, Array]:
    t = 1 if state is None else state
    return t + 1, ((g if t == 4 else clipped(g)).sum(axis=0) + normal(rng, g)) / BATCH


def by_rate(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    """The learning rate warms up, and the noise with it; in the mean of all steps its variance is right."""
    t, rates = 0 if state is None else state, np.linspace(0.9, 1.1, 6)
    return t + 1, (
        clipped(g).sum(axis=0)
        + normal(rng, g) * rates[t % 6] / np.sqrt(np.mean(rates**2))
    ) / BATCH


def uneven(rng: np.random.Generator, g: Array) -> Array:
    xp = namespace(g)
    parts = xp.where(xp.arange(g.shape[1]) > 0, 1.0, 0.85)
    return normal(rng, g) * parts / (parts**2).mean() ** 0.5


def truncated(rng: np.random.Generator, g: Array) -> Array:
    return namespace(g).clip(normal(rng, g), -2.5 * SIGMA * CLIP, 2.5 * SIGMA * CLIP)


STEPS: dict[str, Callable[..., Any]] = {
    "no clipping": noisy(lambda g: g.sum(axis=0)),
    "the mean is clipped, not each example": noisy(lambda g: BATCH * clipped(g.mean(axis=0, keepdims=True))[0]),
    "the sum is clipped and then scaled up": noisy(lambda g: 4 * clipped(g.sum(axis=0, keepdims=True))[0]),
    "each coordinate is clipped": noisy(lambda g: namespace(g).clip(g, -CLIP, CLIP).sum(axis=0)),
    "two layers are clipped apart": noisy(
        lambda g: namespace(g).hstack([clipped(g[:, :3]), clipped(g[:, 3:])]).sum(axis=0)
    ),
    "the norm leaves out the bias": noisy(without_bias),
    "the clip length follows the batch": noisy(adaptive),
    "twice the clip length": noisy(lambda g: clipped(g, 2 * CLIP).sum(axis=0)),
    "gradients are divided by the largest norm of the batch": noisy(by_the_largest),
    "gradients are centred on the batch": noisy(lambda g: (clipped(g) - 0.9 * g.mean(axis=0)).sum(axis=0)),
    "divided by the batch that was drawn": by_batch,
    "an empty batch is not a number": noisy(lambda g: clipped(g).mean(axis=0) * len(g)),
    "an empty batch raises": noisy(lambda g: clipped(g).sum(axis=0) + 0 * g[0]),
    "no noise": of_noise(lambda rng, g: 0.0),
    "noise of half the deviation": of_noise(lambda rng, g: normal(rng, g) / 2),
    "noise 4% too small": of_noise(lambda rng, g: 0.96 * normal(rng, g)),
    "variance for deviation": of_noise(lambda rng, g: CLIP * SIGMA**2 * rng.standard_normal(g.shape[1])),
    "noise is divided by the batch twice": of_noise(lambda rng, g: normal(rng, g) / BATCH),
    "one number for all coordinates": of_noise(lambda rng, g: namespace(g).tile(normal(rng, g[:, :1]), g.shape[1])),
    "two layers share their noise": of_noise(lambda rng, g: namespace(g).tile(normal(rng, g[:, ::2]), 2)),
    "one layer has no noise": of_noise(lambda rng, g: normal(rng, g) * (namespace(g).arange(g.shape[1]) > 0)),
    "noise of float32": lambda state, g, rng: (state, rounded(dp_sgd(None, g, rng)[1])),
    "float32, scaled afterwards": of_noise(
        lambda rng, g: SIGMA * CLIP * rounded(normal(rng, g) / (SIGMA * CLIP))
    ),
    "uniform noise": of_noise(lambda rng, g: SIGMA * CLIP * 3**0.5 * rng.uniform(-1, 1, g.shape[1])),
    "Laplace noise": of_noise(lambda rng, g: SIGMA * CLIP / 2**0.5 * rng.laplace(size=g.shape[1])),
    "noise is cut off": of_noise(truncated),
    "noise is not around 0": of_noise(lambda rng, g: normal(rng, g) + 0.2 * SIGMA * CLIP),
    "noise for each part of the batch": of_noise(lambda rng, g: normal(rng, g) * max(1, len(g) // 4) ** 0.5),
    "noise grows with the gradients": of_noise(
        lambda rng, g: normal(rng, g) * min(1.0, 0.5 + float((g**2).sum()) ** 0.5)
    ),
    "noise from a seed of its own": of_noise(lambda rng, g: normal(another(rng, 0), g)),
    "noise from another generator": of_noise(lambda rng, g: normal(another(rng, None), g)),
    "noise is used twice": reuses,
    "noise falls over the steps": decays,
    "momentum of clean gradients": keeps_clean,
    "what was clipped is added later": error_feedback,
    "the clip length of later steps follows the data": follows_unseen,
    "gradients are centred on earlier ones, from the third step on": centred_later,
    "few examples wait for the next step": put_off,
    "the noise falls after a huge gradient": halved_after_an_outlier,
    "batches of 12 are not clipped": noisy(lambda g: (clipped(g) if len(g) != 12 else g).sum(axis=0)),
    "the fourth step does not clip": fourth_as_it_is,
    "examples beyond the 24th are not clipped": noisy(lambda g: clipped(g[:24]).sum(axis=0) + g[24:].sum(axis=0)),
    "noise follows the learning rate": by_rate,
    "one layer has 15% less noise, and the others more": of_noise(uneven),
}  # fmt: skip


def drawn(rng: Any, n: int) -> Array:
    return np.array(to_numpy(rng.random(n)))


def rate(factor: float) -> Callable[..., Any]:
    return lambda n, steps, rng: (
        np.flatnonzero(drawn(rng, n) < factor * BATCH / n) for _ in range(steps)
    )


def seeded(n: int, steps: int, rng: np.random.Generator) -> Any:
    return poisson(n, steps, another(rng, 0))


def windows(n: int, steps: int, rng: np.random.Generator) -> Any:
    return ((rng.integers(n) + np.arange(BATCH)) % n for _ in range(steps))


def twice(n: int, steps: int, rng: np.random.Generator) -> Any:
    for batch in poisson(n, steps, rng):
        yield batch
        yield batch


def without_the_last(n: int, steps: int, rng: np.random.Generator) -> Any:
    return poisson(n - 1, steps, rng)


def inseparable(n: int, steps: int, rng: np.random.Generator) -> Any:
    for _ in range(steps):
        chosen = drawn(rng, n) < BATCH / n
        chosen[41] = chosen[6]
        yield np.flatnonzero(chosen)


def seeded_again(n: int, steps: int, rng: np.random.Generator) -> Any:
    seed = int(rng.integers(1 << 32))
    for start in range(0, steps, 3):
        yield from poisson(n, min(3, steps - start), another(rng, seed))


def one_order(n: int, steps: int, rng: np.random.Generator) -> Any:
    order = rng.permutation(n).reshape(-1, BATCH)
    return (order[t % len(order)] for t in range(steps))


def cut_off(n: int, steps: int, rng: np.random.Generator) -> Any:
    return (batch[:12] for batch in poisson(n, steps, rng))


def made_once(n: int, steps: int, rng: np.random.Generator) -> Any:
    parts = rng.permutation(n).reshape(-1, BATCH)
    return (parts[rng.integers(len(parts))] for _ in range(steps))


def shuffled_parts(n: int, steps: int, rng: np.random.Generator) -> Any:
    parts = rng.permutation(n).reshape(-1, BATCH)
    for _ in range(steps):
        yield from parts[rng.permutation(len(parts))]


BATCHES: dict[str, tuple[Callable[..., Any], str]] = {
    "fixed batches for Poisson's": (fixed, "poisson"),
    "epochs for Poisson's": (epochs, "poisson"),
    "a rate a quarter too large": (rate(1.25), "poisson"),
    "the same batch twice": (twice, "poisson"),
    "every run has the same batches": (seeded, "poisson"),
    "the last example is never drawn": (without_the_last, "poisson"),
    "windows for random batches": (windows, "batches"),
    "epochs for fresh batches": (epochs, "batches"),
    "drawn with replacement": (
        lambda n, steps, rng: (rng.integers(n, size=BATCH) for _ in range(steps)),
        "batches",
    ),
    "Poisson for fixed batches": (poisson, "batches"),
    "data in their order": (
        lambda n, steps, rng: np.arange(n).reshape(-1, BATCH),
        "epochs",
    ),
    "fresh batches for epochs": (fixed, "epochs"),
    "two examples come together": (inseparable, "poisson"),
    "the seed is set again after three steps": (seeded_again, "poisson"),
    "large batches are cut off": (cut_off, "poisson"),
    "one order for all epochs": (one_order, "epochs"),
    "batches are made once and drawn again": (made_once, "batches"),
    "batches are made once and come in a new order": (shuffled_parts, "epochs"),
}


def right() -> dict[str, tuple[PrivateOptimizer, Promise]]:
    """Optimizers without a mistake."""
    return {
        name: (optimizer, promise(**changed))
        for name, (optimizer, changed) in SETTINGS.items()
    }


def mistakes() -> dict[str, tuple[PrivateOptimizer, Promise]]:
    """A mistake each: of the step, or of the batches."""
    steps = {name: (PrivateOptimizer(step), PROMISE) for name, step in STEPS.items()}
    drawn = {
        name: (PrivateOptimizer(dp_sgd, batches=batches), promise(sampling=sampling))
        for name, (batches, sampling) in BATCHES.items()
    }
    return {**steps, **drawn}
