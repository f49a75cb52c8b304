"""Context managers that replace functions within a block and always restore them."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

KEY = "key"  # a constant of `_forward`, which `rerouted` replaces
_replacements: dict[str, Callable[..., Any]] = {}


def _forward(*args: Any, **options: Any) -> Any:
    from dpverify.conform.replay.patches import called

    return called("key", *args, **options)


def called(key: str, *args: Any, **options: Any) -> Any:
    """Call the replacement of a function."""
    return _replacements[key](*args, **options)


@contextmanager
def rerouted(function: Any, replacement: Callable[..., Any]) -> Iterator[None]:
    """Make a Python function call ``replacement``, for all names, defaults, partials and methods that refer to it.

    Only the code object is replaced, so references to the function remain valid. Closures and functions that are not
    written in Python are not replaced.
    """
    if not isinstance(function, FunctionType) or function.__code__.co_freevars:
        yield
        return
    code = function.__code__
    key = f"{function.__module__}.{function.__qualname__}"
    constants = tuple(
        key if constant == KEY else constant for constant in _forward.__code__.co_consts
    )
    _replacements[key] = replacement
    function.__code__ = _forward.__code__.replace(co_consts=constants)
    try:
        yield
    finally:
        function.__code__ = code
        del _replacements[key]


@contextmanager
def overridden(
    kind: type, name: str, replacement: Callable[..., Any]
) -> Iterator[None]:
    """Replace a method of a compiled class, including for existing objects.

    Attributes of such a class cannot be set, so its dictionary is changed. This works in CPython only.
    """
    (attributes,) = gc.get_referents(kind.__dict__)
    original = attributes[name]
    attributes[name] = replacement
    _forget_methods(kind)
    try:
        yield
    finally:
        attributes[name] = original
        _forget_methods(kind)


def _forget_methods(kind: type) -> None:
    """Invalidate the interpreter's method cache of this class."""
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


@contextmanager
def renamed(original: Any, replacement: Any) -> Iterator[None]:
    """Replace an object in the namespaces of all modules and scripts, under all of its names."""
    places = _places(original)
    for names, name in places:
        names[name] = replacement
    try:
        yield
    finally:
        for names, name in places:
            names[name] = original


_known: dict[int, tuple[int, Any, list[tuple[dict[str, Any], str]]]] = {}


def _places(original: Any) -> list[tuple[dict[str, Any], str]]:
    """Return the namespaces that contain an object; cached until the number of loaded modules changes.

    Scripts may be missing from the loaded modules, and `gc` does not report frozen objects, so both are searched.
    """
    loaded = len(sys.modules)
    count, _, places = _known.get(id(original), (-1, None, []))
    if count != loaded:
        modules = [
            vars(module)
            for module in list(sys.modules.values())
            if hasattr(module, "__dict__")
        ]
        holders = [
            names
            for names in gc.get_referrers(original)
            if isinstance(names, dict) and "__builtins__" in names
        ]
        namespaces = {id(names): names for names in [*modules, *holders]}
        places = [
            (names, key)
            for names in namespaces.values()
            for key, value in [*names.items()]
            if value is original
        ]
        _known[id(original)] = (loaded, original, places)
    return places
