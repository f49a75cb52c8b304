"""Turn the records of one paper into its spec, and check its ids, readings, statements and verdicts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from dpverify.ledger.claims import ClaimSpec, full_id, reading_problems
from dpverify.ledger.definitions import DefinitionsFile, read_glossary, unknown_claims
from dpverify.ledger.errors import (
    FormulaError,
    Place,
    Problems,
    SpecError,
    shown,
    suggest,
)
from dpverify.ledger.formula import (
    Bin,
    Compare,
    check_names,
    parse_relation,
    to_text,
    walk,
)
from dpverify.ledger.proof_book import ProofsFile, book_of, book_problems
from dpverify.ledger.reading import (
    StatementReader,
    amended_wording,
    held_wording,
    printed_wording,
)
from dpverify.ledger.records import (
    HOLDS,
    SEVERITIES,
    Claim,
    ClaimsFile,
    Edge,
    Kind,
    PaperInfo,
    Verdict,
    VerdictsFile,
)
from dpverify.ledger.specs import PaperSpec
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import Vocabulary, read_vocabulary

MAX_READINGS = 64  # combinations of choices of one claim

_KEY = re.compile(r"_?[a-z][a-z0-9_]*")
_ID = re.compile(r"[a-z]+(-[a-z0-9.]+)*")
_CHOICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class PaperReader:
    """Reads one paper. With ``checked``, its records have passed the checks before and are not checked again."""

    def __init__(
        self,
        folder: str,
        places: Sequence[Place],
        problems: Problems,
        *,
        checked: bool = False,
    ) -> None:
        self.folder = folder
        self.checked = checked
        (
            self.claims_place,
            self.verdicts_place,
            self.definitions_place,
            self.proofs_place,
        ) = places
        self.problems = problems

    def read(
        self,
        claims: ClaimsFile,
        verdicts: VerdictsFile,
        definitions: DefinitionsFile,
        proofs: ProofsFile,
    ) -> PaperSpec:
        """Read the paper, and add its errors to `problems`."""
        self.problems.extend(
            _paper_problems(claims.paper, self.folder, self.claims_place)
        )
        vocabulary = read_vocabulary(claims, self.claims_place, self.problems)
        glossary = read_glossary(
            definitions, vocabulary, self.definitions_place, self.problems
        )
        edges = list(self.edges(verdicts.edge, vocabulary))
        book = book_of(proofs, vocabulary)
        by_claim: dict[str, list[Verdict]] = {}
        for verdict in verdicts.verdict:
            by_claim.setdefault(full_id(verdict.claim, self.folder), []).append(verdict)
        specs: dict[str, ClaimSpec] = {}
        for record in claims.claim:
            place = self.claims_place.in_record(record.id)
            mine = tuple(by_claim.get(full_id(record.id, self.folder), ()))
            near_edges = _edges_of(record.kind, edges)
            spec = ClaimSpec(
                record,
                self.folder,
                vocabulary,
                mine,
                place.file,
                specs,
                glossary,
                near_edges,
                book,
            )
            if record.id in specs:
                self.problems.append(
                    place.at("id").error(
                        shown(record.id), "an id is given once, this one twice"
                    )
                )
                continue
            specs[record.id] = spec
            if not self.checked:
                self.check_claim(spec, place)
        self.problems.extend(unknown_claims(definitions, specs, self.definitions_place))
        if not self.checked:
            self.problems.extend(book_problems(proofs, specs, self.proofs_place))
        claim_of_key = {spec.key: spec for spec in specs.values()}
        for key, verdicts_of_claim in by_claim.items():
            if key not in claim_of_key:
                rule = f"the paper has no such claim{suggest(verdicts_of_claim[0].claim, specs)}"
                place = self.verdicts_place.in_record(verdicts_of_claim[0].claim).at(
                    "claim"
                )
                self.problems.append(
                    place.error(shown(verdicts_of_claim[0].claim), rule)
                )
        return PaperSpec(
            claims.paper, vocabulary, specs, strict_pins=verdicts.strict_pins
        )

    def edges(
        self, edges: Sequence[Edge], vocabulary: Vocabulary
    ) -> Iterator[tuple[Compare, list[Kind]]]:
        """Parse the conditions on unused parameters, in the paper's symbols and their logarithms ``log_<symbol>``."""
        symbols = frozenset(vocabulary.symbols)
        for i, edge in enumerate(edges):
            try:
                relation = parse_relation(edge.when)
                check_names(
                    edge.when,
                    relation,
                    symbols | {f"log_{name}" for name in symbols},
                    {},
                )
                yield relation, edge.kinds
            except FormulaError as error:
                self.problems.append(
                    self.verdicts_place.at(f"edge[{i}].when").formula_error(error)
                )

    def check_claim(self, spec: ClaimSpec, place: Place) -> None:
        """Check a claim, and check its verdicts if the claim has no errors."""
        self.problems.extend(_record_problems(spec.record, place))
        before = len(self.problems)
        reader = StatementReader(
            printed_wording(spec.record), spec.vocabulary, place, self.problems
        )
        statement = reader.read(spec.record, spec.key, {})
        self.problems.extend(_divisor_problems(spec.record, statement, place))
        if len(self.problems) == before:
            self.check_verdicts(spec)

    def check_verdicts(self, spec: ClaimSpec) -> None:
        """Check the readings and amendments of a claim's verdicts."""
        place = self.verdicts_place.in_record(spec.record.id)
        pins = [
            pinned.status
            for verdict in spec.verdicts
            for pinned in (verdict, *verdict.beside)
        ]
        for pin in pins if spec.record.witnesses else ():
            if pin in HOLDS[:-1]:
                rule = f"a claim about all mechanisms that is judged on some of them is at best {HOLDS[-1]!r}"
                self.problems.append(place.at("status").error(shown(pin), rule))
        faults = [
            p
            for v in spec.verdicts
            for p in reading_problems(spec.record, v.reading, place.at("reading"))
        ]
        self.problems.extend(faults or _tied_verdicts(spec, place))
        for verdict in spec.verdicts:
            if (verdict.severity is None) == (verdict.status == "refuted"):
                rule = f"what falls ({', '.join(SEVERITIES)}) is said of a refuted claim, and of no other"
                self.problems.append(
                    place.at("severity").error(shown(verdict.severity or ""), rule)
                )
            if verdict.reported and (
                verdict.status != "refuted" or not verdict.reported.strip()
            ):
                rule = "who reported an error before, and where, is said of a refuted claim"
                self.problems.append(
                    place.at("reported").error(shown(verdict.reported), rule)
                )
            wordings = (
                [amended_wording(spec.record, verdict.amendment)]
                if verdict.amendment is not None
                else []
            )
            if verdict.holds is not None:
                wordings.append(held_wording(spec.record, verdict.holds))
                if verdict.status != "refuted":
                    self.problems.append(
                        place.at("holds").error(
                            "", "where a claim holds is said of a refuted one"
                        )
                    )
            for wording in wordings:
                StatementReader(wording, spec.vocabulary, place, self.problems).read(
                    spec.record, spec.key, {}
                )


