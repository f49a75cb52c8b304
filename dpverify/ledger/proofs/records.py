"""Records of ``proofs.toml``: proofs of claims, lemmas, and abbreviations that both may use."""

from __future__ import annotations

from dpverify.ledger.records import Record
from dpverify.ledger.statements import Variant


class GivenPremise(Record, frozen=True, kw_only=True):
    """A relation that proofs take for granted: what rests on it is proved given its words."""

    id: str
    words: str
    says: str  # left side, relation and right side, in the letters of the proofs that cite it
    requires: list[str] = []


class Lemma(Record, frozen=True, kw_only=True):
    """A relation of two formulas that proofs of the same paper may cite by its id."""

    id: str
    words: str = ""
    letters: dict[str, str] = {}  # domains of letters; those of the paper's symbols are in claims.toml
    requires: list[str] = []
    let: dict[str, str] = {}
    chain: str


class Proof(Record, frozen=True, kw_only=True):
    """A chain from the left side of a claim to its right side, or to a formula from which that follows."""

    of: str
    variant: Variant = "printed"
    reading: dict[str, str] = {}  # choices for which it holds; all where there are none
    words: str = ""
    letters: dict[str, str] = {}  # what the measured quantity ranges over and the claim does not mention
    let: dict[str, str] = {}
    divide: str = ""  # a whole letter by its quotient and remainder: ``T = epochs*N + rest``
    known: list[str] = []  # lemmas of which every line may use what they say
    unused: list[str] = []  # letters of the claim whose conditions no line uses
    points: list[str] = []  # where sample points are drawn, if the conditions give none: ``n >= 10**8``
    chain: str


class ProofsFile(Record, frozen=True, kw_only=True):
    """``specs/<paper>/proofs.toml``."""

    let: dict[str, str] = {}
    given: list[GivenPremise] = []
    lemma: list[Lemma] = []
    proof: list[Proof] = []
