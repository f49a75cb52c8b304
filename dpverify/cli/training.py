"""The commands ``train`` and ``party``, and options of commands that are generated from the settings of algorithms."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from dpverify.cli.output import (
    BadInput,
    Real,
    Target,
    Whole,
    check_figure,
    real,
    refused,
    whole,
)

if TYPE_CHECKING:
    from dpverify.algorithms.algorithm import Algorithm
    from dpverify.algorithms.settings import Option


DEFAULT_FIGURE = Path("ALGORITHM.svg")
"""Default path of the figure: in the current folder, named after the algorithm."""


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

    The loss is logistic regression with a nonconvex regularizer, or softmax regression
    if there are more than two classes. Loss and gradient norm are printed during
    training. Each algorithm has its own options: dpverify train ALGORITHM --help.
    Without an algorithm, dp-nsgd is trained.

    Parameters
    ----------
    data
        LIBSVM file, or *.csv or *.tsv with the label in the last column (.gz and .bz2
        too), or one of the bundled sets iris, wine and digits. Default: the bundled
        breast cancer data.
    n
        Use only this number of examples.
    epochs
        Number of passes over the data, instead of steps.
    epsilon
        Target epsilon; with --delta, sigma is the smallest that the accountant
        certifies.
    delta
        Target delta.
    standardise
        Scale columns to mean 0 and variance 1. Default: for the bundled data only.
    points
        Number of measurements during training. Default: up to 100, limited to about a
        fifth of the time.
    json
        Write the result as JSON to this file, or to stdout for -. With -, the text goes
        to stderr.
    figure
        File for the figure; --no-figure draws no figure.
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

    Start one process for each party. All processes need the same version and settings.
    Batches and noise come from the randomness of the system. Connections are not
    encrypted: docs/parties.md describes which parties are protected from which.

    Parameters
    ----------
    index
        Number of this party in --peers, from 0.
    peers
        Addresses of all parties: host:port,host:port,...
    data
        LIBSVM file, or *.csv or *.tsv with the label in the last column (.gz and .bz2
        too), or one of the bundled sets iris, wine and digits.
    sigma
        Noise multiplier.
    steps
        Number of steps.
    batch
        Batch size.
    gamma
        Weight of the estimator.
    eta
        Accuracy zeta: L times the longest step.
    change_clip
        Clip length of gradient changes. Default: 0.01.
    delta
        Delta at which epsilon is printed.
    noise
        How the parties make the noise: shares of the parties, shared random bits, or
        the ratio of uniforms.
    fraction_bits
        Binary digits after the point in the multi-party computation.
    lam
        Weight of the nonconvex regularizer.
    scale
        unit: all rows are scaled to length 1; clip: only longer rows are.
    seed
        Seed of the choice of the output iterate. It does not determine batches or
        noise.
    timeout
        Seconds (at most 60) after which a silent party ends the run.
    patience
        Seconds within which all parties must have connected.
    json
        Write the result as JSON to this file, or to stdout for -. With -, the text goes
        to stderr.
    """
    from dpverify.algorithms.dp_srm import DDP_SRM
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
    return run_party_command(
        request, index=index, peers=peers, json=json, timeout=timeout, patience=patience
    )


Command = Callable[..., Any]
OptionChooser = Callable[["Algorithm[Any]"], "Mapping[str, Option] | None"]
"""Returns the options of an algorithm, or None if the command has no such algorithm."""


def train_options(algorithm: Algorithm[Any]) -> Mapping[str, Option] | None:
    """Return the training options of an algorithm."""
    from dpverify.algorithms.settings import options

    return options(algorithm.settings)


def calibrate_options(algorithm: Algorithm[Any]) -> Mapping[str, Option] | None:
    """Return the calibration options of an algorithm, or None if it cannot be calibrated."""
    from dpverify.algorithms.settings import options
    from dpverify.kernels.check import ArgumentError

    try:
        return options(algorithm.calibration())
    except ArgumentError:
        return None


