"""The rules must be able to fail: each rule is tested on a planted fault."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

from tests.architecture import rules
from tests.for_each import for_each

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


@for_each(
    ("more", "broken"),
    [
        ({}, False),
        (
            {
                "papers/p/topic/bad_bounds.py": "def f():\n    from planted.kernels import jit\n    return jit\n"
            },
            True,
        ),
        ({"papers/p/topic/bad_bounds.py": "import numba\n"}, True),
        (
            {
                "helper.py": "import numba\n",
                "papers/p/topic/bad_bounds.py": "from planted import helper\n",
            },
            True,
        ),
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
    assert (
        lint_imports(config_filename=str(config), no_cache=True, no_logo=True) != 0
    ) == broken


@for_each(
    ("source", "uses"),
    [
        ("from numba import njit", ["from numba import njit"]),
        (
            "from numba.core.decorators import jit as kernel",
            ["from numba.core.decorators import jit"],
        ),
        ("import numba\n@numba.njit\ndef f(): pass", ["numba.njit"]),
        (
            "import numba as nb\nf = nb.core.decorators.jit(g)",
            ["nb.core.decorators.jit"],
        ),
        ("from numba import types\nimport jax\njax.jit", []),
    ],
)
def test_jit_uses(source: str, uses: list[str]) -> None:
    assert [text for _, text in rules.jit_uses(source)] == uses


def test_fastmath_uses() -> None:
    assert list(
        rules.fastmath_uses("f(fastmath=False)\nf(fastmath=True)\nf(fastmath={'nnan'})")
    ) == [2, 3]


@for_each(
    "line",
    [
        "import random",
        "from numpy import random",
        "np.random.rand()",
        "x.default_rng(0)",
    ],
)
def test_random_uses(line: str) -> None:
    assert len(list(rules.random_uses(line))) == 1
    assert list(rules.random_uses("import numpy as np\nnp.cumsum(x)")) == []


def test_imports_of_checks() -> None:
    source = "from a.papers.p.t.checks.x import f\nfrom a.papers.p.t import checks\nfrom a.papers.p.t import bounds\n"
    assert len(list(rules.imports_of_checks(source))) == 2


def test_long_files(tmp_path: Path) -> None:
    for name, lines in (("fits.py", rules.LONGEST), ("long.py", rules.LONGEST + 1)):
        (tmp_path / name).write_text("x = 1\n" * lines, encoding="utf-8")
    assert [
        Path(line.split(":")[0]).name
        for line in rules.long_files(rules.python_files(tmp_path))
    ] == ["long.py"]


def test_full_folders(tmp_path: Path) -> None:
    for folder, files in (("fits", rules.FULLEST), ("full", rules.FULLEST + 1)):
        (tmp_path / folder).mkdir()
        for number in range(files):
            (tmp_path / folder / f"m{number}.py").touch()
    assert [
        Path(line.split(":")[0]).name
        for line in rules.full_folders(rules.python_files(tmp_path))
    ] == ["full"]


def test_shared_class_names(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "class Case:\n    class Inner: ...\nclass Other: ...\n", encoding="utf-8"
    )
    assert list(rules.shared_class_names(rules.python_files(tmp_path))) == []
    (tmp_path / "b.py").write_text(
        "def f():\n    class Case: ...\nclass Inner: ...\n", encoding="utf-8"
    )
    found = list(rules.shared_class_names(rules.python_files(tmp_path)))
    assert [line.split(":")[0] for line in found] == ["Case", "Inner"]


def test_exported(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    (package / "inner").mkdir(parents=True)
    (package / "inner" / "__init__.py").touch()
    source = """
if TYPE_CHECKING:
    from pack.lazy import late
from pack.inner.work import done as finished, hidden
__all__ = ["finished", "here", "late"]
"""
    (package / "__init__.py").write_text(source, encoding="utf-8")
    wanted = {("pack", "here"), ("pack.inner.work", "done"), ("pack.lazy", "late")}
    assert wanted <= rules.exported(tmp_path, rules.python_files(tmp_path))
    assert ("pack.inner.work", "hidden") not in rules.exported(
        tmp_path, rules.python_files(tmp_path)
    )


DOCUMENTED = '''
class Face:
    """One.

    Attributes
    ----------
    x : int
        Two.
    """

    def method(self):
        """Three.

        Returns
        -------
        int
            Four.
        """

def plain():
    """Parameters are named in a sentence, and -------- is no header."""
'''


def test_sections() -> None:
    assert list(rules.sections(DOCUMENTED)) == [
        ("Face", "Face"),
        ("Face", "Face.method"),
    ]


def test_many_items() -> None:
    names = [
        "tests/a.py::test_one",
        *(f"tests/a.py::test_many[{n}]" for n in range(rules.MOST_TESTS)),
    ]
    assert list(rules.many_items(names[1:])) == []
    first, *_ = rules.many_items(names)
    assert first == f"{rules.MOST_TESTS} items of tests/a.py::test_many"
