"""A statement as pages and terminals show it, printed or corrected: one function for all of it, nothing left out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpverify.ledger.display import Line
from dpverify.ledger.results import AmendmentResult, Result
from dpverify.report import markdown as md
from dpverify.report.counterexamples import telling
from dpverify.report.typeset.quotation import quotes_formula
from dpverify.report.words import MARKS, exactly_if, instead_words

_BOUND = re.compile(r"(?P<letter>[^<>=]*?)(?P<bound> (?:\\ge|>) \d+)")  # such as ``T \ge 1``
_ORDERS, _SHOWN_ORDERS = re.compile("<=|>=|<|>"), re.compile(r"\\le(?![a-z])|\\ge(?![a-z])|<|>")
APART = ("where", "reading")  # what may be shown elsewhere in a section, once for all its statements
_WORDS_OF_STATEMENT = ("", "in words:")
KINDS = {"integer": "whole", "real": "real"}  # kinds of domains, in words


def statement_of(source: Result | AmendmentResult) -> Sequence[Line]:
    """What was judged; of a result that does not carry it whole, the formula or the words."""
    if source.display:
        return source.display
    text = source.printed if isinstance(source, Result) else source.formula or source.statement or ""
    return [Line(word="" if source.latex else "in words:", text=text, latex=source.latex)]


def statement_block(source: Result | AmendmentResult, apart: bool = False) -> str:
    """A statement as markdown: a displayed formula, or the words, and below it everything that belongs to it.

    ``apart``: its letters and its reading stand elsewhere in the same section.
    """
    lines = [line for line in statement_of(source) if not apart or line.word not in APART]
    return "\n\n".join(filter(None, [statement_block_of(lines[:1]), _sentence(_belongs(lines))]))


def printed_block(result: Result) -> str:
    """The judged statement below its quotation; a formula that the quotation shows already is not shown again."""
    lines = [line for line in statement_of(result) if line.word not in APART]
    is_quoted = bool(lines) and quotes_formula(result.quote, lines[0].latex)
    return "\n\n".join(filter(None, ["" if is_quoted else statement_block_of(lines[:1]), _sentence(_belongs(lines))]))


def correction_block(amendment: AmendmentResult, printed: Result) -> str:
    """A corrected statement below the printed one of the same section: what is the same is not shown again."""
    above = {_key(line): line for line in statement_of(printed) if line.word not in APART}
    lines = [line for line in statement_of(amendment) if line.word not in APART]
    if {key for key in above if key[0]} - {_key(line) for line in lines}:
        return statement_block(amendment, apart=True)  # a condition or a definition of the printed statement is gone
    new = [line for line in lines if _key(line) not in above]
    in_heading = amendment.holds_for if amendment.corrects else []
    told = _sentence(_belongs([line for line in new if not (line.word == "if" and line.text in in_heading)]))
    left_out = any(line not in new and _belongs([line]) for line in lines)
    told = " ".join(filter(None, [told, "Otherwise as printed." if left_out else ""]))
    return "\n\n".join(filter(None, [statement_block_of([line for line in new if line is lines[0]]), told]))


def _key(line: Line) -> tuple[str, str]:
    return ("" if line.word in _WORDS_OF_STATEMENT else line.word), line.latex or line.text


def statement_block_of(lines: Sequence[Line]) -> str:
    """The formula or the words of a statement."""
    return "\n\n".join(
        md.math_block(line.latex) if line.latex else md.explanation(line.text) for line in lines if line.text
    )


def statement_in_line(source: Result | AmendmentResult) -> str:
    """The same in one line, as a table or a list has it."""
    lines = statement_of(source)
    above = [_fragment(line) for line in lines[:1] if line.text]
    belongs = _belongs(lines)
    above = [text.removesuffix(".") for text in above] if belongs else above
    return md.one_line("; ".join(filter(None, [*above, belongs])))


def instead_in_line(amendment: AmendmentResult) -> str:
    """What stands in the place of a refuted claim, its conditions as formulas: ``holds for`` and N >= 2."""
    if not (amendment.corrects and amendment.holds_for):
        return instead_words(amendment)
    conditions = {line.text: line for line in _after(amendment.display, "if")}
    shown = (_fragment(conditions.get(text) or Line(word="if", text=text)) for text in amendment.holds_for)
    return f"holds {exactly_if(amendment) if amendment.only_restates else 'for'} {', '.join(shown)}"


def instead_line(amendment: AmendmentResult) -> str:
    """The same with its status, as the beginning of a paragraph."""
    link = f" {exactly_if(amendment)} " if amendment.only_restates else " for "
    words, _, conditions = instead_in_line(amendment).partition(link)
    head = f"{words[:1].upper()}{words[1:]}"
    if amendment.only_restates:
        return f"**{head}{link.rstrip()}** {conditions}" if conditions else f"**{head}**"
    status = f"{MARKS[amendment.status]} {amendment.status}"
    return f"**{head} for** {conditions}: **{status}**" if conditions else f"**{head}, {status}**"


def letters_line(results: Sequence[Result]) -> str:
    """Where the letters of a claim live, of the printed statement and of all corrected ones."""
    sources = [source for result in results for source in (result, result.amendment) if source is not None]
    found = {line.text: line for source in sources for line in _after(statement_of(source), "where")}
    letters = _letters([*found.values()])
    used = {name for source in sources for example in telling(source) for name in example.parameters}
    used |= {line.text for source in sources for line in _after(statement_of(source), "constant may depend on")}
    named = {name: letter for line in found.values() for name, letter in [_name_and_letter(line)] if letter}
    names = [f"{md.code(name)} is {md.inline_math(letter)}" for name, letter in named.items() if name in used]
    told = [f"Letters: {letters}."] if letters else []
    return " ".join([*told, f"Names: {', '.join(names)}."] if names else told)


def _name_and_letter(line: Line) -> tuple[str, str]:
    """The name of a letter as points have it, and the letter, where one cannot be told from the other."""
    name, _, domain = line.text.partition(" ")
    bounds, shown = domain.rpartition(", ")[2], line.latex.rpartition(r",\ ")[2]
    place = [word.strip() for word in _ORDERS.split(bounds)].index(name) if name in bounds else 0
    letter = _SHOWN_ORDERS.split(shown)[place].strip()
    return name, "" if _plain(letter) == _plain(name) else letter


def _plain(name: str) -> str:
    return re.sub(r"[\\{}_ ]", "", name)


def readings_block(results: Sequence[Result], page: str | None = None) -> str:
    """What the readings of claims mean, a line each; where a page is given, only if it mentions one of their names."""
    lines = {line.text: line.about for result in results for line in _after(statement_of(result), "reading")}
    meanings = dict.fromkeys(lines.values())
    alike = {about: [text for text, found in lines.items() if found == about] for about in meanings if about}
    named = {about: [*map(md.prose, texts)] for about, texts in alike.items()}
    shown = {about: texts for about, texts in named.items() if page is None or any(text in page for text in texts)}
    told = md.bullets(f"{' or '.join(texts)}: {md.explanation(about)}" for about, texts in shown.items())
    return f"Readings of the paper:\n\n{told}" if told else ""


def _belongs(lines: Sequence[Line]) -> str:
    """Definitions, conditions, assumptions, domains and reading, each introduced once."""
    heads = {"with": "with", "if": "if", "assuming": "assuming", "constant may depend on": "a constant that depends on"}
    parts = [f"{head} {_joined(found)}" for word, head in heads.items() if (found := _after(lines, word))]
    parts += [f"for {letters}"] if (letters := _letters(_after(lines, "where"))) else []
    parts += [f"reading {md.prose(line.text)}" for line in _after(lines, "reading")]
    return "; ".join(parts)


def _letters(domains: Sequence[Line]) -> str:
    """Where letters live: those of one kind together, and of these the ones with one lower bound in one formula."""
    parts = []
    for kind, words in KINDS.items():
        bounded: dict[str, list[str]] = {}
        for line in (line for line in domains if _kind(line) == kind):
            match = _BOUND.fullmatch(line.latex)
            bounded.setdefault(match["bound"] if match else "", []).append(match["letter"] if match else line.latex)
        formulas = [[", ".join(letters) + bound] if bound else letters for bound, letters in bounded.items()]
        if shown := [md.inline_math(formula) for several in formulas for formula in several]:
            parts.append(f"{words} {', '.join(shown)}")
    return ", ".join(parts)


def _after(lines: Sequence[Line], word: str) -> list[Line]:
    return [line for line in lines if line.word == word]


def _kind(line: Line) -> str:
    return line.text.split()[1].rstrip(",")


def _joined(lines: Sequence[Line]) -> str:
    return ", ".join(map(_fragment, lines))


def _fragment(line: Line) -> str:
    if line.latex:
        return md.inline_math(line.latex)
    return md.explanation(line.text) if line.word == "in words:" else md.code(line.text)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""
