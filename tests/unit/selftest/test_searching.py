from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dpverify.cli.output import BadInput
from dpverify.cli.selftest import selftest
from dpverify.selftest.records import SearchRun

ROOT = Path(__file__).parents[3]


def test_the_search_is_judged_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "run.json"
    assert (
        selftest(
            search=True, only="2?*k + 1", root=ROOT, json=str(target), report=tmp_path
        )
        == 0
    )
    run = msgspec.json.decode(target.read_bytes(), type=SearchRun)
    (hunted,) = run.inequalities
    assert {budget: len(trials) for budget, trials in hunted.trials.items()} == {
        "smoke": 3,
        "standard": 2,
    }
    assert all(
        trial.found == {"N": "1025"}
        for trials in hunted.trials.values()
        for trial in trials
    )
    assert "1 are always refuted" in capsys.readouterr().out
    assert "`log2(N - 1) > floor(log2(N - 1)) for N >= 1000`" in (
        tmp_path / "search.md"
    ).read_text(encoding="utf-8")


def test_a_name_that_no_inequality_has_is_refused() -> None:
    with pytest.raises(BadInput, match="no inequality"):
        selftest(search=True, only="no such name", root=ROOT)
