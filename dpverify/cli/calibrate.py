"""``dpverify calibrate``: the words of the command line, handed to ``run_calibrate``."""

from __future__ import annotations

from typing import Literal

from dpverify.cli.output import Target, Whole


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
    """
    asked = locals()
    from dpverify.calibrate import run_calibrate

    return run_calibrate(**asked)
