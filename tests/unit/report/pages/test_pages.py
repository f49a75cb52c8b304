from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from dpverify.ledger.check_results import AmendmentResult, DerivationResult, StepResult
from dpverify.ledger.results import Result, Run
from dpverify.report import markdown as md
from dpverify.report.collect import said_alike
from dpverify.report.pages.layout import Places
from dpverify.report.pages.paper import _without_repeated, paper_pages
from dpverify.report.pages.summary import MAX_CHANGES, summary
from dpverify.report.pages.templates import claim_section, evidence
from dpverify.report.words import readings_of
from tests.for_each import for_each
from tests.unit.report.rendering import PARSER, cells, raw_tables, tables
from tests.unit.report.sample import (
    PAPER,
    conversion,
    lemma_12,
    rdp,
    result,
    sample_run,
)

GOLDEN = Path(__file__).parents[1] / "golden"
PAGES = ["README.md", f"{PAPER}.md"]


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest, files: Mapping[str, bytes]) -> str:
    return files[request.param].decode()


def only_page(run: Run) -> str:
    """The page of a paper that fits on one."""
    pages = paper_pages(PAPER, run)
    assert list(pages) == [f"{PAPER}.md"]
    return pages[f"{PAPER}.md"]


def section(page: str, title: str) -> str:
    """The text below a heading, up to the next one of its level."""
    level = title.split(" ", 1)[0]
    assert f"\n{title}\n" in page
    return re.split(rf"\n{level} ", page.split(f"\n{title}\n", 1)[1], maxsplit=1)[0]


def test_tables_are_tables(page: str) -> None:
    found = list(raw_tables(page))
    assert len(found) == tables(page) > 2
    for lines in found:
        widths = {len(cells(line)) for line in lines}
        assert len(widths) == 1, lines[0]


def test_no_bare_pipe_in_a_formula_of_a_table(page: str) -> None:
    formulas = [
        f
        for lines in raw_tables(page)
        for line in lines
        for f in re.findall(r"\$`([^`]*)`\$", line)
    ]
    assert not [formula for formula in formulas if "|" in formula]


def test_links_lead_somewhere(files: Mapping[str, bytes]) -> None:
    pages = {name: files[name].decode() for name in PAGES}
    data = {f"data/{PAPER}.json"}
    for name, text in pages.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            file, _, place = target.partition("#")
            assert not file or file in files or file in data, target
            if place:
                there = pages[file or name]
                headings = [
                    re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-")
                    for h in re.findall("^#+ (.*)", there, re.M)
                ]
                assert place in headings or f'<a id="{place}"></a>' in there, target


def test_anchors_are_unique(page: str) -> None:
    anchors = re.findall(r'<a id="([^"]*)">', page)
    assert len(anchors) == len(set(anchors))


def test_every_claim_and_reading_is_listed(paper: str, run: Run) -> None:
    rows = [
        cells(line)
        for line in section(paper, "## Every claim").splitlines()
        if line.startswith("| [")
    ]
    judged = said_alike(found for found in run.results if found.status != "untested")
    assert len(rows) == len(judged)
    for row, group in zip(rows, judged, strict=True):
        assert group[0].claim.split(":")[1] in row[0]
        assert group[0].status in row[1]


def test_readings_are_told_apart_as_shortly_as_they_can() -> None:
    results = [
        msgspec.structs.replace(
            lemma_12(ordering), reading={"ordering": ordering, "depth": depth}
        )
        for ordering in ("fresh", "once")
        for depth in ("levels", "height")
    ]
    assert readings_of(results, results) == ""
    assert readings_of(results[:2], results) == "ordering = fresh"
    assert readings_of(results[:1], results) == "depth = levels, ordering = fresh"
    assert readings_of([results[0], results[3]], results) == (
        "depth = levels, ordering = fresh and depth = height, ordering = once"
    )


def test_readings_of_which_the_same_is_said_are_told_once() -> None:
    fresh, once = lemma_12("fresh"), lemma_12("once")
    assert claim_section([fresh, once], "standard").count("✗ refuted") == 1
    other = msgspec.structs.replace(once, reason="Another reason.")
    apart = claim_section([fresh, other], "standard")
    assert apart.count("✗ refuted") == 2
    assert "#### Reading: ordering = once" in apart


