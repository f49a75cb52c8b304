"""The catalogue of faults, ``specs/faults/*.toml``: place and change of a fault, and the tests that must notice it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

import msgspec

from dpverify.ledger.records import Record

FOLDER = Path("specs") / "faults"

KINDS = {
    "noise": "Noise: scaled, per path instead of per node, redrawn, reused",
    "tree": "Trees: a node or an interval missing, or one too many",
    "decay": "Decay and momentum: one step off, gamma for 1 - gamma",
    "clipping": "Clipping: missing, or after the mean",
    "constant": "Constants: an L, a factor or a square dropped",
    "anchor": "Anchor and order: a step late, refreshed in the wrong place",
    "neighbours": "Neighbours and sampling: replace-one as add-remove, Poisson as without replacement",
    "seeds": "Seeds: shared by nodes, epochs, workers, checks",
    "precision": "Precision: float32, a float where a number is exact",
    "bound": "Bounds: of an accountant, of an audit, of a test, on the wrong side",
    "alpha": "Error rates: alpha spent twice, one-sided for two-sided, a p-value too small",
    "condition": "Conditions: a rule or a domain without one",
    "proof": "Proofs: the engine, the sign prover, certificates and their checker",
    "judging": "Judging: a control that cannot fail, a pin that is not compared, an exit code",
    "record": "Records: how formulas, files and caches are read and written, and numbers shown",
}
"""Kinds of faults, in the order of the report."""


class CatalogueError(ValueError):
    """A fault cannot be planted, or its record is invalid; the message is one line."""


class Fault(Record, frozen=True, kw_only=True):
    """One fault: the code ``old``, which occurs exactly once in its region, is replaced with ``new``.

    ``module``: a dotted name, or a path in the checkout. ``inside``: the function or method to search; by default the
    whole file. ``size``: the size of the fault, if it has one. ``noticed_by``: ids of the claims and tests that must
    notice it.
    """

    id: str
    kind: str
    what: str
    module: str
    inside: str = ""
    old: str
    new: str
    size: str = ""
    noticed_by: list[str]

    @property
    def path(self) -> Path:
        """Path of the file, relative to the checkout."""
        return (
            Path(self.module)
            if "/" in self.module
            else Path(*self.module.split(".")).with_suffix(".py")
        )

    @property
    def tests(self) -> list[str]:
        """The tests that must notice the fault."""
        return [name for name in self.noticed_by if name.startswith("tests/")]

    @property
    def claims(self) -> list[str]:
        """The claims that must notice the fault."""
        return [name for name in self.noticed_by if not name.startswith("tests/")]


class FaultsFile(Record, frozen=True, kw_only=True):
    """Contents of ``specs/faults/<layer>.toml``."""

    fault: list[Fault]


def load_faults(root: Path) -> list[Fault]:
    """Return all faults in the catalogue of a checkout; raise a :class:`CatalogueError` if a record is wrong."""
    fault_of: dict[str, Fault] = {}
    for path in sorted((root / FOLDER).glob("*.toml")):
        try:
            faults = msgspec.toml.decode(path.read_bytes(), type=FaultsFile).fault
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CatalogueError(
                f"{path.name}: {' '.join(str(error).split())}"
            ) from error
        for fault in faults:
            if problem := next(
                _problems(fault, root), "again" if fault.id in fault_of else ""
            ):
                raise CatalogueError(f"{path.name}: {fault.id}: {problem}")
            fault_of[fault.id] = fault
    return list(fault_of.values())


def _problems(fault: Fault, root: Path) -> Iterator[str]:
    if fault.kind not in KINDS:
        yield f"kind={fault.kind!r}: must be one of {', '.join(KINDS)}"
    if not fault.noticed_by:
        yield "noticed_by: must name a claim or a test"
    if not (root / fault.path).is_file():
        yield f"module={fault.module!r}: there is no file {fault.path}"
    for test in fault.tests:
        file, _, name = test.partition("::")
        words = [f"{kind} {name.rpartition('::')[2]}" for kind in ("def", "class")]
        if not (root / file).is_file() or not any(
            word in (root / file).read_text("utf-8") for word in words
        ):
            yield f"noticed_by={test!r}: there is no such test"


def choose(
    faults: list[Fault], only: str | None = None, tenth: int | None = None
) -> list[Fault]:
    """Return the faults whose id or module matches a glob, optionally only every tenth fault from ``tenth`` on."""
    chosen = faults if tenth is None else faults[tenth::10]
    return [
        fault
        for fault in chosen
        if only is None
        or fnmatchcase(fault.id, only)
        or fnmatchcase(fault.module, only)
    ]


def planted(source: str, fault: Fault) -> str:
    """Return the source with the fault; raise a CatalogueError if its code does not occur once or nothing changes."""
    begin, end = _region(source, fault.inside) if fault.inside else (0, len(source))
    count = source.count(fault.old, begin, end)
    if count != 1:
        where = f"in {fault.inside} " if fault.inside else ""
        raise CatalogueError(
            f"{fault.id}: its code stands {count} times {where}in {fault.path}, not once"
        )
    place = source.index(fault.old, begin, end)
    changed = source[:place] + fault.new + source[place + len(fault.old) :]
    try:
        same = ast.dump(ast.parse(changed)) == _dumped(source)
    except SyntaxError as error:
        raise CatalogueError(
            f"{fault.id}: {fault.path} is no Python with it ({error})"
        ) from error
    if same:
        raise CatalogueError(f"{fault.id}: it changes nothing in {fault.path}")
    return changed


@lru_cache(maxsize=4)
def _parsed(source: str) -> ast.Module:
    """Parse a source once for all its faults, which are consecutive in the catalogue."""
    return ast.parse(source)


@lru_cache(maxsize=4)
def _dumped(source: str) -> str:
    return ast.dump(_parsed(source))


def _region(source: str, name: str) -> tuple[int, int]:
    """Return where a function, a class or a method (``Class.method``) begins and ends in the source."""
    nodes: list[ast.AST] = [_parsed(source)]
    for word in name.split("."):
        nodes = [
            child
            for node in nodes
            for child in ast.iter_child_nodes(node)
            if getattr(child, "name", "") == word
        ]
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in nodes:
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node.end_lineno is not None
        ):
            return starts[node.lineno - 1], starts[node.end_lineno]
    raise CatalogueError(f"inside={name!r}: there is no such function")
