"""A digest of all that decides what a function compiles to: its code, its constants, its options, and what it calls.

Files of compiled kernels are named by such digests. Numba's own cache numbers its files and keeps an index beside them.
Two processes that compile different signatures at once may pick the same number, and the index is written before the
file that it names; either way one of them can be handed the machine code of another function. It also looks at one
source file only, so that a kernel which calls a kernel of another file stays as it was when that one changes. A
verifier cannot live with either. Here a file's name is the digest of the code, of every kernel and constant that it
reaches, of the signature and of the compiler with its options; it is written aside and moved into place, so a file is
there whole or not at all, and no index can disagree with it.
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
    """Digest a function's or a kernel's code and everything of ours that it reaches.

    64 hexadecimal digits. Equal in every process with the same sources; another when the body of the function, a
    constant, a value in its closure, an option of the compiler, or any of these in what it calls, is changed: in a
    kernel, in an intrinsic, or in what overloads a plain function.
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
            yield repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _overloads(function: FunctionType) -> Iterator[FunctionType]:
    """Yield what compiled code runs in the place of a plain function: numba keeps it beside the function, not in it."""
    context = cpu_target.typing_context
    context.refresh()  # takes in what was overloaded since
    registered = context._lookup_global(function)
    for template in getattr(registered, "templates", ()):
        if isinstance(body := getattr(template, "_overload_func", None), FunctionType):
            yield body


def _value(value: Any, names: tuple[str, ...], visited: set[int]) -> Iterator[str]:
    """Describe something that a function refers to; ``names`` are those it looks up, in case of a module of ours."""
    body = getattr(value, "py_func", getattr(value, "_defn", value))  # of a kernel, of an intrinsic
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
    elif isinstance(value, type) and hasattr(value, "_fields"):  # a record: its fields decide what a name reads
        yield f"{value!r} {value._fields}"
    else:  # a number, a type, a function of numpy; a name with an address in it is never found again, which is safe
        yield repr(value)


FORMAT = 4  # Other than in releases whose files must not be read


def file_name(base: str, code: Iterable[object], settings: object) -> str:
    """Name the file of a function: ``code`` is what it is compiled from, ``settings`` those of the compiler."""
    digest = hashlib.sha256()
    for part in (FORMAT, *code, numba.__version__, llvmlite.__version__, sys.version_info[:2], settings):
        digest.update(repr(part).encode() + b"\n")
    return f"{base}.{digest.hexdigest()[:32]}.nbc"
