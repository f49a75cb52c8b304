"""Replay normal numbers of numpy: generators, `RandomState`, and the functions of `numpy.random`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from dpverify.conform.replay.generators import Tape
from dpverify.conform.replay.patches import replace_method, replace_object


@contextmanager
def replay_normals(tape: Tape) -> Iterator[None]:
    """Play a tape to all generators of numpy. Their `multivariate_normal` calls the replaced `standard_normal`."""

    def standard_normal(generator: Any, *args: Any, **options: Any) -> Any:
        return tape.standard_normal(*args, **options)

    def normal(generator: Any, *args: Any, **options: Any) -> Any:
        return tape.normal(*args, **options)

    with ExitStack() as stack:
        for class_ in (np.random.Generator, np.random.RandomState):
            stack.enter_context(
                replace_method(class_, "standard_normal", standard_normal)
            )
            stack.enter_context(replace_method(class_, "normal", normal))
        stack.enter_context(
            replace_object(np.random.standard_normal, tape.standard_normal)
        )
        stack.enter_context(replace_object(np.random.normal, tape.normal))
        yield
