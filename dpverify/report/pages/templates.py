"""Fill in the page templates in ``dpverify/report/templates``, with filters for words, escapes, premises and evidence.

The premises of a derivation are other statements, theorems of the literature, meanings of names, and measured
quantities.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias, TypeVar

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from dpverify.ledger.check_results import (
    AmendmentResult,
    CheckResult,
    StepResult,
    Vacuous,
)
from dpverify.ledger.records import SEVERITIES
from dpverify.ledger.results import Result
from dpverify.ledger.statements import Variant
from dpverify.report import markdown as md
from dpverify.report import words
from dpverify.report.collect import (
    claim_id,
    counterexamples,
    derivations,
    is_vacuous,
    pictures,
    run_false_alarm,
    said_alike,
)
from dpverify.report.counterexamples import counterexample_list, none_at_run_line
from dpverify.report.numbers import show, show_count, show_float, show_slack
from dpverify.report.pages.figures import figure_block, figure_place, figures_of_claim
from dpverify.report.statements import (
    VARIANTS,
    correction_block,
    instead_in_line,
    instead_line,
    letters_line,
    printed_block,
    statement_block,
    statement_in_line,
)
from dpverify.report.words import GENERATED, STATUSES, false_alarm_line, plural

MAX_DEFINITION = 60  # characters of a definition that a page shows
PREMISES_START = "Given: "  # beginning of the line with the premises

_STATEMENT = re.compile(r"[a-z0-9_]+:(?P<claim>[a-z0-9-]+) \((?P<about>.*)\)")
_ARGUED = re.compile(r"argued in words: (?P<name>\w+)\b.*")
_MEANING = re.compile(r"(?P<name>[a-z]+(?:_[a-z]+)+) is .+")
_EQUATION = re.compile(r"Eq\((?P<left>.*), (?P<right>[^,]*)\)")
_CITED = re.compile(
    r"(?P<theorem>[^:]{20,}): .*? (?P<source>\((?:[^()]|\([^()]*\))*\))$"
)  # a name, a statement, a source
_CALL = re.compile(r"[a-z_]+\(\w+\)")
_ORDER = re.compile(r"[^ ]+(?: [-+*/] [^ ]+)* (?:<=|>=|<|>) [^ ]+(?: [-+*/] [^ ]+)*")


def given_line(source: Result | AmendmentResult) -> str:
    """Return the premises of a "proved given" statement. Premises about letters of only the derivation are last."""
    premises: list[str] = []
    letter_premises: list[str] = []
    for text in source.given:
        (
            letter_premises
            if _EQUATION.fullmatch(text) or _ORDER.fullmatch(text)
            else premises
        ).append(_premise(text, source))
    premises += (
        [f"of letters that only the derivation has, {', '.join(letter_premises)}"]
        if letter_premises
        else []
    )
    return f"{PREMISES_START}{'; '.join(premises)}." if premises else ""


def definitions_line(source: Result | AmendmentResult) -> str:
    """Return the definitions of measured quantities that are short. Functions and long definitions are left out."""
    definitions = []
    for text in source.definitions:
        name, _, formula = text.partition(" = ")
        if (
            len(text) <= MAX_DEFINITION
            and "(" not in name
            and not _CALL.fullmatch(formula)
        ):
            definitions.append(f"{_named(name, source)} is {md.code(formula)}")
    return f"By definition {'; '.join(definitions)}." if definitions else ""


def _premise(text: str, source: Result | AmendmentResult) -> str:
    if match := _STATEMENT.fullmatch(text):
        about = [
            VARIANTS.get(word, word.replace("=", " = "))
            for word in match["about"].split(", ")
        ]
        return f"{md.code(match['claim'])} ({', '.join(about)})"
    if match := _ARGUED.fullmatch(text):
        return f"the definition of {md.code(match['name'])}, which is argued in words"
    if match := _EQUATION.fullmatch(text):
        return md.code(f"{match['left']} = {match['right']}")
    if _ORDER.fullmatch(text):
        return md.code(text)
    if match := _MEANING.fullmatch(text):
        return f"the meaning of {_named(match['name'], source)}"
    return md.explanation(_CITED.sub(r"\g<theorem> \g<source>", text))


def _named(name: str, source: Result | AmendmentResult) -> str:
    """Return a quantity in the paper's letters if the statement measures it, else its name as code."""
    letters = (
        line.latex
        for line in source.display
        if line.word == "measured:" and line.text == name
    )
    return next((md.inline_math(latex) for latex in letters if latex), md.code(name))


