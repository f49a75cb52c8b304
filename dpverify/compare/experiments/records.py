"""Records of the results of an experiment."""

from __future__ import annotations

from typing import Any, Literal

from dpverify.compare.records import MeanInterval, Repeatable, interval
from dpverify.ledger.records import Record

Verdict = Literal["as claimed", "the other way round", "no difference seen"]


class TunedRow(Record, frozen=True, kw_only=True):
    """Results of a method over all seeds, with the setting that was best on the tuning seed."""

    method: str
    epsilon: float | None  # requested; None without privacy
    # lower bound on epsilon for this noise, attained on some data
    attained: float | None = None
    # epsilon that the accountants certify for this noise
    certified: float | None = None
    steps: int
    tried: int  # number of settings tried
    runs: list[Any]

    def mean(self, column: str) -> MeanInterval:
        """Return the mean of a column over seeds with its t-interval."""
        return interval([getattr(run, column) for run in self.runs], lower=0.0)


class ClaimedOrder(Record, frozen=True, kw_only=True):
    """Paired difference of two methods, of which the paper claims that the first is better, that is, smaller."""

    claim: str
    noise: str = ""  # as in ``MethodRow``
    epsilon: float
    column: str
    method: str = ""  # empty for the paper's method
    other: str
    # its level is corrected for all orderings on this data set
    difference: MeanInterval
    seen: Verdict


class ComparedData(Record, frozen=True, kw_only=True):
    """Results of all methods on one data set; subclasses have ``rows``."""

    # whether the data are the paper's, so that the results decide its claims
    real: bool
    n: int
    tested: int
    d: int
    orderings: list[ClaimedOrder]


class ExperimentRun(Repeatable, frozen=True, kw_only=True):
    """Results of an experiment; subclasses have ``tables``."""

    schema: Literal[1] = 1
    experiment: str
    seeds: int
    done: int = 0
    budget: str
    interrupted: bool
    seconds: float


class RunMeasures(Record, frozen=True, kw_only=True):
    """Final measures of a run and its path. ``random_`` fields are measured at an iterate drawn at random."""

    seed: int
    # fraction of the test part that is misclassified, at the last iterate
    test_error: float
    # mean logistic loss on the test part without the regularizer, at the last iterate
    test_loss: float
    loss: float  # objective on the training part, at the last iterate
    gradient_norm: float
    random_loss: float  # at the algorithm's output
    random_gradient_norm: float
    seconds: float  # processor time without measurements
    path: list[tuple[float, float, float]]  # (passes, objective, gradient norm)


class MethodRow(TunedRow, frozen=True, kw_only=True):
    """A method of a table."""

    epsilon: float
    noise: str  # "printed", "needed", or "none" without privacy
    # whether the conditions of Lemma 3.7 hold, if the noise relies on it
    conditions: bool | None = None
    passes: int
    batch: int
    scale: float
    # noise deviation over sensitivity; rho for DP-AGD, which spends a budget
    ratio: float
    runs: list[RunMeasures]


class DataTable(ComparedData, frozen=True, kw_only=True):
    """A table of a paper on one data set."""

    name: str
    # test error of always predicting the majority class of the training part
    majority: float
    # test loss of always predicting the class frequency of the training part
    constant: float
    smoothness: float
    rows: list[MethodRow]


class TableResult(ExperimentRun, frozen=True, kw_only=True):
    """Results of a repeated table of a paper."""

    tables: list[DataTable]


class NetworkRun(Record, frozen=True, kw_only=True):
    """One run of a network, with its path of errors."""

    seed: int
    seconds: float  # processor time without measurements
    path: list[tuple[int, float, float]]  # (iterations, training error, test error)

    @property
    def train_error(self) -> float:
        """Final fraction of misclassified training images."""
        return self.path[-1][1]

    @property
    def test_error(self) -> float:
        """Final fraction of misclassified test images."""
        return self.path[-1][2]

    def reached(self, level: float) -> float:
        """Return the interpolated iteration at which the test error reaches ``level``, or else the last iteration."""
        before = self.path[0]
        for look in self.path:
            if look[2] <= level:
                if look is before or before[2] == look[2]:
                    return float(look[0])
                return look[0] - (look[0] - before[0]) * (level - look[2]) / (
                    before[2] - look[2]
                )
            before = look
        return float(self.path[-1][0])


class NetworkRow(TunedRow, frozen=True, kw_only=True):
    """Results of a method with a network."""

    setting: str
    runs: list[NetworkRun]


class NetworkTable(ComparedData, frozen=True, kw_only=True):
    """Results of all methods with one network on one data set."""

    network: str
    data: str
    rows: list[NetworkRow]


class NetworkResult(ExperimentRun, frozen=True, kw_only=True):
    """Results of a repeated experiment with networks."""

    tables: list[NetworkTable]


class Experiments(Record, frozen=True, kw_only=True):
    """All of ``data/experiments.json``."""

    schema: Literal[1] = 1
    experiments: list[TableResult]
    networks: list[NetworkResult] = []
