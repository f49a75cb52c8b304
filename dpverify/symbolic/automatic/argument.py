"""A complete certificate: its acceptance by the checker, its facts without unneeded ones, and its argument as text.

The lines of the argument name the cases, the inductions, and the rules with their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dpverify.symbolic.certify.checker import Expr, k, rules

INDEX = "idx"  # index of the terms of a sum
MOST_CHARACTERS = 100  # length of a rule's values; longer ones are left out


def argument_lines(certificate: dict[str, Any], way: str) -> list[str]:
    """Return lines that name the cases, inductions and rules of a proof."""
    table = k.read_table(certificate["table"])
    lines = list(dict.fromkeys(_lines(certificate["statement"]["body"], table, "")))
    return [way, *lines] if lines else [f"{way}: the signs of terms suffice"]


def _lines(items: list[Any], table: list[Expr], indent: str) -> Iterator[str]:
    for item in items:
        if "within" in item:
            yield from _lines(item["facts"], table, indent)
        elif "split" in item:
            cases = ((">=", item["then"]), ("<", item["else"]))
            for relation, inside in cases:
                yield f"{indent}case {formula(k.read(item['split'], table))} {relation} 0"
                yield from _lines(inside, table, f"{indent}  ")
        elif item["by"][0] == "instance":
            _, source, name, where = item["by"]
            values = {letter: _value(value, table) for letter, value in where.items()}
            yield f"{indent}{_said(source, name, values)}"


def _said(source: str, name: str, values: dict[str, str]) -> str:
    if source == "induction":
        return f"the statement for {name} = {values[name]}"
    text = ", ".join(f"{letter} = {value}" for letter, value in values.items())
    return f"{name}({text})" if len(text) <= MOST_CHARACTERS else name


def _value(value: Any, table: list[Expr]) -> str:
    is_function = isinstance(value, list) and len(value) == 2 and value[0] == INDEX
    return formula(k.read(value[1] if is_function else value, table))


SIGNS = {"+": 1, "*": 2, "^": 3}


def formula(e: Expr) -> str:
    """Return an expression of the checker in the formula language."""
    return _formula(e, 0)


def _formula(e: Expr, around: int) -> str:
    op, *args = e
    if op == "q":
        text = str(args[0])
        return (
            f"({text})"
            if around and (text.startswith("-") or ("/" in text and around > 1))
            else text
        )
    if op == "letter":
        return str(args[0])
    if not args:
        return str(op)
    if op in ("sum", "integral"):
        index, lo, hi, body = args
        body = k.put(body, {index: k.letter("i")})
        return f"sum({_formula(body, 0)}, i, {_formula(lo, 0)}, {_formula(hi, 0)})"
    if op == "apply":
        op, *args = args
    if op not in SIGNS:
        return f"{op}({', '.join(_formula(a, 0) for a in args)})"
    if op == "+":
        text = " + ".join(_formula(a, 1) for a in args).replace("+ -", "- ")
    elif op == "*":
        text = _product(args)
    else:
        text = f"{_formula(args[0], 3)}**{_formula(args[1], 3)}"
    return f"({text})" if SIGNS[op] < around or (op == "^" and around == 3) else text


def _factors(e: Expr) -> list[Expr]:
    return (
        [factor for part in e[1:] for factor in _factors(part)] if e[0] == "*" else [e]
    )


def _product(parts: list[Expr]) -> str:
    args = [factor for part in parts for factor in _factors(part)]
    minus = [a for a in args if a == k.rational(-1)]
    under = [a[1] for a in args if a[0] == "^" and a[2] == k.rational(-1)]
    over = [
        a
        for a in args
        if a not in minus and not (a[0] == "^" and a[2] == k.rational(-1))
    ]
    text = "*".join(_formula(a, 2) for a in over) or "1"
    text += "".join(f"/{_formula(a, 3)}" for a in under)
    return f"-{text}" if len(minus) % 2 else text


MOST_TRIES = 120


def pruned(
    body: list[Any], accepts: Callable[[], bool], most: int = MOST_TRIES
) -> None:
    """Remove facts from a body and from the lists inside it, as long as ``accepts`` returns True without them."""
    tries = iter(range(most))
    for items in reversed(list(_lists(body))):
        size = len(items) // 2 or 1
        while size:
            start = len(items) - size
            while start > -size:
                low = max(start, 0)
                taken = items[low : low + size]
                if next(tries, None) is None:
                    return
                del items[low : low + size]
                if not accepts():
                    items[low:low] = taken
                start -= size
            size //= 2


def _lists(items: list[Any]) -> Iterator[list[Any]]:
    yield items
    for item in items:
        for key in ("facts", "then", "else"):
            if key in item:
                yield from _lists(item[key])


def accepts(certificate: dict[str, Any]) -> bool:
    """Test whether the stand-alone checker accepts a certificate."""
    return checked(certificate) is not None


def checked(certificate: dict[str, Any]) -> Any:
    """Return the stand-alone checker that accepted a certificate, or None if it refuses the certificate."""
    try:
        return k.run(certificate, rules())
    except k.Refused:
        return None
