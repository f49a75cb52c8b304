"""Names that a package passes on and loads when they are first used; it imports nothing of ours.

It is the first module of ours that a process loads, and so it also takes the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from time import time_ns
from typing import Any

LOADED_AT = time_ns()  # of a file that changes later, this process may run what the file held before


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make a package's ``__getattr__`` and ``__dir__`` (PEP 562).

    ``homes``: for each module, as its name goes on after that of the package, the names that come from it, separated by
    blanks; ``name=other`` passes ``other`` on as ``name``.
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
