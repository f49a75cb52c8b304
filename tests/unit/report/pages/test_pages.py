from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from dpverify.ledger.results import DerivationResult, Result, Run, StepResult
from dpverify.report.pages.paper import paper_pages
from dpverify.report.pages.templates import claim_section, derivation_block
from tests.unit.report.rendering import PARSER, cells, raw_tables, tables
from tests.unit.report.sample import PAPER, conversion, lemma_12, rdp, result, sample_run

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
    assert len(found) == tables(page) > 3
    for lines in found:
        widths = {len(cells(line)) for line in lines}
        assert len(widths) == 1, lines[0]


def test_no_bare_pipe_in_a_formula_of_a_table(page: str) -> None:
    formulas = [f for lines in raw_tables(page) for line in lines for f in re.findall(r"\$`([^`]*)`\$", line)]
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
                    re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in re.findall("^#+ (.*)", there, re.M)
                ]
                assert place in headings or f'<a id="{place}"></a>' in there, target


def test_anchors_are_unique(page: str) -> None:
    anchors = re.findall(r'<a id="([^"]*)">', page)
    assert len(anchors) == len(set(anchors))


def test_every_claim_and_reading_is_in_the_index(index: str, run: Run) -> None:
    rows = [cells(line) for line in section(index, f"## Every claim: `{PAPER}`").splitlines() if line.startswith("| [")]
    assert len(rows) == len(run.results)
    for row, found in zip(rows, run.results, strict=True):
        assert found.claim.split(":")[1] in row[0]
        assert found.status in row[3]
        assert all(choice in row[0] for choice in found.reading.values())


def test_totals_count_claims_and_verdicts(index: str) -> None:
    assert f"| [`{PAPER}`]({PAPER}.md) | 13 | 14 | 2 | 0 | 0 | 2 | 2 | 4 | 4 |" in index


def test_untested_claims_are_one_table_and_have_no_section(paper: str) -> None:
    rows = [line for line in section(paper, "## Not yet judged").splitlines() if line.startswith("| <a id=")]
    assert len(rows) == 4
    assert "### Lemma 5, section 3" not in paper
    assert "needs the descent lemma" in rows[0]


def test_readings_that_agree_share_a_line_of_the_summary(index: str) -> None:
    falls = index.split("**What falls**")[1].split("**What is repaired**", maxsplit=1)[0]
    assert falls.count("lemma-12`](") == 1
    assert "ordering" not in falls, "where all readings agree none is named"


def test_implementers_are_warned_of_the_boxes(index: str) -> None:
    warned = index.split("**What an implementer must not copy**")[1].split("\n**", maxsplit=1)[0]
    assert "algorithm-1-v" in warned
    assert "lemma-12" not in warned, "an expectation bound is nobody's code"


def test_steps_are_counted_with_the_part_they_belong_to(index: str) -> None:
    steps = index.split("**Step by step**")[1].split("\n**", maxsplit=1)[0]
    assert "| Theorem 10 |" in steps
    assert "theorem-10-dp" in steps


def test_alarms_are_loud(page: str) -> None:
    assert "> [!WARNING]\n> The evidence contradicts the pinned verdict:\n> - [`theorem-10-dp`]" in page
    assert re.search(r"> \[!WARNING\]\n> The sources disagree.*\n> - .*lemma-7-var-3", page)
    assert "interrupted" not in page


def test_interrupted_run_says_so(run: Run) -> None:
    cut = msgspec.structs.replace(run, run=msgspec.structs.replace(run.run, interrupted=True))
    assert "> The run was interrupted" in only_page(cut)


def test_blind_control_is_marked(paper: str) -> None:
    assert "| `whitened` | a node \\| redrawn |  | **not seen** |  |" in paper
    assert "**1 planted fault not seen**" in paper


def test_chance_of_a_false_red_is_the_sum_of_the_alphas(run: Run, index: str) -> None:
    assert "is at most 2e-6" in index
    stated = msgspec.structs.replace(run, run=msgspec.structs.replace(run.run, false_alarm=3e-5))
    assert "is at most 3e-5" in only_page(stated)


def test_amendment_has_its_own_status_slack_and_checks(paper: str) -> None:
    own = paper.split("**Corrected statement: ○ not refuted** (pinned proved).")[1].split("#### ", maxsplit=1)[0]
    assert "smallest 1.003, typical 2.2" in own
    said = r"With $`V = \frac{T}{N}`$; if $`T \ge 1`$; assuming `lipschitz(G)`; for whole $`T \ge 1`$, $`N`$; reading"
    assert f"{said} ordering = fresh." in own.split("```")[2]
    assert "| `exact-law` | exact law | ○ not refuted | 4\u2009096 |" in own


def test_claim_judged_under_one_reading_only_has_one_anchor() -> None:
    judged = lemma_12("fresh")
    waiting = msgspec.structs.replace(judged, reading={"ordering": "once"}, status="untested", amendment=None)
    page = only_page(msgspec.structs.replace(sample_run(), results=[judged, waiting]))
    assert page.count('<a id="lemma-12"></a>') == 1


def test_hostile_text_stays_text() -> None:
    nasty = "a | b <script>x</script> `|` [x](y) **z** $|q|$ ![i](j)\n# h"
    bad = result("lemma-1", nasty, "count", "refuted", printed=nasty, quote=nasty, reason=nasty, findings=[nasty])
    page = only_page(msgspec.structs.replace(sample_run(), results=[bad]))
    kinds = {child.type for token in PARSER.parse(page) for child in token.children or []}
    assert "image" not in kinds
    assert "<script>" not in "".join(token.content for token in PARSER.parse(page) if token.type == "html_block")
    assert all(len({len(cells(line)) for line in lines}) == 1 for lines in raw_tables(page))


@pytest.mark.parametrize(("name", "made"), [("proved", rdp()), ("refuted", conversion())])
def test_section_is_as_it_was_when_somebody_read_it(name: str, made: Result) -> None:
    assert claim_section([made]) == (GOLDEN / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("steps", "complete", "folded"), [(5, True, True), (4, True, False), (5, False, False)])
def test_a_long_derivation_that_is_complete_is_folded_and_still_a_table(
    steps: int, complete: bool, folded: bool
) -> None:
    step = StepResult(expression="x", latex="x", relation="=", rule="algebra", status="checked")
    chain = DerivationResult(name="d", whose="ours", steps=[step] * steps, complete=complete)
    text = derivation_block(chain)
    assert ("<details>" in text) is folded
    assert (f"<summary>its {steps} steps</summary>\n\n| step |" in text) is folded
    assert tables(text) == 1
    assert "not complete" in text or complete
