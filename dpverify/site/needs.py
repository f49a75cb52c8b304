"""Find the side conditions of the rule, lemma or claim at each line of a proof, using the certificate."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dpverify.ledger.formula import Compare, Formula, free_names
from dpverify.ledger.formula.prefix import INDICES, PrefixReader
from dpverify.ledger.proof_book import Proof
from dpverify.ledger.proof_chains import ChainLine, Reason, parse_chain
from dpverify.report import markdown as md
from dpverify.report.origins import (
    Granted,
    is_bound_of_letter,
    is_obvious,
    is_same,
    origin,
)
from dpverify.report.pages.rules import ProofLines, rules

MAX_CHARACTERS = 250  # of the LaTeX of a condition; a longer condition is not shown
FUNCTIONS = ("sequence", "bits")  # kinds of letters that denote functions


@dataclass(frozen=True)
class InstanceFact:
    """A use of a rule, a lemma or another statement in a certificate."""

    source: str
    name: str
    where: Mapping[str, Any]
    # relations that hold at this place in addition to the statement's conditions
    granted: tuple[Granted, ...]
    depth: int  # number of index ranges around the fact


@cache
def certificates(folder: Path) -> Mapping[tuple[str, str], Sequence[dict[str, Any]]]:
    """Return the certificates of a folder by claim and variant; empty if there is no such folder."""
    by_statement: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        statement = data["statement"]
        by_statement.setdefault((statement["claim"], statement["variant"]), []).append(
            data
        )
    return by_statement


def certificate_of(folder: Path, key: str, proof: Proof) -> dict[str, Any] | None:
    """Return the certificate of a proof, or None; if several readings share the proof, return the first one."""
    for data in certificates(folder).get((f"{key}:{proof.of}", proof.variant), ()):
        if proof.reading.items() <= data["statement"]["reading"].items():
            return data
    return None


def needs_of(
    certificate: dict[str, Any], proof: Proof, lines: ProofLines
) -> dict[int, str]:
    """Return the side conditions of lines as markdown, by line number.

    A line is left out if it has none, or if its use of the rule cannot be identified in the certificate.
    """
    cited = [
        line
        for line in _cited(parse_chain(proof.chain).lines)
        if line.reason is not None
    ]
    whole = _Needs(certificate, certificate["statement"], lines)
    texts = {
        line.number: whole.of_text(line.reason)
        for line in cited
        if line.reason is not None
    }
    divided = [
        lemma
        for lemma in certificate["lemmas"]
        if not lemma["name"].startswith("lemma ")
    ]
    for needs in [whole, *(_Needs(certificate, lemma, lines) for lemma in divided)]:
        for line, fact in needs.matches(cited):
            texts[line.number] = texts[line.number] or needs.text(fact)
    return {number: text for number, text in texts.items() if text}


def _cited(chain: Sequence[ChainLine]) -> Iterator[ChainLine]:
    """Yield lines in the order of a certificate."""
    for line in chain:
        for _, part in line.cases:
            yield from _cited(part)
        # the certificate has other statements for an induction
        if line.induction is None:
            yield line


class _Needs:
    """The uses of rules and statements in one statement of a certificate."""

    def __init__(
        self, certificate: dict[str, Any], body: dict[str, Any], lines: ProofLines
    ) -> None:
        self.lines = lines
        self.body = body
        self.table = certificate["table"]
        self.lemmas = {lemma["name"]: lemma for lemma in certificate["lemmas"]}
        reader = PrefixReader(self.table)
        conditions = [*body["conditions"], *body["local"]["conditions"]]
        self.granted = [
            Granted(reader.relation(c), "") for c in conditions if c[0] in _COMPARISONS
        ]
        self.facts = [*self._facts(body["body"], (), 0)]

    def _facts(
        self, items: Sequence[Any], granted: tuple[Granted, ...], depth: int
    ) -> Iterator[InstanceFact]:
        for item in items:
            if "within" in item:
                yield from self._facts(item["facts"], granted, depth + 1)
            elif "split" in item:
                for sign, part in ((">=", "then"), ("<", "else")):
                    case = PrefixReader(self.table).relation(
                        [sign, item["split"], ["q", "0"]]
                    )
                    yield from self._facts(
                        item[part], (*granted, Granted(case, "this case")), depth
                    )
            elif item["by"][0] == "instance":
                source, name, where = item["by"][1:]
                yield InstanceFact(source, name, where, granted, depth)

    def matches(
        self, lines: Sequence[ChainLine]
    ) -> Iterator[tuple[ChainLine, InstanceFact]]:
        """Yield pairs of line and use, for names with as many citing lines as different uses."""
        by_name: dict[tuple[str, str], list[InstanceFact]] = {}
        for fact in self.facts:
            uses = by_name.setdefault((fact.source, _cited_name(fact.name)), [])
            if all(fact.where != other.where for other in uses):
                uses.append(fact)
        citing: dict[tuple[str, str], list[ChainLine]] = {}
        for line in lines:
            assert line.reason is not None
            citing.setdefault(self._use(line.reason), []).append(line)
        for key, several in citing.items():
            if len(several) == len(by_name.get(key, ())):
                yield from zip(several, by_name[key], strict=True)

    def _use(self, reason: Reason) -> tuple[str, str]:
        """Return the source and the name under which a certificate lists the reason of a line."""
        if reason.kind == "claim":
            return "premise", f"{reason.variant} claim {reason.name}"
        return (
            "lemma" if reason.name in self.lines.book.lemmas else "rule"
        ), reason.name

    def of_text(self, reason: Reason) -> str:
        """Return the side conditions of a line whose text specifies every letter of the rule's conditions."""
        rule = rules().get(reason.name)
        if reason.kind or rule is None or reason.name in self.lines.book.lemmas:
            return ""
        values = {
            argument.name: argument.value
            for argument in reason.arguments
            if not argument.index
        }
        conditions = [
            condition
            for condition in rule["conditions"]
            if condition[0] in _COMPARISONS
        ]
        letters = {
            letter
            for c in conditions
            for letter in free_names(PrefixReader().relation(c))
        }
        if not letters or not letters <= values.keys():
            return ""
        return self._listed(
            [PrefixReader(values=values).relation(c) for c in conditions],
            self.granted,
            is_rule=True,
        )

    def text(self, fact: InstanceFact) -> str:
        """Return the conditions of a use with their origins, without conditions that follow from signs of letters."""
        granted = [*self.granted, *fact.granted]
        text = self._listed(
            [*self._conditions(fact)], granted, is_rule=fact.source == "rule"
        )
        letters = ", ".join(md.inline_math(letter) for letter in INDICES[: fact.depth])
        return (
            f"{text}, for every {letters} of the sum" if text and fact.depth else text
        )

    def _listed(
        self,
        conditions: Sequence[Compare],
        granted: Sequence[Granted],
        *,
        is_rule: bool,
    ) -> str:
        parts = [
            self._part(c, granted, is_rule=is_rule)
            for c in conditions
            if not is_obvious(c, granted)
        ]
        shown = list(dict.fromkeys(filter(None, parts)))
        return f"needs {'; '.join(shown)}" if shown else ""

    def _part(
        self, condition: Compare, granted: Sequence[Granted], *, is_rule: bool
    ) -> str:
        """Return a condition with its origin; empty if it is too long, or the domain of a letter of both statements."""
        text = self.lines.latex(condition)
        source = origin(condition, granted)
        if len(text) > MAX_CHARACTERS:
            return ""
        if source is None:
            return md.inline_math(text)
        if is_same(condition, source.relation):
            is_domain = not is_rule and not source.by and is_bound_of_letter(condition)
            return (
                ""
                if is_domain
                else md.inline_math(text) + (f" by {source.by}" if source.by else "")
            )
        return f"{md.inline_math(text)} by {source.by or md.inline_math(self.lines.latex(source.relation))}"

    def _conditions(self, fact: InstanceFact) -> Iterator[Compare]:
        """Yield the comparisons that a use requires."""
        record = {
            "rule": rules(),
            "lemma": self.lemmas,
            "premise": self.body["premises"],
        }[fact.source].get(fact.name)
        if record is None:
            return
        outside = PrefixReader(self.table, depth=fact.depth)
        values: dict[str, Formula] = {}
        functions: dict[str, tuple[str, Any]] = {}
        for letter, value in fact.where.items():
            if (
                record["letters"].get(letter) == "sequence"
                and isinstance(value, list)
                and len(value) == 2
            ):
                functions[letter] = (value[0], value[1])
            elif record["letters"].get(letter) not in FUNCTIONS:
                values[letter] = outside.formula(value)
        table = () if fact.source == "rule" else self.table
        for condition in record["conditions"]:
            if condition[0] in _COMPARISONS and not functions:
                yield PrefixReader(table, values, depth=fact.depth).relation(condition)


_COMPARISONS = ("<=", "<", ">=", ">", "=")


def _cited_name(name: str) -> str:
    """Return the name of a lemma or a claim in a proof, given its name in a certificate."""
    if name.startswith("lemma "):
        return name.removeprefix("lemma ").rpartition(" ")[0]
    return " ".join(name.split(" ")[:3]) if " claim " in name else name