def test_readings_that_differ_in_what_falls_or_where_they_hold_are_told_apart() -> None:
    fresh, once = (
        msgspec.structs.replace(lemma_12(name), severity="utility")
        for name in ("fresh", "once")
    )
    holds = AmendmentResult(status="proved", why="", holds_for=["n > 1"])
    assert len(said_alike([fresh, once])) == 1
    for changes in (
        {"severity": "privacy"},
        {"holds": holds},
        {"contradicts": not once.contradicts},
    ):
        groups = said_alike([fresh, msgspec.structs.replace(once, **changes)])
        assert [len(group) for group in groups] == [1, 1], changes


def test_what_an_implementer_must_change_names_a_reading_that_stands_and_says_nothing_twice() -> (
    None
):
    changes = {
        "kind": "dp",
        "severity": "privacy",
        "claim": f"{PAPER}:theorem-4-dp",
        "amendment": None,
        "holds": None,
    }
    fresh, once = (
        msgspec.structs.replace(lemma_12(name), **changes) for name in ("fresh", "once")
    )
    stands = msgspec.structs.replace(once, status="proved")
    places = Places({})
    assert "ordering = once: proved" in summary([fresh, stands], places, "claims.md")
    both = summary(
        [fresh, msgspec.structs.replace(once, counterexamples=[])], places, "claims.md"
    )
    assert both.count("| privacy |") == 1
    assert "nothing yet" in both


def test_totals_count_distinct_claims_and_explain_the_severities(index: str) -> None:
    assert (
        f"|  | [`{PAPER}`]({PAPER}.md) |\n| --- | ---: |\n| claims | 13 |\n| proved | 2 |\n| not refuted | 2 |"
        in index
    )
    assert (
        "| inconclusive | 2 |\n| untested | 4 |\n| refuted | 3 |\n| our notes | 0 |"
        in index
    )
    assert "| misprint | the surrounding text" in index


def test_untested_claims_are_one_table_and_have_no_section(paper: str) -> None:
    rows = [
        line
        for line in section(paper, "## Not yet judged").splitlines()
        if line.startswith("| <a id=")
    ]
    assert len(rows) == 4
    assert "### Lemma 5, section 3" not in paper
    assert "needs the descent lemma" in rows[0]


def test_the_short_account_tells_what_to_change_and_what_is_repaired(
    index: str,
) -> None:
    changes = index.split("**What an implementer must change**")[1].split(
        "\n**", maxsplit=1
    )[0]
    assert "algorithm-1-v" in changes
    assert "lemma-12" not in changes, "an expectation bound is nobody's code"
    assert (
        "A point of the last, cut epoch touches more nodes than $`V`$ counts."
        in changes
    )
    repaired = index.split("**Refuted, with a corrected statement**")[1].split(
        "\n**", maxsplit=1
    )[0]
    assert repaired.count("lemma-12`](") == 1
    assert "ordering" not in repaired, "where all readings agree none is named"
    stands = index.split("**What holds**")[1].split("\n**", maxsplit=1)[0]
    assert "- ✓ proved: [`theorem-10`]" in stands


def test_only_so_many_changes_stand_on_the_first_page_and_privacy_comes_first(
    run: Run,
) -> None:
    boxes = [
        result(
            f"algorithm-9-line-{n}",
            "Algorithm 9",
            "algorithm",
            "refuted",
            reason=f"{n}.",
        )
        for n in range(20)
    ]
    theorem = result(
        "theorem-9-dp", "Theorem 9", "dp", "refuted", reason="Not private."
    )
    worse = msgspec.structs.replace(
        boxes[0], claim=f"{PAPER}:algorithm-9-worse", severity="privacy"
    )
    milder = msgspec.structs.replace(
        boxes[1], claim=f"{PAPER}:algorithm-9-milder", severity="utility"
    )
    page = only_page(
        msgspec.structs.replace(run, results=[*boxes, theorem, milder, worse])
    )
    rows = (
        page.split("**What an implementer must change**")[1]
        .split("\n\n")[2]
        .splitlines()[2:]
    )
    assert "Severity: privacy (data are less private than stated), utility (" in page
    assert len(rows) == MAX_CHANGES
    names = ("algorithm-9-worse", "algorithm-9-milder", "theorem-9-dp")
    assert [name in row for name, row in zip(names, rows, strict=False)] == [
        True,
        True,
        True,
    ]
    assert f"[{23 - MAX_CHANGES} more, and every other claim]" in page


def test_alarms_are_loud(page: str) -> None:
    assert (
        "> [!WARNING]\n> The evidence contradicts the pinned verdict:\n> - [`theorem-10-dp`]"
        in page
    )
    assert re.search(
        r"> \[!WARNING\]\n> Our sources disagree.*\n> - .*lemma-7-var-3", page
    )
    assert "interrupted" not in page


