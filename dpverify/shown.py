"""Representation of results in Python and in notebooks. This module imports no other module of dpverify.

The function that makes the text is imported only when it is needed, so it is not part of the evidence for a verdict.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar


class ShownAsTable:
    """A result with a short ``repr``, a table as text and as HTML, and a pandas data frame."""

    __slots__ = ()

    # "module:function", which makes a ``ResultTable`` of the result
    shown_by: ClassVar[str]

    def __repr__(self) -> str:
        return str(self._table().short(type(self).__name__))

    def __str__(self) -> str:
        return str(self._table().text())

    def _repr_html_(self) -> str:
        return str(self._table().html())

    def to_frame(self) -> Any:
        """Return the rows as a ``pandas.DataFrame``; if pandas is missing, the ImportError says what to install."""
        return self._table().frame()

    def _table(self) -> Any:
        module, _, function = self.shown_by.partition(":")
        return getattr(import_module(module), function)(self)
