"""Names that a package re-exports and loads on first use. This module imports no other module of dpverify.

It is the first module of dpverify that a process loads, so it also records the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from time import time_ns
from typing import Any

LOADED_AT = time_ns()  # if a file changes later, this process may run its old code


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__`` (PEP 562).

    ``homes`` maps the relative name of each module to the names that it exports, separated by blanks. ``name=other``
    exports ``other`` as ``name``.
    """
    home = {
        name: (f"{package}.{module}", attribute or name)
        for module, names in homes.items()
        for name, _, attribute in (entry.partition("=") for entry in names.split())
    }

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = home[name]
        return getattr(import_module(module), attribute)

    return load, lambda: sorted(home)
