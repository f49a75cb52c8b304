"""Context managers that replace functions within a block and always restore them."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

KEY_CONSTANT = "key"  # a constant of `_forward`, which `replace_function` replaces
_replacements: dict[str, Callable[..., Any]] = {}


def _forward(*args: Any, **options: Any) -> Any:
    from dpverify.conform.replay.patches import call_replacement

    return call_replacement("key", *args, **options)


def call_replacement(key: str, *args: Any, **options: Any) -> Any:
    """Call the replacement of a function."""
    return _replacements[key](*args, **options)


@contextmanager
def replace_function(function: Any, replacement: Callable[..., Any]) -> Iterator[None]:
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
        key if constant == KEY_CONSTANT else constant
        for constant in _forward.__code__.co_consts
    )
    _replacements[key] = replacement
    function.__code__ = _forward.__code__.replace(co_consts=constants)
    try:
        yield
    finally:
        function.__code__ = code
        del _replacements[key]


@contextmanager
def replace_method(
    class_: type, name: str, replacement: Callable[..., Any]
) -> Iterator[None]:
    """Replace a method of a compiled class, including for existing objects.

    Attributes of such a class cannot be set, so its dictionary is changed. This works in CPython only.
    """
    (attributes,) = gc.get_referents(class_.__dict__)
    original = attributes[name]
    attributes[name] = replacement
    _forget_methods(class_)
    try:
        yield
    finally:
        attributes[name] = original
        _forget_methods(class_)


def _forget_methods(class_: type) -> None:
    """Invalidate the interpreter's method cache of this class."""
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(class_))


@contextmanager
def replace_object(original: Any, replacement: Any) -> Iterator[None]:
    """Replace an object in the namespaces of all modules and scripts, under all of its names."""
    references = _references(original)
    for namespace, name in references:
        namespace[name] = replacement
    try:
        yield
    finally:
        for namespace, name in references:
            namespace[name] = original


_namespace_cache: dict[int, tuple[int, Any, list[tuple[dict[str, Any], str]]]] = {}


def _references(original: Any) -> list[tuple[dict[str, Any], str]]:
    """Return the namespaces that contain an object; cached until the number of loaded modules changes.

    Scripts may be missing from the loaded modules, and `gc` does not report frozen objects, so both are searched.
    """
    module_count = len(sys.modules)
    cached_count, _, references = _namespace_cache.get(id(original), (-1, None, []))
    if cached_count != module_count:
        modules = [
            vars(module)
            for module in list(sys.modules.values())
            if hasattr(module, "__dict__")
        ]
        referrers = [
            namespace
            for namespace in gc.get_referrers(original)
            if isinstance(namespace, dict) and "__builtins__" in namespace
        ]
        namespaces = {id(namespace): namespace for namespace in [*modules, *referrers]}
        references = [
            (namespace, key)
            for namespace in namespaces.values()
            for key, value in [*namespace.items()]
            if value is original
        ]
        _namespace_cache[id(original)] = (module_count, original, references)
    return references
