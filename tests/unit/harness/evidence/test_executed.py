"""The evidence hash covers every definition that a check runs: static analysis against records of real checks."""

from __future__ import annotations

import ast
import dis
import random
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import CodeType

from dpverify.harness.evidence.graph import WHOLE_MODULE, CodeGraph, Node
from dpverify.harness.evidence.hashes import CodeHashes, today
from dpverify.harness.evidence.imports import SourceText, find_source
from dpverify.harness.evidence.source_code import CheckPlace
from dpverify.harness.run.sources import entries_of, load_checks
from dpverify.harness.run.suite import Suite
from dpverify.ledger import load_specs
from tests.for_each import for_each
from tests.unit.harness.evidence.executed import executed, node_of

CHECKS = [
    ("tran2022:lemma-12-count", "derivation"),
    ("tran2022:lemma-12-count", "search"),
    ("tran2022:lemma-12", "noise-law"),
    ("tools:calibration-dp-nsgd", "all-patterns"),
]
IMPORTED_LATE = ("automatic.proofs", "derive.perturb", "elaborate.proofs")
"""Modules of dpverify.symbolic that a derivation imports when it runs, which executes code of other modules."""
CHANGES = 8  # definitions of each check that are changed


@cache
def suite() -> Suite:
    return Suite(load_specs(), "smoke", 0)


@cache
def place_of(claim: str, check: str) -> CheckPlace:
    paper, _, name = claim.partition(":")
    entries = entries_of(load_checks(suite().source, paper), name)
    return next(entry.place for entry in entries if entry.check.name == check)


@cache
def codes_of(claim: str, check: str) -> frozenset[CodeType]:
    """Code of dpverify that a check runs for its first statement."""
    jobs = (
        job for case in suite().cases(suite().specs.claim(claim)) for job in case.jobs
    )
    job = next(job for job in jobs if job.check == check)
    found = job.find()
    for module in IMPORTED_LATE:
        import_module(f"dpverify.symbolic.{module}")

    def run() -> None:
        total = None
        for block in range(found.blocks(job.context)):
            total = found.fold(total, found.run_block(job.context, block))
        found.finish(job.context, total)

    return frozenset(
        code for code in executed(run) if node_of(today().graph, code) is not None
    )


def depends_on(claim: str, check: str) -> set[Node]:
    return today().graph.reached(
        set[Node]().union(*today().roots([place_of(claim, check)]))
    )


@for_each(("claim", "check"), CHECKS)
def test_every_function_that_a_check_runs_counts(claim: str, check: str) -> None:
    nodes, codes = depends_on(claim, check), codes_of(claim, check)
    missed = {
        code.co_qualname for code in codes if node_of(today().graph, code) not in nodes
    }
    assert len(codes) > 20
    assert missed == set()


@for_each(("claim", "check"), CHECKS)
def test_every_global_variable_that_a_check_loads_counts(
    claim: str, check: str
) -> None:
    nodes = depends_on(claim, check)
    names = {
        (node[0], str(instruction.argval))
        for code in codes_of(claim, check)
        if (node := node_of(today().graph, code)) is not None
        for instruction in dis.get_instructions(code)
        if instruction.opname in {"LOAD_GLOBAL", "LOAD_NAME"}
    }
    loaded = [
        (
            module,
            name,
            {(module, place) for place in today().graph.get_module(module).units[name]},
        )
        for module, name in sorted(names)
        if name in today().graph.get_module(module).units
    ]
    assert len(loaded) > 20
    assert [
        (module, name) for module, name, units in loaded if not units <= nodes
    ] == []


@for_each(("claim", "check"), CHECKS)
def test_a_change_of_what_a_check_runs_changes_its_hash(claim: str, check: str) -> None:
    """And that of every other check here that runs it, and no other's of which it is no part."""
    hashes = {key: today().evidence("", [place_of(*key)]) for key in CHECKS}
    functions = sorted(
        (code for code in codes_of(claim, check) if code.co_name[0] != "<"),
        key=_position,
    )
    for code in random.Random(0).sample(functions, CHANGES):
        node = node_of(today().graph, code)
        assert node is not None
        changed = CodeHashes(CodeGraph(with_change(node[0], code)))
        is_changed = {
            key: changed.evidence("", [place_of(*key)]) != hashes[key] for key in CHECKS
        }
        whole = (node[0], WHOLE_MODULE)
        assert is_changed == {
            key: not {node, whole}.isdisjoint(depends_on(*key)) for key in CHECKS
        }, code.co_qualname
        assert is_changed[claim, check]


def _position(code: CodeType) -> tuple[str, int, str]:
    return code.co_filename, code.co_firstlineno, code.co_qualname


def with_change(module: str, code: CodeType) -> Callable[[str], SourceText | None]:
    """Give the source of each module, one function of one of them with another statement at its end."""
    source = find_source(module)
    assert source is not None
    (function,) = (
        node
        for node in ast.walk(ast.parse(source.text))
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name
        if min([node.lineno, *(each.lineno for each in node.decorator_list)])
        == code.co_firstlineno
    )
    lines = source.text.splitlines(keepends=True)
    assert function.end_lineno is not None
    line, end = lines[function.end_lineno - 1], function.end_col_offset
    lines[function.end_lineno - 1] = line[:end] + b"; changed = 1" + line[end:]
    changed = SourceText(b"".join(lines), source.is_package)
    ast.parse(changed.text)
    return lambda name: changed if name == module else find_source(name)
