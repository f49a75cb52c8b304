"""Sources of random numbers: a tape that plays back normal numbers, global generators, system randomness.

``solve_noise`` finds normal numbers for which a step releases a given vector. It uses a Krylov method, because the
step function is affine in the noise.
"""

from __future__ import annotations

import math
import os
import pickle
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpverify.conform.replay.patches import replace_method, replace_object


class Tape(np.random.Generator):
    """A generator that returns given normal numbers; all other numbers are drawn as usual.

    Within `replay_normals`, the normal numbers of all other generators and libraries come from the tape as well, in
    the order of the requests.
    """

    def __init__(self, numbers: Any) -> None:
        super().__init__(np.random.PCG64(0))
        self.numbers = np.asarray(numbers, dtype=float)
        self.position = 0

    def take(self, count: int) -> Any:
        """Return the next numbers, with zeros beyond the end of the tape."""
        numbers = np.zeros(count)
        available = self.numbers[self.position : self.position + count]
        numbers[: len(available)] = available
        self.position += count
        return numbers

    def standard_normal(
        self, size: Any = None, dtype: Any = np.float64, out: Any = None
    ) -> Any:
        """Return the next numbers with shape ``size``, or write them to ``out``."""
        if out is not None:
            out[...] = self.take(out.size).reshape(out.shape)
            return out
        if size is None:
            return float(self.take(1)[0])
        return self.take(int(np.prod(size))).reshape(size).astype(dtype)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return the next numbers, scaled and shifted."""
        if size is None and (
            shape := np.broadcast_shapes(np.shape(loc), np.shape(scale))
        ):
            size = shape
        return loc + scale * self.standard_normal(size)

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Return generators whose normal numbers come from this tape while it plays."""
        return [
            np.random.Generator(child) for child in self.bit_generator.spawn(n_children)
        ]


class GlobalGenerator(NamedTuple):
    """A generator that the whole process shares."""

    name: str
    state: Callable[[], Any]
    restore: Callable[[Any], object]
    seed: Callable[[int], object]


@dataclass(frozen=True)
class NoiseSources:
    """Sources of the random numbers of a step besides the given generator."""

    # seeded from the given generator before each step
    shared_generators: Sequence[GlobalGenerator] = ()
    system: Sequence[str] = ()
    is_seeded: bool = True  # the same state and seed give the same release
    is_replayable: bool = True  # the same state and tape give the same release


def global_generators() -> list[GlobalGenerator]:
    """Return the shared generators of the libraries that are loaded."""
    generators = [
        GlobalGenerator("random", random.getstate, random.setstate, random.seed),
        GlobalGenerator(
            "numpy.random", np.random.get_state, np.random.set_state, _seed_numpy
        ),
    ]
    torch = sys.modules.get("torch")
    if torch is not None:
        generators.append(_torch_generator(torch))
        if torch.cuda.is_initialized():  # before, there are no generators
            generators.append(_cuda_generators(torch))
    return generators


def _torch_generator(torch: Any) -> GlobalGenerator:
    def state() -> bytes:  # equal states give equal bytes, unlike pickled tensors
        return bytes(torch.get_rng_state().numpy().tobytes())

    def restore(state: bytes) -> None:
        torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))

    return GlobalGenerator("torch", state, restore, torch.manual_seed)


def _cuda_generators(torch: Any) -> GlobalGenerator:
    """Return one object for the generators of all graphics cards."""

    def states() -> list[bytes]:
        return [
            bytes(state.numpy().tobytes()) for state in torch.cuda.get_rng_state_all()
        ]

    def restore(states: list[bytes]) -> None:
        torch.cuda.set_rng_state_all(
            [torch.frombuffer(bytearray(state), dtype=torch.uint8) for state in states]
        )

    return GlobalGenerator("torch.cuda", states, restore, torch.cuda.manual_seed_all)


def _seed_numpy(seed: int) -> None:
    np.random.seed(seed % 2**32)  # noqa: NPY002  foreign code draws from it; its seeds are shorter


@contextmanager
def generators_restored() -> Iterator[None]:
    """Restore the states of the shared generators after the block."""
    states = [(generator, generator.state()) for generator in global_generators()]
    try:
        yield
    finally:
        for generator, state in states:
            generator.restore(state)


def used_generators(draw: Callable[[], object]) -> list[GlobalGenerator]:
    """Return the shared generators whose state a call changes."""
    states_before_call = {
        generator.name: pickle.dumps(generator.state())
        for generator in global_generators()
    }
    draw()
    return [
        generator
        for generator in global_generators()
        if states_before_call.get(generator.name) != pickle.dumps(generator.state())
    ]


