"""Mutations of the modules for which the catalogue has no fault, and the tests or claims that guard each module."""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from dpverify.papers import index
from dpverify.selftest.catalogue import Fault

CONTAINERS = (ast.Call, ast.Tuple, ast.List, ast.Dict)
"""Expressions that combine a claim's id with the code that judges it: a check, or a row of a table of checks."""


def claims_using(
    root: Path,
    file: str,
    claims: Collection[str],
    modules: Collection[str],
    function: str,
) -> list[str]:
    """Return the claims of a file of checks whose check uses a function of some modules, directly or indirectly.

    ``function``: name of the function. Functions with the same name are not distinguished.
    """
    sources = [
        _path(root, name).read_text("utf-8") for name in dict.fromkeys((file, *modules))
    ]
    uses: dict[str, set[str]] = {}
    for source in sources:
        for name, used in _uses(source).items():
            uses.setdefault(name, set()).update(used)
    functions = {function}
    has_grown = True
    while has_grown:
        callers = {name for name, used in uses.items() if used & functions} - functions
        functions = functions | callers
        has_grown = bool(callers)
    used_claims = {
        claim
        for claim, names in _claim_names(sources[0], frozenset(claims))
        if names & functions
    }
    return [claim for claim in claims if claim in used_claims]


def _path(root: Path, module: str) -> Path:
    return (root / Path(*module.split("."))).with_suffix(".py")


@cache
def _uses(source: str) -> dict[str, set[str]]:
    """Return the names that each function, class, method and constant of a module uses."""
    tree = ast.parse(source)
    names_used = dict[str, set[str]]()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            # methods of a class
            methods = {
                part.name
                for part in ast.walk(node)
                if isinstance(part, ast.FunctionDef)
            }
            names_used.setdefault(node.name, set()).update(
                (_names(node) | methods) - {node.name}
            )
    for node in tree.body:
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else ()
        )
        for target in (
            part
            for item in targets
            for part in ast.walk(item)
            if isinstance(part, ast.Name)
        ):
            names_used.setdefault(target.id, set()).update(_names(node) - {target.id})
        if isinstance(node, ast.ImportFrom):
            for name in (item for item in node.names if item.asname):
                names_used.setdefault(str(name.asname), set()).add(name.name)
    return names_used


def _names(node: ast.AST) -> set[str]:
    parts = list(ast.walk(node))
    return {p.id for p in parts if isinstance(p, ast.Name)} | {
        p.attr for p in parts if isinstance(p, ast.Attribute)
    }


