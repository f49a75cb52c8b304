"""Digest of everything that determines the compiled code of a function: code, constants, options, called functions.

Files of compiled kernels are named by these digests. Numba's own cache is not reliable
enough for a verifier. It numbers its files and lists them in an index. Two processes
that compile different signatures at the same time may choose the same number, and the
index is written before the file that it names. In both cases a process can load the
machine code of another function. Numba also checks one source file only: a kernel is
not recompiled if a kernel that it calls, in another file, has changed.

Here the name of a file is the digest of the code, of every kernel and constant that it uses, of the signature, and of
the compiler with its options. A file is written under a temporary name and then renamed, so it is always complete.
There is no index.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite  # type: ignore[import-untyped]  # no py.typed
import numba
import numpy as np
from numba.core.registry import cpu_target


def fingerprint(function: Any) -> str:
    """Return the digest of a function or kernel and of all code of dpverify that it uses, 64 hexadecimal digits.

    The digest is the same in every process with the same sources. It changes with the body of the function, a constant,
    a value in its closure, a compiler option, or any of these in a kernel, an intrinsic or an overload that it calls.
    """
    digest = hashlib.sha256()
    for part in _value(function, (), set()):
        digest.update(part.encode() + b"\n")
    return digest.hexdigest()


def _function(function: FunctionType, visited: set[int]) -> Iterator[str]:
    if id(function) in visited:
        yield f"again {function.__qualname__}"
        return
    visited.add(id(function))
    yield f"function {function.__module__} {function.__qualname__}"
    yield f"defaults {function.__defaults__!r} {function.__kwdefaults__!r}"
    yield from _code(function.__code__)
    for cell in function.__closure__ or ():
        yield from _value(cell.cell_contents, (), visited)
    names = tuple(_names(function.__code__))
    for name in names:
        if name in function.__globals__:
            yield name
            yield from _value(function.__globals__[name], names, visited)


def _code(code: CodeType) -> Iterator[str]:
    yield f"{code.co_argcount} {code.co_varnames} {code.co_names} {code.co_code.hex()}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield repr(
                sorted(map(repr, constant))
                if isinstance(constant, frozenset)
                else constant
            )


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _overloads(function: FunctionType) -> Iterator[FunctionType]:
    """Yield the overloads that compiled code runs instead of a plain function; numba stores them in a registry."""
    context = cpu_target.typing_context
    context.refresh()  # registers new overloads
    registered = context._lookup_global(function)
    for template in getattr(registered, "templates", ()):
        if isinstance(body := getattr(template, "_overload_func", None), FunctionType):
            yield body


def _value(value: Any, names: tuple[str, ...], visited: set[int]) -> Iterator[str]:
    """Yield a description of a value that a function uses; of dpverify's modules, only the attributes in ``names``."""
    # the function of a kernel or an intrinsic
    body = getattr(value, "py_func", getattr(value, "_defn", value))
    if isinstance(body, FunctionType):
        yield f"options {sorted(getattr(value, 'targetoptions', {}).items())}"
        yield from _function(body, visited)
        for replacement in _overloads(body) if body is value else ():
            yield from _function(replacement, visited)
    elif isinstance(value, ModuleType):
        yield f"module {value.__name__}"
        if value.__name__.partition(".")[0] == __name__.partition(".")[0]:
            for name in names:
                if hasattr(value, name):
                    yield from _value(getattr(value, name), names, visited)
    elif isinstance(value, np.ndarray):
        yield f"array {value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    elif isinstance(value, tuple):
        for item in value:
            yield from _value(item, names, visited)
    elif isinstance(value, type) and hasattr(
        value, "_fields"
    ):  # a named tuple: attributes depend on its fields
        yield f"{value!r} {value._fields}"
    else:  # a number, a type or a numpy function; an address in it only prevents a cache hit
        yield repr(value)


FORMAT = 4  # increase it if files of earlier releases must not be read


def file_name(base: str, code: Iterable[object], settings: object) -> str:
    """Return the file name of a compiled function; ``code`` describes its source, ``settings`` the compiler's."""
    digest = hashlib.sha256()
    for part in (
        FORMAT,
        *code,
        numba.__version__,
        llvmlite.__version__,
        sys.version_info[:2],
        settings,
    ):
        digest.update(repr(part).encode() + b"\n")
    return f"{base}.{digest.hexdigest()[:32]}.nbc"
