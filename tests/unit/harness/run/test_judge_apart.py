"""Checks that leave, hang or break in any stage: each is a named error, and what other checks found is kept."""

from __future__ import annotations

import pytest

from dpverify import apart
from dpverify.api import verify_run
from dpverify.cli import main
from dpverify.harness.finished import exit_code
from dpverify.harness.run.task_pool import DIED
from dpverify.ledger import SpecError, Specs
from dpverify.ledger.results import INTERRUPTED
from tests.for_each import for_each
from tests.unit.harness.demo import misbehaving

SOURCE = f"{misbehaving.__name__}:"
LIMIT = 2.0
REPLACED = "replaced numpy.linalg.norm, which the tests use"
LATE = f"did not return within {LIMIT:g} s"


def errors(
    demo: Specs, load: str, claims: list[str], limit: float = LIMIT
) -> dict[str, str]:
    """Errors of the checks of some claims by their names; each check without one must have found what it finds."""
    run = verify_run(
        *(f"demo:{claim}" for claim in claims),
        specs=demo,
        checks=SOURCE + load,
        limit=limit,
    )
    assert exit_code(run) == 1
    checks = [check for result in run.results for check in result.checks]
    assert all(
        check.status == ("inconclusive" if check.error else "not refuted")
        for check in checks
    )
    assert len(checks) == len(claims)
    return {check.name: check.error for check in checks}


def test_a_check_that_does_not_return_from_a_stage_costs_itself_only(
    demo: Specs,
) -> None:
    assert errors(demo, "load_stages", list(misbehaving.STAGES)) == {
        "good": "",
        "plan-leaves": "plan of demo:root[printed|plan-leaves] ended its process with exit code 0",
        "fold-hangs": f"fold of demo:bits[printed|fold-hangs] {LATE}",
        "finish-forks": "finish of demo:empty[printed|finish-forks] ended its process with exit code 0",
        "last": "",
    }


def test_a_cost_that_kills_and_code_that_breaks_its_process(demo: Specs) -> None:
    found = errors(demo, "load_costs", ["sum", "root", "decay"])
    assert found.pop("finish-raises").startswith(
        "UnspeakableError: (its message raised RuntimeError)"
    )
    assert found == {
        "finish-deletes": "",
        "cost-is-killed": "cost of demo:root[printed|cost-is-killed] ended its process by signal 9",
    }


def test_blocks_that_do_not_return(demo: Specs) -> None:
    found = errors(demo, "load_workers", list(misbehaving.WORKERS))
    assert found.pop("block-raises").startswith(
        "UnspeakableError: (its message raised RuntimeError)"
    )
    assert found == {
        "good": "",
        "block-forks": DIED,
        "block-ignores": f"the check {LATE}",
        "block-threads": "",
    }


def test_a_check_that_replaces_functions_of_other_checks_is_an_error_of_its_own(
    demo: Specs,
) -> None:
    found = errors(
        demo, "load_replacements", ["sum", "root", "bits", "decay"], limit=60.0
    )
    assert found.pop("block-replaces") == REPLACED
    assert found.pop("finish-replaces") == REPLACED
    assert found == {"good": "", "last": ""}


def test_ctrl_c_while_a_stage_hangs_keeps_what_was_found(
    demo: Specs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "INTERRUPT_SECONDS", 1.0)
    claims = ("demo:sum", "demo:root", "demo:decay")
    run = verify_run(
        *claims, specs=demo, checks=f"{SOURCE}load_interrupts", limit=600.0
    )
    assert run.run.interrupted
    assert exit_code(run) == 130
    found = {
        check.name: check.message for result in run.results for check in result.checks
    }
    assert found["finish-interrupts"] == INTERRUPTED
    assert INTERRUPTED not in (found["good"], found["last"])


def test_values_that_are_not_what_a_check_must_return(demo: Specs) -> None:
    values = errors(demo, "load_values", list(misbehaving.VALUES), limit=0.0)
    assert values.pop("good") == ""
    assert all(
        "blocks must return a whole number" in error for error in values.values()
    )
    returns = errors(demo, "load_returns", list(misbehaving.RETURNS), limit=0.0)
    assert returns.pop("good") == ""
    assert all(
        "finish must return a CheckResult" in error for error in returns.values()
    )


@for_each(
    ("load", "message"),
    [
        ("load_applies", rf"applies of the check 'applies-hangs' .* {LATE}"),
        ("load_leaves", "with exit code 0"),
    ],
)
def test_checks_that_cannot_be_listed_are_refused(
    load: str, message: str, demo: Specs
) -> None:
    with pytest.raises(SpecError, match=message):
        verify_run("demo:sum", specs=demo, checks=SOURCE + load, limit=LIMIT)


@for_each(
    ("source", "limit"),
    [
        (misbehaving.__name__, "0"),
        (misbehaving.__name__, "60"),
        (f"{SOURCE}load_nothing", "0"),
        ("tests.unit.harness.run", "0"),
    ],
)
def test_a_source_without_checks_of_the_papers_is_refused(
    source: str, limit: str, demo: Specs, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "verify",
        "demo:sum",
        "--specs",
        str(demo.directory),
        "--checks",
        source,
        "--timeout",
        limit,
    ]
    assert main(words) == 2
    message = capsys.readouterr().err
    assert (
        f"checks: '{source}': it must have checks of a paper of the specs (demo)"
        in message
    )
    assert message.count("\n") == 1
