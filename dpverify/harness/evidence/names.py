"""The names that a piece of code uses and may change, read from syntax trees.

Only names of the module are recorded. Python's scoping rules determine the local variables, which are left out. A name
in a class body is recorded if it may be a name of the module. ``graph`` resolves the names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from dpverify.harness.evidence.imports import imported, is_ours

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

READS_MODULE = frozenset(
    {
        "globals",
        "exec",
        "eval",
        "__import__",
        "__file__",
        "__doc__",
        "__dict__",
        "import_module",
        "reload",
        "modules",
    }
)
"""Names and attributes by which code can reach any name of its module, or find another module by a string."""

WITHOUT_ARGUMENT = frozenset({"vars", "dir", "locals"})
"""Functions with the same effect if they are called without an argument."""

IMPORTS = frozenset({"import_module", "__import__"})  # import a module by a string

CHANGES = frozenset(
    {
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "register",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
        "__setitem__",
        "__delitem__",
        "__setattr__",
    }
)
"""Methods that change the object they are called on."""

# methods that may register a class elsewhere when the class is defined
ON_SUBCLASSES = frozenset({"__init_subclass__", "__set_name__", "__subclasses__"})


class Uses(ast.NodeVisitor):
    """The names that a top-level statement of a module uses, with their attributes, as in ``module.function``."""

    def __init__(self, top: str) -> None:
        self.top = top
        self.names: set[str] = set()
        # imports from our package, each with whether it is inside a function
        self.imports: list[tuple[ast.Import | ast.ImportFrom, bool]] = []
        # called by the statement itself, when the module is imported
        self.called: set[str] = set()
        self.changed: set[str] = set()  # module-level objects that functions may change
        self.decorators: list[ast.expr] = []
        self.reads_module = False
        self.imported_by_text: set[str] = set()
        self._local: frozenset[str] = frozenset()
        self._global: frozenset[str] = frozenset()
        self._depth = 0  # number of enclosing functions

    def visit(self, node: ast.AST) -> None:
        """Visit a piece of code."""
        match node:
            case ast.Name():
                self._name(node)
            case ast.Attribute():
                self._attribute(node)
            case ast.Subscript():
                self._subscript(node)
            case ast.Call():
                self._call_of(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._definition(node)
            case ast.Lambda():
                self._function(node, [node.body])
            case ast.ClassDef():
                self._class(node)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._comprehension(node)
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case _:
                self.generic_visit(node)

    def _name(self, node: ast.Name) -> None:
        """Record the use of a variable, or an assignment to a variable declared global."""
        if isinstance(node.ctx, ast.Load):
            self._use(node.id, [])
        elif node.id in self._global:
            self._use(node.id, [])
            self.changed.add(node.id)

    def _attribute(self, node: ast.Attribute) -> None:
        """Record a variable with attributes, or visit the expression that has the attribute."""
        parts = chain(node)
        if not READS_MODULE.isdisjoint(parts[1:] if parts else [node.attr]):
            self.reads_module = True
        if not isinstance(node.ctx, ast.Load):
            self._change(node.value)
        if parts is None:
            self.visit(node.value)
        else:
            self._use(parts[0], parts[1:])

    def _subscript(self, node: ast.Subscript) -> None:
        """Visit an item, and record a change of its container."""
        if not isinstance(node.ctx, ast.Load):
            self._change(node.value)
        self.generic_visit(node)

    def _call_of(self, node: ast.Call) -> None:
        """Record a call, with the changes and the imports that it may make."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            self._change(node.func.value)
        if (
            isinstance(node.func, ast.Name)
            and node.func.id in WITHOUT_ARGUMENT
            and not node.args
        ):
            self.reads_module = True
        if (parts := chain(node.func)) and parts[-1] in IMPORTS and node.args:
            self.imported_by_text |= _texts(node.args[0])
        self._call(node.func)
        self.generic_visit(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Record a function. Its decorators, defaults and annotations belong to the enclosing scope."""
        self._decorate(node.decorator_list)
        if node.name in ON_SUBCLASSES:
            self.changed.add(node.name)
        self._function(node, node.body)

    def _class(self, node: ast.ClassDef) -> None:
        """Record a class. Its definition evaluates everything in it except the bodies of methods."""
        self._decorate(node.decorator_list)
        for base in (*node.bases, *(keyword.value for keyword in node.keywords)):
            self._call(base)
        self.generic_visit(node)

    def _comprehension(self, node: Comprehension) -> None:
        """Visit a comprehension. Its first iterable is evaluated in the enclosing scope."""
        self.visit(node.generators[0].iter)
        around = self._local
        self._local |= {
            name for loop in node.generators for name in bound([loop.target])
        }
        for place, loop in enumerate(node.generators):
            for part in (*([loop.iter] if place else []), *loop.ifs):
                self.visit(part)
        for part in (
            (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        ):
            self.visit(part)
        self._local = around

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Record an import from our package."""
        if is_ours(node, self.top):
            self.imports.append((node, self._depth > 0))

    def _function(self, node: Function, body: Sequence[ast.AST]) -> None:
        arguments = node.args
        for default in (*arguments.defaults, *filter(None, arguments.kw_defaults)):
            self.visit(default)
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += filter(None, (arguments.vararg, arguments.kwarg))
        for annotation in (
            *(argument.annotation for argument in every),
            getattr(node, "returns", None),
        ):
            if annotation is not None:
                self.visit(annotation)
        declared = {name for part in body for name in _declared_global(part)}
        local = {argument.arg for argument in every}.union(
            _local_names(body, self.top)
        ) - declared
        around = self._local, self._global
        self._local = (self._local | local) - declared
        self._global = (self._global - local) | declared
        self._depth += 1
        for part in body:
            self.visit(part)
        self._depth -= 1
        self._local, self._global = around

    def _use(self, name: str, attributes: Sequence[str]) -> None:
        if name not in self._local:
            self.names.add(".".join([name, *attributes]))
            if name in READS_MODULE:
                self.reads_module = True

    def _call(self, function: ast.expr) -> None:
        parts = chain(function)
        if self._depth == 0 and parts is not None and parts[0] not in self._local:
            self.called.add(".".join(parts))

    def _decorate(self, decorators: list[ast.expr]) -> None:
        for decorator in decorators:
            self.visit(decorator)
            self._call(decorator)
        if self._depth == 0:
            self.decorators += decorators

    def _change(self, node: ast.expr) -> None:
        """Record that a function may change the object of an expression, if the object has a name of the module."""
        while isinstance(node, ast.Subscript):
            node = node.value
        parts = chain(node)
        if self._depth > 0 and parts is not None and parts[0] not in self._local:
            self.changed.add(".".join(parts))


def _texts(node: ast.expr) -> set[str]:
    return (
        {node.value}
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        else set()
    )


def chain(node: ast.expr) -> list[str] | None:
    """Return ``a.b.c`` as a list of words, or None for any other expression."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return [node.id, *reversed(attributes)] if isinstance(node, ast.Name) else None


def bound(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that code binds in its own scope, excluding inner functions, classes and comprehensions."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        match node:
            case ast.Name() if not isinstance(node.ctx, ast.Load):
                yield node.id
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
                continue
            case ast.Lambda():
                continue
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                yield from _walrus(node)
                continue
            case ast.Import() | ast.ImportFrom():
                yield from (
                    alias.asname or alias.name.partition(".")[0] for alias in node.names
                )
            case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar() if node.name:
                yield node.name
            case ast.MatchMapping() if node.rest:
                yield node.rest
        todo.extend(ast.iter_child_nodes(node))


def _walrus(node: ast.AST) -> Iterator[str]:
    return (
        inner.target.id for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr)
    )


def _local_names(body: Sequence[ast.AST], top: str) -> Iterator[str]:
    """Return the local variables of a function, except for names imported from our package.

    The imported names are resolved like names of the module.
    """
    ours: set[str] = set()
    for node in (node for part in body for node in ast.walk(part)):
        if isinstance(node, ast.Import | ast.ImportFrom) and is_ours(node, top):
            ours |= {
                name or attribute.partition(".")[0]
                for attribute, name in imported(node).names
            }
    return (name for name in bound(body) if name not in ours)


def _declared_global(part: ast.AST) -> Iterator[str]:
    return (
        name
        for node in ast.walk(part)
        if isinstance(node, ast.Global)
        for name in node.names
    )