PROVED = ("proved", "proved given")  # statuses that rest on a derivation
OPEN = ("undecided", "fails")  # statuses of the steps that pages show

T = TypeVar("T")

_STEPS: Mapping[str, Callable[[tuple[int, StepResult]], str]] = {
    "step": lambda step: str(step[0]),
    "relation": lambda step: md.inline_math(
        {"<=": r"\le", ">=": r"\ge"}.get(step[1].relation, step[1].relation)
    ),
    "expression": lambda step: (
        md.inline_math(step[1].latex) or md.code(step[1].expression)
    ),
    "rule": lambda step: md.prose(step[1].rule),
    "premises": lambda step: ", ".join(map(md.code, step[1].premises)),
    "status": lambda step: (
        f"**{step[1].status}**"
        if step[1].status in {"undecided", "fails"}
        else step[1].status
    ),
    "points": lambda step: str(step[1].points or ""),
    "slack": lambda step: show(step[1].slack) if step[1].slack else "",
    "note": lambda step: md.explanation(step[1].note),
}


def vacuity(vacuous: Vacuous | None) -> str:
    """Return a sentence on whether a bound is vacuous, and from which parameters on it is not; "" if unknown."""
    if vacuous is None:
        return ""
    verdict = (
        "**vacuous**: it says no more than the trivial bound"
        if vacuous.value
        else "not vacuous"
    )
    return f"The bound is {verdict} (grid: {md.explanation(vacuous.grid)}; onset: {md.explanation(vacuous.onset)})."


def evidence(source: Result | AmendmentResult) -> str:
    """Return a paragraph with the evidence for the verdict, and the open steps of incomplete derivations.

    Checks with another status than the verdict are left out, unless they are inconclusive or missed a planted fault.
    """
    chains = derivations(source)
    parts = [plural(len(chains), "derivation")] if chains else []
    # the page shows them above the evidence
    is_shown_above = source.status == "refuted" and counterexamples(source)
    for status in STATUSES:
        checks = [
            check
            for check in source.checks
            if check.status == status and (_missed(check) or not _silent(check))
        ]
        checks = [
            check
            for check in checks
            if _missed(check) or status != "refuted" or not is_shown_above
        ]
        descriptions = [
            _check(check)
            for check in checks
            if status in {source.status, "inconclusive"} or _missed(check)
        ]
        parts += [f"{status} by {', '.join(descriptions)}"] if descriptions else []
    parts += (
        [f"slack {slack}"]
        if (slack := show_slack(source.slack)) and not is_shown_above
        else []
    )
    # then the certificate proves the steps that our engine leaves open
    proven = source.status in PROVED
    broken = [
        f"Open in {md.code(chain.name)}{'' if chain.whose == 'ours' else ', the chain of the paper'}:\n\n{steps}"
        for chain in chains
        if not (proven and chain.whose == "ours")
        and (
            steps := _table(
                _STEPS,
                [step for step in enumerate(chain.steps) if step[1].status in OPEN],
            )
        )
    ]
    if parts == ["1 derivation"] and proven and not broken:
        return ""  # the status already says so
    return "\n\n".join([f"Evidence: {'; '.join(parts)}.", *broken]) if parts else ""


def _silent(check: CheckResult) -> bool:
    """Test whether a check is a proof by its derivation, which is already counted."""
    return check.derivation is not None and check.status in PROVED


def _missed(check: CheckResult) -> list[str]:
    return [control.name for control in check.controls if not control.refuted]


def _check(check: CheckResult) -> str:
    """Return a check in a few words; for a simulation without a violation also the smallest detectable fault."""
    chance = check.alpha and check.status != "refuted"
    facts = [
        f"n={show_count(check.n)}"
        if check.n and check.status != "refuted" and check.method != "derivation"
        else "",
        f"alpha={show_float(check.alpha, 2)}" if check.alpha else "",
        f"power {show_float(check.power)}" if chance and check.power else "",
        f"would have seen {md.explanation(check.detects)}"
        if chance and check.detects
        else "",
        "**kernel disagrees with the algebra**" if check.kernel_disagrees else "",
        f"**planted faults not seen: {md.prose(', '.join(missed))}**"
        if (missed := _missed(check))
        else "",
    ]
    facts_text = ", ".join(filter(None, facts))
    return (
        f"{md.code(check.name)} ({facts_text})" if facts_text else md.code(check.name)
    )


