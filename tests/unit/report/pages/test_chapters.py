from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dpverify.ledger import load_specs
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.formula import parse, to_text
from dpverify.ledger.results import Result
from dpverify.ledger.specs import Chapter, Passage
from dpverify.report.collect import ReportError
from dpverify.report.pages.fill import TermError, chapter_blocks, common_factor, term
from dpverify.report.pages.layout import Places
from dpverify.report.pages.write import read_runs
from tests.for_each import for_each
from tests.unit.report.rendering import tables
from tests.unit.report.sample import exact, lemma_12

ROOT = Path(__file__).parents[4]
PAPER = load_specs().papers["tran2022"]
ONSET = {
    "cell-d": [1.0, 100.0],
    "cell-epsilon": [0.1, 1.0],
    "cell-delta": [1e-6, 1e-6],
    "cell-L": [1.0, 1.0],
    "cell-R": [1.0, 10.0],
    "cell-printed": [1234.0, 1.8e11],
    "cell-corrected": [790.0, 2.0e4],
    "cell-needed": [99.0, 3.0e5],
    "cell-least": [99.0, 2.0e5],
}


def told(
    text: str,
    results: list[Result],
    *,
    optional: bool = False,
    rests_on: list[str] | None = None,
) -> list[str]:
    passage = Passage(text=text, optional=optional, rests_on=rests_on or [])
    return list(
        chapter_blocks(
            Chapter(title="Told", passage=[passage]), results, PAPER, Places({})
        )
    )


@pytest.fixture
def fresh() -> Result:
    return msgspec.structs.replace(
        lemma_12("fresh"), findings=["First.", "Of levels.", "Of levels again."]
    )


@for_each(
    ("call", "shown"),
    [
        ("{{ claim('lemma-12') }}", "[`lemma-12`](#lemma-12)"),
        ("{{ status('lemma-12') }}", "✗ **refuted**"),
        ("{{ corrected_status('lemma-12') }}", "not refuted"),
        ("{{ ratio('lemma-12', 'smallest') }}", "∞"),
        ("{{ finding('lemma-12', 'levels') }}", "Of levels."),
    ],
)
def test_what_is_filled_in_comes_from_the_result(
    fresh: Result, call: str, shown: str
) -> None:
    assert told(f"It is {call}.", [fresh]) == ["## Told", f"It is {shown}."]


def test_a_recorded_figure_is_shown_where_the_report_has_it(fresh: Result) -> None:
    text = "Fast: {{ recorded('lemma-12', 'bench-noise') }}"
    passage = Passage(text=text)
    chapter = Chapter(title="Told", passage=[passage])
    shown = chapter_blocks(
        chapter, [fresh], PAPER, Places({}, here="key/part.md"), {"bench-noise.svg"}
    )
    assert [*shown][1] == "Fast: ![bench-noise](../figures/bench-noise.svg)"
    assert "has no figure bench-noise" in told(text, [fresh])[1]
    assert told(text, [fresh], optional=True) == []


def test_statuses_of_all_readings_that_are_meant(fresh: Result) -> None:
    other = msgspec.structs.replace(lemma_12("once"), status="proved")
    assert (
        told("{{ status('lemma-12') }}", [fresh, other])[1]
        == "✗ **refuted** or ✓ proved"
    )
    assert (
        told("{{ status('lemma-12[ordering=once]') }}", [fresh, other])[1] == "✓ proved"
    )


def test_formulas_and_their_terms(fresh: Result) -> None:
    sums = msgspec.structs.replace(
        fresh, printed="(2*alpha + G/3)*sqrt(N) - 7", latex="x | y"
    )
    assert told("{{ printed('lemma-12') }}", [sums])[1] == "```math\nx | y\n```"
    assert (
        told("{{ term('lemma-12', 'printed', '1.2') }}", [sums])[1]
        == r"$`\frac{G}{3}`$"
    )
    assert (
        told("{{ factor('lemma-12', 'printed', '1') }}", [sums])[1] == r"$`\sqrt{N}`$"
    )
    assert told("{{ term('lemma-12', 'printed', '2') }}", [sums])[1] == "$`-7`$"
    assert (
        "has no term 4 in its printed formula"
        in told("{{ term('lemma-12', 'printed', '4') }}", [sums])[1]
    )


def test_in_a_table_nothing_that_is_filled_in_ends_a_cell(fresh: Result) -> None:
    bars = msgspec.structs.replace(fresh, reason="|x| is\nlarge")
    table = told(
        "| one | two |\n| --- | --- |\n| {{ reason('lemma-12') }} | {{ claim('lemma-12') }} |",
        [bars],
    )[1]
    assert r"| $`\vert x\vert`$ is<br>large | [`lemma-12`](#lemma-12) |" in table
    assert tables(table) == 1


def test_the_table_of_a_figure(fresh: Result) -> None:
    drawn = msgspec.structs.replace(fresh, figures={"onset-x": ONSET})
    table = told("{{ onset('lemma-12', 'onset') }}", [drawn])[1]
    assert r"| 1 | 0.1 | 1e-6 | 1 | 1 | 1200 | 790 | 99 |" in table
    large = r"$`1.8 \cdot 10^{11}`$ | $`2.0 \cdot 10^{4}`$ | $`2.0 \cdot 10^{5}`$ to $`3.0 \cdot 10^{5}`$"
    assert table.endswith(f"| 100 | 1 | 1e-6 | 1 | 10 | {large} |")


