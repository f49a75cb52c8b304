"""What a paper prints, as typed records of text, and apart from it what we say of a claim, in :class:`Verdict`."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal[
    "expectation-bound",
    "sensitivity",
    "rdp",
    "dp",
    "identity",
    "inequality",
    "count",
    "run-time",
    "utility-rate",
    "algorithm",
    "note",  # of ours, on what the paper does not say: whoever runs it has to know it
    "tool",
]
Relation = Literal["<=", ">=", "=", "<", ">", "O", "O~"]
Status = Literal[
    "proved",
    "proved given",
    "argued",
    "not refuted",
    "not refuted on witnesses",
    "refuted",
    "inconclusive",
    "untested",
]
SourceText = Literal["full", "main", "both"]
Severity = Literal["privacy", "utility", "constant", "boundary", "proof", "misprint"]

RelationToDerived = Literal["equal", "weaker", "stronger", "differs", "undecided"]
"""How a formula compares with another one that it should be: one that we derived, or one that a paper quotes."""

SEVERITIES: dict[Severity, str] = {
    "privacy": "data are less private than stated",
    "utility": "the error, or the cost of reaching it, is larger than stated",
    "constant": "a constant or a logarithmic factor is wrong",
    "boundary": "it fails only at parameters that nobody uses",
    "proof": "a proof step or a line of an algorithm is wrong; the statements that rely on it are unaffected",
    "misprint": "the surrounding text shows what is meant",
}
"""What falls with a refuted claim, the worst first."""


ORDERS: tuple[Relation, ...] = ("O", "O~")
"""The left side is at most a constant times the right one; with the tilde, times a power of logarithms as well."""

HOLDS: tuple[Status, ...] = ("proved", "proved given", "argued", "not refuted", "not refuted on witnesses")
"""What is said of a statement that nothing speaks against, the strongest word first."""

SHOWN: tuple[Status, ...] = HOLDS[:3]
"""Those that rest on more than on a search or a simulation that found nothing."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all records: immutable, and an unknown field is an error."""


def encode(record: Record) -> bytes:
    """Encode a record as JSON, indented, one trailing newline."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


class PaperInfo(Record, frozen=True, kw_only=True):
    """The paper a spec folder transcribes."""

    key: str
    title: str
    authors: list[str]
    venue: str
    texts: dict[str, str]


Role = Literal["epsilon", "delta", "rate", "sigma", "steps", "examples", "dimension"]
"""What a letter is to those who run the paper's algorithm: which of its values are ordinary follows from it."""


class Symbol(Record, frozen=True, kw_only=True):
    """A letter of the paper: how it is set, where it lives, what it means, and its long name in our API."""

    latex: str
    domain: str
    meaning: str
    api: str = ""
    role: Role | None = None


class Function(Record, frozen=True, kw_only=True):
    """A named function of the paper that formulas may apply, such as ``G_win(a, b)``."""

    latex: str
    arity: int
    meaning: str


class Quantity(Record, frozen=True, kw_only=True):
    """Something that code measures and a printed formula bounds, such as ``expected_noise_norm``."""

    latex: str
    meaning: str


class AssumptionRecord(Record, frozen=True, kw_only=True):
    """A condition that a paper's claims may name by a tag, beside the tags that every paper may use."""

    meaning: str
    arguments: int = 0  # how many symbols it names


class Let(Record, frozen=True, kw_only=True):
    """A definition or parameter choice, solved for one symbol."""

    symbol: str
    value: str


class Reading(Record, frozen=True, kw_only=True):
    """A place where the paper can be read in more than one way; the first choice is the default."""

    name: str
    choices: list[str]
    meaning: str


class Quotation(Record, frozen=True, kw_only=True):
    """What a claim says of a claim of another recorded paper, and how the two formulas compare."""

    claim: str  # the quoted claim by its full id, or a work that is not recorded: "Song et al. (2021)"
    side: Literal["printed", "lhs"] = "printed"  # of the quoted claim
    formula: str | None = (
        None  # what is said to be printed there, if not the printed side of this claim; empty if in words
    )
    requires: list[str] = []  # conditions of the comparison
    letters: dict[str, str] = {}  # letters of this paper that have another name in the quoted one
    compared: RelationToDerived | None = None  # the comparison, as recorded; None if one of the two is in words
    says: str  # what this claim says of the other paper, in one sentence
    remark: str = ""  # our sentence on it, if the verdict's reason does not say it


class Claim(Record, frozen=True, kw_only=True):
    """One statement of the paper, verbatim and as a formula (or in words, where there is no formula)."""

    id: str
    where: str
    source: SourceText
    quote: str
    kind: Kind
    relation: Relation | None = None
    quantity: str | None = None
    lhs: str | None = None
    printed: str | None = None
    hides: list[str] = []
    statement: str | None = None
    requires: list[str] = []
    # Divisors of the printed side that are at least 0: where one is 0, that side is infinite, and nothing is claimed.
    divisors: list[str] = []
    assumes: list[str] = []
    let: list[Let] = []
    reading: list[Reading] = []
    uses: list[str] = []
    quotes: list[Quotation] = []
    # The mechanisms for which its formulas are, if the claim is about all mechanisms: it is judged on these only.
    witnesses: list[str] = []
    transcription: str = ""


class ClaimsFile(Record, frozen=True, kw_only=True):
    """``specs/<paper>/claims.toml``."""

    paper: PaperInfo
    symbols: dict[str, Symbol]
    functions: dict[str, Function] = {}
    quantities: dict[str, Quantity] = {}
    assumptions: dict[str, AssumptionRecord] = {}
    claim: list[Claim] = []


class Amendment(Record, frozen=True, kw_only=True):
    """A corrected statement, in the form of the claim that it replaces and judged by the same checks."""

    formula: str | None = None
    statement: str | None = None
    relation: Relation | None = None
    requires: list[str] | None = None
    assumes: list[str] | None = None
    let: list[Let] | None = None
    status: Status = "untested"
    tight: bool = False  # as in Verdict
    corrects: bool = True  # false where it is what holds of anything of the kind: nothing better is known
    only_restates: bool = False  # whether a condition says what is claimed: then it says where that holds, and no more
    why: str


class Regime(Record, frozen=True, kw_only=True):
    """Where a refuted claim holds as it is printed: conditions besides its own, judged like an amendment."""

    requires: list[str]
    status: Status = "untested"
    why: str


class Verdict(Record, frozen=True, kw_only=True):
    """What we say of a claim, for one choice of its readings (all of them where ``reading`` is empty)."""

    claim: str
    reading: dict[str, str] = {}
    status: Status
    severity: Severity | None = None  # what falls, where the claim is refuted
    tight: bool = False  # whether the printed side is reached: a search that no longer finds so is not what it was
    reason: str = ""
    findings: list[str] = []
    reported: str = ""  # who reported the error before, and where
    holds: Regime | None = None  # it can stand beside an amendment that says something else
    amendment: Amendment | None = None

    @property
    def beside(self) -> list[Amendment | Regime]:
        """What it says beside the printed statement."""
        return [statement for statement in (self.amendment, self.holds) if statement is not None]


class Edge(Record, frozen=True, kw_only=True):
    """Where nobody runs what a paper describes; a refuted claim that holds everywhere else fails at a boundary."""

    when: str
    kinds: list[Kind] = []  # the claims to which it is one; all where there are none


class VerdictsFile(Record, frozen=True, kw_only=True):
    """``specs/<paper>/verdicts.toml``."""

    strict_pins: bool = False  # whether a claim that is refuted, inconclusive or untested without a pin fails a run
    edge: list[Edge] = []
    verdict: list[Verdict] = []
