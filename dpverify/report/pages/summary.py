"""The first page: what stands, what falls, what is repaired, what nobody should copy, and where the proofs fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from dpverify.ledger.results import Counterexample, Result
from dpverify.report import markdown as md
from dpverify.report.collect import by_claim, claim_id, counterexamples, paper_of
from dpverify.report.numbers import show_both, show_point, show_slack
from dpverify.report.pages.parts import by_part, is_box, is_result
from dpverify.report.pages.places import Places
from dpverify.report.words import counts, counts_words, plural, reading_words

DISAGREE = "The sources disagree, so the code or the algebra here is wrong; nothing is said of the paper"

STEPS = "All records of each part: its results, their proofs, the text. A step may fail where its result stands."

LONGEST_FORMULA = 160
"""Characters of a formula that the first page shows; a longer one is in the claim's own section."""


def summary(results: Sequence[Result], places: Places, parts: Mapping[str, str] | None = None) -> list[str]:
    """The short account of one paper, as blocks of markdown. Blocks; those about nothing are left out."""
    main = [r for r in results if is_result(claim_id(r))]
    stands = [r for r in main if r.status in {"proved", "not refuted"}]
    falls = [r for r in main if r.status == "refuted"]
    boxes = [r for group in by_claim(results) if is_box(group) for r in group if r.status == "refuted"]
    open_ = [r for r in results if r.status == "inconclusive" and not r.sources_disagree]
    on = _Page(results, places)
    mended = on.table(["result", "corrected", "status"], [r for r in falls if r.amendment], _repair)
    return [
        _totals(results),
        *_warnings(results, on),
        _part("What stands", "", on.lines(stands, _stand, _stand)),
        _part("What falls", "", on.lines(falls, _fall, _reason)),
        _part("What is repaired", "", mended),
        _part("What an implementer must not copy", "", on.table(["line", "where", "why", "instead"], boxes, _box)),
        _part("Step by step", STEPS, _steps(results, places, parts or {})),
        _part("What is undecided", "", on.lines(open_, _reason, _reason)),
        _part("What is not yet judged", "", _untested(results, places)),
    ]


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
    if amendment.formula is None:
        return md.prose(amendment.statement or "")
    if len(amendment.formula) > LONGEST_FORMULA:
        return md.link("a longer formula", places.target(result.claim))
    formula = md.inline_math(amendment.latex) or md.code(amendment.formula)
    return formula + (f" for {', '.join(map(md.code, amendment.requires))}" if amendment.requires else "")


class _Page:
    """Lines and rows about claims, readings of which the same is to be said taken together.

    Readings are named where they are not all that the claim has.
    """

    def __init__(self, results: Sequence[Result], places: Places) -> None:
        self.places, self.readings = places, Counter(result.claim for result in results)

    def lines(self, results: Iterable[Result], tail: Callable[[Result], str], told: Callable[[Result], str]) -> str:
        """A list: the claim's link, its readings, the tail; ``told`` says what makes two readings alike."""
        return md.bullets(
            self.places.link(result) + (f" ({readings})" if readings else "") + tail(result)
            for result, readings in self._alike(results, told)
        )

    def table(
        self, header: Sequence[str], results: Iterable[Result], cells: Callable[[Result, Places], tuple[str, ...]]
    ) -> str:
        """A table: the claim's link and readings, then the cells."""
        rows = [
            [f"{self.places.link(result)}\n{readings}", *cells(result, self.places)]
            for result, readings in self._alike(results, lambda r: cells(r, self.places))
        ]
        return md.table(header, rows)

    def _alike(self, results: Iterable[Result], told: Callable[[Result], object]) -> Iterator[tuple[Result, str]]:
        shared: dict[tuple[str, object], list[Result]] = {}
        for result in results:
            shared.setdefault((result.claim, told(result)), []).append(result)
        for (claim, _), group in shared.items():
            all_of_them = len(group) == self.readings[claim]
            yield group[0], "" if all_of_them else " and ".join(md.prose(reading_words(r.reading)) for r in group)


def _part(title: str, lead: str, body: str) -> str:
    return "\n\n".join(filter(None, [f"**{title}**", lead, body])) if body else ""


def _totals(results: Sequence[Result]) -> str:
    claims = len(by_claim(results))
    verdicts = f", {plural(len(results), 'verdict')} with their readings" if len(results) > claims else ""
    return f"{plural(claims, 'claim')}{verdicts}: {counts_words(counts(r.status for r in results))}."


def _warnings(results: Sequence[Result], on: _Page) -> list[str]:
    cases: list[tuple[str, Callable[[Result], bool]]] = [
        (DISAGREE, lambda r: r.sources_disagree),
        ("The evidence contradicts the pinned verdict", lambda r: r.contradicts),
    ]
    blocks = []
    for text, concerned in cases:
        links = on.lines([r for r in results if concerned(r)], lambda _: "", lambda _: "")
        blocks.append(
            "\n".join(f"> {line}" for line in ["[!WARNING]", f"{text}:", *links.splitlines()]) if links else ""
        )
    return blocks


def _stand(result: Result) -> str:
    vacuous = ", vacuous" if result.vacuous is not None and result.vacuous.value else ""
    return f", {result.status}{vacuous}: {md.prose(result.reason)}"


def _fall(result: Result) -> str:
    example = _smallest(result)
    seen = f" {example[:1].upper()}{example[1:].rstrip('.')}." if example else ""
    return f": {md.prose(result.reason)}{seen}"


def _smallest(result: Result) -> str:
    order = {"smallest": 0, "interior": 1, "largest-ratio": 2}
    examples = sorted(counterexamples(result), key=lambda example: order[example.kind])
    return counterexample_words(examples[0]) if examples else ""


def _reason(result: Result) -> str:
    return f": {md.prose(result.reason)}"


def _repair(result: Result, places: Places) -> tuple[str, ...]:
    amendment = result.amendment
    if amendment is None:
        return "", ""
    slack = f", slack {show_slack(amendment.slack)}" if amendment.slack else ""
    return corrected(result, places), f"{amendment.status}{slack}"


def _box(result: Result, places: Places) -> tuple[str, ...]:
    return md.prose(result.where), md.prose(result.reason), corrected(result, places) or "no corrected statement yet"


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
