"""What a derivation takes from elsewhere, in words: other statements, the literature, what is meant and measured."""

from __future__ import annotations

import re

from dpverify.ledger.results import AmendmentResult, Result
from dpverify.report import markdown as md

LONGEST_DEFINITION = 60  # characters of a definition that a page shows
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
    told: list[str] = []
    own: list[str] = []
    for text in source.given:
        (own if _EQUATION.fullmatch(text) or _ORDER.fullmatch(text) else told).append(_premise(text, source))
    told += [f"of letters that only the derivation has, {', '.join(own)}"] if own else []
    return f"Given: {'; '.join(told)}." if told else ""


def definitions_line(source: Result | AmendmentResult) -> str:
    """What is measured, as a formula, where its definition is short; functions and long ones are in the data."""
    told = []
    for text in source.definitions:
        name, _, formula = text.partition(" = ")
        if len(text) <= LONGEST_DEFINITION and "(" not in name and not _CALL.fullmatch(formula):
            told.append(f"{_named(name, source)} is {md.code(formula)}")
    return f"By definition {'; '.join(told)}." if told else ""


def _premise(text: str, source: Result | AmendmentResult) -> str:
    if found := _STATEMENT.fullmatch(text):
        about = [VARIANTS.get(word, word.replace("=", " = ")) for word in found["about"].split(", ")]
        return f"{md.code(found['claim'])} ({', '.join(about)})"
    if found := _ARGUED.fullmatch(text):
        return f"the definition of {md.code(found['name'])}, which is argued in words"
    if found := _EQUATION.fullmatch(text):
        return md.code(f"{found['left']} = {found['right']}")
    if _ORDER.fullmatch(text):
        return md.code(text)
    if found := _MEANING.fullmatch(text):
        return f"the meaning of {_named(found['name'], source)}"
    return md.explanation(_CITED.sub(r"\g<theorem> \g<source>", text))


def _named(name: str, source: Result | AmendmentResult) -> str:
    """A quantity in the paper's letters where the statement measures it, else by its name."""
    letters = (line.latex for line in source.display if line.word == "measured:" and line.text == name)
    return next((md.inline_math(latex) for latex in letters if latex), md.code(name))
