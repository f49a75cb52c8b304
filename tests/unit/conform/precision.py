"""Optimizers of low precision: right ones, and one mistake of each kind that only their rounding makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.conform import PrivateOptimizer, Promise
from dpverify.conform.rounding import Dtype, round_to

Array = Any
CLIP, SIGMA, BATCH = 0.7, 1.1, 16
Step = Callable[[Any, Array, np.random.Generator], tuple[Any, Array]]


def promise(dtype: Dtype, **changes: Any) -> Promise:
    fields = {
        "sigma": SIGMA,
        "clip": CLIP,
        "divisor": BATCH,
        "examples": 208,
        "batch": BATCH,
        "dtype": dtype,
    }
    return Promise(**{**fields, **changes})


def clipped(gradients: Array) -> Array:
    """Clip in float32."""
    g = gradients.astype(np.float32)
    norms = np.sqrt(np.sum(g * g, axis=1, keepdims=True, dtype=np.float32))
    return g * np.minimum(
        np.float32(1), np.float32(CLIP) / np.maximum(norms, np.float32(1e-12))
    )


def noisy(gradients: Array, rng: np.random.Generator) -> Array:
    """Return the noisy mean in float32."""
    noise = np.float32(SIGMA * CLIP) * rng.standard_normal(
        gradients.shape[1], dtype=np.float32
    )
    return (clipped(gradients).sum(axis=0, dtype=np.float32) + noise) / np.float32(
        BATCH
    )


def right(dtype: Dtype) -> Step:
    """Compute in float32, and round what is released to the type."""

    def step(
        state: Any, gradients: Array, rng: np.random.Generator
    ) -> tuple[Any, Array]:
        released = noisy(gradients, rng)
        return state, released.astype(np.float16) if dtype == "float16" else round_to(
            released.astype(float), dtype
        )

    return step


def momentum(dtype: Dtype) -> Step:
    """Keep an average of releases, which costs no privacy."""
    inner = right(dtype)

    def step(
        state: Any, gradients: Array, rng: np.random.Generator
    ) -> tuple[Any, Array]:
        released = inner(None, gradients, rng)[1]
        return np.float32(0.9) * (0.0 if state is None else state) + released, released

    return step


def clipped_in(dtype: Dtype, gradients: Array) -> Array:
    """Clip with each operation rounded to the type, as an optimizer does whose tensors have it."""
    g = round_to(gradients, dtype)
    squares = np.zeros((len(g), 1))
    for column in round_to(g * g, dtype).T:
        squares = round_to(squares + column[:, None], dtype)
    norms = np.maximum(round_to(np.sqrt(squares), dtype), 1e-30)
    factors = np.minimum(1.0, round_to(round_to(CLIP, dtype) / norms, dtype))
    return round_to(g * factors, dtype)


def clips_in(dtype: Dtype) -> Step:
    """A mistake: norms and factors are computed in the type itself."""

    def step(
        state: Any, gradients: Array, rng: np.random.Generator
    ) -> tuple[Any, Array]:
        total = clipped_in(dtype, gradients).sum(
            axis=0
        ) + SIGMA * CLIP * rng.standard_normal(gradients.shape[1])
        return state, round_to(total / BATCH, dtype)

    return step


def scaled(dtype: Dtype, factor: float) -> Step:
    """A mistake: the noise has another scale."""

    def step(
        state: Any, gradients: Array, rng: np.random.Generator
    ) -> tuple[Any, Array]:
        noise = factor * SIGMA * CLIP * rng.standard_normal(gradients.shape[1])
        return state, round_to((clipped(gradients).sum(axis=0) + noise) / BATCH, dtype)

    return step


def keeps_clean(dtype: Dtype) -> Step:
    """A mistake: momentum of gradients without noise."""

    def step(
        state: Any, gradients: Array, rng: np.random.Generator
    ) -> tuple[Any, Array]:
        total = 0.5 * (0.0 if state is None else state) + 0.5 * clipped(gradients).sum(
            axis=0
        )
        noise = SIGMA * CLIP * rng.standard_normal(gradients.shape[1])
        return total, round_to((total + noise) / BATCH, dtype)

    return step


def reuses(dtype: Dtype) -> Step:
    """A mistake: the noise of each second step is that of the step before."""

    def step(
        state: Any, gradients: Array, rng: np.random.Generator
    ) -> tuple[Any, Array]:
        t, old = (0, None) if state is None else state
        noise = old if t % 2 else SIGMA * CLIP * rng.standard_normal(gradients.shape[1])
        return (t + 1, noise), round_to(
            (clipped(gradients).sum(axis=0) + noise) / BATCH, dtype
        )

    return step


def in_torch(step_dtype: str, clip_dtype: str) -> PrivateOptimizer:
    """DP-SGD on tensors, clipped in one type and released in another."""
    import torch

    def step(
        state: Any, gradients: Array, rng: np.random.Generator
    ) -> tuple[Any, Array]:
        g = torch.from_numpy(gradients).to(getattr(torch, clip_dtype))
        norms = torch.sqrt((g * g).sum(dim=1, keepdim=True))
        factors = (CLIP / norms.clamp(min=1e-12)).clamp(max=1.0)
        noise = torch.from_numpy(rng.standard_normal(gradients.shape[1])).to(
            torch.float32
        )
        total = (g * factors).to(torch.float32).sum(dim=0) + SIGMA * CLIP * noise
        return state, (total / BATCH).to(getattr(torch, step_dtype)).double().numpy()

    return PrivateOptimizer(step)
