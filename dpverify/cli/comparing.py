"""``dpverify compare`` and ``calibrate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from dpverify.cli.output import BadInput, Fresh, Real, Target, Whole, check_figure
from dpverify.processes import collect_garbage_rarely

COMPARE_FIGURE = Path("compare.svg")
"""Default path of the figure of a comparison."""


def compare(
    *,
    experiment: Literal[
        "wang2019:table-2",
        "wang2019:table-3",
        "wang2019:section-6-2",
        "zhang2021:figure-1",
        "zhang2021:figure-2",
    ]
    | None = None,
    epsilon: Real | None = None,
    delta: Real | None = None,
    data: Path | None = None,
    test_data: Path | None = None,
    n: Whole | None = None,
    steps: Whole | None = None,
    epochs: Whole | None = None,
    settings: Whole | None = None,
    batch: Whole | None = None,
    eta: Real | None = None,
    lam: Real | None = None,
    scale: Literal["unit", "clip"] | None = None,
    standardise: Annotated[bool | None, Parameter(negative="--no-standardise")] = None,
    test_part: Real | None = None,
    also: list[str] | None = None,
    seeds: Whole | None = None,
    seed: Whole = 0,
    budget: Literal["smoke", "standard"] | None = None,
    json: Target | None = None,
    figure: Annotated[Path | None, Parameter(negative="--no-figure")] = COMPARE_FIGURE,
    report: Path | None = None,
    cluster: str | None = None,
    store: Path | None = None,
    fresh: Fresh = False,
    timeout: Real = 0.0,
) -> int:
    """Compare optimizers on real data at equal privacy.

    Prints gradient norm, loss and test error with intervals over seeds. The methods are
    nsgd (no noise), dp-nsgd and sr-nsgd (Algorithms 1 and 2 of tran2022), dp-gd (full
    batches), dp-sgd (sampled batches) and dp-srm (Algorithm 1 of wang2019). Each has
    the smallest noise that its accountant certifies for replacing one example.

    Parameters
    ----------
    experiment
        Repeat a table or figure of a paper, with its methods and settings, with the
        printed and with the needed noise. Takes --data, --test-data, --n, --seeds,
        --seed and --budget. section-6-2 and the figures train networks (extra torch)
        and take --epochs.
    epsilon
        Epsilon of every method.
    delta
        Delta of every method.
    data
        LIBSVM file, or *.csv or *.tsv with the label in the last column (.gz and .bz2
        too), or one of the bundled sets iris, wine and digits. Default: the bundled
        breast cancer data. For experiments with networks: a folder with MNIST (IDX) or
        CIFAR-10 (binary).
    test_data
        File with the test data. Default: a part of the data.
    n
        Use only this number of examples.
    steps
        Number of steps.
    epochs
        Number of passes over the data, instead of steps.
    settings
        For experiments with networks: largest number of settings of its grid that each
        method tries.
    batch
        Batch size.
    eta
        Step size.
    lam
        Weight of the nonconvex regularizer. Default: 0.001.
    scale
        unit: all rows are scaled to length 1; clip: only longer rows are. Default:
        unit.
    standardise
        Scale columns to mean 0 and variance 1 in the training part. Default: for the
        bundled data only.
    test_part
        Fraction of the data that is used for testing. Default: a fifth.
    also
        Another algorithm to compare, by name or as file.py:NAME, with its default
        settings; may be repeated.
    seeds
        Number of seeds. Default: 20; for experiments 10.
    seed
        First seed.
    budget
        Amount of work; smoke tunes nothing.
    json
        Write the result as JSON to this file, or to stdout for -. With -, the text goes
        to stderr.
    figure
        File for the figure; --no-figure draws no figure.
    report
        Write a page, its figures and its data to this folder.
    cluster
        Address of the scheduler of a Dask cluster that does the work, such as
        tcp://127.0.0.1:8786; see docs/cluster.md.
    store
        File in which finished work is stored, so that an interrupted run can continue.
        Default: the path in DPVERIFY_STORE, or dpverify/evidence.sqlite in the cache
        folder of the user.
    fresh
        Ignore the store and make every run again. --resume is the default.
    timeout
        With --cluster: time limit in seconds for one training on a worker, which then
        runs it in a separate process. After that time the command ends with an error.
        Default: no limit.
    """
    if timeout < 0:
        raise BadInput("--timeout", timeout, "must be at least 0")
    if timeout > 0 and cluster is None:
        raise BadInput("--timeout", timeout, "must be given with --cluster")
    if figure == COMPARE_FIGURE:
        check_figure("--figure", figure)
    from dpverify.cli.backends import open_backend
    from dpverify.compare import run_compare

    with open_backend(cluster, store, fresh=fresh, limit=timeout) as backend:
        return run_compare(
            experiment=experiment,
            epsilon=epsilon,
            delta=delta,
            data=data,
            test_data=test_data,
            n=n,
            steps=steps,
            epochs=epochs,
            settings=settings,
            batch=batch,
            eta=eta,
            lam=lam,
            scale=scale,
            standardise=standardise,
            test_part=test_part,
            also=tuple(also) if also else None,
            seeds=seeds,
            seed=seed,
            budget=budget,
            json=json,
            figure=figure,
            report=report,
            backend=backend,
        )


def calibrate(
    algorithm: str, *, sigma: Real | None = None, json: Target | None = None, **run: Any
) -> int:
    """Compute the noise that an algorithm needs for a target (epsilon, delta), or the epsilon of a noise.

    Prints the noise that the paper prints, the noise that its proof supports, and the
    noise that the accountant certifies. The lower bound of the accountant limits how
    much smaller the noise could be. Batches are drawn without replacement; neighbours
    differ by replacing one example. Each algorithm has its own options: dpverify
    calibrate ALGORITHM --help. Without an algorithm, dp-nsgd is calibrated.

    Parameters
    ----------
    sigma
        Instead of --epsilon: bound epsilon at this noise, which is the noise multiplier
        of dp-nsgd and sr-nsgd, and otherwise the standard deviation of the noise of one
        coordinate.
    json
        Write the result as JSON to this file, or to stdout for -. With -, the text goes
        to stderr.
    """
    collect_garbage_rarely()
    from dpverify.calibrate import run_calibrate

    return run_calibrate(algorithm, sigma=sigma, json=json, **run)
