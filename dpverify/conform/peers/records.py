"""Schema of ``data/peers.json``: tests of optimizers of other libraries and of a catalogue of mistakes."""

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
    """Result of one conformance test."""

    name: str
    passed: bool
    found: str
    sees: str
    tested: bool = True  # if False, ``found`` says why it could not be run


class Peer(Record, frozen=True, kw_only=True):
    """An optimizer and its test results. ``versions`` are those of the libraries that its file imports."""

    target: str  # file and function that build the optimizer
    says: str  # docstring of the function
    promise: str
    # bounds for 1000 steps at delta = 1e-5; empty if none are certified
    epsilon: list[float]
    versions: dict[str, str]
    tests: list[PeerTest]
    severity: str = ""  # severity of the finding, one of SEVERITIES
    documented: str = ""  # the library's documentation of the finding
    command: str = ""  # command that made this record, if not that of the whole run
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
    """Answer of another auditor about an optimizer; ``says`` is empty if it found nothing."""

    auditor: str
    says: str
    broken: bool  # the auditor raised the exception in ``says``
    seconds: float  # processor time


class CatalogueEntry(Record, frozen=True, kw_only=True):
    """An optimizer of a catalogue: number of seeds with a fault, and the test that most often found the first fault."""

    target: str
    name: str
    found: int
    by: str
    untested: list[str] = []  # tests that could not be run with some seed
    seconds: float  # processor time per seed, until the first fault
    answers: list[Answer]


class Catalogue(Record, frozen=True, kw_only=True):
    """Results on a catalogue of optimizers: conformance tests with many seeds, other auditors with the first seed."""

    commit: str
    seed: int
    seeds: int
    alpha: float
    command: str
    auditors: dict[str, str]  # docstrings of their functions, with library versions
    entries: list[CatalogueEntry]


class SeededRun(Record, frozen=True, kw_only=True):
    """Results of conformance tests with many seeds on the optimizers of one target."""

    target: str
    versions: dict[str, str]  # versions of the libraries that its file imports
    commit: str
    command: str
    seed: int
    seeds: int
    entries: list[CatalogueEntry]
    # Clopper-Pearson limits of the rate of runs with a fault, each with confidence 95%
    limits: list[float]

    @property
    def runs(self) -> int:
        """Number of runs of the conformance tests."""
        return self.seeds * len(self.entries)

    @property
    def faults(self) -> int:
        """Number of runs with a fault."""
        return sum(entry.found for entry in self.entries)


class CardRun(Record, frozen=True, kw_only=True):
    """Results on a graphics card: optimizers, and catalogues with one or more seeds."""

    card: str
    commit: str
    seeds: int
    command: str
    peers: list[Peer]
    entries: list[CatalogueEntry]


class PeersRun(Record, frozen=True, kw_only=True):
    """The whole record, ``data/peers.json``."""

    schema: Literal[1] = 1
    kind: Literal["dpverify peers"] = "dpverify peers"
    commit: str
    seed: int
    alpha: float
    command: str
    peers: list[Peer]
    catalogue: Catalogue | None = None
    seeded: list[SeededRun] = []
    card: CardRun | None = None  # None if there was no card
