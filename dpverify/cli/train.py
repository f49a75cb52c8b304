"""``dpverify train``: the words of the command line, handed to ``run_train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dpverify.cli.output import Target, Whole

DEFAULT_FIGURE = Path("ALGORITHM.svg")
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
    figure: Annotated[Path | None, Parameter(negative="--no-figure")] = DEFAULT_FIGURE,
) -> int:
    """Train on real data: nonconvex-regularized logistic regression, loss and gradient norm as it goes.

    With ``--epsilon`` and ``--delta`` sigma is the smallest that the accountant certifies.

    ``data``: LIBSVM file (.gz and .bz2 too), or *.csv with the label last; bundled breast cancer data by default.
    ``json``: write the result to this file, or to stdout for - (what a person reads then goes to stderr).
    """
    figure = Path(f"{algorithm}.svg") if figure == DEFAULT_FIGURE else figure
    asked = locals()
    from dpverify.train import run_train

    return run_train(**asked)
