"""What an experiment gives, as typed records."""

from __future__ import annotations

from typing import Literal

from dpverify.compare.networks.records import NetworkResult
from dpverify.compare.records import MeanInterval, interval
from dpverify.ledger.records import Record

COLUMNS = (
    "test_error",
    "test_loss",
    "loss",
    "gradient_norm",
    "random_loss",
    "random_gradient_norm",
    "seconds",
)
"""What is measured of a run: last iterate, and (random) the output that is drawn from all iterates."""


class RunMeasures(Record, frozen=True, kw_only=True):
    """One run: its measures, and loss and gradient norm on the way."""

    seed: int
    test_error: float  # part of the test part that is misjudged, at the last iterate
    test_loss: float  # mean logistic loss there, without the regularizer
    loss: float  # objective on the training part, at the last iterate
    gradient_norm: float
    random_loss: float  # at the output
    random_gradient_norm: float
    seconds: float  # of the processor, measurements left out
    path: list[tuple[float, float, float]]  # passes, objective, gradient norm


class MethodRow(Record, frozen=True, kw_only=True):
    """A method over all seeds, at the setting that was best on the tuning seed."""

    method: str
    noise: str  # printed or needed; none for STORM
    epsilon: float  # asked for
    attained: float | None = None  # epsilon below which this noise is not private at delta, on some data
    certified: float | None = None  # epsilon that the accountants certify for it
    conditions: bool | None = None  # whether those of Lemma 3.7 hold, where the noise rests on it
    passes: int
    batch: int
    scale: float
    steps: int
    ratio: float  # deviation over sensitivity; DP-AGD: rho
    tried: int  # settings that were tried
    runs: list[RunMeasures]

    def mean(self, column: str) -> MeanInterval:
        """Mean and t-interval over seeds."""
        return interval([getattr(run, column) for run in self.runs], least=0.0)


Seen = Literal["as claimed", "the other way round", "no difference seen"]


class ClaimedOrder(Record, frozen=True, kw_only=True):
    """DP-SRM minus another method, seed by seed, where the paper says that DP-SRM is better."""

    claim: str
    noise: str
    epsilon: float
    column: str
    other: str
    difference: MeanInterval  # corrected for all orderings on this data set
    seen: Seen


class DataTable(Record, frozen=True, kw_only=True):
    """All methods on one data set."""

    name: str
    real: bool  # whether the user's files are judged
    n: int
    tested: int
    d: int
    majority: float  # test error of the answer that is most frequent in the training part
    constant: float  # test loss of the best constant probability of the training part
    smoothness: float
    rows: list[MethodRow]
    orderings: list[ClaimedOrder]


class TableResult(Record, frozen=True, kw_only=True):
    """An experiment."""

    schema: Literal[1] = 1
    experiment: str
    command: str
    seeds: int
    done: int
    budget: str
    interrupted: bool
    seconds: float
    versions: dict[str, str] = {}
    machine: dict[str, str] = {}
    commit: str = ""
    tables: list[DataTable]


class Experiments(Record, frozen=True, kw_only=True):
    """All of ``data/experiments.json``."""

    schema: Literal[1] = 1
    experiments: list[TableResult]
    networks: list[NetworkResult] = []
