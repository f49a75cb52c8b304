"""One change made by a machine in each module that the catalogue leaves out, and the tests or claims that guard it."""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from dpverify.papers import index
from dpverify.selftest.catalogue import Fault

ATTEMPTS = 4  # changes of a module that are tried until one is noticed
MOST_TESTS, MOST_CLAIMS = 2, 8  # that are asked; a derivation often serves only one of its file's claims
OTHER: dict[type[ast.AST], Any] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.USub: ast.UAdd,
}  # fmt: skip
"""What stands for an operator: its negation, or another one."""


def mutants(module: str, source: str) -> Iterator[tuple[str, str]]:
    """Changed sources, with what was changed, in an order that the module's name fixes."""
    functions = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    bodies = {id(node): node for function in functions for part in function.body for node in ast.walk(part)}
    places = [node for node in bodies.values() if isinstance(node, ast.expr) and _changed(node) is not None]
    random.Random(module).shuffle(places)
    encoded = source.encode()
    starts = [0]
    for line in encoded.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in places:
        if (new := _changed(node)) is None or node.end_lineno is None or node.end_col_offset is None:
            continue
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        text = f"({ast.unparse(new)})"
        changed = (encoded[:begin] + text.encode() + encoded[end:]).decode()
        try:
            ast.parse(changed)
        except SyntaxError:  # inside an f-string of an older Python
            continue
        yield f"line {node.lineno}: {encoded[begin:end].decode()} becomes {text}", changed


def _changed(node: ast.expr) -> ast.expr | None:
    """The expression with another operator or number; None where there is none."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare) and type(new.ops[0]) in OTHER:
        new.ops[0] = OTHER[type(new.ops[0])]()
    elif isinstance(new, ast.BinOp | ast.BoolOp | ast.UnaryOp) and type(new.op) in OTHER:
        new.op = OTHER[type(new.op)]()
    elif isinstance(new, ast.Constant) and type(new.value) is int:
        new.value += 1
    elif isinstance(new, ast.IfExp):
        new.body, new.orelse = new.orelse, new.body
    else:
        return None
    return new


def guards(root: Path, module: str) -> list[str]:
    """Who should notice a fault in a module: its own tests or others that import it, claims, or those of its users."""
    own = _own_tests(module)
    level, seen = [module], {module}
    while level:
        found = list(dict.fromkeys(name for each in level for name in _direct(root, each)))
        if found:
            return _few(sorted(found, key=lambda name: own.parent not in Path(name).parents))
        level = sorted({user for each in level for user in _users(root, each)} - seen)
        seen.update(level)
    return [next(above.as_posix() for above in own.parents if any((root / above).glob("test_*.py")))]


def _own_tests(module: str) -> Path:
    _, *folders, stem = module.split(".")
    return Path("tests", "unit", *folders, f"test_{stem}.py")


def _direct(root: Path, module: str) -> list[str]:
    """Its own tests, or those of its folder that import it, or its claims, or tests elsewhere that import it."""
    own, imports = _own_tests(module), _imports(module)
    if (root / own).is_file():
        return [own.as_posix()]
    near = [path for path in sorted((root / own.parent).glob("test_*.py")) if imports.search(path.read_text("utf-8"))]
    claims = [
        f"{name.split('.')[2]}:{claim}"
        for name, file in index().files.items()
        for claim in file.claims
        if name == module or imports.search((root / Path(*name.split("."))).with_suffix(".py").read_text("utf-8"))
    ]
    far = (path for path in sorted((root / "tests").rglob("test_*.py")) if imports.search(path.read_text("utf-8")))
    found = [path.relative_to(root).as_posix() for path in near] or claims
    return _few(found) or [path.relative_to(root).as_posix() for path in islice(far, MOST_TESTS)]


def _few(names: list[str]) -> list[str]:
    """The first tests and the first claims among names, as many as are asked."""
    tests = [name for name in names if name.startswith("tests/")]
    claims = [name for name in names if not name.startswith("tests/")]
    return tests[:MOST_TESTS] + claims[:MOST_CLAIMS]


def _users(root: Path, module: str) -> Iterator[str]:
    """Modules that import a module."""
    imports = _imports(module)
    for path in (root / "dpverify").rglob("*.py"):
        if imports.search(path.read_text("utf-8")):
            yield ".".join(path.relative_to(root).with_suffix("").parts)


def _imports(module: str) -> re.Pattern[str]:
    """What stands in the source of one that imports it."""
    name = module.removesuffix(".__init__")
    if name != module:
        return re.compile(rf"from {re.escape(name)} import|import {re.escape(name)}$", re.MULTILINE)
    folder, _, stem = name.rpartition(".")
    return re.compile(rf"\b{re.escape(name)}\b|from {re.escape(folder)} import .*\b{stem}\b")


def attempt(root: Path, module: str, number: int) -> Fault | None:
    """The change of a module with a number, as a fault; None where there are no so many."""
    path = Path(*module.split(".")).with_suffix(".py")
    source = (root / path).read_text("utf-8")
    found = next(islice(mutants(module, source), number, None), None)
    if found is None:
        return None
    what, new = found
    return Fault(
        id=module, kind="machine", what=what, module=module, old=source, new=new, noticed_by=guards(root, module)
    )
