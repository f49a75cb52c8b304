"""Mutations of the modules for which the catalogue has no fault, with the tests or claims that guard each module."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from dpverify.selftest.catalogue import Fault
from dpverify.selftest.guards import guards

ATTEMPTS = 8  # changes of a module that are tried until one is noticed

SIZES = frozenset(
    {
        "cost",
        "points",
        "repetitions",
        "seconds",
        "share",
        "shares",
        "size",
        "sizes",
        "starts",
        "tries",
    }
)
"""Keywords whose numbers determine the amount of work. No verdict depends on them."""

MIN_LARGE = 100  # integers from here on also count as sizes
OPPOSITES: dict[type[ast.AST], Any] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.USub: ast.UAdd,
}
"""Replacements of operators: the negation, or another operator."""


def mutants(module: str, source: str) -> Iterator[tuple[str, str, str]]:
    """Yield mutations: a description, the changed source, and the function; the module's name determines the order.

    Messages are not changed, because that only changes text. Sizes come last, because few verdicts depend on them.
    """
    tree = ast.parse(source)
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    inside = {
        node: function.name
        for function in functions
        for part in function.body
        for node in ast.walk(part)
    }
    message_nodes = _nodes_in(tree, _messages)
    size_nodes = _nodes_in(tree, _sizes)
    places = [
        node
        for node in inside
        if isinstance(node, ast.expr) and _changed(node) is not None
    ]
    random.Random(module).shuffle(places)
    places = sorted(
        (node for node in places if node not in message_nodes),
        key=lambda node: node in size_nodes,
    )
    encoded = source.encode()
    starts = [0]
    for line in encoded.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in places:
        new = _changed(node)
        if new is None or node.end_lineno is None or node.end_col_offset is None:
            continue
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        text = f"({ast.unparse(new)})"
        changed = (encoded[:begin] + text.encode() + encoded[end:]).decode()
        try:
            ast.parse(changed)
        except SyntaxError:  # in an f-string, with an older Python
            continue
        yield (
            f"line {node.lineno}: {encoded[begin:end].decode()} becomes {text}",
            changed,
            inside[node],
        )


def _nodes_in(
    tree: ast.AST, parts: Callable[[ast.AST], Iterable[ast.AST | None]]
) -> set[ast.AST]:
    """Return all nodes in the parts of nodes that ``parts`` selects."""
    return {
        below
        for node in ast.walk(tree)
        for part in parts(node)
        if part is not None
        for below in ast.walk(part)
    }


def _messages(node: ast.AST) -> Iterable[ast.AST | None]:
    """Return the parts of a node that only form a message."""
    if isinstance(node, ast.Raise):
        return (node.exc,)
    if isinstance(node, ast.Assert):
        return (node.msg,)
    return (node,) if isinstance(node, ast.JoinedStr) else ()


def _sizes(node: ast.AST) -> Iterable[ast.AST | None]:
    """Return the parts that determine the amount of work: keywords in SIZES, terms with ``budget``, large integers."""
    if isinstance(node, ast.keyword):
        return (node.value,) if node.arg in SIZES else ()
    if isinstance(node, ast.BinOp):
        return (
            (node,)
            if any(
                isinstance(part, ast.Name) and part.id == "budget"
                for part in ast.walk(node)
            )
            else ()
        )
    return (
        (node,)
        if isinstance(node, ast.Constant)
        and type(node.value) is int
        and node.value >= MIN_LARGE
        else ()
    )


def _changed(node: ast.expr) -> ast.expr | None:
    """Return the expression with another operator or number, or None if it has neither."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare) and type(new.ops[0]) in OPPOSITES:
        new.ops[0] = OPPOSITES[type(new.ops[0])]()
    elif (
        isinstance(new, ast.BinOp | ast.BoolOp | ast.UnaryOp)
        and type(new.op) in OPPOSITES
    ):
        new.op = OPPOSITES[type(new.op)]()
    elif isinstance(new, ast.Constant) and type(new.value) is int:
        new.value += 1
    elif isinstance(new, ast.IfExp):
        new.body, new.orelse = new.orelse, new.body
    else:
        return None
    return new


def attempts(root: Path, module: str) -> Iterator[Fault]:
    """Yield the first ATTEMPTS changes of a module as faults."""
    path = Path(*module.split(".")).with_suffix(".py")
    source = (root / path).read_text("utf-8")
    guards_of: dict[str, list[str]] = {}
    for description, new, function in islice(mutants(module, source), ATTEMPTS):
        if function not in guards_of:
            guards_of[function] = guards(root, module, function)
        names = guards_of[function]
        yield Fault(
            id=module,
            kind="machine",
            what=description,
            module=module,
            old=source,
            new=new,
            noticed_by=names,
        )
