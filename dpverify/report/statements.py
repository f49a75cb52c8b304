"""Statements, printed or corrected, as text for pages and terminals.

A statement is shown as a block, in one line, or as a correction of the printed statement above it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence

from dpverify.ledger.check_results import AmendmentResult
from dpverify.ledger.claims import Line
from dpverify.ledger.results import Result
from dpverify.report import markdown as md
from dpverify.report.counterexamples import informative
from dpverify.report.markdown import quotes_formula
from dpverify.report.words import MARKS, exactly_if, instead_words

VARIANTS = {"printed": "as printed", "amended": "corrected", "held": "where it holds"}

# a letter with a lower bound, such as ``T \ge 1``
_BOUND = re.compile(r"(?P<letter>[^<>=]*?)(?P<bound> (?:\\ge|>) \d+)")
_COMPARISONS = re.compile("<=|>=|<|>")
_SHOWN_COMPARISONS = re.compile(r"\\le(?![a-z])|\\ge(?![a-z])|<|>")
# lines that a section may show once for all its statements
SHARED_LINES = ("where", "reading")
_WORDS_OF_STATEMENT = ("", "in words:")
# parts of a statement: if a correction drops a
# printed line of a part, it shows the part completely
_GROUPS = {
    "with": "definitions",
    "if": "conditions",
    "assuming": "assumptions",
    "constant may depend on": "dependences of the constant",
}
# kinds of domains, in words; a vector is never a letter of a claim
KINDS = {"integer": "whole", "real": "real"}


def statement_of(source: Result | AmendmentResult) -> Sequence[Line]:
    """Return the lines of the judged statement; only its formula or words if the result lacks the lines."""
    if source.display:
        return source.display
    text = (
        source.printed
        if isinstance(source, Result)
        else source.formula or source.statement or ""
    )
    return [
        Line(word="" if source.latex else "in words:", text=text, latex=source.latex)
    ]


def statement_block(source: Result | AmendmentResult, is_shared: bool = False) -> str:
    """Return a statement as markdown: a displayed formula or the words, then definitions, conditions and letters.

    ``is_shared`` leaves out its letters and its reading, which the page shows elsewhere.
    """
    return block_of_lines(
        [
            line
            for line in statement_of(source)
            if not is_shared or line.word not in SHARED_LINES
        ]
    )


def block_of_lines(lines: Sequence[Line]) -> str:
    """Return lines of a statement as markdown: the first line is displayed, and the others follow in a sentence."""
    return "\n\n".join(
        filter(None, [_formula_block(lines[:1]), _sentence(_context(lines))])
    )


def printed_block(result: Result) -> str:
    """Return the judged statement below its quotation, without a formula that the quotation already shows."""
    lines = [line for line in statement_of(result) if line.word not in SHARED_LINES]
    is_quoted = bool(lines) and quotes_formula(result.quote, lines[0].latex)
    return "\n\n".join(
        filter(
            None,
            [
                "" if is_quoted else _formula_block(lines[:1]),
                _sentence(_context(lines)),
            ],
        )
    )


def correction_block(
    amendment: AmendmentResult, printed: Result, *, in_chapter: bool = False
) -> str:
    """Return a corrected statement, without the parts that are the same in the printed statement above it.

    With ``in_chapter``, its formula and conditions are always shown, because there is no heading with the conditions.
    """
    printed_keys = {
        _key(line) for line in statement_of(printed) if line.word not in SHARED_LINES
    }
    lines = [line for line in statement_of(amendment) if line.word not in SHARED_LINES]
    replaced = {word for word, _ in printed_keys - set(map(_key, lines)) if word}
    repeated_words = {*replaced, "if"} if in_chapter else replaced
    changed_lines = [
        line
        for line in lines
        if _key(line) not in printed_keys or line.word in repeated_words
    ]
    in_heading = amendment.holds_for if amendment.corrects and not in_chapter else []
    context_lines = [
        line
        for line in changed_lines
        if not (line.word == "if" and line.text in in_heading)
    ]
    sentences = [_sentence(_context(context_lines)), *_replacements(lines, replaced)]
    sentences += (
        ["Otherwise as printed."]
        if any(line not in changed_lines and _context([line]) for line in lines)
        else []
    )
    formula = _formula_block(
        [line for line in lines[:1] if line in changed_lines or in_chapter]
    )
    return "\n\n".join(filter(None, [formula, " ".join(filter(None, sentences))]))


def _replacements(lines: Sequence[Line], replaced: Container[str]) -> Iterator[str]:
    """Yield a sentence with the parts that replace printed parts, and one with the printed parts that are dropped."""
    groups = {
        group: bool(_lines_with_word(lines, word))
        for word, group in _GROUPS.items()
        if word in replaced
    }
    nonempty = [group for group, has_lines in groups.items() if has_lines]
    if nonempty:
        yield f"These {' and '.join(nonempty)} replace the printed ones."
    dropped = [group for group, has_lines in groups.items() if not has_lines]
    if dropped:
        yield f"The printed {' and '.join(dropped)} are left out."


def _key(line: Line) -> tuple[str, str]:
    word = "" if line.word in _WORDS_OF_STATEMENT else line.word
    return word, line.latex or line.text


def _formula_block(lines: Sequence[Line]) -> str:
    """Return the formula or the words of a statement as markdown."""
    return "\n\n".join(
        md.math_block(line.latex) if line.latex else md.explanation(line.text)
        for line in lines
        if line.text
    )


def statement_in_line(source: Result | AmendmentResult) -> str:
    """Return a statement in one line, for a table or a list."""
    lines = statement_of(source)
    first_fragment = [_fragment(line) for line in lines[:1] if line.text]
    context = _context(lines)
    if context:
        first_fragment = [text.removesuffix(".") for text in first_fragment]
    return md.one_line("; ".join(filter(None, [*first_fragment, context])))


def instead_in_line(amendment: AmendmentResult) -> str:
    """Return the replacement of a refuted claim in words, with typeset conditions: ``holds for`` and N >= 2."""
    if not (amendment.corrects and amendment.holds_for):
        return instead_words(amendment)
    conditions = {line.text: line for line in _lines_with_word(amendment.display, "if")}
    conditions_shown = (
        _fragment(conditions.get(text) or Line(word="if", text=text))
        for text in amendment.holds_for
    )
    return f"holds {exactly_if(amendment) if amendment.only_restates else 'for'} {', '.join(conditions_shown)}"


def instead_line(amendment: AmendmentResult) -> str:
    """Return the replacement of a refuted claim with its status, as the beginning of a paragraph."""
    link = f" {exactly_if(amendment)} " if amendment.only_restates else " for "
    words, _, conditions = instead_in_line(amendment).partition(link)
    head = f"{words[:1].upper()}{words[1:]}"
    if amendment.only_restates:
        return (
            f"**{head}{link.rstrip()}** {conditions}" if conditions else f"**{head}**"
        )
    status = f"{MARKS[amendment.status]} {amendment.status}"
    return (
        f"**{head} for** {conditions}: **{status}**"
        if conditions
        else f"**{head}, {status}**"
    )


def shared_letters(groups: Sequence[Sequence[Result]]) -> frozenset[str]:
    """Return the most common domain of each letter that several claims of a page share.

    A letter with several meanings on the page is left out, and the claims define it.
    """
    domains: dict[str, Counter[str]] = {}
    meanings: dict[str, set[str]] = {}
    for results in groups:
        for text, line in _domains(results).items():
            name, letter = _name_and_letter(line)
            domains.setdefault(name, Counter())[text] += 1
            meanings.setdefault(letter, set()).add(name)
    several = {name for names in meanings.values() if len(names) > 1 for name in names}
    commonest = (
        counts.most_common(1)[0]
        for name, counts in domains.items()
        if name not in several
    )
    return frozenset(text for text, count in commonest if count > 1)


def letters_of_page(groups: Sequence[Sequence[Result]], shared: Container[str]) -> str:
    """Return a sentence with the shared domains of the letters of a page."""
    lines = {
        text: line
        for results in groups
        for text, line in _domains(results).items()
        if text in shared
    }
    letters = _letters([*lines.values()])
    return (
        f"Letters, where a claim does not say otherwise: {letters}." if letters else ""
    )


def letters_line(results: Sequence[Result], shared: Container[str] = ()) -> str:
    """Return the letters and names of a claim, for the printed statement and all corrected statements.

    ``shared`` has the domains that the page shows once for all its claims.
    """
    line_of = _domains(results)
    # names of letters that have a domain that the page does not show
    letters_to_show = {text.partition(" ")[0] for text in line_of if text not in shared}
    letters = _letters(
        [
            line
            for text, line in line_of.items()
            if text.partition(" ")[0] in letters_to_show
        ]
    )
    sources = _statements(results)
    used = {
        name
        for source in sources
        for example in informative(source)
        for name in example.parameters
    }
    used |= {
        line.text
        for source in sources
        for line in _lines_with_word(statement_of(source), "constant may depend on")
    }
    named = dict(map(_name_and_letter, line_of.values()))
    names = [
        f"{md.code(name)} is {md.inline_math(letter)}"
        for name, letter in named.items()
        if name in used and _plain(letter) != _plain(name)
    ]
    sentences = [f"Letters: {letters}."] if letters else []
    return " ".join([*sentences, f"Names: {', '.join(names)}."] if names else sentences)


def _statements(results: Sequence[Result]) -> list[Result | AmendmentResult]:
    return [
        source
        for result in results
        for source in (result, result.amendment)
        if source is not None
    ]


def _domains(results: Sequence[Result]) -> dict[str, Line]:
    """Return the lines with the domains of a claim's letters, by their text."""
    return {
        line.text: line
        for source in _statements(results)
        for line in _lines_with_word(statement_of(source), "where")
    }