def _edges_of(
    kind: Kind, edges: Iterable[tuple[Compare, list[Kind]]]
) -> tuple[Compare, ...]:
    return tuple(relation for relation, kinds in edges if not kinds or kind in kinds)


def _paper_problems(info: PaperInfo, folder: str, place: Place) -> Iterator[SpecError]:
    """Yield the errors in a paper's key."""
    key_place = place.at("paper.key")
    if not _KEY.fullmatch(info.key):
        yield key_place.error(
            shown(info.key),
            "a key is a small letter, then small letters, digits and underscores",
        )
    elif info.key != folder:
        yield key_place.error(
            shown(info.key), f"the key is the name of the folder, {folder!r}"
        )


def _record_problems(record: Claim, place: Place) -> Iterator[SpecError]:
    """Yield the errors in a claim's id, witnesses and readings."""
    if not _ID.fullmatch(record.id):
        rule = "an id is kind-number-slug in small letters, digits and dots, such as lemma-12 or theorem-4-dp"
        yield place.at("id").error(shown(record.id), rule)
    for witness in record.witnesses:
        if not witness.strip():
            yield place.at("witnesses").error(
                shown(witness), "a witness is named in words"
            )
    for name in _twice(reading.name for reading in record.reading):
        yield place.at("reading").error(
            shown(name), "a reading is given once, this one twice"
        )
    for i, reading in enumerate(record.reading):
        choices_place = place.at(f"reading[{i}].choices")
        for word in (reading.name, *reading.choices):
            if not _CHOICE.fullmatch(word):
                rule = "a reading and its choices are words of letters, digits, dots, dashes and underscores"
                yield place.at(f"reading[{i}]").error(shown(word), rule)
        for choice in _twice(reading.choices):
            yield choices_place.error(
                shown(choice), "a choice is given once, this one twice"
            )
        if len(reading.choices) < 2:
            yield choices_place.error(
                shown(", ".join(reading.choices)),
                "a reading offers two choices or more",
            )
    count = math.prod(len(reading.choices) for reading in record.reading)
    if count > MAX_READINGS:
        yield place.at("reading").error(
            shown(count), f"a claim has at most {MAX_READINGS} combinations of choices"
        )


def _divisor_problems(
    record: Claim, statement: Statement, place: Place
) -> Iterator[SpecError]:
    """Yield an error for each recorded divisor that does not divide the printed side, or whose relation is not <=."""
    nodes = () if statement.rhs is None else walk(statement.rhs)
    divisors = [
        node.right for node in nodes if isinstance(node, Bin) and node.op == "/"
    ]
    # the last conditions say that the divisors are not 0
    zeros = statement.requires[len(record.requires) :]
    for i, condition in enumerate(zeros):
        if condition.operands[0] not in divisors or record.relation != "<=":
            rule = "a divisor of the printed side, which is infinite where it is 0; the relation is <="
            yield place.at(f"divisors[{i}]").error(
                shown(to_text(condition.operands[0])), rule
            )


def _tied_verdicts(spec: ClaimSpec, place: Place) -> Iterator[SpecError]:
    """Yield an error if two verdicts fit the same choices and name equally many of them."""
    if (
        math.prod(len(reading.choices) for reading in spec.record.reading)
        > MAX_READINGS
    ):
        return
    for reading in spec.readings():
        fitting = [
            len(v.reading)
            for v in spec.verdicts
            if v.reading.items() <= reading.items()
        ]
        if fitting and fitting.count(max(fitting)) > 1:
            choices = (
                ", ".join(f"{name}={choice}" for name, choice in reading.items())
                or "the claim"
            )
            yield place.at("reading").error(
                shown(choices), "two verdicts fit equally well"
            )
            return


def _twice(words: Iterable[str]) -> list[str]:
    """Return the words that occur more than once."""
    return [word for word, count in Counter(words).items() if count > 1]
