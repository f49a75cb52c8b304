"""Expressions in one shared table: a certificate's numbers of expressions become places in it."""

from __future__ import annotations

from typing import Any


def with_table(expressions: Any, data: dict[str, Any]) -> dict[str, Any]:
    """Write a certificate with the table of all expressions that it uses."""
    table = Table(expressions)
    body = table.renumbered(data)
    return {"table": table.rows, **body}


class Table:
    """The rows that are used, in the order in which the checker can read them."""

    def __init__(self, expressions: Any) -> None:
        self.e, self.rows, self.places = expressions, list[Any](), dict[int, int]()

    def renumbered(self, data: Any) -> Any:
        """Copy data, with places in the table for numbers of expressions."""
        if isinstance(data, bool) or data is None or isinstance(data, str):
            return data
        if isinstance(data, int):
            return self.place(data)
        if isinstance(data, dict):
            return {key: self.renumbered(value) for key, value in data.items()}
        return [self.renumbered(value) for value in data]

    def place(self, number: int) -> Any:
        """FactList of an expression; letters and constants stand as they are."""
        op, *args = self.e.rows[number]
        if op == "letter":
            return _name(args[0])
        if op in ("oo", "-oo", "pi"):
            return op
        if number in self.places:
            return self.places[number]
        if op == "q":
            row = ["q", str(args[0])]
        elif op in ("sum", "integral"):
            row = [op, _name(args[0]), *(self.place(a) for a in args[1:])]
        elif op == "apply":
            row = [op, args[0], self.place(args[1])]
        else:
            row = [op, *(self.place(a) for a in args)]
        self.places[number] = len(self.rows)
        self.rows.append(row)
        return self.places[number]


def _name(letter: str) -> str:
    return f"idx{letter[1:]}" if letter.startswith("~") else letter
