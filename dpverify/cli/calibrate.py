"""``dpverify calibrate``: the words of the command line, handed to ``run_calibrate``."""

from __future__ import annotations

from typing import Literal

from dpverify.cli.words import Target, Whole


def calibrate(
    *,
    n: Whole,
    d: Whole,
    epsilon: float,
    delta: float,
    algorithm: Literal["dp-nsgd", "sr-nsgd"] = "dp-nsgd",
    steps: Whole | None = None,
    epochs: Whole | None = None,
    lipschitz: float = 1.0,
    smoothness: float = 1.0,
    alpha: float | None = None,
    gamma: float | None = None,
    eta: float | None = None,
    ordering: Literal["fresh", "once"] = "fresh",
    json: Target | None = None,
) -> int:
    """Say which sigma gives (epsilon, delta): as the paper prints it, as its proof can support it, as accounted.

    The last one is certified by the accountant's upper bound; its lower bound says how much less noise might do.

    Parameters
    ----------
    n
        Number of examples.
    d
        Number of dimensions.
    epsilon
        Privacy asked for.
    delta
        Privacy asked for, above 0 and below 1.
    algorithm
        dp-nsgd and sr-nsgd are Algorithms 1 and 2 of tran2022.
    steps
        Number of steps; by default what the paper's utility theorem prints.
    epochs
        Number of passes over the data, instead of steps.
    lipschitz
        G: no example's gradient is longer.
    smoothness
        L: by how much a gradient changes per unit of way; only sr-nsgd needs it.
    alpha
        Momentum weight; by default what the utility theorem prints for these steps, at least 1/N.
    gamma
        Cross-batch weight of sr-nsgd; eta N by default.
    eta
        Length of a step; 1/sqrt(N T) by default.
    ordering
        A fresh permutation each epoch, or one for all of them.
    json
        Write the answer to this file, or to stdout for - instead of the text.

    Returns
    -------
    int
        Exit code.
    """
    from dpverify.calibrate import run_calibrate

    return run_calibrate(
        algorithm=algorithm,
        n=n,
        d=d,
        epsilon=epsilon,
        delta=delta,
        steps=steps,
        epochs=epochs,
        lipschitz=lipschitz,
        smoothness=smoothness,
        alpha=alpha,
        gamma=gamma,
        eta=eta,
        ordering=ordering,
        json=json,
    )
