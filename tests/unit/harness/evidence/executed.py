"""Which definitions of dpverify a check runs, recorded while it runs."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

from numba.core.dispatcher import Dispatcher

import dpverify
from dpverify.harness.evidence.graph import CodeGraph, Node

ROOT = Path(dpverify.__file__).parent


def executed(action: Callable[[], object]) -> set[CodeType]:
    """Code objects that an action enters, of Python and of the kernels that it calls."""
    found: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            found.add(frame.f_code)

    before = {id(kernel): len(kernel.signatures) for kernel in _kernels()}
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    for kernel in _kernels():
        if len(kernel.signatures) > before.get(id(kernel), 0):
            found |= set(_code_of_kernel(kernel.py_func))
    return found


def _kernels() -> list[Any]:
    # by type: to ask a proxy of another library for its class may fail
    return [found for found in gc.get_objects() if issubclass(type(found), Dispatcher)]


def _code_of_kernel(function: FunctionType) -> Iterator[CodeType]:
    """Code of a kernel and of the kernels that it names, which are compiled into it."""
    todo, seen = [function], set[CodeType]()
    while todo:
        function = todo.pop()
        if function.__code__ in seen:
            continue
        seen.add(function.__code__)
        yield function.__code__
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, Dispatcher):
                todo.append(value.py_func)


def node_of(graph: CodeGraph, code: CodeType) -> Node | None:
    """Unit that a code object is of; None for code that is not of dpverify, or that only an import executes."""
    path = Path(code.co_filename)
    if ROOT not in path.parents or code.co_name == "<module>":
        return None
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    for place, unit in enumerate(graph.get_module(module).code.units):
        if unit.lines[0] <= code.co_firstlineno <= unit.lines[1]:
            return module, place
    raise LookupError(f"{code.co_qualname} of {module} must be in a unit.")
