"""The house's rules, read off the code as it is."""

from __future__ import annotations

import sys
from pathlib import Path

import grimp
import pytest
from importlinter.cli import lint_imports

from tests.architecture import rules

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "dpverify"


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("dpverify", include_external_packages=True, cache_dir=None)


def test_import_linter_contracts_hold(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])  # the linter adds to it
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert status == 0, capsys.readouterr().out


def test_algebra_imports_neither_numba_nor_kernels(graph: grimp.ImportGraph) -> None:
    algebra = rules.algebra_modules(graph)
    assert algebra, "no *_bounds module found: the rule reads the wrong names"
    assert rules.chains(graph, algebra, ["numba", *rules.kernel_modules(graph)]) == []


def test_kernels_never_import_sympy(graph: grimp.ImportGraph) -> None:
    kernels = rules.kernel_modules(graph)
    assert "dpverify.kernels.jit" in kernels
    assert rules.chains(graph, kernels, ["sympy", "flint", *rules.algebra_modules(graph)]) == []


@pytest.mark.parametrize("path", rules.python_files(PACKAGE), ids=lambda path: str(path.relative_to(ROOT)))
def test_one_place_owns_the_jit_options(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    if path != PACKAGE / "kernels" / "jit.py":
        assert list(rules.jit_uses(source)) == [], "use @kernel of dpverify.kernels.jit"
    assert list(rules.fastmath_uses(source)) == [], "fastmath changes the numbers that are verified"


@pytest.mark.parametrize("path", rules.python_files(PACKAGE / "report"), ids=lambda path: path.name)
def test_the_report_draws_no_sample(path: Path) -> None:
    assert list(rules.random_uses(path.read_text(encoding="utf-8"))) == []
