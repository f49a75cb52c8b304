"""What an experiment gives, as typed records."""

from __future__ import annotations

from typing import Any, Literal

from dpverify.compare.records import MeanInterval, Repeatable, interval
from dpverify.ledger.records import Record

Judged = Literal["as claimed", "the other way round", "no difference seen"]


class TunedRow(Record, frozen=True, kw_only=True):
    """A method over all seeds, at the setting that was best on the tuning seed."""

    method: str
    epsilon: float | None  # requested; None without privacy
    attained: float | None = None  # epsilon below which this noise is not private at delta, on some data
    certified: float | None = None  # epsilon that the accountants certify for it
    steps: int
    tried: int  # settings that were tried
    runs: list[Any]

    def mean(self, column: str) -> MeanInterval:
        """Mean and t-interval over seeds."""
        return interval([getattr(run, column) for run in self.runs], lower=0.0)


class ClaimedOrder(Record, frozen=True, kw_only=True):
    """One method minus another, seed by seed, where the paper says that the first is better, which is less."""

    claim: str
    noise: str = ""  # as in ``MethodRow``
    epsilon: float
    column: str
    method: str = ""  # by default the paper's method
    other: str
    difference: MeanInterval  # corrected for all orderings on this data set
    seen: Judged


class ComparedData(Record, frozen=True, kw_only=True):
    """All methods on one data set; subclasses have ``rows``."""

    real: bool  # whether the data are those of the paper, so that they decide its claims
    n: int
    tested: int
    d: int
    orderings: list[ClaimedOrder]


class ExperimentRun(Repeatable, frozen=True, kw_only=True):
    """An experiment; subclasses have ``tables``."""

    schema: Literal[1] = 1
    experiment: str
    seeds: int
    done: int = 0
    budget: str
    interrupted: bool
    seconds: float


class RunMeasures(Record, frozen=True, kw_only=True):
    """One run: its measures, and loss and gradient norm on the way. ``random``: of an iterate drawn from all."""

    seed: int
    test_error: float  # part of the test part that is misjudged, at the last iterate
    test_loss: float  # mean logistic loss there, without the regularizer
    loss: float  # objective on the training part, at the last iterate
    gradient_norm: float
    random_loss: float  # at the output
    random_gradient_norm: float
    seconds: float  # of the processor, measurements left out
    path: list[tuple[float, float, float]]  # passes, objective, gradient norm


class MethodRow(TunedRow, frozen=True, kw_only=True):
    """A method of a table."""

    epsilon: float
    noise: str  # printed or needed; none without privacy
    conditions: bool | None = None  # whether those of Lemma 3.7 hold, where the noise rests on it
    passes: int
    batch: int
    scale: float
    ratio: float  # deviation over sensitivity; of an algorithm with a budget, rho
    runs: list[RunMeasures]


class DataTable(ComparedData, frozen=True, kw_only=True):
    """A table of a paper on one data set."""

    name: str
    majority: float  # test error of the answer that is most frequent in the training part
    constant: float  # test loss of the best constant probability of the training part
    smoothness: float
    rows: list[MethodRow]


class TableResult(ExperimentRun, frozen=True, kw_only=True):
    """A table of a paper, made again."""

    tables: list[DataTable]


class NetworkRun(Record, frozen=True, kw_only=True):
    """One run of a network, looked at on the way."""

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


class NetworkRow(TunedRow, frozen=True, kw_only=True):
    """A method with a network."""

    setting: str
    runs: list[NetworkRun]


class NetworkTable(ComparedData, frozen=True, kw_only=True):
    """All methods with one network on one data set."""

    network: str
    data: str
    rows: list[NetworkRow]


class NetworkResult(ExperimentRun, frozen=True, kw_only=True):
    """An experiment with networks, made again."""

    tables: list[NetworkTable]


class Experiments(Record, frozen=True, kw_only=True):
    """All of ``data/experiments.json``."""

    schema: Literal[1] = 1
    experiments: list[TableResult]
    networks: list[NetworkResult] = []
