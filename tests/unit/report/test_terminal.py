from __future__ import annotations

import io
import subprocess
import sys

import msgspec
from rich.console import Console

from dpverify.ledger.check_results import CheckResult, Counterexample, Method
from dpverify.ledger.claims import Line
from dpverify.ledger.records import Status
from dpverify.ledger.results import INTERRUPTED, Disagreement, Run
from dpverify.report.terminal import print_run
from dpverify.report.words import item_id
from tests.for_each import for_each
from tests.unit.report.sample import about, exact, result


def printed(
    run: Run, width: int = 110, *, terminal: bool = True, encoding: str = "utf-8"
) -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    print_run(
        run,
        Console(
            file=out,
            width=width,
            force_terminal=terminal,
            color_system=None,
            legacy_windows=False,
        ),
    )
    return raw.getvalue().decode(encoding)


def test_one_line_per_verdict_where_a_program_reads(run: Run) -> None:
    lines = printed(run, 40, terminal=False).splitlines()
    rows = lines[: len(run.results)]
    assert sorted(line.split("  ")[0] for line in rows) == sorted(
        r.status for r in run.results
    )
    assert {line[14:].split("  ")[0].strip() for line in rows} == {
        item_id(r) for r in run.results
    }
    assert not any(line != line.rstrip() for line in rows)
    assert any(
        line.startswith("refuted       tran2022:algorithm-1-v")
        and "left 4, right 7/2" in line
        for line in rows
    )


@for_each("width", [40, 60, 89, 90, 120, 200])
def test_no_line_is_wider_than_the_terminal(run: Run, width: int) -> None:
    assert max(map(len, printed(run, width).splitlines())) <= width


@for_each("width", [60, 120])
def test_groups_come_in_order_with_their_counts(run: Run, width: int) -> None:
    text = printed(run, width)
    heads = [
        "· untested (4)",
        "✓ proved (2)",
        "○ not refuted (2)",
        "? inconclusive (2)",
        "✗ refuted (4)",
    ]
    places = [text.index(head) for head in heads]
    assert places == sorted(places)
    assert all(
        f"{r.claim.partition(':')[0]}:" in text and r.claim.rpartition("-")[2] in text
        for r in run.results
    )


def test_below_the_tables_stand_totals_alarms_and_chance(run: Run) -> None:
    text = printed(run, 200)
    assert (
        "14 verdicts on 13 claims: 2 proved, 2 not refuted, 2 inconclusive, 4 refuted, 4 untested."
        in text
    )
    assert (
        "CONTRADICTS ITS PIN: tran2022:theorem-10-dp: pinned not refuted, found refuted."
        in text
    )
    assert "SOURCES DISAGREE: tran2022:lemma-7-var-3" in text
    assert "at most 2e-6" in text
    assert "Interrupted" not in text


def test_what_falls_is_counted_and_privacy_named(run: Run) -> None:
    falls = [
        msgspec.structs.replace(
            result(name, "Here", "dp", "refuted"), severity=severity
        )
        for name, severity in (
            ("lemma-1", "boundary"),
            ("lemma-2", "privacy"),
            ("lemma-3", "boundary"),
        )
    ]
    text = printed(msgspec.structs.replace(run, results=falls), 200, terminal=False)
    told = "3 refuted. Refuted claims by severity: 1 privacy, 2 boundary. Severity privacy: tran2022:lemma-2."
    assert told in text


def test_readings_of_a_claim_count_once_and_our_notes_apart(run: Run) -> None:
    falls = [
        msgspec.structs.replace(
            result(name, "Here", kind, "refuted"), severity=severity, reading=reading
        )
        for name, kind, severity, reading in (
            ("lemma-1", "dp", "boundary", {"a": "1"}),
            ("lemma-1", "dp", "privacy", {"a": "2"}),
            ("lemma-1", "dp", "privacy", {"a": "3"}),
            ("note-1", "note", "privacy", {}),
        )
    ]
    text = printed(msgspec.structs.replace(run, results=falls), 200, terminal=False)
    told = (
        "3 verdicts on 1 claim: 3 refuted. Refuted claims by severity: 1 privacy. "
        "Severity privacy: tran2022:lemma-1."
    )
    assert (
        f"{told}\nOur own notes, counted apart: 1 verdict on 1 note: 1 refuted.\n"
        in text
    )
    heads = printed(msgspec.structs.replace(run, results=falls), 200)
    assert heads.index("✗ refuted, our notes (1)") < heads.index("✗ refuted (3)")
    alone = printed(
        msgspec.structs.replace(run, results=falls[-1:]), 200, terminal=False
    )
    assert "Our own notes, counted apart: 1 verdict on 1 note: 1 refuted." in alone
    assert "by severity" not in alone


