"""Expressions in one shared table: in a certificate they become places in it."""

from __future__ import annotations

from typing import Any

from dpverify.symbolic.certify.checker import Expr, k


def with_table(data: dict[str, Any]) -> dict[str, Any]:
    """Write a certificate with the table of all expressions that it uses."""
    table = _Table()
    body = table.renumbered(data)
    return {"table": table.rows, **body}


class _Table:
    """The rows that are used, in the order in which the checker can read them."""

    def __init__(self) -> None:
        self.rows, self.places = list[Any](), dict[Expr, int]()

    def renumbered(self, data: Any) -> Any:
        """Copy data, with places in the table for expressions."""
        if isinstance(data, k.Row):
            return self.place(data)
        if isinstance(data, dict):
            return {key: self.renumbered(value) for key, value in data.items()}
        return [self.renumbered(value) for value in data] if isinstance(data, list | tuple) else data

    def place(self, expr: Expr) -> Any:
        """Place of an expression; letters and constants stand as they are."""
        op, *args = expr
        if op == "letter":
            return _name(args[0])
        if op in k.CONSTANTS:
            return op
        if expr not in self.places:
            parts = [self.place(a) if isinstance(a, k.Row) else _name(str(a)) for a in args]
            self.places[expr] = len(self.rows)
            self.rows.append([op, *parts])
        return self.places[expr]


def _name(letter: str) -> str:
    return f"idx{letter[1:]}" if letter.startswith("~") else letter
