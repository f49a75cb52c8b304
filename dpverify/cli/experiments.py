"""``dpverify train``, ``compare`` and ``calibrate``: the words of the command line, handed on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dpverify.cli.output import Fresh, Real, Target, Whole, check_figure

DEFAULT_FIGURE = Path("ALGORITHM.svg")
"""Where the figure goes by default: the folder that the command is run from, named after the algorithm."""

COMPARE_FIGURE = Path("compare.svg")  # where the figure of a comparison goes by default

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
    """Train on real data: nonconvex-regularized logistic regression, loss and gradient norm as it goes.

    With ``--epsilon`` and ``--delta`` sigma is the smallest that the accountant certifies. dp-srm (Algorithm 1 of
    wang2019) clips gradients at 1 and their changes at ``change_clip`` (0.01); its ``eta`` is zeta. ddp-srm
    (Algorithm 2) does so in a multi-party computation: ``parties`` processes (5) with a part of the rows each, and
    noise that is shares of theirs, or made inside from shared random bits or by the ratio of uniforms. It needs the
    extra ``mpc``.

    dpageem (zhang2021) has K = ``stages`` (3) of 2^k T^0 steps of eta/2^k, with momentum ``rho`` (0.9) up to t_Mon^k =
    2^k ``momentum_steps``; dpages has none, dpagem always; sgd-stages has no noise. In one stage there are dp-sgd,
    dp-sgd-linear (steps eta/t), dp-sgd-root (eta/sqrt(t)), dp-sgdm and dp-sgdem. All clip gradients at 1.

    ``data``: LIBSVM file, or *.csv or *.tsv with the label last (.gz and .bz2 too); or iris, wine or digits, which are
    bundled; bundled breast cancer by default. With more than two classes it is softmax regression.
    ``points``: how many times to measure; by default up to 100, as far as that takes about a fifth of the time.
    ``json``: write the result to this file, or to stdout for - (what a person reads then goes to stderr).
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
    """Be one party of ddp-srm (Algorithm 2 of wang2019), with rows that no other party sees.

    Start one for each of ``peers``, host:port,host:port,...; ``index`` says which of them this is, from 0. All must
    have the same version and settings. ``seed`` chooses the output only; batches and noise come from the system's
    randomness. Connections are not encrypted: docs/parties.md says whom this protects from whom.

    ``timeout``: seconds (at most 60) after which a party that is silent ends the run. ``patience``: seconds in which
    all must have come. ``data``, ``json``: as of train.
    """
    asked = locals()
    from dpverify.train import run_party_command

    return run_party_command(**asked)


def compare(
    *,
    experiment: Literal[
        "wang2019:table-2", "wang2019:table-3", "wang2019:section-6-2", "zhang2021:figure-1", "zhang2021:figure-2"
    ]
    | None = None,
    epsilon: Real | None = None,
    delta: Real | None = None,
    data: Path | None = None,
    test_data: Path | None = None,
    n: Whole | None = None,
    steps: Whole | None = None,
    epochs: Whole | None = None,
    batch: Whole | None = None,
    eta: Real | None = None,
    lam: Real | None = None,
    scale: Literal["unit", "clip"] | None = None,
    standardise: Annotated[bool | None, Parameter(negative="--no-standardise")] = None,
    test_part: Real | None = None,
    seeds: Whole | None = None,
    seed: Whole = 0,
    budget: Literal["smoke", "standard"] | None = None,
    json: Target | None = None,
    figure: Annotated[Path | None, Parameter(negative="--no-figure")] = COMPARE_FIGURE,
    report: Path | None = None,
    cluster: str | None = None,
    store: Path | None = None,
    fresh: Fresh = False,
) -> int:
    """Compare optimizers on real data at equal privacy: gradient norm, loss and test error, with intervals over seeds.

    The methods are nsgd (no noise), dp-nsgd and sr-nsgd (Algorithms 1 and 2 of tran2022), dp-gd (full batches),
    dp-sgd (sampled batches) and dp-srm (Algorithm 1 of wang2019). Each has the smallest noise that its accountant
    certifies for replacing one example. Defaults: rows of length 1, lam 0.001, a fifth to test on, 20 seeds.

    ``experiment``: make a paper's table again, with its methods and settings, at printed and at needed noise; takes
    data, test_data, n, seeds (10), seed and budget (smoke: nothing is tuned). Without data: made-up and bundled sets.
    section-6-2 and the figures have networks (extra ``torch``) and take epochs (20); data is a folder with MNIST (IDX)
    or CIFAR-10 (binary), or else digits are taken.

    ``data``: LIBSVM file, or *.csv or *.tsv with the label last (.gz and .bz2 too); or iris, wine or digits, which are
    bundled; bundled breast cancer by default. With more than two classes it is softmax regression.
    ``standardise``: columns to mean 0 and variance 1 in the training part; by default for the bundled data only.
    ``json``: write the result to this file, or to stdout for - (what a person reads then goes to stderr).
    ``cluster``: address of the scheduler of a Dask cluster that makes the runs (docs/cluster.md). ``store``: file that
    keeps each run, so that what was ended goes on; by default as for verify. ``fresh``: take nothing from it.
    """
    if figure == COMPARE_FIGURE:
        check_figure("--figure", figure)
    asked = {name: value for name, value in locals().items() if name not in {"cluster", "store", "fresh"}}
    from dpverify.cli.means import means_of
    from dpverify.compare import run_compare

    with means_of(cluster, store, fresh=fresh) as means:
        return run_compare(**asked, means=means)


def calibrate(
    *,
    n: Whole,
    epsilon: Real,
    delta: Real,
    algorithm: Literal[
        "dp-nsgd", "sr-nsgd", "dp-srm", "ddp-srm", "dp-gd", "dp-agd", "rrpsgd", "dp-sgd", "dpageem"
    ] = "dp-nsgd",
    d: Whole | None = None,
    steps: Whole | None = None,
    epochs: Whole | None = None,
    lipschitz: Real = 1.0,
    smoothness: Real | None = None,
    alpha: Real | None = None,
    gamma: Real | None = None,
    eta: Real | None = None,
    ordering: Literal["fresh", "once"] | None = None,
    batch: Whole | None = None,
    batch_0: Whole | None = None,
    zeta: Real | None = None,
    beta: Real | None = None,
    parties: Whole | None = None,
    stages: Whole | None = None,
    parts: Real | None = None,
    loss_clip: Real | None = None,
    json: Target | None = None,
) -> int:
    """Say which sigma gives (epsilon, delta): as the paper prints it, as its proof can support it, as accounted.

    The last one is certified by the accountant's upper bound; its lower bound says how much less noise might do.

    dp-nsgd and sr-nsgd are of tran2022 and take ``d``, ``smoothness``, ``alpha``, ``gamma``, ``eta`` and ``ordering``.
    dp-srm and ddp-srm are of wang2019 and take ``batch``, ``batch_0``, ``gamma``, ``zeta``, ``beta`` and ``parties``;
    with clipped gradients ``lipschitz`` is C_1 and ``zeta`` is C_2. dp-gd, rrpsgd (one example a step) and dp-sgd
    (``batch`` examples) are its baselines, and dp-agd, which has a budget of zero-concentrated DP: ``parts`` says into
    how many its choices split half of epsilon, ``lipschitz`` and ``loss_clip`` are C and C'. dpageem, of zhang2021,
    takes ``batch``, ``stages`` (K) and ``steps`` (T^0; stage k has 2^k T^0). Batches are drawn without replacement.
    """
    asked = locals()
    from dpverify.calibrate import run_calibrate

    return run_calibrate(**asked)
