"""The name of an algorithm occurs only in its own module, in tests and in documents, with a few listed exceptions."""

from __future__ import annotations

import ast
from pathlib import Path

from dpverify.algorithms import ALGORITHMS

PACKAGE = Path(__file__).parents[2] / "dpverify"

OWN = ("algorithms/", "papers/")
"""Folders where names are at home: the objects, and the papers that the algorithms come from."""

EXCEPTIONS = {
    # titles of benchmark cases that time kernels
    "bench/cases/optimizers.py": 2,
    "bench/cases/recursive.py": 3,
}
"""Files that still name algorithms, and how often."""


def names_in(text: str) -> int:
    """Return the number of strings that are the name of an algorithm."""
    return sum(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value in ALGORITHMS
        for node in ast.walk(ast.parse(text))
    )


def test_names_are_counted() -> None:
    assert names_in('x = "dp-srm" == name, "dp-srm of wang2019", ["storm"]') == 2


def test_an_algorithm_is_named_in_its_own_module_only() -> None:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).as_posix()
        if not place.startswith(OWN) and (count := names_in(path.read_text())):
            found[place] = count
    assert found == EXCEPTIONS