def test_what_needs_attention_is_told_where_no_verdict_is_listed(run: Run) -> None:
    out = io.StringIO()
    print_run(run, Console(file=out, width=200), ())
    lines = out.getvalue().splitlines()
    told = [line.partition(":")[0] for line in lines]
    assert told[0] == "14 verdicts on 13 claims"
    assert {"CONTRADICTS ITS PIN", "SOURCES DISAGREE", "MISSED ITS PLANTED FAULT"} <= {
        *told
    }
    assert "1 pinned verdict contradicted" in lines[-2]
    assert told[-1] == "More"


@for_each("terminal", [True, False])
def test_a_verdict_on_which_sources_disagree_says_so(run: Run, terminal: bool) -> None:
    one = result(
        "lemma-1", "Lemma 1", "count", "inconclusive", reason="no time", pinned="proved"
    )
    for against in (False, True):
        both = msgspec.structs.replace(one, sources_disagree=True, contradicts=against)
        text = printed(
            msgspec.structs.replace(run, results=[both]), 200, terminal=terminal
        )
        # beside the closing line
        assert "sources disagree" in text.replace("Our sources disagree", "")


def test_how_sources_disagree_is_told_and_no_line_says_that_nothing_is_wrong(
    run: Run,
) -> None:
    one = result(
        "lemma-1",
        "Lemma 1",
        "count",
        "inconclusive",
        reason="as pinned",
        pinned="proved",
    )
    differs = Disagreement(
        form="amended",
        checks=["law"],
        what="mean: score 9 at t=2, p = 1e-9",
        n=8,
        alpha=1e-6,
    )
    for against in (False, True):
        both = msgspec.structs.replace(
            one, sources_disagree=True, contradicts=against, disagreements=[differs]
        )
        text = printed(msgspec.structs.replace(run, results=[both]), 400)
        line = "lemma-1: amended, law: mean: score 9 at t=2, p = 1e-9; n = 8, alpha = 1e-06"
        assert line in text
        assert "No pinned verdict is contradicted" not in text
        assert "Our sources disagree in 1 verdict" in text


def test_interrupted_run_and_weak_evidence_are_told(run: Run) -> None:
    weak = [
        result(
            "lemma-1",
            "Lemma 1",
            "count",
            "inconclusive",
            reason="no time",
            pinned="proved",
        )
    ]
    info = msgspec.structs.replace(run.run, interrupted=True)
    text = printed(msgspec.structs.replace(run, run=info, results=weak), 200)
    assert "No pinned verdict is contradicted, 1 unconfirmed at this budget." in text
    assert "Interrupted: these are the results so far." in text


def test_claims_that_an_interrupted_run_did_not_reach_are_counted_apart(
    run: Run,
) -> None:
    check = CheckResult(
        name="search", method="search", status="inconclusive", message=INTERRUPTED
    )
    unreached = result(
        "lemma-1",
        "Lemma 1",
        "count",
        "inconclusive",
        reason="not reached",
        checks=[check],
    )
    others = [
        result("lemma-2", "Lemma 2", "count", "inconclusive", reason="no time"),
        unreached,
    ]
    for terminal in (True, False):
        text = printed(
            msgspec.structs.replace(run, results=others), 200, terminal=terminal
        )
        assert "1 verdict on 1 claim: 1 inconclusive; 1 not reached." in text
    lines = printed(
        msgspec.structs.replace(run, results=others), 200, terminal=False
    ).splitlines()
    assert [line.split("  ")[0] for line in lines[:2]] == [
        "not reached",
        "inconclusive",
    ]


