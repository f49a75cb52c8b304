"""Commands with one subcommand for each algorithm, whose options are the algorithm's settings with their help.

Only the command that is called is generated, since the settings load numpy.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from dpverify.cli.output import BadInput, real, whole

if TYPE_CHECKING:
    from dpverify.algorithms.algorithm import Algorithm
    from dpverify.algorithms.settings import Option

Command = Callable[..., Any]
Choose = Callable[["Algorithm[Any]"], "Mapping[str, Option] | None"]
"""Returns the options of an algorithm, or None if the command has no such algorithm."""


def train_options(algorithm: Algorithm[Any]) -> Mapping[str, Option] | None:
    """Return the settings with which an algorithm is trained."""
    from dpverify.algorithms.settings import options

    return options(algorithm.settings)


def calibrate_options(algorithm: Algorithm[Any]) -> Mapping[str, Option] | None:
    """Return what a calibration of an algorithm needs to know."""
    from dpverify.algorithms.settings import options
    from dpverify.kernels.check import ArgumentError

    try:
        return options(algorithm.calibration())
    except ArgumentError:
        return None


def add_algorithms(app: App, command: Command, choose: Choose, words: Sequence[str]) -> None:
    """Add a subcommand to ``app`` for each algorithm, and for the one that ``words`` name as ``file.py:NAME``."""
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
            app.command(_generated(command, name, algorithm, options), name=name, help_epilogue=epilogue)


def algorithm_first(words: list[str]) -> list[str]:
    """Turn ``train --algorithm NAME``, and ``train`` alone, into ``train NAME``."""
    from dpverify.algorithms.registry import ALGORITHMS

    command, *rest = words
    if rest and not rest[0].startswith("-"):
        return words
    for place, word in enumerate(rest):
        option, equals, value = word.partition("=")
        if option == "--algorithm":
            remaining = rest[:place] + rest[place + (1 if equals else 2) :]
            if not equals and place + 1 == len(rest):
                raise BadInput("--algorithm", "nothing", "must be followed by the name of an algorithm")
            return [command, value if equals else rest[place + 1], *remaining]
    if not rest or rest[0] in {"--help", "-h"}:
        return [command, "--help"] if rest else [command, next(iter(ALGORITHMS))]
    return [command, next(iter(ALGORITHMS)), *rest]


def _generated(command: Command, name: str, algorithm: Algorithm[Any], options: Mapping[str, Option]) -> Command:
    """Return ``command(name, ...)`` with the options of an algorithm in place of its ``**settings``."""
    shared = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [
        _parameter(option) for option in options.values() if option.name not in inspect.signature(command).parameters
    ]
    hidden = set() if algorithm.is_private else {"epsilon", "delta"}
    parameters += [
        parameter
        for parameter in shared
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.name not in hidden
    ]

    def run(**values: Any) -> Any:
        missing = [
            f"--{option.name.replace('_', '-')}"
            for option in options.values()
            if option.is_required and not option.setting.default and values.get(option.name) is None
        ]
        if missing and "sigma" not in values:
            raise BadInput(", ".join(missing), "left out", f"must be given for {name}")
        return command(name, **values)

    documentation = inspect.getdoc(command) or ""
    _, heading, described = documentation.partition("Parameters\n----------\n")
    run.__doc__ = f"{algorithm.summary}\n\n{heading}{described}"
    # inspect.signature reads this attribute, which functions have no type for
    run.__signature__ = inspect.Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameter(option: Option) -> inspect.Parameter:
    """Return a setting as a parameter of a command; whatever is left out has its default elsewhere."""
    setting = option.setting
    words = setting.help if setting.letter == option.name else f"{setting.help.rstrip('.')} ({setting.letter})."
    default = setting.default or ("" if option.default is None else str(option.default))
    if default:
        words += f" Default: {default}."
    if option.is_required and not setting.default:
        words += " Required without --sigma." if option.name == "epsilon" else " Required."
    how = {int: {"converter": whole, "n_tokens": 1}, float: {"converter": real, "n_tokens": 1}}.get(option.type, {})
    optional: Any = option.type | None
    annotation = Annotated[optional, Parameter(help=words, **how)]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
