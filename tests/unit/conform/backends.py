"""The catalogue's optimizers in numpy, PyTorch and JAX: arrays of that library, and generators that draw with it.

From the root of a checkout `dpverify conform tests.unit.conform.backends:mistakes_torch` tests them in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property, partial
from importlib import import_module
from typing import Any, NamedTuple, cast

import numpy as np

from dpverify.conform import PrivateOptimizer, Promise
from tests.unit.conform import catalogue

Array = Any
Generator = Any  # draws as a numpy Generator does


@cache
def jax_of_doubles() -> Any:
    """Return JAX, set to double precision, and to compute in the calling thread, which takes a third less time here."""
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    return jax


@cache
def jax_draw(name: str, size: int) -> Callable[[Array], Array]:
    """Return a compiled function that draws numbers with JAX from the two words of a key."""
    jax = jax_of_doubles()
    draw = getattr(jax.random, name)
    return cast(
        "Callable[[Array], Array]",
        jax.jit(lambda words: draw(jax.random.wrap_key_data(words), (size,))),
    )


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
        return self.torch.randn(
            size, dtype=self.torch.float64, generator=self.generator, device=self.device
        )

    def normal(self, mean: float, deviation: float, size: int) -> Array:
        empty = self.torch.empty(size, dtype=self.torch.float64, device=self.device)
        return empty.normal_(mean, deviation, generator=self.generator)

    def random(self, size: int) -> Array:
        return self.torch.rand(
            size, dtype=self.torch.float64, generator=self.generator, device=self.device
        )

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
        drawn = self.torch.randint(
            high, shape, generator=self.generator, device=self.device
        )
        return int(drawn[0]) if size is None else drawn


class JaxGenerator:
    """Draws with JAX, each time from a new key."""

    def __init__(self, seed: int | None) -> None:
        self.jax = jax_of_doubles()
        self.seed = seed

    @cached_property
    def seeds(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def another(self, seed: int | None) -> JaxGenerator:
        return JaxGenerator(seed)

    def key(self) -> Any:
        return self.jax.random.key(int(self.seeds.integers(2**62)))

    def standard_normal(self, size: int) -> Array:
        return self.jax.random.normal(self.key(), (size,))

    def normal(self, mean: float, deviation: float, size: int) -> Array:
        return mean + deviation * self.standard_normal(size)

    def random(self, size: int) -> Array:
        return jax_draw("uniform", size)(
            self.seeds.integers(2**32, size=2, dtype=np.uint32)
        )

    def uniform(self, low: float, high: float, size: int) -> Array:
        return self.jax.random.uniform(self.key(), (size,), minval=low, maxval=high)

    def laplace(self, size: int) -> Array:
        return self.jax.random.laplace(self.key(), (size,))

    def permutation(self, n: int) -> Array:
        return self.jax.random.permutation(self.key(), n)

    def choice(self, n: int, size: int, replace: bool) -> Array:
        return self.jax.random.choice(self.key(), n, (size,), replace=replace)

    def integers(self, high: int, size: int | None = None) -> Any:
        drawn = self.jax.random.randint(
            self.key(), (1 if size is None else size,), 0, high
        )
        return int(drawn[0]) if size is None else drawn


class KeyGenerator(JaxGenerator):
    """Draws with JAX from the two words of a key, also in code that is being compiled."""

    def __init__(self, words: Array) -> None:
        super().__init__(0)
        self.words = words
        self.draws = 0

    def key(self) -> Any:
        key = self.jax.random.wrap_key_data(self.words)
        key = self.jax.random.fold_in(key, self.draws) if self.draws else key
        self.draws += 1
        return key


class CompiledStep:
    """A step that JAX compiles: for batches of one size, and once for each state of other whole numbers."""

    def __init__(self, step: Callable[..., Any]) -> None:
        jax = jax_of_doubles()
        # of the state, which are no arrays and so are not compiled
        self.numbers_after: dict[Any, Any] = {}

        def run(
            numbers: Any, arrays: list[Array], gradients: Array, words: Array
        ) -> Any:
            structure, values = numbers
            remaining = iter(arrays)
            leaves = [next(remaining) if value is None else value for value in values]
            state, released = step(
                jax.tree.unflatten(structure, leaves), gradients, KeyGenerator(words)
            )
            arrays_after, self.numbers_after[numbers] = self.parts(state)
            return arrays_after, released

        self.flatten = jax.tree.flatten
        self.unflatten = jax.tree.unflatten
        self.run = jax.jit(run, static_argnums=0)

    def parts(self, state: Any) -> tuple[list[Array], Any]:
        """Return the arrays of a state, and its structure with all other numbers."""
        leaves, structure = self.flatten(state)
        values = tuple(leaf if isinstance(leaf, int) else None for leaf in leaves)
        return [leaf for leaf in leaves if not isinstance(leaf, int)], (
            structure,
            values,
        )

    def __call__(
        self, state: Any, gradients: Array, rng: JaxGenerator
    ) -> tuple[Any, Array]:
        arrays, numbers = self.parts(state)
        words = np.array(divmod(rng.seed or 0, 2**32), dtype=np.uint32)
        arrays_after, released = self.run(numbers, arrays, gradients, words)
        structure, values = self.numbers_after[numbers]
        remaining = iter(arrays_after)
        leaves = [next(remaining) if value is None else value for value in values]
        return self.unflatten(structure, leaves), released


class Backend(NamedTuple):
    """A library: how its arrays are made, and a generator with a seed, or with one of the operating system."""

    name: str
    array: Callable[[Any], Array]
    generator: Callable[[int | None], Generator]

    def optimizer(self, optimizer: PrivateOptimizer) -> PrivateOptimizer:
        """Return an optimizer that computes and draws with this library."""

        def step(
            state: Any, gradients: Any, rng: np.random.Generator
        ) -> tuple[Any, Any]:
            return optimizer.step(state, self.array(gradients), self.seeded(rng))

        def batches(examples: int, steps: int, rng: np.random.Generator) -> Any:
            assert optimizer.batches is not None
            return optimizer.batches(examples, steps, self.seeded(rng))

        return replace(
            optimizer, step=step, batches=None if optimizer.batches is None else batches
        )

    def seeded(self, rng: np.random.Generator) -> Generator:
        """Return a generator that follows the given one."""
        return rng if self.name == "numpy" else self.generator(int(rng.integers(2**62)))


def _torch_array(array: Any, device: str = "cpu") -> Array:
    import torch

    return torch.from_numpy(np.array(array)).to(device)


def _padded(array: Any) -> Array:
    """Append gradients of 0 up to the largest size of a batch, so that code is compiled once for all sizes."""
    return np.concatenate([array, np.zeros((catalogue.N - len(array), array.shape[1]))])


def _jax_array(array: Any) -> Array:
    return jax_of_doubles().numpy.asarray(array)


NUMPY = Backend("numpy", np.asarray, np.random.default_rng)
TORCH = Backend("torch", _torch_array, TorchGenerator)
JAX = Backend("jax", _jax_array, JaxGenerator)
BACKENDS = {backend.name: backend for backend in (NUMPY, TORCH, JAX)}

Pairs = dict[str, tuple[PrivateOptimizer, Promise]]


def in_backend(pairs: Pairs, backend: Backend) -> Pairs:
    """Return optimizers in a library, which is loaded here: its import is not a part of the first step's time."""
    import_module(backend.name)
    return {
        name: (backend.optimizer(optimizer), promise)
        for name, (optimizer, promise) in pairs.items()
    }


def torch_on(device: str) -> Backend:
    """Return PyTorch on a device."""
    return Backend(
        "torch",
        partial(_torch_array, device=device),
        partial(TorchGenerator, device=device),
    )


def right_torch(device: str = "cpu") -> Pairs:
    """Optimizers without a mistake, in PyTorch."""
    return in_backend(catalogue.right(), torch_on(device))


def right_jax() -> Pairs:
    """Optimizers without a mistake, in JAX, compiled for padded batches."""
    pairs = {
        name: (
            replace(optimizer, step=cast("Any", CompiledStep(optimizer.step).__call__)),
            promise,
        )
        for name, (optimizer, promise) in catalogue.right().items()
    }
    return in_backend(pairs, JAX._replace(array=_padded))


def mistakes_torch(device: str = "cpu") -> Pairs:
    """A mistake each, in PyTorch."""
    return in_backend(catalogue.mistakes(), torch_on(device))


def mistakes_jax() -> Pairs:
    """A mistake each, in JAX."""
    return in_backend(catalogue.mistakes(), JAX)