def test_interrupted_run_says_so(run: Run) -> None:
    cut = msgspec.structs.replace(
        run, run=msgspec.structs.replace(run.run, interrupted=True)
    )
    assert "> The run was interrupted" in only_page(cut)


def test_a_repeated_reason_that_contains_another_is_replaced_completely() -> None:
    results = []
    for number in range(10):
        short = f"The bound fails for the case {number}, {'as computed ' * 12}here"
        for why in (short, f"First. {short}. Last."):
            result = lemma_12("fresh")
            assert result.amendment is not None
            amendment = msgspec.structs.replace(result.amendment, why=why)
            results.append(msgspec.structs.replace(result, amendment=amendment))
    text = "\n".join(
        md.explanation(amendment.why)
        for result in results
        for amendment in result.beside
    )
    shown = _without_repeated(text, results, text)
    assert set(shown.split("\n")) == {"The top of this page says why."}


def test_blind_control_is_marked(paper: str) -> None:
    assert "**planted faults not seen: redrawn**" in paper


def test_chance_of_a_false_red_is_the_sum_of_the_alphas(run: Run, index: str) -> None:
    assert "is at most 2e-6" in index
    stated = msgspec.structs.replace(
        run, run=msgspec.structs.replace(run.run, false_alarm=3e-5)
    )
    assert "is at most 3e-5" in only_page(stated)


def test_amendment_has_its_own_status_slack_and_checks(paper: str) -> None:
    own = paper.split("**Corrected, ○ not refuted** (pinned proved).")[1].split(
        "#### ", maxsplit=1
    )[0]
    assert "slack 1.003 / 2.2" in own
    said = r"With $`V = \frac{T}{N}`$; if $`T \ge 1`$; assuming `lipschitz(G)`."
    assert said in own.split("```")[2]
    assert "Letters: whole $`T \\ge 1`$, $`N`$." in paper
    assert "not refuted by `exact-law` (n=4\u2009096)" in own


def test_claim_judged_under_one_reading_only_has_one_anchor() -> None:
    judged = lemma_12("fresh")
    waiting = msgspec.structs.replace(
        judged, reading={"ordering": "once"}, status="untested", amendment=None
    )
    page = only_page(msgspec.structs.replace(sample_run(), results=[judged, waiting]))
    assert page.count('<a id="lemma-12"></a>') == 1


def test_hostile_text_stays_text() -> None:
    nasty = "a | b <script>x</script> `|` [x](y) **z** $|q|$ ![i](j)\n# h"
    bad = result(
        "lemma-1",
        nasty,
        "count",
        "refuted",
        printed=nasty,
        quote=nasty,
        reason=nasty,
        findings=[nasty],
    )
    reported = msgspec.structs.replace(bad, reported=nasty)
    page = only_page(msgspec.structs.replace(sample_run(), results=[reported]))
    assert page.count("Reported before: ") == 1
    kinds = {
        child.type for token in PARSER.parse(page) for child in token.children or []
    }
    assert "image" not in kinds
    assert "<script>" not in "".join(
        token.content for token in PARSER.parse(page) if token.type == "html_block"
    )
    assert all(
        len({len(cells(line)) for line in lines}) == 1 for lines in raw_tables(page)
    )


@for_each(("name", "made"), [("proved", rdp()), ("refuted", conversion())])
def test_section_is_as_it_was_when_somebody_read_it(name: str, made: Result) -> None:
    assert claim_section([made], "standard") == (GOLDEN / f"{name}.md").read_text(
        encoding="utf-8"
    )


def test_of_a_chain_only_the_steps_that_are_open_are_shown() -> None:
    step = StepResult(
        expression="x", latex="x", relation="=", rule="algebra", status="checked"
    )
    fails = msgspec.structs.replace(step, status="fails", note="false at x = 1")
    chain = DerivationResult(
        name="d", whose="paper", steps=[step, fails, step], complete=False
    )
    text = evidence(msgspec.structs.replace(rdp(), derivation=[chain], checks=[]))
    assert "1 derivation" in text
    assert "Open in `d`, the chain of the paper:" in text
    assert [cells(line)[0] for lines in raw_tables(text) for line in lines[2:]] == ["1"]
    whole = msgspec.structs.replace(chain, steps=[step] * 3, complete=True)
    assert not tables(
        evidence(msgspec.structs.replace(rdp(), derivation=[whole], checks=[]))
    )
