"""Functions that test foreign code, saved before it runs. Functions that it replaces are restored and reported."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

PACKAGES = frozenset(
    {
        "dpverify",
        "numpy",
        "scipy",
        "builtins",
        "copy",
        "functools",
        "itertools",
        "math",
        "operator",
    }
)
# replaced by tools
REPLACEABLE = frozenset({"print", "open", "input", "__import__", "breakpoint"})
KINDS = (FunctionType, ModuleType, property, staticmethod, classmethod)


class Originals:
    """The values of names in loaded modules and in classes of dpverify, and the code of functions.

    Changes made directly in the memory of the process are not detected. The comparison calls no builtin function,
    because foreign code may have replaced it.
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
            if (callable(value) or isinstance(value, KINDS)) and not (
                name == "builtins" and key in REPLACEABLE
            ):
                self._attributes.append((holder, key, value, words))
            if type(value) is FunctionType:
                self._codes.setdefault(
                    value, (value.__code__, value.__defaults__, words)
                )
            if (
                isinstance(value, type)
                and value.__module__ == name
                and name.startswith("dpverify.")
            ):
                self._add(value, words)

    def is_raised_elsewhere(self, error: BaseException) -> bool:
        """Test whether an exception was raised in a package that was loaded later, such as by a signal handler."""
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        return (
            str(frame.f_globals.get("__name__")).partition(".")[0] not in self._packages
        )

    def restore(self) -> list[str]:
        """Restore replaced values, and return their names."""
        return [*self._restore()]

    def _restore(self) -> Iterator[str]:
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
