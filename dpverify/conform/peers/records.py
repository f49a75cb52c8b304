"""What is recorded of optimizers of other libraries, and of a catalogue of mistakes: ``data/peers.json``."""

from __future__ import annotations

from typing import Literal

from dpverify.ledger.records import Record

SEVERITIES = {
    "privacy": "the release is less private than promised",
    "utility": "the release is as private as promised, but not what is wanted",
    "numerical": "infinite or undefined numbers, or an error",
    "documented": "the library documents this, or promises less than the adapter",
}


class PeerTest(Record, frozen=True, kw_only=True):
    """One test of the conformance kit, in its own words."""

    name: str
    passed: bool
    found: str
    sees: str
    tested: bool = True  # otherwise ``found`` is the reason why it could not be run


class Peer(Record, frozen=True, kw_only=True):
    """An optimizer and what its tests found. ``versions``: of the libraries that its file imports."""

    target: str  # file and function that make it
    says: str  # the function's own first line
    promise: str
    epsilon: list[float]  # bounds for a thousand such steps at delta = 1e-5; none where none is certified
    versions: dict[str, str]
    tests: list[PeerTest]
    severity: str = ""  # of what was found: one of SEVERITIES
    documented: str = ""  # what the library documents of it
    command: str = ""  # that made this record, if it is not the command of the whole run
    commit: str = ""

    @property
    def failed(self) -> list[PeerTest]:
        """The tests that found a fault."""
        return [test for test in self.tests if test.tested and not test.passed]

    @property
    def untested(self) -> list[PeerTest]:
        """The tests that could not be run."""
        return [test for test in self.tests if not test.tested]


class Answer(Record, frozen=True, kw_only=True):
    """What another auditor said of an optimizer; nothing found: an empty text."""

    auditor: str
    says: str
    broken: bool  # it raised, and ``says`` is what
    seconds: float  # of processor


class CatalogueEntry(Record, frozen=True, kw_only=True):
    """An optimizer of a catalogue: in how many seeds the kit found a fault, and which test most often was the first."""

    target: str
    name: str
    found: int
    by: str
    untested: list[str] = []  # tests that could not be run, in any seed
    seconds: float  # of processor, for a seed, until the first fault
    answers: list[Answer]


class Catalogue(Record, frozen=True, kw_only=True):
    """Optimizers by their names, which the kit was run on with many seeds, and other auditors with the first."""

    commit: str
    seed: int
    seeds: int
    alpha: float
    command: str
    auditors: dict[str, str]  # what their functions say of themselves, and versions
    entries: list[CatalogueEntry]


class SeededRun(Record, frozen=True, kw_only=True):
    """Optimizers of one target, which the kit was run on with many seeds, and in how many runs it found a fault."""

    target: str
    versions: dict[str, str]  # of the libraries that its file imports
    commit: str
    command: str
    seed: int
    seeds: int
    entries: list[CatalogueEntry]
    limits: list[float]  # Clopper-Pearson, of the rate of such runs, each with confidence 95%

    @property
    def runs(self) -> int:
        """How often the kit was run."""
        return self.seeds * len(self.entries)

    @property
    def faults(self) -> int:
        """In how many runs it found a fault."""
        return sum(entry.found for entry in self.entries)


class CardRun(Record, frozen=True, kw_only=True):
    """A run on a graphics card: optimizers, and catalogues with one or more seeds."""

    card: str
    commit: str
    seeds: int
    command: str
    peers: list[Peer]
    entries: list[CatalogueEntry]


class PeersRun(Record, frozen=True, kw_only=True):
    """A whole run, ``data/peers.json``."""

    schema: Literal[1] = 1
    kind: Literal["dpverify peers"] = "dpverify peers"
    commit: str
    seed: int
    alpha: float
    command: str
    peers: list[Peer]
    catalogue: Catalogue | None = None
    seeded: list[SeededRun] = []
    card: CardRun | None = None  # by default there was no card
