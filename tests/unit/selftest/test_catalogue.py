"""The catalogue: every fault can be planted today, and what cannot be is refused in one line."""

import subprocess
import sys
from pathlib import Path

import pytest

from dpverify.ledger import load_specs
from dpverify.selftest.catalogue import (
    KINDS,
    CatalogueError,
    Fault,
    choose,
    load_faults,
    planted,
)
from tests.for_each import for_each

ROOT = Path(__file__).parents[3]
FAULTS = load_faults(ROOT)
SOURCE = '''
"""A module."""
def one(x):
    return x + 1  # adds

class Two:
    def one(self, x):
        return x + 1 + x + 2
'''


def fault(old: str, new: str, inside: str = "", **more: object) -> Fault:
    fields = {
        "id": "f",
        "kind": "noise",
        "what": "it",
        "module": "a/b.py",
        "noticed_by": ["tests/t.py::test_it"],
    }
    return Fault(**{**fields, "old": old, "new": new, "inside": inside, **more})  # type: ignore[arg-type]  # by name


def test_every_fault_has_its_place() -> None:
    errors = []
    for entry in FAULTS:
        try:
            assert planted((ROOT / entry.path).read_text("utf-8"), entry), (
                f"{entry.id} leaves an empty file"
            )
        except (AssertionError, CatalogueError, OSError) as error:
            errors.append(f"{entry.id}: {error}")
    assert errors == []


def test_faults_use_names_that_exist(tmp_path: Path) -> None:
    """A fault with an undefined name would be noticed by any test that runs the line."""
    for entry in FAULTS:
        if entry.path.suffix == ".py":
            (tmp_path / f"{entry.id}.py").write_text(
                planted((ROOT / entry.path).read_text("utf-8"), entry), "utf-8"
            )
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--no-cache",
        "--select",
        "F821",
        str(tmp_path),
    ]
    assert (
        subprocess.run(
            command, capture_output=True, text=True, check=False
        ).stdout.strip()
        == "All checks passed!"
    )


def test_there_are_many_of_every_kind() -> None:
    assert len(FAULTS) >= 100
    assert {each.kind for each in FAULTS} == KINDS.keys()


def test_claims_that_must_notice_are_claims() -> None:
    known = {claim.key for claim in load_specs(ROOT / "specs").claims()}
    assert {name for each in FAULTS for name in each.claims} <= known


def test_a_fault_is_planted_in_its_function_only() -> None:
    assert "return x - 1  # adds" in planted(SOURCE, fault("x + 1", "x - 1", "one"))
    changed = planted(SOURCE, fault("x + 1", "x - 1", "Two.one"))
    assert "return x + 1  # adds" in changed
    assert "return x - 1 + x + 2" in changed


@for_each(
    ("old", "new", "inside", "why"),
    [
        ("y + 1", "y", "", "stands 0 times"),
        ("x + 1", "x", "", "stands 2 times"),
        ("x + 2", "x", "one", "stands 0 times in one"),
        ("# adds", "# subtracts", "", "changes nothing"),
        ("return x + 1  # adds", "return (", "", "is no Python"),
        ("x + 1", "x", "Three", "no such function"),
    ],
)
def test_what_cannot_be_planted_is_refused(
    old: str, new: str, inside: str, why: str
) -> None:
    with pytest.raises(CatalogueError, match=why):
        planted(SOURCE, fault(old, new, inside))


RECORD = """
[[fault]]
id = "f"
kind = "{kind}"
what = "it"
module = "{module}"
old = "1"
new = "2"
noticed_by = ["{test}"]
"""


@for_each(
    ("changed", "why"),
    [
        ({"kind": "typo"}, "kind='typo': must be one of noise"),
        ({"module": "specs/none.py"}, "there is no file"),
        ({"test": "tests/test_toy.py::test_other"}, "there is no such test"),
        ({"test": "tests/none.py::test_it"}, "there is no such test"),
    ],
)
def test_a_wrong_record_is_refused(
    tmp_path: Path, changed: dict[str, str], why: str
) -> None:
    (tmp_path / "specs" / "faults").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_toy.py").write_text("def test_it(): ...\n")
    (tmp_path / "specs" / "toy.py").write_text("x = 1\n")
    text = {
        "kind": "noise",
        "module": "specs/toy.py",
        "test": "tests/test_toy.py::test_it",
    }
    path = tmp_path / "specs" / "faults" / "toy.toml"
    path.write_text(RECORD.format(**text))
    assert [each.id for each in load_faults(tmp_path)] == ["f"]
    path.write_text(RECORD.format(**{**text, **changed}))
    with pytest.raises(CatalogueError, match=why):
        load_faults(tmp_path)
    path.write_text(RECORD.format(**text) * 2)
    with pytest.raises(CatalogueError, match="f: again"):
        load_faults(tmp_path)


def test_the_tenths_are_the_catalogue() -> None:
    tenths = [choose(FAULTS, tenth=k) for k in range(10)]
    assert sorted(each.id for tenth in tenths for each in tenth) == sorted(
        each.id for each in FAULTS
    )
    assert max(map(len, tenths)) - min(map(len, tenths)) <= 1
    assert all(
        each.module.startswith("dpverify.kernels.")
        for each in choose(FAULTS, "dpverify.kernels.*")
    )
