"""The notebooks run from their first to their last cell, and what each cell ends with shows itself."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpverify.conform import Conformance
from tests.for_each import for_each

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def code_cells(notebook: Path) -> Iterator[tuple[str, str]]:
    """Id and code of each code cell."""
    data = json.loads(notebook.read_text(encoding="utf-8"))
    assert (data["nbformat"], data["nbformat_minor"]) == (4, 5)
    for cell in data["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], (
                f"{notebook.name} is committed without outputs"
            )
            assert cell["execution_count"] is None
            yield cell["id"], "".join(cell["source"])


def execute(code: str, name: str, names: dict[str, Any]) -> Any:
    """Run a cell; the value of the expression that it ends with, if it ends with one."""
    tree = ast.parse(code, name)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    return (
        eval(compile(ast.Expression(last.value), name, "eval"), names)
        if isinstance(last, ast.Expr)
        else None
    )


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "choose-sigma",
        "read-verdicts",
        "test-your-optimizer",
    ]


@for_each("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(notebook: Path) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    names: dict[str, Any] = {}
    shown = 0
    for cell, code in code_cells(notebook):
        value = execute(code, f"{notebook.name}, {cell}", names)
        methods = (
            getattr(value, f"_repr_{kind}_", None)
            for kind in ("html", "markdown", "svg")
        )
        shown += any(show() for show in methods if show is not None)
    plt.close("all")
    assert shown > 0, (
        "no cell ends with a result that a notebook shows in a form of its own"
    )


def test_the_faulty_optimizer_of_a_notebook_is_found() -> None:
    names: dict[str, Any] = {}
    verdicts = []
    for cell, code in code_cells(NOTEBOOKS[2]):
        value = execute(code, cell, names)
        verdicts += [bool(value)] if isinstance(value, Conformance) else []
    assert verdicts == [True]
    assert [test.name for test in names["result"].failed] != []
