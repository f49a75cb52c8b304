"""Changes made by a machine in each module that the catalogue leaves out, and the tests or claims that guard it."""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from dpverify.papers import index
from dpverify.selftest.catalogue import Fault
from dpverify.selftest.serving import served

ATTEMPTS = 8  # changes of a module that are tried until one is noticed
# that are asked: first the claims whose checks use the changed function
MOST_TESTS = 2
MOST_CLAIMS = 8
SIZES = frozenset({"cost", "points", "repetitions", "seconds", "share", "shares", "size", "sizes", "starts", "tries"})
"""Keywords whose numbers say how much is done, on which no verdict rests."""
TEMPLATE = "dpverify.papers._template."  # of new papers: no run of ours has its claims
OF_TEMPLATE = "tests/unit/cli/test_new_paper.py"
LARGE = 100  # a number from this on is a size, too
OTHER: dict[type[ast.AST], Any] = {
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
"""What stands for an operator: its negation, or another one."""


def mutants(module: str, source: str) -> Iterator[tuple[str, str, str]]:
    """What was changed, the changed source, and in which function; in an order that the module's name fixes.

    What stands in a message changes nothing but words and is left out; sizes, which few verdicts rest on, come last.
    """
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {node: function.name for function in functions for part in function.body for node in ast.walk(part)}
    unheard = _of(tree, _messages)
    sizes = _of(tree, _sizes)
    places = [node for node in inside if isinstance(node, ast.expr) and _changed(node) is not None]
    random.Random(module).shuffle(places)
    places = sorted((node for node in places if node not in unheard), key=lambda node: node in sizes)
    encoded = source.encode()
    starts = [0]
    for line in encoded.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in places:
        if (new := _changed(node)) is None or node.end_lineno is None or node.end_col_offset is None:
            continue
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        text = f"({ast.unparse(new)})"
        changed = (encoded[:begin] + text.encode() + encoded[end:]).decode()
        try:
            ast.parse(changed)
        except SyntaxError:  # inside an f-string of an older Python
            continue
        yield f"line {node.lineno}: {encoded[begin:end].decode()} becomes {text}", changed, inside[node]


def _of(tree: ast.AST, parts: Callable[[ast.AST], Iterable[ast.AST | None]]) -> set[ast.AST]:
    """All nodes below some parts of nodes."""
    return {below for node in ast.walk(tree) for part in parts(node) if part is not None for below in ast.walk(part)}


def _messages(node: ast.AST) -> Iterable[ast.AST | None]:
    """Parts that are words to a reader."""
    if isinstance(node, ast.Raise):
        return (node.exc,)
    if isinstance(node, ast.Assert):
        return (node.msg,)
    return (node,) if isinstance(node, ast.JoinedStr) else ()


def _sizes(node: ast.AST) -> Iterable[ast.AST | None]:
    """Parts that say how much is done: arguments of such a name, and what is read from a budget's table."""
    if isinstance(node, ast.keyword):
        return (node.value,) if node.arg in SIZES else ()
    if isinstance(node, ast.BinOp):
        return (node,) if any(isinstance(part, ast.Name) and part.id == "budget" for part in ast.walk(node)) else ()
    return (node,) if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= LARGE else ()


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


def guards(root: Path, module: str, function: str = "") -> list[str]:
    """Who should notice a fault in a module: its own tests or others that import it, claims, or those of its users.

    Of claims, first those whose checks use the function that is changed.
    """
    if module.startswith(TEMPLATE):
        return [OF_TEMPLATE]
    own = _own_tests(module)
    level = [module]
    seen = {module}
    while level:
        found = list(dict.fromkeys(name for each in level for name in _direct(root, each, seen, function)))
        if found:
            return _few(sorted(found, key=lambda name: own.parent not in Path(name).parents))
        level = sorted({user for each in level for user in _users(root, each)} - seen)
        seen.update(level)
    return [_folder(root, module).as_posix()]


def _folder(root: Path, module: str) -> Path:
    """The folder of a module's tests, or the next one above that has some."""
    return next(above for above in _own_tests(module).parents if any((root / above).glob("test_*.py")))


def all_of_folder(root: Path, module: str) -> list[str]:
    """All tests of a module's folder, who are asked where its guards notice nothing."""
    folder = _folder(root, module)
    return [(folder / path.name).as_posix() for path in sorted((root / folder).glob("test_*.py"))]


def _own_tests(module: str) -> Path:
    _, *folders, stem = module.split(".")
    return Path("tests", "unit", *folders, f"test_{stem}.py")


def _direct(root: Path, module: str, below: Collection[str], function: str) -> list[str]:
    """Its own tests, or those of its folder that import it, with claims that the function serves, if it is a paper's.

    Where there are none, all claims of the files that import it, or tests elsewhere that do.
    """
    own = _own_tests(module)
    imports = _imports(module)
    near = [own.as_posix()] if (root / own).is_file() else _importing(root, own.parent, imports)
    if near and not module.startswith("dpverify.papers."):
        return near
    claims = list[str]()
    others = list[str]()
    for name, file in index().files.items():
        path = (root / Path(*name.split("."))).with_suffix(".py")
        if (name == module or imports(path)) and not name.startswith(TEMPLATE):
            paper = name.split(".")[2]
            chosen = served(root, name, file.claims, below, function) if function else []
            claims += [f"{paper}:{claim}" for claim in chosen]
            others += [f"{paper}:{claim}" for claim in file.claims]
    found = _few([*near, *dict.fromkeys(claims if near else [*claims, *others])])
    return found or _importing(root, Path("tests"), imports)[:MOST_TESTS]


def _importing(root: Path, folder: Path, imports: Callable[[Path], bool]) -> list[str]:
    """Tests of a folder that import a module: beside each other, or of all of them at any depth."""
    paths = (root / folder).rglob("test_*.py") if folder == Path("tests") else (root / folder).glob("test_*.py")
    return [path.relative_to(root).as_posix() for path in sorted(paths) if imports(path)]


def _few(names: list[str]) -> list[str]:
    """The first tests and the first claims among names, as many as are asked."""
    tests = [name for name in names if name.startswith("tests/")]
    claims = [name for name in names if not name.startswith("tests/")]
    return tests[:MOST_TESTS] + claims[:MOST_CLAIMS]


def _users(root: Path, module: str) -> Iterator[str]:
    """Modules that import a module."""
    imports = _imports(module)
    for path in (root / "dpverify").rglob("*.py"):
        if imports(path):
            yield ".".join(path.relative_to(root).with_suffix("").parts)


def _imports(module: str) -> Callable[[Path], bool]:
    """Whether a source file imports it."""
    name = module.removesuffix(".__init__")
    folder, _, stem = name.rpartition(".")
    if name != module:
        found = re.compile(rf"from {re.escape(name)} import|import {re.escape(name)}$", re.MULTILINE)
    else:
        found = re.compile(rf"\b{re.escape(name)}\b|from {re.escape(folder)} import .*\b{stem}\b")

    def imports(path: Path) -> bool:
        text = path.read_text("utf-8")
        return stem in text and found.search(text) is not None  # the first part is quick

    return imports


def attempts(root: Path, module: str) -> Iterator[Fault]:
    """The changes of a module that are tried, as faults."""
    path = Path(*module.split(".")).with_suffix(".py")
    source = (root / path).read_text("utf-8")
    asked: dict[str, list[str]] = {}
    for what, new, function in islice(mutants(module, source), ATTEMPTS):
        if function not in asked:
            asked[function] = guards(root, module, function)
        names = asked[function]
        yield Fault(id=module, kind="machine", what=what, module=module, old=source, new=new, noticed_by=names)
