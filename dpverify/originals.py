"""Functions with which foreign code is judged, as they were before it ran: what it replaces is put back and named."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

PACKAGES = frozenset({"dpverify", "numpy", "scipy", "builtins", "copy", "functools", "itertools", "math", "operator"})
FREE = frozenset({"print", "open", "input", "__import__", "breakpoint"})  # builtins that tools replace
KINDS = (FunctionType, ModuleType, property, staticmethod, classmethod)


class Originals:
    """What the names of loaded modules and of our classes refer to, and the code of functions.

    It does not see what is changed through the memory of the process. Nothing here calls a builtin function while it
    compares, because that may be what was replaced.
    """

    def __init__(self) -> None:
        self._set = setattr
        self._packages = {name.partition(".")[0] for name in sys.modules}
        self._modules = [
            (name, module)
            for name, module in sys.modules.items()
            if name.partition(".")[0] in PACKAGES and type(module) is ModuleType
        ]
        self._attributes: list[tuple[Any, str, Any, str]] = []
        self._codes: dict[FunctionType, tuple[Any, Any, str]] = {}
        for name, module in self._modules:
            self._add(module, name)

    def _add(self, holder: Any, name: str) -> None:
        for key, value in vars(holder).items():
            words = f"{name}.{key}"
            if (callable(value) or isinstance(value, KINDS)) and not (name == "builtins" and key in FREE):
                self._attributes.append((holder, key, value, words))
            if type(value) is FunctionType:
                self._codes.setdefault(value, (value.__code__, value.__defaults__, words))
            if isinstance(value, type) and value.__module__ == name and name.startswith("dpverify."):
                self._add(value, words)

    def is_raised_elsewhere(self, error: BaseException) -> bool:
        """Return whether code of a package raised an exception that was not loaded yet, such as a signal handler."""
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        return str(frame.f_globals.get("__name__")).partition(".")[0] not in self._packages

    def restored(self) -> list[str]:
        """Put back what was replaced, and return its names."""
        return [*self._restored()]

    def _restored(self) -> Iterator[str]:
        for name, module in self._modules:
            if sys.modules.get(name) is not module:
                sys.modules[name] = module
                yield f"sys.modules[{name!r}]"
        for holder, key, value, words in self._attributes:
            if holder.__dict__.get(key) is not value:
                self._set(holder, key, value)
                yield words
        for function, (code, defaults, words) in self._codes.items():
            if function.__code__ is not code or function.__defaults__ is not defaults:
                function.__code__ = code
                function.__defaults__ = defaults
                yield words
