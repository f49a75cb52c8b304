"""Measures of how dense code is: tokens in a line, assignments to several names, and names without meaning."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
"""Kinds of tokens that are not counted."""

PRONOUNS = frozenset(
    """
    found said told asked one other others each own rest more most known kept taken given left_over here there this
    that these those such some any_ none_ all_ says gives holds stands worth beside made seen shown read_ meant
    wanted again whole alike apart both either neither another something nothing
    """.split()  # noqa: SIM905 a list literal would have a line for each of them
)


@dataclass(frozen=True)
class Density:
    """Counts for a set of files."""

    files: int = 0
    lines: int = 0
    imports: int = 0  # lines of import statements
    tokens: int = 0
    code_lines: int = 0
    assignments: int = 0
    parallel: int = 0
    names: int = 0
    pronouns: int = 0
    skipped: int = 0  # lines that the formatter skips

    def __add__(self, other: Density) -> Density:
        """Return the sum of the counts."""
        return Density(
            *(
                getattr(self, field.name) + getattr(other, field.name)
                for field in fields(self)
            )
        )

    def excesses(self, limits: dict[str, float]) -> Iterator[str]:
        """Yield a message for each value that is above its limit."""
        values = {
            "files": self.files,
            "lines of imports, in percent": 100 * self.imports / max(1, self.lines),
            "tokens": self.tokens,
            "tokens of a code line": self.tokens / max(1, self.code_lines),
            "assignments to several names, in percent": 100
            * self.parallel
            / max(1, self.assignments),
            "names that are pronouns or participles, in percent": 100
            * self.pronouns
            / max(1, self.names),
            "lines that the formatter leaves alone": self.skipped,
        }
        for name, limit in limits.items():
            if values[name] > limit:
                yield f"{name}: {values[name]:.6g}, at most {limit:g}"


def density(paths: Iterable[Path]) -> Density:
    """Return the counts over all files."""
    return sum(
        (_of_source(path.read_text(encoding="utf-8")) for path in paths),
        start=Density(),
    )


def _of_source(source: str) -> Density:
    nodes = list(ast.walk(ast.parse(source)))
    documented = {line for node in nodes for line in _docstring_lines(node)}
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in LAYOUT and token.start[0] not in documented
    ]
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    assignments = [node for node in nodes if isinstance(node, ast.Assign)]
    names = [name for node in nodes for name in _bound_names(node)]
    return Density(
        files=1,
        lines=source.count("\n"),
        imports=sum(
            (node.end_lineno or node.lineno) - node.lineno + 1 for node in imports
        ),
        tokens=len(tokens),
        code_lines=len({token.start[0] for token in tokens}),
        assignments=len(assignments),
        parallel=sum(
            isinstance(a.targets[0], ast.Tuple) and isinstance(a.value, ast.Tuple)
            for a in assignments
        ),
        names=len(names),
        pronouns=sum(name.lower() in PRONOUNS for name in names),
        skipped=source.count("# fmt: skip"),
    )


def _docstring_lines(node: ast.AST) -> Iterable[int]:
    """Return the line numbers of the docstring of a module, class or function."""
    if (
        not isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        )
        or not node.body
    ):
        return ()
    first = node.body[0]
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return ()
    return (
        range(first.lineno, (first.end_lineno or first.lineno) + 1)
        if isinstance(first.value.value, str)
        else ()
    )


def _bound_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds, including parameters."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
