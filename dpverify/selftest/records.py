"""Records of ``dpverify selftest``: planted faults, mutations of modules, error rates, and searches."""

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


MARKS: dict[Detection, str] = {
    "nothing": "✗ not seen",
    "did not run": "✗ did not run",
    "time limit": "✗ time limit",
}
"""Results that do not count as seeing a fault, with their labels."""


class Sighting(Record, frozen=True, kw_only=True):
    """What one claim or test saw of a planted fault, with the checks that saw it and the sizes that they detect."""

    check: str
    saw: Detection
    by: list[str] = []
    detects: list[str] = []

    @property
    def noticed(self) -> bool:
        """Whether the claim or test saw the fault."""
        return self.saw not in MARKS

    @property
    def is_claim(self) -> bool:
        """Whether this is about a claim and not a test."""
        return not self.check.startswith("tests/")


class FaultOutcome(Record, frozen=True, kw_only=True):
    """One fault, and what the claims and tests that must notice it saw."""

    id: str
    kind: str
    what: str
    module: str
    size: str = ""
    seconds: float = 0.0
    sightings: list[Sighting] = []
    error: str = ""  # why the fault could not be planted or tested
    key: str = ""  # of a mutation: key of the stored outcome

    @property
    def noticed(self) -> bool:
        """Whether any claim or test saw the fault."""
        return any(sighting.noticed for sighting in self.sightings)

    @property
    def missed(self) -> list[str]:
        """Claims and tests that did not see the fault, or the error."""
        return [
            sighting.check for sighting in self.sightings if not sighting.noticed
        ] or [self.error] * bool(self.error)


class Selftest(Record, frozen=True, kw_only=True):
    """A complete run, ``data/selftest.json``. ``modules``: all modules with code. ``kinds``: fault kinds and titles."""

    schema: Literal[1] = 1
    kind: Literal["dpverify selftest"] = "dpverify selftest"
    versions: dict[str, str]
    commit: str
    machine: dict[str, str]
    kinds: dict[str, str]
    modules: list[str]
    faults: list[FaultOutcome]
    # number of faults in the catalogue; `faults` has only the requested faults
    catalogue: int

    @property
    def missed(self) -> list[FaultOutcome]:
        """Faults that at least one claim or test failed to see."""
        return [fault for fault in self.faults if fault.missed]


# existing records have this text
NOTHING_RUNS = "after each of its changes, nobody who is asked runs"


class MutantsRun(Record, frozen=True, kw_only=True):
    """A run, ``data/mutants.json``, with the last change tried in each module; ``what`` is empty if there is no change.

    Modules without an entry in ``changes`` have not been tested yet. A later run keeps the entries and continues.
    """

    schema: Literal[1] = 1
    kind: Literal["dpverify mutants"] = "dpverify mutants"
    commit: str
    modules: list[str]  # modules with code and without a fault in the catalogue
    changes: list[FaultOutcome]

    @property
    def noticed(self) -> list[FaultOutcome]:
        """Changes that a claim or test noticed."""
        return [change for change in self.changes if change.noticed]

    @property
    def unseen(self) -> list[FaultOutcome]:
        """Changes of modules in which no change was noticed, although tests ran."""
        explained = [*self.noticed, *self.broken]
        return [
            change for change in self.changes if change.what and change not in explained
        ]

    @property
    def broken(self) -> list[FaultOutcome]:
        """Changes after which no test or claim that uses the module runs."""
        return [change for change in self.changes if change.error == NOTHING_RUNS]

    @property
    def untried(self) -> list[str]:
        """Modules without code that can be changed."""
        return sorted(change.module for change in self.changes if not change.what)

    @property
    def waiting(self) -> list[str]:
        """Modules that have not been tested yet."""
        return sorted(set(self.modules) - {change.module for change in self.changes})


class CheckRates(Record, frozen=True, kw_only=True):
    """One check of one statement over all seeds: its verdicts, and how many of its planted faults it refuted.

    ``budget``: the budget of the runs. ``pinned``: the recorded verdict on the statement. ``planted``: number of runs
    with a fault of the declared size; ``seen``: how many of them refuted the fault. The check declares the ``power`` to
    refute it. ``power_at_least``: lower 95% confidence limit of the power. ``wrong``: there are more refutations of the
    statement, or fewer of the faults, than the declared rates explain.
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
    def false_refutations(self) -> int:
        """Number of refutations of a statement whose recorded verdict is not "refuted"."""
        return count_false_refutations(self.pinned, self.says)


def count_false_refutations(pinned: Status, statuses: list[Status]) -> int:
    """Return the number of refutations of a statement whose recorded verdict is not "refuted"."""
    return 0 if pinned == "refuted" else statuses.count("refuted")


class RatesRun(Record, frozen=True, kw_only=True):
    """A complete run, ``data/rates.json``. ``budget``: the largest budget of a check."""

    schema: Literal[1] = 1
    kind: Literal["dpverify rates"] = "dpverify rates"
    budget: str
    seeds: int
    checks: list[CheckRates]

    @property
    def wrong(self) -> list[CheckRates]:
        """Checks whose rates differ from the declared rates."""
        return [rates for rates in self.checks if rates.wrong]


class Trial(Record, frozen=True, kw_only=True):
    """One search with one seed: the number of points, and the simplest counterexample, if it found any."""

    seed: int
    points: int
    found: dict[str, str] = {}
    bits: int = 0  # length of the counterexample in bits


class SearchedInequality(Record, frozen=True, kw_only=True):
    """One inequality, and the results of the searches with each budget."""

    name: str
    kind: str  # "" for a true inequality
    says: str
    requires: list[str]
    bits: int  # length of the known counterexample; 0 for a true inequality
    trials: dict[str, list[Trial]]  # by budget

    def found(self, budget: str) -> list[Trial]:
        """Return the trials that found a counterexample."""
        return [trial for trial in self.trials[budget] if trial.found]


class SearchRun(Record, frozen=True, kw_only=True):
    """A complete run, ``data/search.json``. ``seconds``: time for one search, by budget."""

    schema: Literal[1] = 1
    kind: Literal["dpverify search"] = "dpverify search"
    kinds: dict[str, str]
    seconds: dict[str, float]
    inequalities: list[SearchedInequality]

    @property
    def false(self) -> list[SearchedInequality]:
        """The false inequalities."""
        return [inequality for inequality in self.inequalities if inequality.kind]

    @property
    def wrong(self) -> list[SearchedInequality]:
        """True inequalities that were refuted."""
        return [
            inequality
            for inequality in self.inequalities
            if not inequality.kind and any(map(inequality.found, inequality.trials))
        ]
