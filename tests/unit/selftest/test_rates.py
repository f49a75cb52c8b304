from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from dpverify.cli.output import BadInput
from dpverify.cli.selftest import selftest
from dpverify.harness.run.tasks import Job
from dpverify.ledger import load_specs
from dpverify.ledger.check_results import CheckResult
from dpverify.selftest import checks as rates
from dpverify.selftest.checks import is_improbable
from dpverify.selftest.records import RatesRun

ROOT = Path(__file__).parents[3]


def test_a_statistical_check_is_run_with_many_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "run.json"
    assert (
        selftest(
            rates=3,
            only="tran2022:algorithm-1-floats",
            root=ROOT,
            jobs=1,
            json=str(target),
        )
        == 0
    )
    (check,) = msgspec.json.decode(target.read_bytes(), type=RatesRun).checks
    assert check.check == "tran2022:algorithm-1-floats[printed|lowest-bit]"
    assert check.budget == "smoke"
    assert check.says == ["refuted"] * 3
    assert check.alpha == 1e-6
    assert check.seen == check.planted == 3
    assert check.power_at_least == pytest.approx(0.05 ** (1 / 3))
    assert not check.wrong
    assert "3 of 3 planted faults refuted" in capsys.readouterr().out


def test_each_has_the_smallest_budget_in_which_it_spends_alpha(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those that are due from the standard budget on are there too, and nothing is run in two budgets."""

    def judged(jobs: Sequence[Job], _: int) -> tuple[list[CheckResult], bool]:
        done = [
            CheckResult(
                name=job.check, method="monte-carlo", status="not refuted", alpha=1e-6
            )
            for job in jobs
        ]
        return done, False

    monkeypatch.setattr(rates, "run_jobs", judged)
    run = rates.measure_rates(load_specs(), 2, 1, "tran2022:theorem-9")
    assert {
        each.check.rpartition("|")[2].rstrip("]"): each.budget for each in run.checks
    } == {
        "runs": "smoke",
        "runs-printed": "standard",
        "runs-search": "standard",
        "runs-box-fresh": "standard",
    }
    assert [len(each.says) for each in run.checks] == [2] * len(run.checks)
    smoke = rates.measure_rates(
        load_specs(), 1, 1, "tran2022:theorem-9", budget="smoke"
    )
    assert [each.check for each in smoke.checks] == [
        each.check for each in run.checks if each.budget == "smoke"
    ]


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadInput, match="at least 1"):
        selftest(rates=0, root=ROOT)
    with pytest.raises(BadInput, match="spends an error rate"):
        selftest(rates=1, only="tran2022:proposition-13", root=ROOT, jobs=1)


def test_counts_are_held_against_the_stated_rates() -> None:
    assert not is_improbable(0, 20, 1e-6)
    assert is_improbable(2, 20, 1e-6)  # two false reds of an alpha of one in a million
    # one missed fault in 40 is what a power of 0.99 explains
    assert not is_improbable(1, 40, 0.01)
    assert is_improbable(10, 40, 0.01)
    assert not is_improbable(0, 0, 1.0)
