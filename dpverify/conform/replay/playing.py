"""Play a tape to all libraries that the code of an optimizer has loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module

from dpverify.conform.replay.tape import Tape

LIBRARIES = ("random", "numpy", "torch", "jax")
"""Libraries whose normal numbers are replaced, each by a module of this folder; none is loaded for it."""


@contextmanager
def playing(tape: Tape) -> Iterator[None]:
    """Take the normal numbers of all generators and libraries from a tape while the block runs."""
    with ExitStack() as stack:
        for library in LIBRARIES:
            if library in sys.modules:
                module = import_module(f"dpverify.conform.replay.{library}_draws")
                stack.enter_context(module.playing(tape))
        yield
