"""``dpverify selftest``: what its arguments ask the runner for, with a runner of the test's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dpverify.cli.app import main
from dpverify.processes import usable_cores
from dpverify.selftest import run as runner
from dpverify.selftest.catalogue import Fault, choose, load_faults
from dpverify.selftest.records import Selftest
from tests.for_each import for_each

ROOT = Path(__file__).parents[3]
Asked = list[tuple[list[str], dict[str, Any]]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    calls: Asked = []

    def run(root: Path, faults: Sequence[Fault], state: Path, **words: Any) -> Selftest:
        calls.append(
            ([each.id for each in faults], {**words, "root": root, "state": state})
        )
        return Selftest(
            versions={},
            commit="",
            machine={},
            kinds={},
            modules=[],
            faults=[],
            catalogue=0,
        )

    monkeypatch.setattr(runner, "selftest", run)
    return calls


def test_a_tenth_on_so_many_jobs_with_a_limit(asked: Asked) -> None:
    words = ["selftest", "--root", str(ROOT)]
    assert main([*words, "--tenth", "9", "--jobs", "1", "--limit", "1"]) == 0
    assert main([*words, "--tenth", "0"]) == 0
    (last, given), (first, usual) = asked
    assert last == [each.id for each in choose(load_faults(ROOT), tenth=9)]
    assert first[0] == load_faults(ROOT)[0].id
    assert (given["jobs"], given["limit"]) == (1, 1)
    assert (usual["jobs"], usual["limit"]) == (usable_cores(), 300)
    assert given["state"] == ROOT / ".selftest"


@for_each(
    "words",
    [
        ["--tenth", "10"],
        ["--tenth", "-1"],
        ["--jobs", "0"],
        ["--limit", "0"],
        ["--only", "x"],
    ],
)
def test_what_is_out_of_its_domain_is_refused(
    words: list[str], asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["selftest", "--root", str(ROOT), *words]) == 2
    assert words[0] in capsys.readouterr().err
    assert not asked


def test_a_list_plants_nothing(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["selftest", "--root", str(ROOT), "--list", "--tenth", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(
        choose(load_faults(ROOT), tenth=3)
    )
    assert not asked


@for_each("lacks", ["tests", "specs/faults"])
def test_a_folder_that_is_no_whole_checkout_is_refused(
    lacks: str, tmp_path: Path, asked: Asked
) -> None:
    for folder in {"tests", "specs/faults"} - {lacks}:
        (tmp_path / folder).mkdir(parents=True)
    assert main(["selftest", "--root", str(tmp_path)]) == 2
    assert not asked
