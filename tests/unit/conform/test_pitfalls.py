"""docs/pitfalls.md: its numbers are those of the accountant, and each example fails the test that the page names."""

from __future__ import annotations

import math
import re
import runpy
from pathlib import Path
from typing import Any

import dpverify as dv
from dpverify.conform import conformance
from tests.for_each import for_each

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "pitfalls.md").read_text("utf-8")
EXAMPLES: dict[str, Any] = runpy.run_path(str(DOCS / "examples" / "pitfalls.py"))
CELLS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ")
]
ROWS = {cells[0]: cells[1:] for cells in CELLS if cells[0] != "pitfall"}
JAX_PRIVACY = 12


def shown(expression: str) -> str:
    """Epsilon as the page prints it: the upper bound if the lower one is as near as 0.01, otherwise both."""
    assert re.fullmatch(r"dv\.epsilon\([\w .,*/()=\"-]+\)", expression)
    bounds = eval(
        expression, {"dv": dv, "exp": math.exp, "sqrt": math.sqrt, "__builtins__": {}}
    )
    upper = f"{bounds.upper:.2f}"
    return (
        upper
        if bounds.upper - bounds.lower < 0.01
        else f"{bounds.lower:.2f} to {upper}"
    )


def test_each_row_has_an_example_and_each_example_a_row() -> None:
    first, second = PAGE.split("\n## Others that we have seen\n")
    assert first.count("\n| ") - 1 == JAX_PRIVACY
    assert second.count("\n| ") - 1 >= 8
    assert list(ROWS) == [cells[0] for cells in CELLS if cells[0] != "pitfall"], (
        "no name occurs twice"
    )
    assert ROWS.keys() == EXAMPLES["make"]().keys()


def test_epsilon_of_the_ordinary_run() -> None:
    number, expression = re.findall(r"Its epsilon is ([\d.]+): `(.+?)`", PAGE)[0]
    assert shown(expression) == number


@for_each("name", ROWS)
def test_epsilon_is_that_of_the_accountant(name: str) -> None:
    _, epsilon, _, expression = ROWS[name]
    if expression:
        assert shown(expression.strip("`")) == epsilon
    else:
        assert epsilon.startswith(("None: ", "Not computed: "))


def test_float32_costs_less_than_the_page_says() -> None:
    costs = [
        dv.epsilon(1.1 / (1 + error), 1e-5, steps=1000, rate=0.01).upper
        for error in (0.0, 2.0**-23)
    ]
    assert costs[1] - costs[0] < 1e-5


@for_each("name", ROWS)
def test_the_example_fails_the_named_test(name: str) -> None:
    found = conformance(*EXAMPLES["make"]()[name], seed=0)
    assert any(test.name.startswith(ROWS[name][2]) for test in found.failed), str(found)


def test_the_optimizer_without_a_mistake_passes() -> None:
    found = conformance(*EXAMPLES["right"](), seed=0)
    assert found, str(found)
