"""``dpverify train`` and ``party``: the words of the command line, handed on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dpverify.cli.output import Real, Target, Whole, check_figure

DEFAULT_FIGURE = Path("ALGORITHM.svg")
"""Where the figure goes by default: the folder that the command is run from, named after the algorithm."""

Staged = Literal[
    "dpageem", "dpages", "dpagem", "sgd-stages", "dp-sgd", "dp-sgd-linear", "dp-sgd-root", "dp-sgdm", "dp-sgdem"
]
Noise = Literal["shares", "bits", "ratio"]


def train(
    *,
    algorithm: Literal["dp-nsgd", "sr-nsgd", "dp-srm", "ddp-srm", Staged] = "dp-nsgd",
    data: Path | None = None,
    n: Whole | None = None,
    steps: Whole | None = None,
    epochs: Whole | None = None,
    sigma: Real | None = None,
    epsilon: Real | None = None,
    delta: Real | None = None,
    alpha: Real | None = None,
    gamma: Real | None = None,
    eta: Real | None = None,
    batch: Whole | None = None,
    change_clip: Real | None = None,
    parties: Whole | None = None,
    stages: Whole | None = None,
    momentum_steps: Whole | None = None,
    rho: Real | None = None,
    hand_on: Literal["uniform", "last"] | None = None,
    noise: Noise = "shares",
    fraction_bits: Whole = 24,
    lam: Real = 0.001,
    ordering: Literal["fresh", "once"] = "fresh",
    scale: Literal["unit", "clip", "none"] = "unit",
    standardise: Annotated[bool | None, Parameter(negative="--no-standardise")] = None,
    points: Whole | None = None,
    seed: Whole = 0,
    json: Target | None = None,
    figure: Annotated[Path | None, Parameter(negative="--no-figure")] = DEFAULT_FIGURE,
) -> int:
    """Train a model on real data with a private optimizer.

    The loss is logistic regression with a nonconvex regularizer, or softmax regression if there are more than two
    classes. Loss and gradient norm are printed during training.

    dp-nsgd and sr-nsgd are Algorithms 1 and 2 of tran2022. dp-srm (Algorithm 1 of wang2019) clips gradients at 1
    and their changes at --change-clip. ddp-srm (Algorithm 2) does the same in a multi-party computation and needs
    the extra mpc.

    dpageem (zhang2021) has K stages. Stage k has 2^k T^0 steps of size eta/2^k, with momentum in its first 2^k
    t_Mon^0 steps. dpages has no momentum, dpagem has momentum in all steps, and sgd-stages has no noise. The other
    optimizers have one stage: dp-sgd, dp-sgd-linear (steps of size eta/t), dp-sgd-root (eta/sqrt(t)), dp-sgdm and
    dp-sgdem. All of them clip gradients at 1.

    Parameters
    ----------
    algorithm
        The optimizer.
    data
        LIBSVM file, or *.csv or *.tsv with the label in the last column (.gz and .bz2 too), or one of the bundled
        sets iris, wine and digits. Default: the bundled breast cancer data.
    n
        Use only this number of examples.
    steps
        Number of steps.
    epochs
        Number of passes over the data, instead of steps.
    sigma
        Noise multiplier.
    epsilon
        Target epsilon; with --delta, sigma is the smallest that the accountant certifies.
    delta
        Target delta.
    alpha
        Momentum weight of the new gradient (dp-nsgd, sr-nsgd).
    gamma
        Weight of the estimator (sr-nsgd, dp-srm, ddp-srm).
    eta
        Step size; for dp-srm and ddp-srm the accuracy zeta.
    batch
        Batch size.
    change_clip
        Clip length of gradient changes (dp-srm, ddp-srm). Default: 0.01.
    parties
        Number of processes, each with a part of the rows (ddp-srm). Default: 5.
    stages
        Number K of stages (dpageem, dpages, dpagem, sgd-stages). Default: 3.
    momentum_steps
        Steps with momentum in the first stage, t_Mon^0 (dpageem).
    rho
        Momentum weight (unused by dp-srm). Default: 0.9.
    hand_on
        Iterate with which the next stage starts: one at random or the last.
    noise
        How ddp-srm makes its noise: shares of the parties, shared random bits, or the ratio of uniforms.
    fraction_bits
        Binary digits after the point in the multi-party computation.
    lam
        Weight of the nonconvex regularizer.
    ordering
        Order of the examples: a fresh permutation in every epoch, or one for all.
    scale
        Rows: scaled to length 1, clipped at length 1, or unchanged.
    standardise
        Scale columns to mean 0 and variance 1. Default: for the bundled data only.
    points
        Number of measurements during training. Default: up to 100, limited to about a fifth of the time.
    seed
        Seed of the random numbers; the same seed gives the same result.
    json
        Write the result as JSON to this file, or to stdout for -. With -, the text goes to stderr.
    figure
        File for the figure; --no-figure draws none.
    """
    if figure == DEFAULT_FIGURE:
        figure = Path(f"{algorithm}.svg")
        check_figure("--figure", figure)
    asked = locals()
    from dpverify.train import run_train

    return run_train(**asked)


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
    noise: Noise = "shares",
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
        Rows: scaled to length 1, or clipped at length 1.
    seed
        Seed of the choice of the output iterate. It does not determine batches or noise.
    timeout
        Seconds (at most 60) after which a silent party ends the run.
    patience
        Seconds within which all parties must have connected.
    json
        Write the result as JSON to this file, or to stdout for -. With -, the text goes to stderr.
    """
    asked = locals()
    from dpverify.train import run_party_command

    return run_party_command(**asked)
