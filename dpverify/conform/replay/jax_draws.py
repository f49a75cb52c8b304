"""Replay normal numbers of JAX: `jax.random.normal` and its callers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpverify.conform.replay.generators import Tape
from dpverify.conform.replay.patches import replace_function


@contextmanager
def replay_normals(tape: Tape) -> Iterator[None]:
    """Play a tape to JAX. Compiled code has its own copy of the function, so `jax.jit` is disabled within the block."""

    def normal(key: Any, shape: Any = (), dtype: Any = float, **options: Any) -> Any:
        numbers = tape.take(int(np.prod(shape))).reshape(shape)
        return jnp.asarray(numbers, dtype=float if dtype is None else dtype)

    with jax.disable_jit(), replace_function(jax.random.normal, normal):
        yield