def test_a_refuted_claim_without_a_pin_shows_both_sides_with_their_names_though_it_is_not_listed(
    run: Run,
) -> None:
    example = Counterexample(
        kind="smallest", parameters={"N": exact("2")}, lhs=exact("4"), rhs=exact("7/2")
    )
    new = result(
        "lemma-1",
        "Lemma 1",
        "count",
        "refuted",
        counterexamples=[example],
        unpinned=True,
    )
    new = msgspec.structs.replace(new, display=[Line(text="tree_error <= 2*N - 1/2")])
    buffer = io.StringIO()
    print_run(
        msgspec.structs.replace(run, results=[new]),
        Console(file=buffer, width=200),
        listed=(),
    )
    assert (
        "lemma-1: refuted at N=2: tree_error = 4, 2*N - 1/2 = 7/2." in buffer.getvalue()
    )


def test_terminal_without_unicode_gets_ascii(run: Run) -> None:
    for terminal in (True, False):
        text = printed(run, 120, terminal=terminal, encoding="ascii")
        assert "left 4, right 7/2" in text
    assert "x refuted (4)" in printed(run, 120, encoding="ascii")
    endless = Counterexample(
        kind="smallest", parameters={}, lhs=about(float("inf")), rhs=exact("3")
    )
    large = [
        msgspec.structs.replace(
            result("lemma-1", "Lemma 1", "count", "refuted"), counterexamples=[endless]
        )
    ]
    for width in (60, 120):
        text = printed(
            msgspec.structs.replace(run, results=large), width, encoding="ascii"
        )
        assert "left oo, right 3" in text


def test_verdicts_with_one_reason_stand_each_for_itself_unless_they_are_untested(
    run: Run,
) -> None:
    many = [
        result(
            f"lemma-{k}",
            "Lemma",
            "count",
            "refuted",
            reason="it is so",
            contradicts=k == 2,
        )
        for k in (1, 2)
    ]
    for width in (60, 200):
        text = printed(msgspec.structs.replace(run, results=many), width)
        assert text.count("it is so") == 2
        assert text.count("contradicts the pinned verdict") == 1


def test_brackets_are_not_taken_for_markup(run: Run) -> None:
    odd = [
        result(
            "lemma-1",
            "Lemma 1",
            "count",
            "untested",
            reason="[bold]see[/] [1, t] :smile:",
        )
    ]
    for terminal in (True, False):
        assert "[bold]see[/] [1, t] :smile:" in printed(
            msgspec.structs.replace(run, results=odd), terminal=terminal
        )


def test_untested_claims_with_one_reason_share_it(run: Run) -> None:
    waiting = [
        result(f"lemma-{n}", f"Lemma {n}", "count", "untested", reason="no kernel yet")
        for n in range(30)
    ]
    assert (
        printed(msgspec.structs.replace(run, results=waiting)).count("no kernel yet")
        == 1
    )


def test_printing_a_run_loads_no_matplotlib() -> None:
    script = "import sys, dpverify.report.terminal, dpverify.report.explain; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_what_was_taken_from_the_recorded_run_is_counted_by_what_was_looked_at(
    run: Run,
) -> None:
    def taken(
        method: Method, status: Status, by_certificate: bool = True
    ) -> CheckResult:
        return CheckResult(
            name=method, method=method, status=status, by_certificate=by_certificate
        )

    checks = [
        *(taken("derivation", "proved given") for _ in range(3)),
        *(taken("exact-law", "refuted") for _ in range(2)),
        taken("search", "refuted", by_certificate=False),
    ]
    one = msgspec.structs.replace(
        result("lemma-1", "Here", "dp", "refuted"), checks=checks
    )
    text = printed(msgspec.structs.replace(run, results=[one]), 500)
    told = [
        "Only the certificates of 3 derivations were checked",
        "only the counterexamples of 2 refutations were evaluated, which are unchanged since the recorded run",
    ]
    assert ", ".join(told) in text
    assert "recorded run" not in printed(run, 500)