def _table(columns: Mapping[str, Callable[[T], str]], items: Iterable[T]) -> str:
    """Return a table with a row for each item, without empty columns."""
    rows = [[show_one(item) for show_one in columns.values()] for item in items]
    filled_columns = [
        name
        for name, cells in zip(columns, zip(*rows, strict=True), strict=False)
        if any(cells)
    ]
    return md.table(
        filled_columns,
        [
            [
                cell
                for name, cell in zip(columns, row, strict=True)
                if name in filled_columns
            ]
            for row in rows
        ],
    )


ProofTarget: TypeAlias = Callable[[Result, Variant], str]
"""Returns the link target of the proof of a statement, given by a claim's result and a variant, or an empty string."""

_PROVED_WORD = re.compile(
    rf"{words.MARKS['proved']} proved\b|{words.MARKS['proved given']} proved given\b"
)


def linked(
    text: str, proofs: ProofTarget | None, result: Result, variant: Variant
) -> str:
    """Return a text in which "proved" or "proved given" links to the proof of the statement, if there is one."""
    match = _PROVED_WORD.search(text)
    target = proofs(result, variant) if proofs is not None and match else ""
    return (
        text.replace(match[0], md.link(match[0], target), 1)
        if match and target
        else text
    )


FILTERS: tuple[Callable[..., object], ...] = (
    *(
        md.anchor,
        md.bullets,
        md.cell,
        md.code,
        md.explanation,
        md.inline_math,
        md.math_block,
        md.one_line,
        md.prose,
        md.quote,
    ),
    *(
        words.instead_words,
        words.kind_words,
        words.pin_words,
        words.plural,
        words.reading_words,
        words.readings_of,
        words.status_label,
        words.with_status,
    ),
    *(claim_id, is_vacuous, pictures, run_false_alarm, said_alike),
    *(false_alarm_line, show_count, show_float, show_slack),
    linked,
    none_at_run_line,
    *(
        counterexample_list,
        definitions_line,
        evidence,
        given_line,
        instead_in_line,
        instead_line,
        letters_line,
    ),
    *(correction_block, printed_block, statement_block, statement_in_line, vacuity),
    *(figure_block, figure_place, figures_of_claim),
)

_GAP = re.compile(r"\n{3,}")


@cache
def environment() -> ImmutableSandboxedEnvironment:
    """Return the jinja2 environment: undefined names are errors, and only the filters escape text."""
    jinja = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(Path(__file__).parents[1] / "templates"),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.globals |= {"generated": GENERATED, "SEVERITIES": SEVERITIES}
    names = ("MARKS", "MEANINGS", "METHODS", "RELATIONS_TO_DERIVED", "STATUSES")
    jinja.globals |= {name: getattr(words, name) for name in names}
    jinja.filters |= {function.__name__: function for function in FILTERS}
    return jinja


def render(name: str, **values: object) -> str:
    """Return a filled-in template, with at most one empty line between blocks and a newline at the end."""
    return (
        _GAP.sub(
            "\n\n", environment().get_template(f"{name}.md.j2").render(values)
        ).strip("\n")
        + "\n"
    )


def claim_section(
    results: Sequence[Result],
    budget: str,
    figures: str = "figures",
    drawn: Container[str] = (),
    quoted: str = "",
    letters: Container[str] = (),
    proofs: ProofTarget | None = None,
) -> str:
    """Return the section of a claim from its results, one per reading.

    ``drawn`` has the figures and ``letters`` the domains of letters that the page shows above the section. ``quoted``
    is an earlier claim on the page with the same quotation, if any. ``proofs`` returns links to proofs.
    """
    values = {
        "results": results,
        "budget": budget,
        "figures": figures,
        "shown": drawn,
        "quoted": quoted,
    }
    return render("claim", **values, letters=letters, proofs=proofs)
