"""``dpverify train`` and ``party``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from dpverify.cli.output import Real, Target, Whole, check_figure, refused

DEFAULT_FIGURE = Path("ALGORITHM.svg")
"""Where the figure goes by default: the folder that the command is run from, named after the algorithm."""


def train(
    algorithm: str,
    *,
    data: Path | None = None,
    n: Whole | None = None,
    epochs: Whole | None = None,
    epsilon: Real | None = None,
    delta: Real | None = None,
    standardise: Annotated[bool | None, Parameter(negative="--no-standardise")] = None,
    points: Whole | None = None,
    json: Target | None = None,
    figure: Annotated[Path | None, Parameter(negative="--no-figure")] = DEFAULT_FIGURE,
    **settings: Any,
) -> int:
    """Train a model on real data with a private optimizer.

    The loss is logistic regression with a nonconvex regularizer, or softmax regression if there are more than two
    classes. Loss and gradient norm are printed during training. Each algorithm has its own options: dpverify train
    ALGORITHM --help. Without an algorithm, dp-nsgd is trained.

    Parameters
    ----------
    data
        LIBSVM file, or *.csv or *.tsv with the label in the last column (.gz and .bz2 too), or one of the bundled
        sets iris, wine and digits. Default: the bundled breast cancer data.
    n
        Use only this number of examples.
    epochs
        Number of passes over the data, instead of steps.
    epsilon
        Target epsilon; with --delta, sigma is the smallest that the accountant certifies.
    delta
        Target delta.
    standardise
        Scale columns to mean 0 and variance 1. Default: for the bundled data only.
    points
        Number of measurements during training. Default: up to 100, limited to about a fifth of the time.
    json
        Write the result as JSON to this file, or to stdout for -. With -, the text goes to stderr.
    figure
        File for the figure; --no-figure draws none.
    """
    if figure == DEFAULT_FIGURE:
        from dpverify.algorithms.registry import algorithm_named

        figure = Path(f"{algorithm_named(algorithm).name}.svg")
        check_figure("--figure", figure)
    from dpverify.train import run_train

    return run_train(
        algorithm,
        data=data,
        n=n,
        epochs=epochs,
        epsilon=epsilon,
        delta=delta,
        standardise=standardise,
        points=points,
        json=json,
        figure=figure,
        **settings,
    )


def party(
    *,
    index: Whole,
    peers: str,
    data: Path,
    sigma: Real,
    steps: Whole,
    batch: Whole,
    gamma: Real | None = None,
    eta: Real | None = None,
    change_clip: Real | None = None,
    delta: Real | None = None,
    noise: Literal["shares", "bits", "ratio"] = "shares",
    fraction_bits: Whole = 24,
    lam: Real = 0.001,
    scale: Literal["unit", "clip"] = "unit",
    seed: Whole = 0,
    timeout: Real = 30.0,
    patience: Real = 60.0,
    json: Target | None = None,
) -> int:
    """Run one party of ddp-srm (Algorithm 2 of wang2019), whose rows no other party sees.

    Start one process for each party. All need the same version and settings. Batches and noise come from the
    randomness of the system. Connections are not encrypted: docs/parties.md describes which parties are protected
    from which.

    Parameters
    ----------
    index
        Number of this party in --peers, from 0.
    peers
        Addresses of all parties: host:port,host:port,...
    data
        LIBSVM file, or *.csv or *.tsv with the label in the last column (.gz and .bz2 too), or one of the bundled
        sets iris, wine and digits.
    sigma
        Noise multiplier.
    steps
        Number of steps.
    batch
        Batch size.
    gamma
        Weight of the estimator.
    eta
        The accuracy zeta.
    change_clip
        Clip length of gradient changes. Default: 0.01.
    delta
        Delta at which epsilon is printed.
    noise
        How the parties make the noise: shares of the parties, shared random bits, or the ratio of uniforms.
    fraction_bits
        Binary digits after the point in the multi-party computation.
    lam
        Weight of the nonconvex regularizer.
    scale
        unit: rows are scaled to length 1; clip: longer rows are.
    seed
        Seed of the choice of the output iterate. It does not determine batches or noise.
    timeout
        Seconds (at most 60) after which a silent party ends the run.
    patience
        Seconds within which all parties must have connected.
    json
        Write the result as JSON to this file, or to stdout for -. With -, the text goes to stderr.
    """
    from dpverify.algorithms.ddp_srm import DDP_SRM
    from dpverify.train import Request, run_party_command

    with refused():
        request = Request(
            DDP_SRM,
            data=data,
            delta=delta,
            sigma=sigma,
            steps=steps,
            batch=batch,
            gamma=gamma,
            eta=eta,
            change_clip=change_clip,
            noise=noise,
            fraction_bits=fraction_bits,
            lam=lam,
            scale=scale,
            seed=seed,
        )
    return run_party_command(request, index=index, peers=peers, json=json, timeout=timeout, patience=patience)
