"""``dpverify train``: the words of the command line, handed to ``run_train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dpverify.cli.words import Target, Whole

BESIDE = Path("ALGORITHM.svg")
"""Where the figure goes by default: the folder that the command is run from, named after the algorithm."""


def train(
    *,
    algorithm: Literal["dp-nsgd", "sr-nsgd"] = "dp-nsgd",
    data: Path | None = None,
    n: Whole | None = None,
    steps: Whole | None = None,
    epochs: Whole | None = None,
    sigma: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    alpha: float | None = None,
    gamma: float | None = None,
    eta: float | None = None,
    lam: float = 0.001,
    ordering: Literal["fresh", "once"] = "fresh",
    scale: Literal["unit", "clip", "none"] = "unit",
    standardise: Annotated[bool | None, Parameter(negative="--no-standardise")] = None,
    seed: Whole = 0,
    json: Target | None = None,
    figure: Annotated[Path | None, Parameter(negative="--no-figure")] = BESIDE,
) -> int:
    """Train on real data: nonconvex-regularized logistic regression, loss and gradient norm as it goes.

    With ``--epsilon`` and ``--delta`` sigma is the smallest that the accountant certifies.

    Parameters
    ----------
    algorithm
        The algorithm; dp-nsgd and sr-nsgd are Algorithms 1 and 2 of tran2022.
    data
        LIBSVM file (.gz and .bz2 too), or *.csv with the label last; bundled breast cancer data by default.
    n
        Use this many examples, drawn with the seed; all by default.
    steps
        Number of steps.
    epochs
        Number of passes over the data, instead of steps; 10 by default.
    sigma
        Noise multiplier; 1 by default, 0 for no noise.
    epsilon
        Privacy asked for, with delta; instead of sigma.
    delta
        Privacy asked for; with sigma, say which epsilon it buys.
    alpha
        Momentum weight in (0, 1]; 1/N by default.
    gamma
        Cross-batch weight of sr-nsgd in [0, 1]; eta N by default.
    eta
        Length of a step; 1/sqrt(N T) by default.
    lam
        Weight of the nonconvex regularizer.
    ordering
        A fresh permutation each epoch, or one for all of them.
    scale
        Rows scaled to norm 1 (unit), scaled down to norm 1 (clip), or left alone (none).
    standardise
        Columns to mean 0 and variance 1; by default for the bundled data only.
    seed
        The same seed gives the same numbers.
    json
        Write the result to this file, or to stdout for - (what a person reads then goes to stderr).
    figure
        File for the figure, *.svg.

    Returns
    -------
    int
        Exit code.
    """
    from dpverify.train import run_train

    return run_train(
        algorithm,
        data=data,
        n=n,
        steps=steps,
        epochs=epochs,
        sigma=sigma,
        epsilon=epsilon,
        delta=delta,
        alpha=alpha,
        gamma=gamma,
        eta=eta,
        lam=lam,
        ordering=ordering,
        scale=scale,
        standardise=standardise,
        seed=seed,
        json=json,
        figure=Path(f"{algorithm}.svg") if figure == BESIDE else figure,
    )
