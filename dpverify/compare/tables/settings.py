"""What section 6.1 of wang2019 prints of its settings, and what may be asked of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal, TypeAlias

from dpverify.kernels import check
from dpverify.papers.wang2019.experiments.tables import TABLES, PaperTable

Noise: TypeAlias = Literal["printed", "needed"]
NOISES: tuple[Noise, ...] = ("printed", "needed")

EPSILONS = (0.2, 0.5)
DELTA = 1e-5
LAM = 0.001
# C_1, C_2, gamma = C_2, m
CLIP = 1.0
CHANGE_CLIP = 0.01
GAMMA = 0.01
PARTIES = 10

METHODS = ("storm", "dp-gd", "dp-agd", "rrpsgd", "dp-sgd", "dp-srm", "ddp-srm")
"""No noise; the paper's three baselines; DP-SGD, which it compares with in section 6.2; its own two."""

BATCHES = (50, 100, 200)
MULTIPLES = tuple(4.0**power for power in range(-2, 5))
SPLITS = (4, 6, 8, 12, 16)
"""The grids: b as printed, for each method that has batches; multiples of the step length that theory gives; for
DP-AGD, which chooses its steps, into how many parts the choices split half of epsilon."""


def passes(table: PaperTable, epsilon: float, method: str) -> int:
    """Passes over the data as printed; DP-SGD, of which nothing is printed, has DP-SRM's, and STORM has DP-GD's."""
    return table.rows[epsilon, {"storm": "dp-gd", "dp-sgd": "dp-srm"}.get(method, method)].passes


def check_size(budget: str, seeds: int, seed: int, n: int | None) -> None:
    """Refuse what no experiment takes: another budget, fewer than two seeds or ten examples."""
    if budget not in ("smoke", "standard"):
        raise check.ArgumentError("budget", budget, "must be one of smoke, standard")
    check.whole(2, seeds=seeds)
    check.whole(0, seed=seed)
    if n is not None:
        check.whole(10, n=n)


@dataclass(frozen=True)
class TableRequest:
    """Arguments of an experiment; an ArgumentError if one is out of its domain.

    ``data``, ``test_data``: LIBSVM or CSV files to train and to test on; without a test file a fifth is held out, and
    without data a made-up set of the paper's shape and scikit-learn's breast cancer data are taken. ``n``: so many
    examples to train on, drawn at random. Seeds are ``seed``, .., ``seed + seeds - 1``. ``budget``: ``standard``, whole
    grids; ``smoke``, b = 100 and the third of the other grid: nothing is tuned.
    """

    experiment: str
    data: Path | None = None
    test_data: Path | None = None
    n: int | None = None
    seeds: int = 10
    seed: int = 0
    budget: str = "standard"

    def __post_init__(self) -> None:
        names = [f"wang2019:{name}" for name in TABLES]
        if self.experiment not in names:
            raise check.ArgumentError("experiment", self.experiment, f"must be one of {', '.join(names)}")
        if self.test_data is not None and self.data is None:
            raise check.ArgumentError("test_data", self.test_data, "must come with data to train on")
        check_size(self.budget, self.seeds, self.seed, self.n)

    @property
    def table(self) -> PaperTable:
        """The table that is made again."""
        return TABLES[self.experiment.removeprefix("wang2019:")]


def grid(method: str, budget: str) -> list[tuple[int, float]]:
    """Batch (0: the method has its own) and multiple, of DP-AGD number of parts, of each setting that is tried."""
    batches: tuple[int, ...] = BATCHES if method in ("storm", "dp-sgd", "dp-srm", "ddp-srm") else (0,)
    scales: tuple[float, ...] = SPLITS if method == "dp-agd" else MULTIPLES
    if budget == "smoke":
        batches = batches[len(batches) // 2 :][:1]
        scales = scales[2:3]
    return [(batch, scale) for batch in batches for scale in scales]


def steps_for(method: str, examples: int, batch: int, data_passes: int) -> int:
    """Give T, with two gradients of each example a step where momentum is recursive.

    A step of DP-AGD reads all examples once for the gradient and once for each of its 21 candidates.
    """
    cost = {"storm": 2 * batch, "dp-srm": 2 * batch, "ddp-srm": 2 * batch, "dp-agd": 22 * examples, "rrpsgd": 1}
    return max(1, int(Fraction(data_passes * examples, cost.get(method, batch or examples))))