def add_algorithms(
    app: App, command: Command, choose: OptionChooser, words: Sequence[str]
) -> None:
    """Add a subcommand to ``app`` for each bundled algorithm, and for an algorithm ``file.py:NAME`` in ``words``."""
    from dpverify.algorithms.registry import ALGORITHMS, algorithm_named
    from dpverify.kernels.check import ArgumentError

    algorithms = dict(ALGORITHMS)
    for word in words[1:2]:
        if ":" in word and not word.startswith("-"):
            try:
                algorithms[word] = algorithm_named(word)
            except ArgumentError as error:
                raise BadInput("ALGORITHM", word, error.rule) from error
    for name, algorithm in algorithms.items():
        options = choose(algorithm)
        if options is not None:
            epilogue = "Exit codes: dpverify --help"
            app.command(
                _generated(command, name, algorithm, options),
                name=name,
                help_epilogue=epilogue,
            )


def algorithm_first(words: list[str]) -> list[str]:
    """Rewrite ``train --algorithm NAME`` to ``train NAME``; without a name, insert the default algorithm."""
    from dpverify.algorithms.registry import ALGORITHMS

    command, *arguments = words
    if arguments and not arguments[0].startswith("-"):
        return words
    for place, word in enumerate(arguments):
        option, equals, value = word.partition("=")
        if option == "--algorithm":
            remaining = arguments[:place] + arguments[place + (1 if equals else 2) :]
            if not equals and place + 1 == len(arguments):
                raise BadInput(
                    "--algorithm",
                    "nothing",
                    "must be followed by the name of an algorithm",
                )
            return [command, value if equals else arguments[place + 1], *remaining]
    if not arguments or arguments[0] in {"--help", "-h"}:
        return [command, "--help"] if arguments else [command, next(iter(ALGORITHMS))]
    return [command, next(iter(ALGORITHMS)), *arguments]


def _generated(
    command: Command,
    name: str,
    algorithm: Algorithm[Any],
    options: Mapping[str, Option],
) -> Command:
    """Return ``command(name, ...)`` with the options of an algorithm in place of its ``**settings``."""
    shared_parameters = inspect.signature(command, eval_str=True).parameters
    parameters = [
        _parameter(option)
        for option in options.values()
        if option.name not in shared_parameters
    ]
    hidden = set() if algorithm.is_private else {"epsilon", "delta"}
    parameters += [
        parameter
        for parameter in shared_parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        and parameter.name not in hidden
    ]

    def run(**values: Any) -> Any:
        missing = [
            f"--{option.name.replace('_', '-')}"
            for option in options.values()
            if option.is_required
            and not option.setting.default
            and values.get(option.name) is None
        ]
        if missing and "sigma" not in values:
            raise BadInput(", ".join(missing), "left out", f"must be given for {name}")
        return command(name, **values)

    documentation = inspect.getdoc(command) or ""
    _, heading, descriptions = documentation.partition("Parameters\n----------\n")
    run.__doc__ = f"{algorithm.summary}\n\n{heading}{descriptions}"
    # inspect.signature reads this attribute, but the type of functions lacks it
    run.__signature__ = inspect.Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    run.__annotations__ = {
        parameter.name: parameter.annotation for parameter in parameters
    }
    return run


def _parameter(option: Option) -> inspect.Parameter:
    """Return a setting as a parameter of a command; its value is None if the option is not given."""
    setting = option.setting
    words = (
        setting.help
        if setting.letter == option.name
        else f"{setting.help.rstrip('.')} ({setting.letter})."
    )
    default = setting.default or ("" if option.default is None else str(option.default))
    if default:
        words += f" Default: {default}."
    if option.is_required and not setting.default:
        words += (
            " Required without --sigma." if option.name == "epsilon" else " Required."
        )
    conversion = {
        int: {"converter": whole, "n_tokens": 1},
        float: {"converter": real, "n_tokens": 1},
    }.get(option.type, {})
    optional: Any = option.type | None
    annotation = Annotated[optional, Parameter(help=words, **conversion)]
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )
