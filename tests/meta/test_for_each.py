"""A test over a table runs all rows, reports each row that fails, and isolates the rows from each other."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import mpmath
import numpy as np
import pytest

from tests.for_each import for_each


@for_each("small", [1, 2, 3])
@for_each("large, limit", [(1, 9), pytest.param(5, 6, id="close")])
def test_sum(small, large, limit):
    assert small + large <= limit


@for_each("row", range(3))
def test_rows_are_apart(row, tmp_path, monkeypatch, capsys):
    assert not list(tmp_path.iterdir())
    assert "ROW" not in __import__("os").environ
    assert capsys.readouterr().out == ""
    assert mpmath.mp.dps == 15
    (tmp_path / "file").touch()
    monkeypatch.setenv("ROW", "1")
    print(row)
    mpmath.mp.dps = 50


@for_each("row", lambda: iter("abc"), ids=str.upper)
def test_raises_skips_and_passes(row):
    if row == "a":
        raise SystemExit(0)
    if row == "b":
        pytest.skip("not here")


@for_each("row", [0, 1])
def test_global_generator(row):
    np.random.seed(row) if row else None


@for_each("row", [])
def test_without_rows(row):
    raise AssertionError
"""


@pytest.fixture
def failures(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> dict[str, list[str]]:
    """Return the failure messages of each inner test, from its JUnit file."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makepyfile(TESTS)
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "--junitxml=out.xml")
    cases = ElementTree.parse(pytester.path / "out.xml").iter("testcase")
    return {
        case.get("name", ""): [
            found.get("message", "") for found in case.findall("failure")
        ]
        for case in cases
    }


def test_each_row_that_fails_is_reported(failures: dict[str, list[str]]) -> None:
    assert [message.partition("\n")[0] for message in failures["test_sum"]] == [
        "assert (2 + 5) <= 6",
        "assert (3 + 5) <= 6",
        "contains 2 failed subtests",
    ]
    assert failures["test_rows_are_apart"] == []
    assert failures["test_raises_skips_and_passes"] == [
        "SystemExit: 0",
        "contains 1 failed subtest",
    ]
    assert failures["test_global_generator"][0].startswith(
        "AssertionError: a test seeded numpy's global generator"
    )
    assert failures["test_without_rows"] == []
