"""Typed records of the text of a paper, and separately our judgement of a claim, in :class:`Verdict`."""

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
    # our note on something that the paper does not say and that its users have to know
    "note",
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
"""How a formula compares with the formula that it should equal: one that we derived, or one that a paper quotes."""

SEVERITIES: dict[Severity, str] = {
    "privacy": "data are less private than stated",
    "utility": "the error, or the cost of reaching it, is larger than stated",
    "constant": "a constant or a logarithmic factor is wrong",
    "boundary": "it fails only at parameters that nobody uses",
    "proof": "a proof step or a line of an algorithm is wrong; the statements that rely on it are unaffected",
    "misprint": "the surrounding text shows what is meant",
}
"""Severities of a refuted claim, worst first, with their meaning."""


ORDERS: tuple[Relation, ...] = ("O", "O~")
"""The left side is at most a constant times the right side; ``O~`` also allows powers of logarithms."""

HOLDS: tuple[Status, ...] = (
    "proved",
    "proved given",
    "argued",
    "not refuted",
    "not refuted on witnesses",
)
"""Statuses of a statement without evidence against it, strongest first."""

SHOWN: tuple[Status, ...] = HOLDS[:3]
"""Statuses with stronger evidence than a search or a simulation that found no violation."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base class of all records. A record is immutable, and an unknown field is an error."""


def encode(record: Record) -> bytes:
    """Encode a record as indented JSON with one trailing newline."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


class PaperInfo(Record, frozen=True, kw_only=True):
    """The paper a spec folder transcribes."""

    key: str
    title: str
    authors: list[str]
    venue: str
    texts: dict[str, str]


Role = Literal["epsilon", "delta", "rate", "sigma", "steps", "examples", "dimension"]
"""Meaning of a letter to users of the paper's algorithm. It determines which values of the letter are usual."""


class Symbol(Record, frozen=True, kw_only=True):
    """A letter of the paper: its LaTeX, its domain, its meaning, and its long name in our API."""

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
    """A condition that a paper's claims may name by a tag, in addition to the tags that every paper may use."""

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
    """A claim's statement about a claim of another paper, and how the two formulas compare."""

    # the quoted claim by its full id, or a work
    # that is not recorded: "Song et al. (2021)"
    claim: str
    side: Literal["printed", "lhs"] = "printed"  # of the quoted claim
    formula: str | None = (
        # the formula that the other paper is said to print; None: printed side of this
        # claim; empty: in words
        None
    )
    requires: list[str] = []  # conditions of the comparison
    # letters of this paper that have another name in the quoted paper
    letters: dict[str, str] = {}
    # the recorded comparison; None if one of the two is in words
    compared: RelationToDerived | None = None
    says: str  # what this claim says about the other paper, in one sentence
    remark: str = ""  # our remark on it, if the verdict's reason does not contain it


class Claim(Record, frozen=True, kw_only=True):
    """One statement of the paper, verbatim and as a formula (or in words if there is no formula)."""

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
    # Divisors of the printed side that are at least 0. If one is 0, that side is
    # infinite, and nothing is claimed.
    divisors: list[str] = []
    assumes: list[str] = []
    let: list[Let] = []
    reading: list[Reading] = []
    uses: list[str] = []
    quotes: list[Quotation] = []
    # If the claim is about all mechanisms: the mechanisms that its formulas describe.
    # It is judged on these only.
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
    """A corrected statement with the fields of the claim that it replaces, judged by the same checks."""

    formula: str | None = None
    statement: str | None = None
    relation: Relation | None = None
    requires: list[str] | None = None
    assumes: list[str] | None = None
    let: list[Let] | None = None
    status: Status = "untested"
    tight: bool = False  # as in Verdict
    # false if it is only a general bound, because no correction is known
    corrects: bool = True
    # whether a condition is equivalent to the
    # claimed inequality, so nothing is corrected
    only_restates: bool = False
    why: str


class Regime(Record, frozen=True, kw_only=True):
    """Additional conditions under which a refuted claim holds as printed, judged like an amendment."""

    requires: list[str]
    status: Status = "untested"
    why: str


class Verdict(Record, frozen=True, kw_only=True):
    """Our judgement of a claim, for one choice of its readings (for all readings if ``reading`` is empty)."""

    claim: str
    reading: dict[str, str] = {}
    status: Status
    severity: Severity | None = None  # the consequence, if the claim is refuted
    # whether the bound is attained; a search
    # that no longer finds this has become weaker
    tight: bool = False
    reason: str = ""
    findings: list[str] = []
    reported: str = ""  # who reported the error before us, and where
    # possible together with an amendment that states something else
    holds: Regime | None = None
    amendment: Amendment | None = None

    @property
    def beside(self) -> list[Amendment | Regime]:
        """The amendment and the regime, if they exist."""
        return [
            statement
            for statement in (self.amendment, self.holds)
            if statement is not None
        ]


class Edge(Record, frozen=True, kw_only=True):
    """A condition on parameters that are not used in practice.

    A refuted claim that holds at all other parameters has the severity "boundary".
    """

    when: str
    kinds: list[Kind] = []  # kinds of claims to which it applies; all kinds if empty


class VerdictsFile(Record, frozen=True, kw_only=True):
    """``specs/<paper>/verdicts.toml``."""

    # whether a refuted, inconclusive or untested
    # claim without a verdict here fails a run
    strict_pins: bool = False
    edge: list[Edge] = []
    verdict: list[Verdict] = []
