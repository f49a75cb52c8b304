from __future__ import annotations

import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import numba.core.boxing  # noqa: F401  loaded here, as numba loads it when it first compiles, and refuses to do it twice
import pytest
from numba.core.registry import cpu_target

import dpverify.harness  # noqa: F401  loaded here, so that the sessions inside do not load numpy a second time
from dpverify import pytest_plugin
from dpverify.cache_files import default_store
from dpverify.harness.run.runner import verify
from dpverify.harness.run.store import Store
from dpverify.ledger import load_specs
from tests.unit.harness.demo import demo_checks  # noqa: F401  as above

pytest_plugins = ["pytester"]
cpu_target.target_context.refresh()  # other parts, for the same reason
DEMO = "tests.unit.harness.demo.demo_checks:"
RECORDS = Path(__file__).parent / "harness" / "demo" / "records"


@pytest.fixture
def session(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with the demonstration's specs, judged by its checks."""
    shutil.copytree(RECORDS, pytester.path / "specs")
    pytester.makeini(
        "[pytest]\n"
        "dpverify_checks = tests.unit.harness.demo.demo_checks:load\n"
        "addopts = --strict-config -p no:cacheprovider\n"
        "filterwarnings = error\n"
    )
    return pytester


def run(session: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest with the plugin as a module, which is right whether its entry point is installed or not."""
    return session.runpytest_inprocess(*arguments, plugins=[pytest_plugin])


def keep(session: pytest.Pytester, *claims: str) -> None:
    """Drop all other claims from the specs, which saves the time to judge them."""
    for name, table in (("claims.toml", "[[claim]]"), ("verdicts.toml", "[[verdict]]")):
        path = session.path / "specs" / "demo" / name
        head, *records = path.read_text().split(table)
        field = "id" if name == "claims.toml" else "claim"
        kept = [
            record
            for record in records
            if any(f'\n{field} = "{claim}"\n' in record for claim in claims)
        ]
        path.write_text(table.join([head, *kept]))
    session.makeini(
        (session.path / "tox.ini").read_text().replace(":load\n", ":load_known\n")
    )


def test_items_have_readable_names(session: pytest.Pytester) -> None:
    result = run(session, "specs", "--collect-only", "-q")
    file = "specs/demo/claims.toml::demo:"
    result.stdout.fnmatch_lines(
        [
            f"{file}sum[[]printed|all[]]",
            f"{file}sum[[]printed|search[]]",
            f"{file}sum[[]printed|pin[]]",
            f"{file}bits[[]printed|search[]]",
            f"{file}bits[[]amended|search[]]",
            f"{file}bits[[]printed|pin[]]",
            f"{file}walk[[]start=zero|printed|law[]]",
            f"{file}walk[[]start=zero|printed|pin[]]",
            f"{file}walk[[]start=late|printed|pin[]]",
        ]
    )
    # it has no check, and its verdict says that it is untested
    assert "later" not in result.stdout.str()


def test_a_claim_is_selected_by_its_name(session: pytest.Pytester) -> None:
    result = run(session, "specs", "-k", "bits", "-v")
    result.assert_outcomes(passed=3, deselected=22 - 3)


def test_an_item_is_selected_by_its_id(session: pytest.Pytester) -> None:
    result = run(session, "specs/demo/claims.toml::demo:sum[printed|all]")
    result.assert_outcomes(passed=1)


def test_claims_that_hold_their_pins_pass_and_the_rest_is_counted(
    session: pytest.Pytester,
) -> None:
    keep(session, "sum", "bits", "empty", "walk", "later")
    result = run(session, "specs", "-ra")
    result.assert_outcomes(passed=10, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "*claims of specs, budget smoke, seed 0*",
            "2 WITHOUT A PIN: demo:empty[[]printed|pin[]] (untested), demo:walk[[]start=late|printed|pin[]] (untested)",
            "2 claims, each under one reading, have no check and are untested",
            "chance that any red among these simulations is false: at most 1e-06",
            "SKIPPED*untested: no point drawn meets the domain*",
        ]
    )


def test_a_proof_that_is_lost_fails_the_pin_and_nothing_else(
    session: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "dpverify.ledger.results.lost_proofs",
        lambda _: ["derivation: not complete"],
    )
    keep(session, "bits")
    result = run(session, "specs")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "demo:bits[[]printed|pin[]]: no longer proved, as it is pinned: derivation: not complete"
        ]
    )


def test_what_was_judged_before_is_taken_from_the_store_and_said(
    session: pytest.Pytester,
) -> None:
    keep(session, "sum", "bits")
    verify(
        load_specs(session.path / "specs"),
        source=DEMO + "load_known",
        store=Store(default_store()),
    )
    said = (
        "4 checks were taken from the store of evidence; --dpverify-fresh runs all anew"
    )
    seed = ["--dpverify-seed", "7"]
    for words, taken in (
        ([], True),
        (["--dpverify-fresh"], False),
        (seed, False),
        (seed, True),
    ):
        result = run(session, "specs", *words)
        result.assert_outcomes(passed=6)
        assert (said in result.stdout.str()) == taken, words


def test_without_a_store_that_can_be_used_claims_are_judged_and_the_reason_is_said(
    session: pytest.Pytester,
) -> None:
    keep(session, "bits")
    default_store().write_text("no database")
    result = run(session, "specs")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "the claims were judged without a store: *is no store of evidence that can be used*"
        ]
    )
    assert default_store().read_text() == "no database"


@pytest.mark.parametrize(
    ("pins", "words"), [("", ["--strict-pins"]), ("strict_pins = true\n", [])]
)
def test_a_claim_without_a_pin_fails_where_one_is_asked_for(
    session: pytest.Pytester, pins: str, words: list[str]
) -> None:
    keep(session, "bits", "walk")
    (session.path / "specs" / "demo" / "verdicts.toml").write_text(pins)
    result = run(session, "specs", *words)
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(
        [
            "demo:bits[[]printed|pin[]]: refuted, and no verdict pins it",
            "demo:walk[[]start=late|printed|pin[]]: untested, and no verdict pins it",
        ]
    )


def test_a_contradicted_pin_fails_and_names_everything(
    session: pytest.Pytester,
) -> None:
    keep(session, "bits")
    verdicts = session.path / "specs" / "demo" / "verdicts.toml"
    verdicts.write_text('[[verdict]]\nclaim = "bits"\nstatus = "proved"\n')
    result = run(session, "specs", "--dpverify-seed", "7")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "demo:bits[[]printed|search[]]: pinned proved, but refuted",
            "  Lemma 3",
            "  found: used up to inf at s=1",
            "  n = *, alpha = 0, power = 0, detects *",
            "  seed = 7, budget = smoke, region: s: integer, s >= 1",
            "  smallest counterexample: s = 1: left 1, right 0",
            "  again: pytest 'specs/demo/claims.toml::demo:bits[[]printed|search[]]' *--dpverify-seed 7",
            "     or: dpverify verify demo:bits --budget smoke --seed 7",
            "demo:bits[[]printed|pin[]]: pinned proved, but refuted: refuted by search",
        ]
    )


def test_junit_has_the_figures_of_a_check(session: pytest.Pytester) -> None:
    keep(session, "sum")
    run(session, "specs", "-k", "search", "--junitxml=found.xml")
    (case,) = ElementTree.parse(session.path / "found.xml").iter("testcase")
    figures = {each.get("name"): each.get("value") for each in case.iter("property")}
    assert figures["status"] == "not refuted"
    assert int(figures["n"] or "") > 0
    assert figures["detects"]


def test_a_check_that_finds_nothing_does_not_contradict_a_refuted_claim(
    session: pytest.Pytester,
) -> None:
    keep(session, "size")
    run(session, "specs").assert_outcomes(passed=3)


def test_a_proof_contradicts_a_refuted_claim(session: pytest.Pytester) -> None:
    keep(session, "decay")
    verdicts = session.path / "specs" / "demo" / "verdicts.toml"
    verdicts.write_text(
        verdicts.read_text().replace('"proved"', '"refuted"\nseverity = "proof"')
    )
    result = run(session, "specs")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["demo:decay[[]printed|derivation[]]: pinned refuted, but proved"]
    )


def test_disagreeing_sources_and_missed_controls_fail(session: pytest.Pytester) -> None:
    keep(session, "wrong-walk", "sloppy")
    result = run(session, "specs")
    result.assert_outcomes(failed=3, passed=1)
    result.stdout.fnmatch_lines(
        [
            "demo:wrong-walk[[]printed|law[]]: sources disagree: the kernel does not follow the exact law",
            "  found: scale of a step: standard deviation 1.4*",
            "  n = 4702, alpha = 1e-06, power = 0.9999, detects all standard deviations times 1.05*",
            "demo:sloppy[[]printed|law[]]: missed the planted fault control no fault (nothing is wrong with it)",
            "  control control no fault: MISSED. 7 exact tests agree*",
        ]
    )


def test_an_error_of_a_check_fails(session: pytest.Pytester) -> None:
    keep(session, "root")
    session.makeini(
        (session.path / "tox.ini")
        .read_text()
        .replace(":load_known\n", ":load_known_broken\n")
    )
    result = run(session, "specs")
    result.stdout.fnmatch_lines(
        [
            "demo:root[[]printed|raises[]]: error: ZeroDivisionError: the author divided by zero*"
        ]
    )


def test_a_check_that_runs_in_larger_budgets_only_is_skipped_with_the_reason(
    session: pytest.Pytester,
) -> None:
    keep(session, "sum")
    session.makeini(
        (session.path / "tox.ini")
        .read_text()
        .replace(":load_known\n", ":load_known_patient\n")
    )
    result = run(session, "specs", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*untested: runs from the standard budget on"])
    run(session, "specs", "--dpverify-budget", "standard").assert_outcomes(passed=2)


def test_a_pin_that_is_not_confirmed_is_counted(session: pytest.Pytester) -> None:
    keep(session, "root")
    verdicts = session.path / "specs" / "demo" / "verdicts.toml"
    verdicts.write_text(verdicts.read_text().replace("not refuted", "proved"))
    result = run(session, "specs")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "1 pins are not confirmed at this budget: demo:root[[]printed|pin[]] (pinned proved, found not refuted)"
        ]
    )


def test_a_damaged_spec_is_one_clear_line(session: pytest.Pytester) -> None:
    claims = session.path / "specs" / "demo" / "claims.toml"
    claims.write_text(claims.read_text().replace('lhs = "log(x)"', 'lhs = "log(x"'))
    result = run(session, "specs")
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["specs/demo/claims.toml: root: lhs: *"])
    assert "Traceback" not in result.stdout.str()


def test_checks_that_are_not_there_are_one_clear_line(session: pytest.Pytester) -> None:
    session.makeini(
        "[pytest]\ndpverify_checks = no_such_checks:load\naddopts = -p no:cacheprovider\n"
    )
    result = run(session, "specs")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["checks: 'no_such_checks:load': they cannot be imported: *"]
    )
    assert "Traceback" not in result.stdout.str()


def test_other_files_are_left_alone(session: pytest.Pytester) -> None:
    (session.path / "elsewhere").mkdir()
    shutil.copy(
        session.path / "specs" / "demo" / "claims.toml",
        session.path / "elsewhere" / "claims.toml",
    )
    result = run(session, "elsewhere")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_budget_is_one_of_three(session: pytest.Pytester) -> None:
    result = run(session, "specs", "--dpverify-budget", "huge")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.slow
def test_in_several_processes_a_claim_has_one_of_them_and_the_summary_is_there_too(
    session: pytest.Pytester,
) -> None:
    keep(session, "bits", "walk")
    words = ["-v", "-p", "dpverify.pytest_plugin", "-n", "2", "--dist", "loadgroup"]
    result = session.runpytest_subprocess("specs", *words)
    ran = set(
        re.findall(
            r"\[(gw\d)\] .* (?:PASSED|SKIPPED) \S+::(\w+:\w+)\[", result.stdout.str()
        )
    )
    # else its checks run again for the pin
    assert sorted(claim for _, claim in ran) == ["demo:bits", "demo:walk"]
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(
        ["1 WITHOUT A PIN: demo:walk[[]start=late|printed|pin[]] (untested)"]
    )