@contextmanager
def system_randomness() -> Iterator[set[str]]:
    """Collect the names of functions that request random bytes from the operating system within the block."""
    callers = set[str]()

    def watch_calls(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            outer_callers = set(callers)
            result = function(*args)
            callers.clear()  # drops the functions that this function called
            callers.update({*outer_callers, name})
            return result

        return call

    numpy_randbits = vars(sys.modules["numpy.random.bit_generator"]).get("randbits")
    with ExitStack() as stack:
        stack.enter_context(
            replace_object(
                os.urandom,
                watch_calls("os.urandom, secrets or random.SystemRandom", os.urandom),
            )
        )
        if numpy_randbits is not None:
            stack.enter_context(
                replace_object(
                    numpy_randbits,
                    watch_calls("a generator of numpy without a seed", numpy_randbits),
                )
            )
        if (torch := sys.modules.get("torch")) is not None:
            seed = torch.Generator.seed
            name = "a generator of PyTorch with a seed of the operating system"
            stack.enter_context(
                replace_method(torch.Generator, "seed", watch_calls(name, seed))
            )
        yield callers


# up to this dimension, all directions are used, which suffices for any linear map
MAX_KRYLOV_DIRECTIONS = 512
# in larger dimensions; suffices for noise with at most this many different scales
KRYLOV_DIRECTIONS = 24
KRYLOV_ROUNDS = 4  # rounds of GMRES, each of which starts at the previous residual
KRYLOV_BREAKDOWN = 1e-12  # a new direction below this fraction of its image is rounding
KRYLOV_TOLERANCE = 1e-14  # relative size of an accepted residual


def solve_noise(
    release: Callable[[Any], Any], noise: Any, target: Any, released: Any
) -> Any:
    """Return noise for which ``release`` returns approximately ``target``.

    ``release`` must be affine in the noise; ``release(noise)`` is ``released``. Each round applies GMRES (Saad and
    Schultz, 1986) to the residual. If each noise value is scaled by one of k factors, k directions suffice. If the map
    is not affine or not surjective, the result may release another vector; the caller must check this.
    """
    best = noise
    residual = target - released
    directions = (
        len(noise) if len(noise) <= MAX_KRYLOV_DIRECTIONS else KRYLOV_DIRECTIONS
    )
    tolerance = KRYLOV_TOLERANCE * float(np.abs(target).max())
    for _ in range(KRYLOV_ROUNDS):
        size = float(np.abs(residual).max())
        if size <= tolerance:
            break
        candidate = best + _gmres(
            release, best, target - residual, residual, directions
        )
        candidate_residual = target - release(candidate)
        if not np.abs(candidate_residual).max() < size:
            break
        best = candidate
        residual = candidate_residual
    return best


def _gmres(
    release: Callable[[Any], Any], noise: Any, base: Any, residual: Any, directions: int
) -> Any:
    """Return the noise change in ``directions`` Krylov directions that changes ``base`` most nearly by ``residual``.

    Each direction is scaled to the typical norm of noise, so that its effect is not lost in rounding.
    """
    length = math.sqrt(len(residual))
    size = float(np.linalg.norm(residual))
    basis = [residual / size]
    columns = np.zeros((directions + 1, directions))
    target = np.zeros(directions + 1)
    target[0] = size
    weights: Any = np.zeros(0)
    for k in range(directions):
        image = (release(noise + length * basis[k]) - base) / length
        scale = float(np.linalg.norm(image))
        if not math.isfinite(scale):
            return np.full_like(residual, np.nan)
        for _ in range(2):  # the second pass removes rounding errors
            for row, vector in enumerate(basis):
                component = float(vector @ image)
                columns[row, k] += component
                image = image - component * vector
        columns[k + 1, k] = float(np.linalg.norm(image))
        weights = np.linalg.lstsq(
            columns[: k + 2, : k + 1], target[: k + 2], rcond=None
        )[0]
        residual_norm = float(
            np.linalg.norm(columns[: k + 2, : k + 1] @ weights - target[: k + 2])
        )
        if (
            not columns[k + 1, k] > KRYLOV_BREAKDOWN * scale
            or residual_norm <= KRYLOV_TOLERANCE * size
        ):
            break
        basis.append(image / columns[k + 1, k])
    return sum(weight * vector for weight, vector in zip(weights, basis, strict=False))