def _name_and_letter(line: Line) -> tuple[str, str]:
    """Return the name of a letter in points, and its LaTeX."""
    name, _, domain = line.text.partition(" ")
    bounds = domain.rpartition(", ")[2]
    letter_latex = line.latex.rpartition(r",\ ")[2]
    words = [word.strip() for word in _COMPARISONS.split(bounds)]
    # a domain without bounds, such as "integer", has no name in it
    place = words.index(name) if name in words else 0
    return name, _SHOWN_COMPARISONS.split(letter_latex)[place].strip()


def _plain(name: str) -> str:
    return re.sub(r"[\\{}_ ]", "", name)


def readings_block(results: Sequence[Result], page: str | None = None) -> str:
    """Return the meanings of the readings of claims as a list; with ``page``, only readings that the page mentions."""
    lines = {
        line.text: line.about
        for result in results
        for line in _lines_with_word(statement_of(result), "reading")
    }
    meanings = dict.fromkeys(lines.values())
    texts_of = {
        about: [text for text, meaning in lines.items() if meaning == about]
        for about in meanings
        if about
    }
    named = {about: [*map(md.prose, texts)] for about, texts in texts_of.items()}
    mentioned = {
        about: texts
        for about, texts in named.items()
        if page is None or any(text in page for text in texts)
    }
    lines_text = md.bullets(
        f"{_choices(texts)}: {md.explanation(about)}"
        for about, texts in mentioned.items()
    )
    return f"Readings of the paper:\n\n{lines_text}" if lines_text else ""


