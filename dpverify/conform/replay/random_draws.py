"""Replay normal numbers of Python's `random`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from dpverify.conform.replay.generators import Tape
from dpverify.conform.replay.patches import replace_function


@contextmanager
def replay_normals(tape: Tape) -> Iterator[None]:
    """Play a tape to `random.gauss`, `random.normalvariate` and all objects of `random.Random`."""

    def draw(generator: random.Random, mu: float = 0.0, sigma: float = 1.0) -> float:
        return mu + sigma * float(tape.take(1)[0])

    with (
        replace_function(random.Random.gauss, draw),
        replace_function(random.Random.normalvariate, draw),
    ):
        yield