def test_what_the_checks_said(fresh: Result) -> None:
    check = CheckResult(
        name="simulation-ramp",
        method="monte-carlo",
        status="not refuted",
        message="below",
        statistic="z = 1",
    )
    said = told(
        "{{ says('lemma-12', 'simulation*') }}",
        [msgspec.structs.replace(fresh, checks=[check])],
    )[1]
    assert said == "- printed statement, `simulation-ramp`, ○ not refuted: below"
    idle = msgspec.structs.replace(check, status="untested")
    nothing = told(
        "{{ says('lemma-12', 'simulation*') }}",
        [msgspec.structs.replace(fresh, checks=[idle])],
    )[1]
    assert "`lemma-12` has no check simulation" in nothing


def test_a_passage_that_the_run_does_not_bear_out_is_left_out_and_says_so(
    fresh: Result,
) -> None:
    (_, said) = told("Told.", [fresh], rests_on=["lemma-12 proved"])
    assert (
        said
        == "*A passage is left out here: `lemma-12` is refuted in this run, and it rests on proved.*"
    )
    assert told("Told.", [fresh], rests_on=["lemma-12 refuted"]) == ["## Told", "Told."]
    (_, said) = told("Told.", [fresh], rests_on=["corrected lemma-12 proved"])
    assert "the corrected statement of `lemma-12` is not refuted" in said


def test_what_is_missing_is_named_or_passed_over(fresh: Result) -> None:
    bare = msgspec.structs.replace(fresh, amendment=None)
    assert (
        "`lemma-12` has no corrected statement in this run"
        in told("{{ why('lemma-12') }}", [bare])[1]
    )
    assert told("{{ why('lemma-12') }}", [bare], optional=True) == []


def test_a_chapter_about_claims_that_were_not_judged_is_not_there(
    fresh: Result,
) -> None:
    assert told("{{ claim('theorem-6') }}", [fresh]) == []
    assert told("Told.", [fresh], rests_on=["theorem-6 refuted"]) == []
    idle = msgspec.structs.replace(fresh, status="untested")
    assert told("{{ status('lemma-12') }}", [idle]) == []
    assert told(
        "Told.",
        [msgspec.structs.replace(idle, pinned="untested")],
        rests_on=["lemma-12 untested"],
    ) == [
        "## Told",
        "Told.",
    ]


@for_each(
    ("text", "path", "found"),
    [
        ("a + b - c", [2], "b"),
        ("a + b - c", [3], "-c"),
        ("(a + b)*c/d", [1, 2], "b"),
        ("c*(a + b)", [1, 1], "a"),
        ("a*((b + c)*d + e)", [1, 1, 2], "c"),
    ],
)
def test_terms(text: str, path: list[int], found: str) -> None:
    assert to_text(term(parse(text), path)) == found


@for_each(
    ("text", "factor"),
    [("(a + b)*c/d", "c/d"), ("c*(a + b)", "c"), ("(a + b)/d", "1/d"), ("a + b", "1")],
)
def test_what_stands_before_a_sum(text: str, factor: str) -> None:
    whole = text if text != "a + b" else "1*(a + b)"
    assert to_text(common_factor(parse(whole), [1])) == factor


@for_each(
    ("text", "factor"),
    [
        ("a*(b*(x + y)) + c", "a*b"),
        ("a*((x + y)/b)", "a*(1/b)"),
        ("a/b*(c*((x + y)*d))", "a/b*(c*d)"),
    ],
)
def test_factor_of_a_sum_inside_the_right_factor(text: str, factor: str) -> None:
    assert to_text(common_factor(parse(text), [1])) == factor


@for_each(
    ("call", "rule"),
    [
        ("term('lemma-12', 'printed', '1.x')", "must be numbers with dots"),
        ("term('lemma-12', 'printed', '')", "must be numbers with dots"),
        ("term('lemma-12', 'quoted', '1')", "must be 'printed' or 'corrected'"),
    ],
)
def test_wrong_arguments_of_terms_are_errors(
    fresh: Result, call: str, rule: str
) -> None:
    with pytest.raises(ReportError, match=rule):
        told(f"{{{{ {call} }}}}", [fresh])


@for_each(("text", "path"), [("a + b", [3]), ("a*b", [1, 1]), ("a", [])])
def test_terms_that_are_not_there(text: str, path: list[int]) -> None:
    with pytest.raises(TermError):
        term(parse(text), path)


@for_each("key", ["tran2022", "wang2019", "zhang2021"])
def test_the_recorded_run_bears_out_every_passage(key: str) -> None:
    paper, run = load_specs().papers[key], read_runs(ROOT / "reports")[key]
    for chapter in paper.chapters:
        needed = msgspec.structs.replace(
            chapter, passage=[each for each in chapter.passage if not each.optional]
        )
        blocks = [*chapter_blocks(needed, run.results, paper, Places({}))][1:]
        assert len(blocks) == len(needed.passage), chapter.title
        assert not [
            block for block in blocks if "left out here" in block or "{{" in block
        ]


def test_numbers_of_a_chapter_come_from_the_run(fresh: Result) -> None:
    moved = msgspec.structs.replace(fresh.counterexamples[0], lhs=exact("123/7"))
    other = msgspec.structs.replace(fresh, counterexamples=[moved])
    assert (
        "123/7"
        in told(f"{{{{ counterexample('lemma-12', '{moved.kind}') }}}}", [other])[1]
    )
