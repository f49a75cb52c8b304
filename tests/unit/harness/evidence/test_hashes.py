from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dpverify.harness.evidence import hashes, imports
from dpverify.harness.evidence.graph import WHOLE_MODULE
from dpverify.harness.evidence.source_code import CheckPlace
from dpverify.harness.run.suite import Suite
from dpverify.ledger import load_specs
from dpverify.ledger.definitions import Glossary


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package whose checks import a kernel through the front page of a subpackage."""
    root = tmp_path / "toy_package"
    (root / "sub").mkdir(parents=True)
    (root / "__init__.py").write_text('"""A package."""\n')
    (root / "sub" / "__init__.py").write_text(
        "from toy_package.sub.kernel import run\nfrom toy_package.sub.other import unused\n"
    )
    (root / "sub" / "kernel.py").write_text(
        '"""Kernel."""\nimport numpy\n\ndef run():\n    """Run."""\n    return 1\n'
    )
    (root / "sub" / "other.py").write_text("def unused():\n    return 2\n")
    (root / "helper.py").write_text("X = 1\n")
    (root / "checks.py").write_text(
        "from toy_package.sub import run\n\ndef late():\n    from . import helper\n    return helper, run\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    _forget()
    yield root
    _forget()
    for name in [name for name in sys.modules if name.startswith("toy_package")]:
        del sys.modules[name]


def _forget() -> None:
    for cached in (imports._path, imports._spec, hashes.today):
        cached.cache_clear()


CHECKS = CheckPlace("toy_package.checks")


def digest() -> str:
    _forget()
    return hashes.evidence_hash("record", (CHECKS,))


def reached() -> set[str]:
    """Units that all of the checks depend on, by the names that they bind; "*" for all of a module."""
    _forget()
    graph = hashes.today().graph

    def name(module: str, place: int) -> str:
        names = (
            "*"
            if place == WHOLE_MODULE
            else " ".join(graph.get_module(module).code.units[place].binds)
        )
        return f"{module.removeprefix('toy_package.')}:{names}"

    return {name(*node) for node in graph.reached(graph.made_at(CHECKS))}


def closure() -> set[str]:
    return {f"toy_package.{name.partition(':')[0]}" for name in reached()} - {
        "toy_package.checks",
        "toy_package.helper",
    }


def test_the_closure_follows_names_through_front_pages_and_into_functions(
    package: Path,
) -> None:
    assert package.exists()
    assert reached() == {
        "checks:*",
        "checks:late",
        "sub.kernel:run",
        "helper:*",
        "helper:X",
    }


def test_nothing_is_executed(package: Path) -> None:
    (package / "helper.py").write_text("raise SystemExit('executed')\n")
    assert len(digest()) == 16


def test_comments_docstrings_and_layout_do_not_count(package: Path) -> None:
    before = digest()
    (package / "sub" / "kernel.py").write_text(
        "import numpy  # fast\n\n\ndef run( ) :\n    'Runs.'\n    return (1)\n"
    )
    assert digest() == before


def test_a_string_below_a_constant_or_a_field_is_documentation(package: Path) -> None:
    helper = package / "helper.py"
    helper.write_text("X = 1\n\nclass C:\n    y: int\n")
    before = digest()
    helper.write_text(
        'X = 1\n"""What X is."""\n\nclass C:\n    y: int\n    """In units."""\n'
    )
    assert digest() == before


def test_each_value_that_is_false_counts_as_itself(package: Path) -> None:
    digests = set()
    for value in ("0", "False", "0.0", "''", "b''", "None", "0j"):
        (package / "helper.py").write_text(f"X = {value}\n")
        digests.add(digest())
    assert len(digests) == 7


def test_where_a_module_lies_does_not_count(package: Path) -> None:
    before = digest()
    (package / "topic").mkdir()
    (package / "topic" / "__init__.py").write_text("")
    (package / "sub" / "kernel.py").rename(package / "topic" / "core.py")
    (package / "helper.py").rename(package / "topic" / "helper.py")
    (package / "checks.py").write_text(
        "from toy_package.topic.core import run\n\ndef late():\n    from .topic import helper\n    return helper, run\n"
    )
    assert digest() == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "from toy_package.sub import run\n",
            "from toy_package.sub.other import unused as run\n",
        ),
        ("from . import helper", "from .sub import kernel as helper"),
    ],
)
def test_what_a_name_stands_for_counts(package: Path, old: str, new: str) -> None:
    checks = package / "checks.py"
    checks.write_text(
        checks.read_text()
        + "\ndef other():\n    from .sub import other, kernel\n    from . import helper as h\n"
    )
    before = digest()
    checks.write_text(checks.read_text().replace(old, new, 1))
    assert digest() != before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("checks.py", "return helper, run", "return run, helper"),
        ("helper.py", "X = 1", "X = 2"),
        ("sub/kernel.py", "return 1", "return 2"),
    ],
)
def test_code_counts(package: Path, name: str, old: str, new: str) -> None:
    before = digest()
    path = package / name
    path.write_text(path.read_text().replace(old, new))
    assert digest() != before


def test_what_stands_beside_what_is_used_does_not_count(package: Path) -> None:
    before = digest()
    kernel = package / "sub" / "kernel.py"
    kernel.write_text(
        kernel.read_text()
        + "\nfrom .other import unused\nY = 3\n\ndef stray():\n    return unused() + Y\n"
    )
    assert digest() == before


def test_what_is_not_imported_does_not_count(package: Path) -> None:
    before = digest()
    (package / "sub" / "other.py").write_text("def unused():\n    return 99\n")
    assert digest() == before


LATE = """
from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from toy_package.sub.kernel import run

