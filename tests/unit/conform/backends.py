"""The catalogue's optimizers in numpy, PyTorch and JAX: arrays of that library, and generators that draw with it.

From the root of a checkout `dpverify conform tests.unit.conform.backends:mistakes_torch` tests them in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from dpverify.conform import PrivateOptimizer, Promise
from tests.unit.conform import catalogue

Array = Any
Generator = Any  # draws as a numpy Generator does


class TorchGenerator:
    """Draws with PyTorch, from a generator with a seed, on a device."""

    def __init__(self, seed: int | None, device: str = "cpu") -> None:
        import torch

        self.torch = torch
        self.device = device
        self.generator = torch.Generator(device)
        if seed is None:
            self.generator.seed()
        else:
            self.generator.manual_seed(seed)

    def another(self, seed: int | None) -> TorchGenerator:
        return TorchGenerator(seed, self.device)

    def standard_normal(self, size: int) -> Array:
        return self.torch.randn(size, dtype=self.torch.float64, generator=self.generator, device=self.device)

    def normal(self, mean: float, deviation: float, size: int) -> Array:
        empty = self.torch.empty(size, dtype=self.torch.float64, device=self.device)
        return empty.normal_(mean, deviation, generator=self.generator)

    def random(self, size: int) -> Array:
        return self.torch.rand(size, dtype=self.torch.float64, generator=self.generator, device=self.device)

    def uniform(self, low: float, high: float, size: int) -> Array:
        return low + (high - low) * self.random(size)

    def laplace(self, size: int) -> Array:
        uniform = self.uniform(-1.0, 1.0, size)
        return -self.torch.sign(uniform) * self.torch.log1p(-self.torch.abs(uniform))

    def permutation(self, n: int) -> Array:
        return self.torch.randperm(n, generator=self.generator, device=self.device)

    def choice(self, n: int, size: int, replace: bool) -> Array:
        assert not replace
        return self.permutation(n)[:size]

    def integers(self, high: int, size: int | None = None) -> Any:
        shape = (1 if size is None else size,)
        drawn = self.torch.randint(high, shape, generator=self.generator, device=self.device)
        return int(drawn[0]) if size is None else drawn


class JaxGenerator:
    """Draws with JAX, each time from a new key."""

    def __init__(self, seed: int | None) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax = jax
        self.seeds = np.random.default_rng(seed)

    def another(self, seed: int | None) -> JaxGenerator:
        return JaxGenerator(seed)

    def _key(self) -> Any:
        return self.jax.random.key(int(self.seeds.integers(2**62)))

    def standard_normal(self, size: int) -> Array:
        return self.jax.random.normal(self._key(), (size,))

    def normal(self, mean: float, deviation: float, size: int) -> Array:
        return mean + deviation * self.standard_normal(size)

    def random(self, size: int) -> Array:
        return self.jax.random.uniform(self._key(), (size,))

    def uniform(self, low: float, high: float, size: int) -> Array:
        return self.jax.random.uniform(self._key(), (size,), minval=low, maxval=high)

    def laplace(self, size: int) -> Array:
        return self.jax.random.laplace(self._key(), (size,))

    def permutation(self, n: int) -> Array:
        return self.jax.random.permutation(self._key(), n)

    def choice(self, n: int, size: int, replace: bool) -> Array:
        return self.jax.random.choice(self._key(), n, (size,), replace=replace)

    def integers(self, high: int, size: int | None = None) -> Any:
        drawn = self.jax.random.randint(self._key(), (1 if size is None else size,), 0, high)
        return int(drawn[0]) if size is None else drawn


class Backend(NamedTuple):
    """A library: how its arrays are made, and a generator with a seed, or with one of the operating system."""

    name: str
    array: Callable[[Any], Array]
    generator: Callable[[int | None], Generator]

    def optimizer(self, optimizer: PrivateOptimizer) -> PrivateOptimizer:
        """Return an optimizer that computes and draws with this library."""

        def step(state: Any, gradients: Any, rng: np.random.Generator) -> tuple[Any, Any]:
            return optimizer.step(state, self.array(gradients), self.seeded(rng))

        def batches(examples: int, steps: int, rng: np.random.Generator) -> Any:
            assert optimizer.batches is not None
            return optimizer.batches(examples, steps, self.seeded(rng))

        return replace(optimizer, step=step, batches=None if optimizer.batches is None else batches)

    def seeded(self, rng: np.random.Generator) -> Generator:
        """Return a generator that follows the given one."""
        return rng if self.name == "numpy" else self.generator(int(rng.integers(2**62)))


def _torch_array(array: Any, device: str = "cpu") -> Array:
    import torch

    return torch.from_numpy(np.array(array)).to(device)


def _jax_array(array: Any) -> Array:
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray(array)


NUMPY = Backend("numpy", np.asarray, np.random.default_rng)
TORCH = Backend("torch", _torch_array, TorchGenerator)
JAX = Backend("jax", _jax_array, JaxGenerator)
BACKENDS = {backend.name: backend for backend in (NUMPY, TORCH, JAX)}

Pairs = dict[str, tuple[PrivateOptimizer, Promise]]


def in_backend(pairs: Pairs, backend: Backend) -> Pairs:
    """Return optimizers in a library, which is loaded here: its import is not a part of the first step's time."""
    import_module(backend.name)
    return {name: (backend.optimizer(optimizer), promise) for name, (optimizer, promise) in pairs.items()}


def torch_on(device: str) -> Backend:
    """Return PyTorch on a device."""
    return Backend("torch", partial(_torch_array, device=device), partial(TorchGenerator, device=device))


def right_torch(device: str = "cpu") -> Pairs:
    """Optimizers without a mistake, in PyTorch."""
    return in_backend(catalogue.right(), torch_on(device))


def right_jax() -> Pairs:
    """Optimizers without a mistake, in JAX."""
    return in_backend(catalogue.right(), JAX)


def mistakes_torch(device: str = "cpu") -> Pairs:
    """A mistake each, in PyTorch."""
    return in_backend(catalogue.mistakes(), torch_on(device))


def mistakes_jax() -> Pairs:
    """A mistake each, in JAX."""
    return in_backend(catalogue.mistakes(), JAX)