def _choices(readings: Sequence[str]) -> str:
    """Return the choices of one reading in words: ``ordering = fresh or once``."""
    name = readings[0].partition(" = ")[0]
    return (
        f"{name} = {' or '.join(text.removeprefix(f'{name} = ') for text in readings)}"
    )


def _context(lines: Sequence[Line]) -> str:
    """Return the definitions, conditions, assumptions, domains and reading of a statement in one line."""
    heads = {
        "with": "with",
        "if": "if",
        "assuming": "assuming",
        "constant may depend on": "a constant that depends on",
    }
    parts = [
        f"{head} {_joined(formulas)}"
        for word, head in heads.items()
        if (formulas := _lines_with_word(lines, word))
    ]
    letters = _letters(_lines_with_word(lines, "where"))
    parts += [f"for {letters}"] if letters else []
    parts += [
        f"reading {md.prose(line.text)}" for line in _lines_with_word(lines, "reading")
    ]
    return "; ".join(parts)


def _letters(domains: Sequence[Line]) -> str:
    """Return the domains of letters, grouped by kind and, within a kind, by a common lower bound."""
    parts = []
    for kind, words in KINDS.items():
        bounded: dict[str, list[str]] = {}
        for line in (line for line in domains if _kind(line) == kind):
            match = _BOUND.fullmatch(line.latex)
            bounded.setdefault(match["bound"] if match else "", []).append(
                match["letter"] if match else line.latex
            )
        formulas = [
            [", ".join(letters) + bound] if bound else letters
            for bound, letters in bounded.items()
        ]
        formulas_shown = [
            md.inline_math(formula) for group in formulas for formula in group
        ]
        if formulas_shown:
            parts.append(f"{words} {', '.join(formulas_shown)}")
    return ", ".join(parts)


def _lines_with_word(lines: Sequence[Line], word: str) -> list[Line]:
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
