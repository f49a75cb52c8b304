"""The rules must be able to fail: each is shown a planted fault."""

from __future__ import annotations

import sys
from pathlib import Path

import grimp
import pytest

from tests.architecture import rules

FILES = {
    "__init__.py": "",
    "kernels/__init__.py": "",
    "kernels/jit.py": "import numba\n",
    "middle.py": "import sympy\n",
    "clean.py": "import math\n",
    "papers/__init__.py": "",
    "papers/p/__init__.py": "",
    "papers/p/good.py": "from planted.kernels import jit\n",
    "papers/p/good_bounds.py": "import sympy\nfrom planted import clean\n",
    "papers/p/bad.py": "def f():\n    from planted import middle\n    return middle\n",
    "papers/p/bad_bounds.py": "from planted.papers.p import good\n",
    "papers/p/good_derivations.py": "import sympy\n",
    "papers/p/checks.py": "import sympy\nfrom planted.papers.p import good, good_bounds\n",
}


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> grimp.ImportGraph:
    for name, text in FILES.items():
        path = tmp_path / "planted" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "planted", raising=False)
    return grimp.build_graph("planted", include_external_packages=True, cache_dir=None)


def test_names_decide_what_a_module_is(graph: grimp.ImportGraph) -> None:
    assert rules.algebra_modules(graph) == [
        "planted.papers.p.bad_bounds",
        "planted.papers.p.good_bounds",
        "planted.papers.p.good_derivations",
    ]
    assert rules.kernel_modules(graph, "planted") == [
        "planted.kernels",
        "planted.kernels.jit",
        "planted.papers.p.bad",
        "planted.papers.p.good",
    ]


def test_a_bounds_module_that_reaches_numba_is_found(graph: grimp.ImportGraph) -> None:
    found = rules.chains(graph, rules.algebra_modules(graph), ["numba"])
    assert found == ["planted.papers.p.bad_bounds -> planted.papers.p.good -> planted.kernels.jit -> numba"]


def test_a_kernel_that_reaches_sympy_inside_a_function_is_found(graph: grimp.ImportGraph) -> None:
    found = rules.chains(graph, rules.kernel_modules(graph, "planted"), ["sympy"])
    assert found == ["planted.papers.p.bad -> planted.middle -> sympy"]


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
