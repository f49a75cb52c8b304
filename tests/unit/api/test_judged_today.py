"""What judges a claim today: once found, it is read without a check, until anything changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from dpverify.api import judged_today as module
from dpverify.api.judged_today import judged_today
from dpverify.api.verdicts import recorded_run
from dpverify.cache_files import default_store, write_cached
from dpverify.harness.finished import Inputs
from dpverify.ledger import ClaimSpec, Specs, bundled_specs, load_specs
from dpverify.ledger.load import bundled
from dpverify.ledger.results import Run
from tests.for_each import for_each

CLAIM = "zhang2021:theorem-3-4-case"
HEAVY = "{'scipy', 'sympy', 'numba', 'hypothesis', 'flint'}"


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs(bundled_specs())


@pytest.fixture(scope="module")
def claim(specs: Specs) -> ClaimSpec:
    return specs.claim(CLAIM)


@pytest.fixture(scope="module")
def run(claim: ClaimSpec) -> Run:
    run = recorded_run(claim.paper, bundled("reports"))
    assert run is not None
    return msgspec.structs.replace(
        run, results=[result for result in run.results if result.claim == claim.key]
    )


@pytest.fixture
def inputs() -> Inputs:
    return Inputs(None)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Claims whose checks were imported."""
    claims: list[str] = []
    names = module._names

    def noted(claim: ClaimSpec, source: str | None) -> list[str]:
        claims.append(claim.key)
        return names(claim, source)

    monkeypatch.setattr(module, "_names", noted)
    return claims


def test_the_second_answer_is_the_first(
    specs: Specs, claim: ClaimSpec, run: Run, asked: list[str], inputs: Inputs
) -> None:
    first = judged_today(run, specs, claim, inputs=inputs)
    assert first.checks
    assert judged_today(run, specs, claim, inputs=inputs) == first
    assert asked == [CLAIM]


def test_another_recorded_run_is_compared_anew(
    specs: Specs, claim: ClaimSpec, run: Run, asked: list[str], inputs: Inputs
) -> None:
    judged_today(run, specs, claim, inputs=inputs)
    results = [
        msgspec.structs.replace(result, evidence_hash="0" * 16)
        for result in run.results
    ]
    assert judged_today(
        msgspec.structs.replace(run, results=results), specs, claim, inputs=inputs
    ).changes
    assert judged_today(None, specs, claim, inputs=inputs).changes == []
    assert asked == [CLAIM] * 3


def test_an_answer_is_not_kept_if_anything_changed_meanwhile(
    specs: Specs,
    claim: ClaimSpec,
    run: Run,
    asked: list[str],
    inputs: Inputs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Inputs, "are_unchanged", False)
    for _ in range(2):
        judged_today(run, specs, claim, inputs=inputs)
    assert asked == [CLAIM] * 2


@pytest.mark.parametrize("digest", ["", "other"])
def test_other_inputs_are_asked_anew(
    specs: Specs,
    claim: ClaimSpec,
    run: Run,
    asked: list[str],
    inputs: Inputs,
    digest: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged_today(run, specs, claim, inputs=inputs)
    monkeypatch.setattr(Inputs, "digest", digest)
    judged_today(run, specs, claim, inputs=inputs)
    assert asked == [CLAIM] * 2


def test_other_checks_are_asked_each_time(
    specs: Specs, claim: ClaimSpec, asked: list[str], inputs: Inputs
) -> None:
    for _ in range(2):
        judged_today(None, specs, claim, "dpverify.papers:load", inputs)
    assert asked == [CLAIM] * 2


def test_a_damaged_answer_is_found_again(
    specs: Specs, claim: ClaimSpec, run: Run, asked: list[str], inputs: Inputs
) -> None:
    first = judged_today(run, specs, claim, inputs=inputs)
    for file in default_store().with_suffix(".cache").glob("judged.*"):
        file.write_bytes(b"damaged")
    assert judged_today(run, specs, claim, inputs=inputs) == first
    for file in default_store().with_suffix(".cache").glob("judged.*"):
        write_cached("judged", file.name.split(".")[1], b'{"checks": 1}')
    assert judged_today(run, specs, claim, inputs=inputs) == first
    assert asked == [CLAIM] * 3


@pytest.mark.slow
@for_each("command", [["explain", CLAIM], ["verify", CLAIM]])
def test_a_command_that_ran_before_imports_no_check(
    command: list[str], tmp_path: Path
) -> None:
    program = (
        "import sys; from dpverify.cli import main; code = main(sys.argv[1:]); "
        f"print('LOADED', *sorted({HEAVY} & {{name.partition('.')[0] for name in sys.modules}}))"
    )
    loaded = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program, *command],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        )
        loaded.append(done.stdout.rpartition("LOADED")[2].split())
    assert loaded[0]
    assert loaded[1] == []
