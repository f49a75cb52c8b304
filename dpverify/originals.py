"""Functions with which foreign code is judged, as they were before it ran: what it replaces is put back and named."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

PACKAGES = frozenset({"dpverify", "numpy", "scipy", "builtins", "copy", "functools", "itertools", "math", "operator"})
PACKAGES_OF_CLASSES = frozenset({"dpverify"})  # whose classes are compared member by member
FREE = frozenset({"print", "open", "input", "__import__", "breakpoint"})  # builtins that tools replace


class Originals:
    """What the names of loaded modules refer to, and the code of their functions.

    It sees a replaced function, class or module, a changed function body and a changed method of a class of ours. It
    does not see what is changed through the memory of the process. Nothing here uses a builtin function while it
    compares, because that may be what was replaced.
    """

    def __init__(self) -> None:
        self._names: list[tuple[dict[str, Any], str, Any, str]] = []
        self._codes: dict[int, tuple[FunctionType, Any, Any, Any, str]] = {}
        self._members: list[tuple[type, str, Any, str]] = []
        self._set = setattr
        self._packages = {name.partition(".")[0] for name in sys.modules}
        for name, module in [*sys.modules.items()]:
            if name.partition(".")[0] in PACKAGES and type(module) is ModuleType:
                self._names.append((sys.modules, name, module, f"sys.modules[{name!r}]"))
                self._add_module(name, module)

    def _add_module(self, name: str, module: ModuleType) -> None:
        for key, value in vars(module).items():
            if (callable(value) or type(value) is ModuleType) and not (name == "builtins" and key in FREE):
                self._names.append((vars(module), key, value, f"{name}.{key}"))
                self._add_code(value, f"{name}.{key}")
            if isinstance(value, type) and value.__module__ == name and name.partition(".")[0] in PACKAGES_OF_CLASSES:
                for member, content in vars(value).items():
                    if callable(content) or isinstance(content, (property, staticmethod, classmethod)):
                        self._members.append((value, member, content, f"{name}.{key}.{member}"))
                        self._add_code(content, f"{name}.{key}.{member}")

    def _add_code(self, value: Any, words: str) -> None:
        if type(value) is FunctionType and id(value) not in self._codes:
            self._codes[id(value)] = (value, value.__code__, value.__defaults__, value.__kwdefaults__, words)

    def is_raised_elsewhere(self, error: BaseException) -> bool:
        """Return whether code of a package raised an exception that was not loaded yet: a handler of a signal."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        module = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
        return bool(module) and module.partition(".")[0] not in self._packages

    def restored(self) -> list[str]:
        """Put back what was replaced, and return its names."""
        return [*self._restored()]

    def _restored(self) -> Iterator[str]:
        for names, key, value, words in self._names:
            if key not in names or names[key] is not value:
                names[key] = value
                yield words
        for function, code, defaults, keywords, words in self._codes.values():
            if function.__code__ is not code or function.__defaults__ is not defaults:
                function.__code__ = code
                function.__defaults__ = defaults
                function.__kwdefaults__ = keywords
                yield words
        for kind, member, content, words in self._members:
            if kind.__dict__.get(member) is not content:
                self._set(kind, member, content)
                yield words
