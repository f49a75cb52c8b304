"""Load objects of users by name: ``module:name`` or ``file.py:name``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from dpverify.foreign import ForeignError, check_originals, foreign_code, text_with_line

# a file runs once, even if it has both the mechanism and the data sets
_FILES: dict[str, ModuleType] = {}


class TargetError(ValueError):
    """A target cannot be loaded; the message says why."""


def load_object(target: str) -> tuple[Any, ModuleType]:
    """Return the object and the module of ``module:name`` or ``file.py:name``; modules may be in the current folder."""
    source, _, name = target.rpartition(":")
    if not source or not name:
        raise TargetError("must be module:function, or file.py:function")
    if source.endswith(".py") and not Path(source).is_file():
        raise TargetError(f"there is no such file {source}")
    try:
        with foreign_code(source):
            module = _module(source)
    except ForeignError as error:
        raise TargetError(
            f"{source} cannot be imported: {text_with_line(error.__cause__ or error)}"
        ) from error
    try:
        check_originals(source)
    except ForeignError as error:
        raise TargetError(str(error)) from error
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise TargetError(f"{source} has no {name!r}{_suggestion(part, value)}")
        value = getattr(value, part)
    return value, module


def load_function(target: str) -> tuple[Callable[..., Any], ModuleType]:
    """Import a function and return it with its module."""
    value, module = load_object(target)
    if not callable(value):
        raise TargetError(f"must be a function, is {type(value).__name__}")
    return value, module


def _module(source: str) -> ModuleType:
    path = Path(source).resolve() if source.endswith(".py") else None
    folder = str(Path.cwd() if path is None else path.parent)
    if folder not in sys.path:
        # the user's module can import its neighbours, as with python -m
        sys.path.insert(0, folder)
    importlib.invalidate_caches()
    if path is None:
        return importlib.import_module(source)
    if str(path) in _FILES:
        return _FILES[str(path)]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = importlib.util.module_from_spec(spec)
    # its annotations are resolved there
    is_new = sys.modules.setdefault(path.stem, module) is module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if is_new:
            del sys.modules[path.stem]
        raise
    _FILES[str(path)] = module
    return module


def _suggestion(word: str, value: object) -> str:
    from dpverify.ledger.errors import suggest

    return suggest(word, [name for name in dir(value) if not name.startswith("_")])
