"""What the tools of ``dpverify selftest`` record: planted faults, changes of modules, error rates, searches."""

from __future__ import annotations

from typing import Literal

from dpverify.ledger.records import Record, Status

Detection = Literal[
    "pin contradicted",
    "sources disagree",
    "control missed",
    "slack moved",
    "proof lost",
    "assertion failed",
    "exception raised",
    "nothing",
    "did not run",
    "time limit",
]


MARKS: dict[Detection, str] = {"nothing": "✗ not seen", "did not run": "✗ did not run", "time limit": "✗ time limit"}
"""What is not to see a fault, with its words."""


class Sighting(Record, frozen=True, kw_only=True):
    """What became of one claim or test while a fault was planted: what it saw, by which checks, and their sizes."""

    check: str
    saw: Detection
    by: list[str] = []
    detects: list[str] = []

    @property
    def noticed(self) -> bool:
        """Whether it saw the fault."""
        return self.saw not in MARKS

    @property
    def is_claim(self) -> bool:
        """Whether it is a claim and not a test."""
        return not self.check.startswith("tests/")


class FaultOutcome(Record, frozen=True, kw_only=True):
    """One fault, and what each that must notice it saw."""

    id: str
    kind: str
    what: str
    module: str
    size: str = ""
    seconds: float = 0.0
    sightings: list[Sighting] = []
    error: str = ""  # why it could not be planted
    key: str = ""  # of a machine's change: what the outcome is remembered by

    @property
    def noticed(self) -> bool:
        """Whether anybody saw it."""
        return any(sighting.noticed for sighting in self.sightings)

    @property
    def missed(self) -> list[str]:
        """Those that did not see it."""
        return [sighting.check for sighting in self.sightings if not sighting.noticed] or [self.error] * bool(
            self.error
        )


class Selftest(Record, frozen=True, kw_only=True):
    """A whole run, ``data/selftest.json``. ``modules``: all that hold code. ``kinds``: the catalogue's, with titles."""

    schema: Literal[1] = 1
    kind: Literal["dpverify selftest"] = "dpverify selftest"
    versions: dict[str, str]
    commit: str
    machine: dict[str, str]
    kinds: dict[str, str]
    modules: list[str]
    faults: list[FaultOutcome]
    catalogue: int  # faults there are; those that are not among `faults` were not asked for

    @property
    def missed(self) -> list[FaultOutcome]:
        """Faults that something which must see them does not."""
        return [fault for fault in self.faults if fault.missed]


NOTHING_RUNS = "after each of its changes, nobody who is asked runs"  # as the records have it


class MutantsRun(Record, frozen=True, kw_only=True):
    """A run, ``data/mutants.json``: the last change that was tried in each module, wordless where there is none.

    Modules without one have not been looked at yet: what is recorded is kept, and a later run goes on from there.
    """

    schema: Literal[1] = 1
    kind: Literal["dpverify mutants"] = "dpverify mutants"
    commit: str
    modules: list[str]  # that hold code and no fault of the catalogue
    changes: list[FaultOutcome]

    @property
    def noticed(self) -> list[FaultOutcome]:
        """Changes that something noticed."""
        return [change for change in self.changes if change.noticed]

    @property
    def unseen(self) -> list[FaultOutcome]:
        """Changes of modules none of whose changes was noticed."""
        explained = [*self.noticed, *self.broken]
        return [change for change in self.changes if change.what and change not in explained]

    @property
    def broken(self) -> list[FaultOutcome]:
        """Changes after which nothing runs that uses the module."""
        return [change for change in self.changes if change.error == NOTHING_RUNS]

    @property
    def untried(self) -> list[str]:
        """Modules that have nothing to change."""
        return sorted(change.module for change in self.changes if not change.what)

    @property
    def waiting(self) -> list[str]:
        """Modules that nobody has looked at yet."""
        return sorted(set(self.modules) - {change.module for change in self.changes})


class CheckRates(Record, frozen=True, kw_only=True):
    """One check of one statement, over all seeds: what it said, and of its planted faults those that it refuted.

    ``budget``: what it was run with. ``pinned``: our verdict on the statement. ``planted``: runs with a fault of the
    declared size, ``seen`` of which refuted it; each should be refuted with the chance ``power``, and is with at least
    ``power_at_least``, as 95 of 100 such limits say. ``wrong``: more was refuted, or fewer faults were, than the stated
    rates explain.
    """

    check: str
    budget: str = "smoke"
    pinned: Status
    alpha: float
    power: float
    detects: str
    says: list[Status]
    planted: int
    seen: int
    power_at_least: float
    wrong: bool

    @property
    def false_reds(self) -> int:
        """How often a statement was refuted that we do not call refuted."""
        return count_false_reds(self.pinned, self.says)


def count_false_reds(pinned: Status, statuses: list[Status]) -> int:
    """Refutations of a statement that we do not call refuted."""
    return 0 if pinned == "refuted" else statuses.count("refuted")


class RatesRun(Record, frozen=True, kw_only=True):
    """A whole run, ``data/rates.json``. ``budget``: the largest one that a check had."""

    schema: Literal[1] = 1
    kind: Literal["dpverify rates"] = "dpverify rates"
    budget: str
    seeds: int
    checks: list[CheckRates]

    @property
    def wrong(self) -> list[CheckRates]:
        """Checks with other rates than they state."""
        return [rates for rates in self.checks if rates.wrong]


class Trial(Record, frozen=True, kw_only=True):
    """One search with one seed: the points it looked at, and the simplest counterexample, if it found one."""

    seed: int
    points: int
    found: dict[str, str] = {}
    bits: int = 0  # that it takes to write the counterexample down


class Hunted(Record, frozen=True, kw_only=True):
    """One inequality, and what the searches of each budget saw."""

    name: str
    kind: str  # "" where it is true
    says: str
    requires: list[str]
    bits: int  # of the counterexample that came with it; 0 where it is true
    trials: dict[str, list[Trial]]  # by budget

    def found(self, budget: str) -> list[Trial]:
        """The trials that found a counterexample."""
        return [trial for trial in self.trials[budget] if trial.found]


class SearchRun(Record, frozen=True, kw_only=True):
    """A whole run, ``data/search.json``. ``seconds``: what a search may cost, by budget."""

    schema: Literal[1] = 1
    kind: Literal["dpverify search"] = "dpverify search"
    kinds: dict[str, str]
    seconds: dict[str, float]
    inequalities: list[Hunted]

    @property
    def false(self) -> list[Hunted]:
        """Those that are false."""
        return [hunted for hunted in self.inequalities if hunted.kind]

    @property
    def wrong(self) -> list[Hunted]:
        """True ones that were refuted."""
        return [hunted for hunted in self.inequalities if not hunted.kind and any(map(hunted.found, hunted.trials))]
