"""The rules must be able to fail: each is shown a planted fault."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

from tests.architecture import rules

FILES = {
    "__init__.py": "",
    "kernels/__init__.py": "",
    "kernels/jit.py": "import numba\n",
    "papers/__init__.py": "",
    "papers/p/__init__.py": "",
    "papers/p/topic/__init__.py": "",
    "papers/p/topic/good_bounds.py": "import sympy\n",
    "papers/p/topic/checks/__init__.py": "",
    "papers/p/topic/checks/lemma.py": "from planted.kernels import jit\nfrom planted.papers.p import topic\n",
}

CONTRACT = """
[tool.importlinter]
root_package = "planted"
include_external_packages = true

[[tool.importlinter.contracts]]
name = "planted"
type = "forbidden"
source_modules = ["planted.papers.p.topic"]
forbidden_modules = ["numba", "planted.kernels"]
ignore_imports = ["planted.papers.*.*.checks.* -> planted.**"]
"""


@pytest.mark.parametrize(
    ("more", "broken"),
    [
        ({}, False),
        ({"papers/p/topic/bad_bounds.py": "def f():\n    from planted.kernels import jit\n    return jit\n"}, True),
        ({"papers/p/topic/bad_bounds.py": "import numba\n"}, True),
        ({"helper.py": "import numba\n", "papers/p/topic/bad_bounds.py": "from planted import helper\n"}, True),
    ],
)
def test_only_checks_may_see_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, str], broken: bool
) -> None:
    for name, text in {**FILES, **more}.items():
        path = tmp_path / "planted" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    config = tmp_path / "pyproject.toml"
    config.write_text(CONTRACT, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "planted", raising=False)
    assert (lint_imports(config_filename=str(config), no_cache=True, no_logo=True) != 0) == broken


@pytest.mark.parametrize(
    ("source", "uses"),
    [
        ("from numba import njit", ["from numba import njit"]),
        ("from numba.core.decorators import jit as kernel", ["from numba.core.decorators import jit"]),
        ("import numba\n@numba.njit\ndef f(): pass", ["numba.njit"]),
        ("import numba as nb\nf = nb.core.decorators.jit(g)", ["nb.core.decorators.jit"]),
        ("from numba import types\nimport jax\njax.jit", []),
    ],
)
def test_jit_uses(source: str, uses: list[str]) -> None:
    assert [text for _, text in rules.jit_uses(source)] == uses


def test_fastmath_uses() -> None:
    assert list(rules.fastmath_uses("f(fastmath=False)\nf(fastmath=True)\nf(fastmath={'nnan'})")) == [2, 3]


@pytest.mark.parametrize("line", ["import random", "from numpy import random", "np.random.rand()", "x.default_rng(0)"])
def test_random_uses(line: str) -> None:
    assert len(list(rules.random_uses(line))) == 1
    assert list(rules.random_uses("import numpy as np\nnp.cumsum(x)")) == []


def test_imports_of_checks() -> None:
    source = "from a.papers.p.t.checks.x import f\nfrom a.papers.p.t import checks\nfrom a.papers.p.t import bounds\n"
    assert len(list(rules.imports_of_checks(source))) == 2