_HOMES = {"kernel": "run", "other": "unused"}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
"""
KERNEL, OTHER, FRONT = (
    "toy_package.sub.kernel",
    "toy_package.sub.other",
    "toy_package.sub",
)


def test_a_package_that_loads_names_on_use_is_read_by_its_table(package: Path) -> None:
    front = package / "sub" / "__init__.py"
    front.write_text(LATE)
    assert closure() == {KERNEL}
    front.write_text(
        LATE.replace(
            '"kernel": "run", "other": "unused"',
            '"kernel": "nothing", "other": "run=unused"',
        )
    )
    assert closure() == {OTHER}  # whatever it tells type checkers


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("_HOMES = {", "NAME = 'kernel'\n_HOMES = {NAME: 'run', "),
        ("\n__getattr__", "\n_HOMES.clear()\n__getattr__"),
        ("\n__getattr__", "\n_HOMES = _HOMES | {}\n__getattr__"),
        ("__getattr__, __dir__ =", "def __getattr__(name): return 1\nload, __dir__ ="),
        ("from dpverify.lazy import lazy_names", "from somewhere import lazy_names"),
        ("import lazy_names", "import lazy_names\nlazy_names = print"),
    ],
)
def test_a_package_that_loads_names_in_another_way_counts_whole(
    package: Path, old: str, new: str
) -> None:
    text = LATE.replace(old, new, 1)
    assert text != LATE
    (package / "sub" / "__init__.py").write_text(text)
    assert {FRONT, KERNEL} <= closure()


@pytest.mark.parametrize(
    "text",
    [
        "from toy_package.sub.kernel import run\nrun = print(run)\n",
        "from toy_package.sub.kernel import run\nfrom toy_package.sub.other import unused as run\n",
        "from toy_package.sub.kernel import run\ndef change():\n    global run\n    run = 2\n",
        "from toy_package.sub.kernel import run\nfor run in (1, 2): pass\n",
        "from toy_package.sub.kernel import run\nclass run: pass\n",
        "try:\n    from toy_package.sub.kernel import run\nexcept ImportError:\n    run = None\n",
        "from toy_package.sub.kernel import *\nfrom toy_package.sub.other import *\n",
    ],
)
def test_a_name_that_a_package_binds_otherwise_counts_with_the_package(
    package: Path, text: str
) -> None:
    (package / "sub" / "__init__.py").write_text(text)
    assert {FRONT, KERNEL} <= closure()


@pytest.mark.parametrize(
    "text", ["from toy_package.sub.kernel import run\n", LATE, "def run(): return 1\n"]
)
def test_a_module_and_a_name_of_a_package_that_are_called_the_same_both_count(
    package: Path, text: str
) -> None:
    (package / "sub" / "__init__.py").write_text(text)
    (package / "sub" / "run.py").write_text("Z = 1\n")
    assert closure() == {"toy_package.sub.run", FRONT if "def" in text else KERNEL}


def test_a_package_that_imports_its_own_module_is_read(package: Path) -> None:
    (package / "sub" / "__init__.py").write_text("from toy_package.sub import run\n")
    (package / "sub" / "run.py").write_text("Z = 1\n")
    assert closure() == {"toy_package.sub.run"}


@pytest.mark.parametrize(
    ("constant", "counts"),
    [
        ("from typing import TYPE_CHECKING", False),
        ("TYPE_CHECKING = True", True),
        ("from typing import TYPE_CHECKING\nTYPE_CHECKING = True", True),
        ("from toy_package.helper import TYPE_CHECKING", True),
        ("from typing import TYPE_CHECKING\ndef __getattr__(name): return 1", True),
    ],
)
def test_what_only_type_checkers_see_does_not_count(
    package: Path, constant: str, counts: bool
) -> None:
    kernel = package / "sub" / "kernel.py"
    kernel.write_text(
        f"{constant}\nif TYPE_CHECKING:\n    from .other import unused\nelse:\n    X = 1\n"
    )
    assert (OTHER in closure()) == counts
    before = digest()
    kernel.write_text(kernel.read_text().replace("X = 1", "X = 2"))
    assert digest() != before


def test_the_record_counts(package: Path) -> None:
    assert package.exists()
    assert hashes.evidence_hash("other", (CHECKS,)) != digest()


def test_strings_that_are_no_docstring_count(package: Path) -> None:
    before = digest()
    kernel = package / "sub" / "kernel.py"
    kernel.write_text(kernel.read_text().replace("return 1", "return '1'"))
    assert digest() != before


def test_a_module_without_source_is_refused() -> None:
    with pytest.raises(ValueError, match="module='no_such_module'"):
        hashes.evidence_hash("record", (CheckPlace("no_such_module"),))


def test_a_changed_record_makes_the_verdicts_stale_that_rest_on_it(
    tmp_path: Path,
) -> None:
    claim = (
        '[[claim]]\nwhere = "here"\nsource = "full"\nquote = "said"\nkind = '
        '"inequality"\nlhs = "x"\nrelation = "<="\n'
    )

    def digests(bound: str, amended: str, holds: str = "x >= 2") -> dict[str, str]:
        texts = (
            ("theorem", "2*x", '["lemma"]'),
            ("lemma", "x", '["rule"]'),
            ("rule", bound, "[]"),
            ("other", "x", "[]"),
        )
        claims = [
            f'{claim}id = "{name}"\nprinted = "{printed}"\nuses = {uses}\n'
            for name, printed, uses in texts
        ]
        head = '[paper]\nkey = "toy"\ntitle = "Toy"\nauthors = ["A"]\nvenue = "here"\n[paper.texts]\nfull = "this"\n'
        head += (
            '[symbols.x]\nlatex = \'x\'\ndomain = "real, x > 0"\nmeaning = "a number"\n'
        )
        verdict = (
            '[[verdict]]\nclaim = "rule"\nstatus = "refuted"\nseverity = "proof"\n'
        )
        verdict += '[verdict.amendment]\nwhy = "too small"\n'
        (tmp_path / "toy").mkdir(exist_ok=True)
        (tmp_path / "toy" / "claims.toml").write_text("".join([head, *claims]))
        verdict += f'formula = "{amended}"\n[verdict.holds]\nwhy = "large enough"\nstatus = "not refuted"\n'
        verdict += f'requires = ["{holds}"]\n'
        (tmp_path / "toy" / "verdicts.toml").write_text(verdict)
        suite = Suite(load_specs(tmp_path), "smoke", 0)
        return {
            one.record.id: case.evidence_hash
            for one in suite.specs.claims()
            for case in suite.cases(one)
        }

    before = digests("x", "2*x")
    assert digests("x", "2*x") == before
    for after in (
        digests("x + 1", "2*x"),
        digests("x", "3*x"),
        digests("x", "2*x", "x >= 3"),
    ):
        assert {name for name in before if before[name] != after[name]} == {
            "theorem",
            "lemma",
            "rule",
        }


def test_a_derivation_rests_on_definitions_and_other_checks_do_not() -> None:
    specs = load_specs()
    suite = Suite(specs, "smoke", 0)
    for claim, rests in (
        ("tran2022:lemma-12-count", True),
        ("tran2022:algorithm-1-floats", False),
    ):
        (case, *_) = suite.cases(specs.claim(claim))
        assert case.claim.glossary.digest
        other = replace(case, claim=replace(case.claim, glossary=Glossary()))
        assert (other.evidence_hash != case.evidence_hash) == rests
