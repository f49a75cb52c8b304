"""The short account at the head of a page: what stands, what falls, what is repaired, what nobody should copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dpverify.ledger.results import Counterexample, Result
from dpverify.report import markdown as md
from dpverify.report.collect import by_claim, claim_id, counterexamples
from dpverify.report.numbers import show_both, show_point, show_slack
from dpverify.report.words import counts, counts_words, plural, reading_words

COPIED_KINDS = frozenset({"algorithm", "sensitivity", "rdp", "dp", "count", "identity"})
"""Kinds of claims that end up in somebody's code: constants, ranges, noise scales, recursions."""

DISAGREE = "The sources disagree, so the code or the algebra here is wrong; nothing is said of the paper"


def summary(results: Sequence[Result], page: str = "") -> list[str]:
    """The short account of one paper, as blocks of markdown.

    Parameters
    ----------
    results : sequence of Result
        All results of the paper, in the paper's order.
    page : str
        File that holds the paper's page; "" when the account stands on that page itself.

    Returns
    -------
    list of str
        Blocks; those about nothing are left out.
    """
    stands = [r for r in results if r.status in {"proved", "not refuted"}]
    falls = [r for r in results if r.status == "refuted"]
    open_ = [r for r in results if r.status == "inconclusive" and not r.sources_disagree]
    untested = [r for r in results if r.status == "untested"]
    copied = [r for r in falls if r.kind in COPIED_KINDS]
    return [
        _totals(results),
        *_warnings(results, page),
        _part("What stands", _stand_lines(stands, page)),
        _part("What falls", _lines(falls, _fall, page)),
        _part("What is repaired", _lines([r for r in falls if r.amendment], _repair, page)),
        _part("What an implementer must not copy", _lines(copied, _copy, page)),
        _part("What is undecided", _lines(open_, lambda r: f": {md.prose(r.reason)}", page)),
        _part("What is not yet judged", _untested_lines(untested, page)),
    ]


def claim_link(result: Result, page: str = "") -> str:
    """A link to a claim's section."""
    return md.link(md.code(claim_id(result)), f"{page}#{claim_id(result)}")


def counterexample_words(example: Counterexample) -> str:
    """A counterexample in one line: the point and both sides, or what is wrong there, for a statement in words."""
    point = f"at {md.code(show_point(example.parameters))} " if example.parameters else ""
    if "nan" in (example.lhs.float, example.rhs.float) and example.note:
        return f"{point}{md.prose(example.note)}"
    return f"{point}the left side is {show_both(example.lhs)} and the right side {show_both(example.rhs)}"


def corrected(result: Result) -> str:
    """The corrected statement, as markdown; "" where there is none."""
    amendment = result.amendment
    if amendment is None:
        return ""
    return md.code(amendment.formula) if amendment.formula else md.prose(amendment.statement or "")


def _lines(results: Sequence[Result], tail: Callable[[Result], str], page: str) -> list[str]:
    """A line per claim: its link, its readings, the tail; readings of which the same is to be said share a line."""
    shared: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        shared.setdefault((result.claim, tail(result)), []).append(result)
    lines = []
    for (_, told), group in shared.items():
        readings = " and ".join(words for r in group if (words := md.prose(reading_words(r.reading))))
        lines.append(claim_link(group[0], page) + (f" ({readings})" if readings else "") + told)
    return lines


def _part(title: str, lines: Iterable[str]) -> str:
    body = md.bullets(lines)
    return f"**{title}**\n\n{body}" if body else ""


def _totals(results: Sequence[Result]) -> str:
    claims = len(by_claim(results))
    verdicts = f", {plural(len(results), 'verdict')} with their readings" if len(results) > claims else ""
    return f"{plural(claims, 'claim')}{verdicts}: {counts_words(counts(r.status for r in results))}."


def _warnings(results: Sequence[Result], page: str) -> list[str]:
    cases: list[tuple[str, Callable[[Result], bool]]] = [
        (DISAGREE, lambda r: r.sources_disagree),
        ("The evidence contradicts the pinned verdict", lambda r: r.contradicts),
    ]
    blocks = []
    for text, concerned in cases:
        links = ", ".join(_lines([r for r in results if concerned(r)], lambda _: "", page))
        blocks.append(f"> [!WARNING]\n> {text}: {links}." if links else "")
    return blocks


def _stand_lines(stands: Sequence[Result], page: str) -> list[str]:
    lines = []
    for status, word in (("proved", "Proved"), ("not refuted", "Searched or simulated, nothing found")):
        links = _lines([r for r in stands if r.status == status], _vacuous, page)
        lines.extend([f"{word}: {', '.join(links)}."] if links else [])
    return lines


def _vacuous(result: Result) -> str:
    return " (vacuous)" if result.vacuous is not None and result.vacuous.value else ""


def _fall(result: Result) -> str:
    examples = counterexamples(result)
    order = {"smallest": 0, "interior": 1, "largest-ratio": 2}
    why = counterexample_words(min(examples, key=lambda e: order[e.kind])) if examples else md.prose(result.reason)
    return f", {md.prose(result.where)}: {why.rstrip('.')}."


def _repair(result: Result) -> str:
    amendment = result.amendment
    if amendment is None:
        return ""
    slack = f", slack {show_slack(amendment.slack)}" if amendment.slack else ""
    return f": {corrected(result)} is {amendment.status}{slack}."


def _copy(result: Result) -> str:
    wrong = f"not {md.code(result.printed)}" if result.printed else md.prose(result.reason)
    right = f"; instead {corrected(result)}" if result.amendment else "; no corrected statement yet"
    return f", {md.prose(result.where)}: {wrong.rstrip('.')}{right}."


def _untested_lines(untested: Sequence[Result], page: str) -> list[str]:
    if not untested:
        return []
    number = plural(len(by_claim(untested)), "claim")
    return [f"{number}, each with its reason: {md.link('the list', f'{page}#not-yet-judged')}."]
