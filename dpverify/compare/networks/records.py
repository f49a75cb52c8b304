"""What an experiment with networks gives, as typed records."""

from __future__ import annotations

from typing import Literal

from dpverify.compare.records import MeanInterval, interval
from dpverify.ledger.records import Record

Seen = Literal["as claimed", "the other way round", "no difference seen"]


class NetworkRun(Record, frozen=True, kw_only=True):
    """One run, looked at on the way."""

    seed: int
    seconds: float  # of the processor, looks left out
    path: list[tuple[int, float, float]]  # iterations, part of the images that is misjudged: trained on, to test on

    @property
    def train_error(self) -> float:
        """Part of the images that are trained on which is misjudged at the end."""
        return self.path[-1][1]

    @property
    def test_error(self) -> float:
        """The same of those to test on."""
        return self.path[-1][2]

    def reached(self, level: float) -> float:
        """Iterations until the test error is at most this, between two looks a line; all of them where it never is."""
        before = self.path[0]
        for look in self.path:
            if look[2] <= level:
                if look is before or before[2] == look[2]:
                    return float(look[0])
                return look[0] - (look[0] - before[0]) * (level - look[2]) / (before[2] - look[2])
            before = look
        return float(self.path[-1][0])


class NetworkRow(Record, frozen=True, kw_only=True):
    """A method over all seeds, at the setting that was best on the tuning seed."""

    method: str
    epsilon: float | None  # asked for; None without privacy
    attained: float | None = None  # epsilon below which this noise is not private at delta, on some data
    certified: float | None = None
    setting: str
    steps: int
    tried: int  # settings that were tried
    runs: list[NetworkRun]

    def mean(self, column: str) -> MeanInterval:
        """Mean and t-interval over seeds."""
        return interval([getattr(run, column) for run in self.runs], least=0.0)


class NetworkOrder(Record, frozen=True, kw_only=True):
    """One method minus another, seed by seed, where the paper says that the first is better, which is less."""

    claim: str
    epsilon: float
    column: str
    method: str
    other: str
    difference: MeanInterval  # corrected for all orderings of the network on these data
    seen: Seen


class NetworkTable(Record, frozen=True, kw_only=True):
    """All methods with one network on one data set."""

    network: str
    data: str
    real: bool  # whether the user's files are judged
    n: int
    tested: int
    d: int
    rows: list[NetworkRow]
    orderings: list[NetworkOrder]


class NetworkResult(Record, frozen=True, kw_only=True):
    """An experiment with networks."""

    experiment: str
    command: str
    seeds: int
    budget: str
    interrupted: bool
    seconds: float
    versions: dict[str, str] = {}
    machine: dict[str, str] = {}
    commit: str = ""
    tables: list[NetworkTable]
