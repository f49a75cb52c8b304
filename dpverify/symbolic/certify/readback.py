"""Expressions of the checker's forms."""

from __future__ import annotations

from functools import cache
from typing import Any

from dpverify.symbolic.certify.checker import Expr, Form, k


@cache
def written(form: Form) -> Expr:
    """An expression with this form."""
    terms = [monomial(m, c) for m, c in form.items()]
    return terms[0] if len(terms) == 1 else k.row("+", *terms) if terms else k.rational(0)


def monomial(factors: Any, coefficient: Any = 1) -> Expr:
    """One monomial with its coefficient."""
    parts = [power(atom, x) for atom, x in factors]
    if coefficient != 1 or not parts:
        parts.insert(0, k.rational(coefficient))
    return parts[0] if len(parts) == 1 else k.row("*", *parts)


def power(atom: Any, exponent: Form) -> Expr:
    """An atom to a power."""
    if atom[0] == "e":
        return k.row("exp", written(exponent))
    base = of_atom(atom)
    return base if exponent is k.ONE else k.row("^", base, written(exponent))


@cache
def of_atom(atom: Any) -> Expr:
    """One atom."""
    kind, *arguments = atom
    if kind == "prime":
        return k.rational(int(arguments[0]))
    if kind == "e":
        return k.row("exp", k.rational(1))
    if kind == "base":
        return written(arguments[0])
    if kind in ("sum", "integral"):
        return _bound(kind, arguments)
    return k.row(kind, *(x if isinstance(x, str) else written(x) for x in arguments))


def _bound(kind: str, arguments: list[Any]) -> Expr:
    body = arguments[-1]
    index = f"#{min(_free(body), default=0)}"  # those of sums around it have higher numbers
    fresh, summed = k.bind("bound", k.put(written(body), {index: k.letter("bound")}))
    ends = (k.row("-oo"), k.row("oo"))
    if kind == "sum":
        ends = k.rational(0), k.row("oo") if arguments[0] == "oo" else written(arguments[0])
    return k.row(kind, fresh, *ends, summed)


def _free(part: Any) -> set[int]:
    """Numbers of the indices in a form or atom that no sum in it binds."""
    if not isinstance(part, k.Row):
        index_sets = [_free(x) for m in part for factor in m for x in factor] if isinstance(part, k.Form) else []
        return set[int]().union(*index_sets)
    kind, *arguments = part
    if kind == "letter":
        return {int(arguments[0][1:])} if arguments[0].startswith("#") else set()
    if kind not in ("sum", "integral"):
        return set[int]().union(*map(_free, arguments))
    inner = _free(arguments[-1])
    return (inner - {min(inner, default=0)}).union(*map(_free, arguments[:-1]))
