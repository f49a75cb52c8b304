"""The data of an experiment: the user's files, or a made-up set of the paper's shape and a bundled one."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from dpverify.compare.experiments.experiment import ExperimentRequest
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Vector
from dpverify.papers.wang2019.experiments.tables import PaperTable
from dpverify.problems.data import Dataset, load_dataset
from dpverify.problems.errors import DataError
from dpverify.problems.logistic import LogisticRegression
from dpverify.problems.regression import logistic_problem
from dpverify.problems.sparse.logistic import SparseLogistic
from dpverify.problems.sparse.rows import CsrRows, Rows

SAMPLE_STREAM = 2
SPLIT_STREAM = 3
HELD_OUT = 0.2
SHARE_ERROR = 0.005  # of the rarer class's share, which the paper's table has rounded
LAM = 0.001  # weight of the regularizer in section 6.1


@dataclass(frozen=True, eq=False)
class TestedProblem:
    """A problem on the examples to train on, and what to test on; rows are as they come, gradients are clipped."""

    name: str
    problem: LogisticRegression | SparseLogistic
    x_test: Rows
    y_test: Vector
    real: bool  # whether it is the paper's data set


def load(request: ExperimentRequest, table: PaperTable) -> list[TestedProblem]:
    """Load what is requested, or refuse it."""
    if request.data is None:
        sets = [made_up(table), _held_out("breast_cancer (bundled)", load_dataset(), request.seed, real=False)]
    elif request.test_data is None:
        dataset = load_dataset(request.data, standardise=False)
        sets = [_held_out(dataset.name, dataset, request.seed, real=_is_published(dataset, table))]
    else:
        sets = [_two_files(request, table)]
    return [parts if request.n is None else _fewer(parts, request.n, request.seed) for parts in sets]


def _is_published(dataset: Dataset, table: PaperTable) -> bool:
    """Whether a file has the size of the table's data set, and as many examples in the rarer class."""
    rarer = min(np.mean(dataset.y), 1 - np.mean(dataset.y))
    same_size = dataset.x.shape == (table.examples, table.features)
    return same_size and bool(abs(rarer - table.positive) < SHARE_ERROR)


def _two_files(request: ExperimentRequest, table: PaperTable) -> TestedProblem:
    first = load_dataset(request.data, standardise=False)
    second = load_dataset(request.test_data, standardise=False, known=first.classes)
    name = str(request.test_data)
    d = first.x.shape[1]
    wide = second.x.shape[1]
    if wide > d:
        raise DataError(name, f"has {wide} features, the data to train on have {d}.")
    x = second.x
    x_test = x.widened(d) if isinstance(x, CsrRows) else np.pad(x, ((0, 0), (0, d - wide)))
    real = _is_published(first, table) and len(second.y) == table.tested
    return TestedProblem(first.name, logistic_problem(first.x, first.y, lam=LAM), x_test, second.y, real=real)


def _held_out(name: str, data: Dataset, seed: int, *, real: bool) -> TestedProblem:
    n = len(data.x)
    order = generator(seed, SPLIT_STREAM).permutation(n)
    test = order[: max(1, round(HELD_OUT * n))]
    train = order[max(1, round(HELD_OUT * n)) :]
    if len(train) == 0:
        raise DataError(name, f"has {n} example, at least 2 are needed where no test file is given.")
    problem = logistic_problem(data.x[train], data.y[train], lam=LAM)
    return TestedProblem(name, problem, data.x[test], data.y[test], real=real)


def _fewer(parts: TestedProblem, n: int, seed: int) -> TestedProblem:
    dataset = Dataset(parts.name, parts.problem.x, parts.problem.y, ("0", "1"), standardised=False)
    drawn = dataset.sample(min(n, len(dataset.x)), generator(seed, SAMPLE_STREAM))
    return replace(parts, problem=logistic_problem(drawn.x, drawn.y, lam=LAM))


def made_up(table: PaperTable) -> TestedProblem:
    """Draw a set with as many examples, features and labels of the rarer class as the paper's; always the same one.

    Features are 14 groups with a single 1 in each, frequent ones first, as categories written out are; those of 22
    features are 10 such columns, in one group, and 12 numbers. Labels are drawn from a logistic model.
    """
    rng = np.random.default_rng(table.features)
    n = table.examples + table.tested
    d = table.features
    ends = np.linspace(0, d, 15).astype(int) if d > 100 else np.array([0, 10])
    x = np.zeros((n, d))
    for a, b in itertools.pairwise(ends):
        frequent = 1.0 / np.arange(1, b - a + 1)
        x[np.arange(n), a + rng.choice(b - a, n, p=frequent / frequent.sum())] = 1.0
    x[:, ends[-1] :] = np.clip(0.3 * rng.standard_normal((n, d - ends[-1])), -1.0, 1.0)
    score = x @ rng.standard_normal(d) * 1.5
    low, high = -50.0, 50.0
    while high - low > 1e-9:  # the offset that makes the rarer class as rare as asked for
        middle = 0.5 * (low + high)
        low, high = (middle, high) if expit(score + middle).mean() < table.positive else (low, middle)
    y = (rng.random(n) < expit(score + low)).astype(np.float64)
    name = f"made up, of the shape of {table.data}"
    cut = table.examples
    return TestedProblem(name, LogisticRegression(x[:cut], y[:cut], lam=LAM), x[cut:], y[cut:], real=False)