def _claim_names(source: str, claims: frozenset[str]) -> Iterator[tuple[str, set[str]]]:
    """Yield each claim id in a source, with the names in the smallest surrounding expression that has names."""
    tree = ast.parse(source)
    parents = {
        child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in claims:
            container = parents.get(node)
            while container is not None and not (
                isinstance(container, CONTAINERS) and _names(container)
            ):
                container = parents.get(container)
            if container is not None:
                yield str(node.value), _names(container)


ATTEMPTS = 8  # changes of a module that are tried until one is noticed
# most tests and claims that are run; claims whose checks use the changed function come
# first
MOST_TESTS = 2
MOST_CLAIMS = 8
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
# template of new papers; its claims are not part of any run
TEMPLATE = "dpverify.papers._template."
TEMPLATE_TESTS = "tests/unit/cli/test_new_paper.py"
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
        if (
            (new := _changed(node)) is None
            or node.end_lineno is None
            or node.end_col_offset is None
        ):
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


def guards(root: Path, module: str, function: str = "") -> list[str]:
    """Return the tests and claims that should notice a fault in a module, or else those of modules that import it.

    Claims whose checks use the changed function come first.
    """
    if module.startswith(TEMPLATE):
        return [TEMPLATE_TESTS]
    own_tests = _own_tests(module)
    level = [module]
    visited = {module}
    while level:
        names = list(
            dict.fromkeys(
                name
                for importer in level
                for name in _direct(root, importer, visited, function)
            )
        )
        if names:
            return _limited(
                sorted(
                    names, key=lambda name: own_tests.parent not in Path(name).parents
                )
            )
        level = sorted(
            {user for importer in level for user in _users(root, importer)} - visited
        )
        visited.update(level)
    return [_folder(root, module).as_posix()]


def _folder(root: Path, module: str) -> Path:
    """Return the folder of a module's tests, or the nearest folder above it that has tests."""
    return next(
        above
        for above in _own_tests(module).parents
        if any((root / above).glob("test_*.py"))
    )


def folder_tests(root: Path, module: str) -> list[str]:
    """Return all tests of a module's folder, which run if its guards notice nothing."""
    folder = _folder(root, module)
    return [
        (folder / path.name).as_posix()
        for path in sorted((root / folder).glob("test_*.py"))
    ]


def _own_tests(module: str) -> Path:
    _, *folders, stem = module.split(".")
    return Path("tests", "unit", *folders, f"test_{stem}.py")


def _direct(
    root: Path, module: str, modules: Collection[str], function: str
) -> list[str]:
    """Return the module's own tests, or tests of its folder that import it, and claims that use the function.

    Only modules of papers have claims. If there are no tests, the result has all claims of the files that import the
    module. If there are no claims either, it has tests in other folders that import the module.
    """
    own_tests = _own_tests(module)
    imports = _imports(module)
    nearest = (
        [own_tests.as_posix()]
        if (root / own_tests).is_file()
        else _importing(root, own_tests.parent, imports)
    )
    if nearest and not module.startswith("dpverify.papers."):
        return nearest
    claims = list[str]()
    other_claims = list[str]()
    for name, file in index().files.items():
        path = (root / Path(*name.split("."))).with_suffix(".py")
        if (name == module or imports(path)) and not name.startswith(TEMPLATE):
            paper = name.split(".")[2]
            chosen = (
                claims_using(root, name, file.claims, modules, function)
                if function
                else []
            )
            claims += [f"{paper}:{claim}" for claim in chosen]
            other_claims += [f"{paper}:{claim}" for claim in file.claims]
    names = _limited(
        [*nearest, *dict.fromkeys(claims if nearest else [*claims, *other_claims])]
    )
    return names or _importing(root, Path("tests"), imports)[:MOST_TESTS]


def _importing(root: Path, folder: Path, imports: Callable[[Path], bool]) -> list[str]:
    """Return the tests in a folder that import a module; for the folder ``tests``, at any depth."""
    paths = (
        (root / folder).rglob("test_*.py")
        if folder == Path("tests")
        else (root / folder).glob("test_*.py")
    )
    return [
        path.relative_to(root).as_posix() for path in sorted(paths) if imports(path)
    ]


def _limited(names: list[str]) -> list[str]:
    """Return the first MOST_TESTS tests and the first MOST_CLAIMS claims among names."""
    tests = [name for name in names if name.startswith("tests/")]
    claims = [name for name in names if not name.startswith("tests/")]
    return tests[:MOST_TESTS] + claims[:MOST_CLAIMS]


def _users(root: Path, module: str) -> Iterator[str]:
    """Yield the modules that import a module."""
    imports = _imports(module)
    for path in (root / "dpverify").rglob("*.py"):
        if imports(path):
            yield ".".join(path.relative_to(root).with_suffix("").parts)


def _imports(module: str) -> Callable[[Path], bool]:
    """Return a function that tests whether a source file imports the module."""
    name = module.removesuffix(".__init__")
    folder, _, stem = name.rpartition(".")
    if name != module:
        pattern = re.compile(
            rf"from {re.escape(name)} import|import {re.escape(name)}$", re.MULTILINE
        )
    else:
        pattern = re.compile(
            rf"\b{re.escape(name)}\b|from {re.escape(folder)} import .*\b{stem}\b"
        )

    def imports(path: Path) -> bool:
        text = path.read_text("utf-8")
        # the first test is fast
        return stem in text and pattern.search(text) is not None

    return imports


def attempts(root: Path, module: str) -> Iterator[Fault]:
    """Yield the first ATTEMPTS changes of a module as faults."""
    path = Path(*module.split(".")).with_suffix(".py")
    source = (root / path).read_text("utf-8")
    guards_of: dict[str, list[str]] = {}
    for what, new, function in islice(mutants(module, source), ATTEMPTS):
        if function not in guards_of:
            guards_of[function] = guards(root, module, function)
        names = guards_of[function]
        yield Fault(
            id=module,
            kind="machine",
            what=what,
            module=module,
            old=source,
            new=new,
            noticed_by=names,
        )
