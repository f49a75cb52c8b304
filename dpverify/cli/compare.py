"""``dpverify compare``: the words of the command line, handed to ``run_compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dpverify.cli.output import Target, Whole


def compare(
    *,
    epsilon: float,
    delta: float,
    data: Path | None = None,
    n: Whole | None = None,
    steps: Whole | None = None,
    epochs: Whole | None = None,
    batch: Whole | None = None,
    eta: float | None = None,
    lam: float = 0.001,
    scale: Literal["unit", "clip"] = "unit",
    standardise: Annotated[bool | None, Parameter(negative="--no-standardise")] = None,
    test_part: float = 0.2,
    seeds: Whole = 20,
    seed: Whole = 0,
    json: Target | None = None,
    figure: Annotated[Path | None, Parameter(negative="--no-figure")] = Path("compare.svg"),
    report: Path | None = None,
) -> int:
    """Compare optimizers on real data at equal privacy: gradient norm, loss and test error, with intervals over seeds.

    The methods are nsgd (no noise), dp-nsgd and sr-nsgd (Algorithms 1 and 2 of tran2022), dp-gd (full batches) and
    dp-sgd (sampled batches). Each has the smallest noise that its accountant certifies for replacing one example.

    ``data``: LIBSVM file (.gz and .bz2 too), or *.csv with the label last; bundled breast cancer data by default.
    ``standardise``: columns to mean 0 and variance 1 in the training part; by default for the bundled data only.
    ``json``: write the result to this file, or to stdout for - (what a person reads then goes to stderr).
    """
    asked = locals()
    from dpverify.compare import run_compare

    return run_compare(**asked)
