"""The first page: what stands, what falls, what is repaired, what nobody should copy, and where the proofs fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from dpverify.ledger.records import HOLDS
from dpverify.ledger.results import Counterexample, Result
from dpverify.report import markdown as md
from dpverify.report.collect import by_claim, claim_id, counterexamples, paper_of
from dpverify.report.numbers import show_both, show_point, show_slack
from dpverify.report.pages.layout import Places, by_part, is_box, is_result
from dpverify.report.pages.templates import render
from dpverify.report.statements import statement_in_line
from dpverify.report.words import counts, counts_words, plural, reading_words

LONGEST_FORMULA = 160  # characters of a formula that the first page shows; a longer one is in the claim's own section


def summary(results: Sequence[Result], places: Places, parts: Mapping[str, str] | None = None) -> str:
    """The short account of one paper; ``parts`` are those that have pages of their own, with the pages."""
    main = [r for r in results if is_result(claim_id(r))]
    falls = [r for r in main if r.status == "refuted"]
    boxes = [r for group in by_claim(results) if is_box(group) for r in group if r.status == "refuted"]
    alike = partial(_alike, Counter(result.claim for result in results))

    def table(header: Sequence[str], shown: Iterable[Result], cells: Callable[[Result, Places], list[str]]) -> str:
        rows = alike(shown, lambda result: tuple(cells(result, places)))
        return md.table(header, [[f"{places.link(r)}\n{readings}", *cells(r, places)] for r, readings in rows])

    return render(
        "summary",
        places=places,
        alike=alike,
        smallest=_smallest,
        totals=_totals(results),
        disagree=[r for r in results if r.sources_disagree],
        contradict=[r for r in results if r.contradicts],
        stands=[r for r in main if r.status in HOLDS],
        falls=falls,
        repaired=table(["result", "corrected", "status"], [r for r in falls if r.amendment], _repair),
        boxes=table(["line", "where", "why", "instead"], boxes, _box),
        steps=_steps(results, places, parts or {}),
        undecided=[r for r in results if r.status == "inconclusive" and not r.sources_disagree],
        untested=_untested(results, places),
    )


def counterexample_words(example: Counterexample) -> str:
    """A counterexample in one line: the point and both sides, or what is wrong there, for a statement in words."""
    point = f"at {md.code(show_point(example.parameters))} " if example.parameters else ""
    if "nan" in (example.lhs.float, example.rhs.float) and example.note:
        return f"{point}{md.prose(example.note)}"
    return f"{point}the left side is {show_both(example.lhs)} and the right side {show_both(example.rhs)}"


def corrected(result: Result, places: Places) -> str:
    """The corrected statement with its conditions, or where it is if it is long; "" where there is none."""
    amendment = result.amendment
    if amendment is None:
        return ""
    if len(amendment.formula or "") > LONGEST_FORMULA:
        return md.link("a longer formula", places.target(result.claim))
    return statement_in_line(amendment)


def _alike(
    readings: Mapping[str, int], results: Iterable[Result], told: Callable[[Result], object]
) -> list[tuple[Result, str]]:
    """Readings of one claim of which the same is told, taken together: the first, and all of them in words."""
    shared: dict[tuple[str, object], list[Result]] = {}
    for result in results:
        shared.setdefault((result.claim, told(result)), []).append(result)
    words = " and ".join
    return [
        (alike[0], "" if len(alike) == readings[claim] else words(md.prose(reading_words(r.reading)) for r in alike))
        for (claim, _), alike in shared.items()
    ]


def _totals(results: Sequence[Result]) -> str:
    claims = len(by_claim(results))
    verdicts = f", {plural(len(results), 'verdict')} with their readings" if len(results) > claims else ""
    return f"{plural(claims, 'claim')}{verdicts}: {counts_words(counts(r.status for r in results))}."


def _smallest(result: Result) -> str:
    """The smallest counterexample in a sentence, with a blank before it; "" where there is none."""
    order = {"smallest": 0, "interior": 1, "largest-ratio": 2}
    examples = sorted(counterexamples(result), key=lambda example: order[example.kind])
    words = counterexample_words(examples[0]).rstrip(".") if examples else ""
    return f" {words[:1].upper()}{words[1:]}." if words else ""


def _repair(result: Result, places: Places) -> list[str]:
    amendment = result.amendment
    slack = f", slack {show_slack(amendment.slack)}" if amendment and amendment.slack else ""
    return [corrected(result, places), f"{amendment.status}{slack}" if amendment else ""]


def _box(result: Result, places: Places) -> list[str]:
    return [md.prose(result.where), md.prose(result.reason), corrected(result, places) or "no corrected statement yet"]


def _steps(results: Sequence[Result], places: Places, parts: Mapping[str, str]) -> str:
    """One row per part: how many of its records have which status, and links to those that fall."""
    rows = []
    for part, groups in by_part(results).items():
        judged = [r for group in groups for r in group]
        falls = [group for group in groups if any(r.status == "refuted" for r in group)]
        mended = [g for g in falls if all(r.amendment for r in g if r.status == "refuted")]
        links = ", ".join(places.link(group[0]) for group in falls)
        number = f"{len(mended)} of {len(falls)}" if falls else ""
        name = md.link(part, places.page(parts[part])) if part in parts else part
        rows.append([name, counts_words(counts(r.status for r in judged)), links, number])
    return md.table(["part", "verdicts", "falls", "repaired"], rows)


def _untested(results: Sequence[Result], places: Places) -> str:
    untested = [r for r in results if r.status == "untested"]
    number = plural(len(by_claim(untested)), "claim")
    if not untested:
        return ""
    front = f"{paper_of(untested[0])}.md"
    place = md.link("the list", ("" if places.here == front else places.page(front)) + "#not-yet-judged")
    return md.bullets([f"{number}, each with its reason: {place}."])
