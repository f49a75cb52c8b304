"""A run that judges only what is stale in a report, and says of the rest which run judged it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dpverify.harness.recorded_proof import RecordedRun
from dpverify.harness.run.runner import verify
from dpverify.harness.run.suite import JudgedReading
from dpverify.ledger import Specs
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.records import encode
from dpverify.ledger.results import Result, Run
from dpverify.report.terminal import closing

SOURCE = "tests.unit.harness.demo.demo_checks:load"
CLAIMS = ["demo:sum", "demo:walk", "demo:wrong-walk", "demo:bits"]


def judge(
    demo: Specs, seed: int, report: Path | None = None, budget: str = "smoke"
) -> Run:
    """Judge some claims, two of them by simulations that say other numbers under another seed."""
    claims = [demo.claim(key) for key in CLAIMS]
    renew = None if report is None else RecordedRun(report)
    return verify(demo, claims, budget, seed, source=SOURCE, renew=renew)


def record(run: Run, report: Path, **changes: object) -> Path:
    """Record a run, its manifest changed."""
    (report / "data").mkdir(exist_ok=True)
    info = msgspec.structs.replace(run.run, **changes)
    (report / "data" / "demo.json").write_bytes(
        encode(msgspec.structs.replace(run, run=info))
    )
    return report


def with_checks(run: Run) -> dict[str, Result]:
    """Results by claim, those aside that no check judges."""
    return {result.claim: result for result in run.results if result.checks}


def without_run(results: list[Result]) -> list[Result]:
    return [msgspec.structs.replace(result, earlier=0) for result in results]


@pytest.fixture(scope="module")
def first(demo: Specs) -> Run:
    return judge(demo, 1)


def make_stale(monkeypatch: pytest.MonkeyPatch, *claims: str) -> None:
    """Let the code that judges some claims be another one than before."""
    hashes = JudgedReading.evidence_hash.fget  # type: ignore[attr-defined]  # a property

    def changed(case: JudgedReading) -> str:
        return "changed" if case.claim.key in claims else str(hashes(case))

    monkeypatch.setattr(JudgedReading, "evidence_hash", property(changed))


def test_what_is_not_stale_stands_whatever_the_seed(
    demo: Specs, first: Run, tmp_path: Path
) -> None:
    renewed = judge(demo, 2, record(first, tmp_path, commit="a" * 40))
    assert without_run(renewed.results) == first.results
    assert {
        claim: result.earlier for claim, result in with_checks(renewed).items()
    } == dict.fromkeys(CLAIMS, 1)
    assert [(info.seed, info.commit) for info in renewed.run.earlier] == [(1, "a" * 40)]
    assert renewed.run.false_alarm == first.run.false_alarm > 0.0


def test_only_what_is_stale_is_judged_anew(
    demo: Specs, first: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_stale(monkeypatch, "demo:walk")
    renewed = judge(demo, 2, record(first, tmp_path, commit="a" * 40))
    was, now = with_checks(first), with_checks(renewed)
    assert {claim: result.earlier for claim, result in now.items()} == dict.fromkeys(
        CLAIMS, 1
    ) | {"demo:walk": 0}
    assert now["demo:walk"].evidence_hash == "changed"
    # drawn with the new seed
    assert _statistics(now["demo:walk"].checks) != _statistics(was["demo:walk"].checks)
    again = judge(demo, 3, record(renewed, tmp_path, commit="b" * 40))
    assert without_run(again.results) == without_run(renewed.results)
    assert {
        claim: again.run.earlier[result.earlier - 1].seed
        for claim, result in with_checks(again).items()
    } == {
        **dict.fromkeys(CLAIMS, 1),
        "demo:walk": 2,
    }
    words = sorted(again.earlier_words)
    assert words == sorted(
        [
            f"3 of 5 verdicts, of commit {'a' * 40}, seed 1",
            f"1 of 5 verdicts, of commit {'b' * 40}, seed 2",
        ]
    )
    assert (
        "4 verdicts of earlier runs stand: nothing that they rest on has changed."
        in list(closing(again))
    )


def _statistics(checks: list[CheckResult]) -> list[str]:
    return [control.statistic for check in checks for control in check.controls]


@pytest.mark.parametrize(
    "changes",
    [{"interrupted": True}, {"budget": "standard"}, {"versions": {"python": "3"}}],
    ids=str,
)
def test_nothing_stands_of_a_run_of_another_kind(
    demo: Specs, first: Run, tmp_path: Path, changes: dict[str, object]
) -> None:
    renewed = judge(demo, 2, record(first, tmp_path, **changes))
    assert not any(result.earlier for result in renewed.results)
    assert renewed.run.earlier == []
    assert renewed.earlier_words == []


def test_a_check_that_broke_is_run_again(
    demo: Specs, first: Run, tmp_path: Path
) -> None:
    broken, *others = first.results
    checks = [msgspec.structs.replace(check, error="broken") for check in broken.checks]
    assert checks
    results = [msgspec.structs.replace(broken, checks=checks), *others]
    renewed = judge(
        demo, 1, record(msgspec.structs.replace(first, results=results), tmp_path)
    )
    assert {
        claim: result.earlier for claim, result in with_checks(renewed).items()
    } == {
        **dict.fromkeys(CLAIMS, 1),
        broken.claim: 0,
    }


def test_without_a_report_everything_is_judged(
    demo: Specs, first: Run, tmp_path: Path
) -> None:
    assert judge(demo, 1, tmp_path).run.earlier == first.run.earlier == []
