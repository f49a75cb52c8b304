"""What a derivation takes from elsewhere, in words: other statements, the literature, what is meant and measured."""

from __future__ import annotations

import re

from dpverify.ledger.results import AmendmentResult, Result
from dpverify.report import markdown as md

LONGEST_DEFINITION = 60  # characters of a definition that a page shows
GIVEN = "Given: "  # how the line of the premises begins
VARIANTS = {"printed": "as printed", "amended": "corrected", "held": "where it holds"}

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
    """The premises that a statement is proved given, those about letters of the derivation alone at the end."""
    premises: list[str] = []
    of_letters: list[str] = []
    for text in source.given:
        (of_letters if _EQUATION.fullmatch(text) or _ORDER.fullmatch(text) else premises).append(_premise(text, source))
    premises += [f"of letters that only the derivation has, {', '.join(of_letters)}"] if of_letters else []
    return f"{GIVEN}{'; '.join(premises)}." if premises else ""


def definitions_line(source: Result | AmendmentResult) -> str:
    """What is measured, as a formula, where its definition is short; functions and long ones are in the data."""
    definitions = []
    for text in source.definitions:
        name, _, formula = text.partition(" = ")
        if len(text) <= LONGEST_DEFINITION and "(" not in name and not _CALL.fullmatch(formula):
            definitions.append(f"{_named(name, source)} is {md.code(formula)}")
    return f"By definition {'; '.join(definitions)}." if definitions else ""


def _premise(text: str, source: Result | AmendmentResult) -> str:
    if match := _STATEMENT.fullmatch(text):
        about = [VARIANTS.get(word, word.replace("=", " = ")) for word in match["about"].split(", ")]
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
    """A quantity in the paper's letters where the statement measures it, else by its name."""
    letters = (line.latex for line in source.display if line.word == "measured:" and line.text == name)
    return next((md.inline_math(latex) for latex in letters if latex), md.code(name))
