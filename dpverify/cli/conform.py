"""``dpverify conform``: test whether an optimizer keeps the assumptions of its accounting."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dpverify.apart import run_apart
from dpverify.cli.output import BadInput, Real, Whole, check_file, check_folder
from dpverify.cli.results import ConformAnswers, Place
from dpverify.cli.targets import (
    algorithm_or_value,
    load_function,
    load_training,
    with_device,
)
from dpverify.foreign import (
    ForeignError,
    check_originals,
    foreign_code,
    raise_lost_interrupt,
)

if TYPE_CHECKING:
    from dpverify.conform import ConformanceTest, PrivateOptimizer, Promise
    from dpverify.conform.catalogue import Auditor
    from dpverify.conform.peers.records import CatalogueEntry, Peer
    from dpverify.conform.run import TestFamily
    from dpverify.conform.training.runs import Training

    Pair: TypeAlias = tuple[PrivateOptimizer, Promise]
    Auditors: TypeAlias = dict[str, tuple[Auditor, ModuleType]]

CALL_SECONDS = 60.0  # time limit of one call of foreign code


def conform(
    *targets: str,
    seed: Whole = 0,
    alpha: Real = 1e-4,
    outputs: Whole = 0,
    seeds: Whole = 1,
    timeout: Real = CALL_SECONDS,
    beside: list[str] | None = None,
    training: bool = False,
    ranks: Whole = 1,
    device: str | None = None,
    report: Path | None = None,
    summary: Path | None = None,
    verbose: bool = False,
) -> int:
    """Test whether an optimizer, or a whole training, does what its privacy accounting assumes.

    The tests check the batches, the change by one example, the noise and the state. A
    call of your code that raises, exits or does not return is a fault as well. The exit
    code is 1 if a test finds a fault or cannot be run.

    Parameters
    ----------
    targets
        Functions, as module:function or file.py:function. Each returns a
        PrivateOptimizer and a Promise (both from dpverify.conform), or a dict from
        names to such pairs. An Algorithm with a method "conformance" works too, and so
        does the name of a bundled algorithm that clips gradients, such as dp-sgd.
    seed
        Seed of the tests.
    alpha
        Upper bound on the false-alarm probability of all tests together.
    outputs
        Also compute a lower bound on epsilon, from this number of runs on each batch of
        neighbouring pairs. 0 skips this test.
    seeds
        Number of seeds. For a dict, or with more than one seed, the command counts the
        seeds with a fault.
    timeout
        Time limit in seconds for one call of your code. Your code runs in a separate
        process, which is killed after that time. 0 runs it in this process without a
        limit, for a debugger.
    beside
        For a dict: other auditors to compare with, as module:function;
        docs/examples/peers has some.
    training
        The targets are trainings: functions of a data set and a seed that yield the
        released updates, in modules with a PROMISE; see docs/your-training.md.
    ranks
        With --training: number of processes that train together, 2 to 4. --timeout is
        then the limit of one run.
    device
        PyTorch device, such as cuda. Each target is called with this name as its
        parameter "device".
    report
        Folder for the page peers.md and its data. Results of other targets are kept.
    summary
        File to which a summary in markdown is appended, for example
        "$GITHUB_STEP_SUMMARY".
    verbose
        List every test with its numbers and the smallest fault that it detects.
    """
    if not targets:
        raise BadInput(
            "TARGETS",
            "nothing",
            "must be at least one module:function or file.py:function",
        )
    if seeds < 1:
        raise BadInput("--seeds", str(seeds), "must be at least 1")
    if timeout < 0:
        raise BadInput("--timeout", str(timeout), "must be at least 0")
    if ranks != 1 and not training:
        raise BadInput("--ranks", str(ranks), "needs --training")
    if training and (seeds > 1 or beside or outputs):
        raise BadInput(
            "--training",
            "with --seeds, --beside or --outputs",
            "is tested without them",
        )
    if report is not None:
        for inside in (report, report / "data"):
            check_folder("--report", inside)
    if summary is not None:
        check_file("--summary", summary)
    options = Options(
        seed,
        alpha,
        outputs,
        seeds,
        report is not None,
        training,
        ranks,
        device,
        timeout,
    )
    run = ConformAnswers(targets, seeds, summary, verbose=verbose)
    auditors = tuple(beside or ())
    while not run.complete:
        try:
            for message, value in run_apart(
                timeout, results, targets, auditors, frozenset(run.done), options
            ):
                run.take(message, value)
            run.complete = True
        except ForeignError as error:
            run.fail(error)
        except BaseException:
            run.show_unfinished()
            raise
        finally:
            run.hide_progress()
    if report is not None:
        from dpverify.conform.peers.recording import (
            RunSettings,
            short_target,
            write_peers,
        )

        command = (
            f"dpverify conform {' '.join(map(short_target, targets))} --seed {seed}"
        )
        command += (
            f" --outputs {outputs}" if outputs else " --training" if training else ""
        )
        command += f" --ranks {ranks}" if ranks > 1 else ""
        command += f" --device {device}" if device else ""
        about_run = RunSettings(
            command, seed, seeds, alpha, run.auditors, run.card, run.versions
        )
        for name in write_peers(report, run.peers, run.entries, about_run):
            print(f"wrote {report / name}")
    return run.code


class Options(NamedTuple):
    """Options of the tests."""

    seed: int
    alpha: float
    outputs: int
    seeds: int
    pages: bool  # whether a page is written
    training: bool  # whether the targets are trainings
    ranks: int
    device: str | None
    timeout: float


def results(
    targets: tuple[str, ...],
    beside: tuple[str, ...],
    done: frozenset[Place],
    options: Options,
) -> Iterator[tuple[str, Any]]:
    """Load all targets, then yield messages with the results of the tests that are not in ``done``.

    An invalid target ends the run before any test.
    """
    import dpverify.conform.catalogue
    import dpverify.conform.outputs
    import dpverify.conform.training.ranks  # noqa: F401  loaded here, so that this does not count as foreign code's time
    from dpverify.conform.peers.recording import (
        short_target,
        versioned_docstring,
        versions_of,
    )

    if options.device is not None:
        yield "card", _card_name(options.device)
    optimizers: list[tuple[str, ModuleType, Any]] = [
        _training(target, options.device)
        if options.training
        else _load_optimizer(target, options.device)
        for target in targets
    ]
    auditors = {
        short_target(target): load_function("--beside", target) for target in beside
    }
    yield (
        "auditors",
        {
            name: versioned_docstring(function, module, name)
            for name, (function, module) in auditors.items()
        },
    )
    yield (
        "versions",
        {
            short_target(target): versions_of(module)
            for target, (_, module, _) in zip(targets, optimizers, strict=True)
        },
    )
    for number, (target, (summary, module, several)) in enumerate(
        zip(targets, optimizers, strict=True)
    ):
        is_counted = isinstance(several, dict) or options.seeds > 1
        pairs = (
            several
            if isinstance(several, dict)
            else {summary if is_counted else "": several}
        )
        for name, pair in pairs.items():
            if (number, name) in done:
                continue
            yield "begin", (number, name)
            try:
                if is_counted:
                    yield (
                        "entry",
                        _entry(short_target(target), name, pair, auditors, options),
                    )
                else:
                    peer = (
                        _peer_record(target, summary, module, pair[1])
                        if options.pages
                        else None
                    )
                    yield "optimizer", (summary, peer)
                    yield from _tests(target, pair, options)
            except ValueError as error:
                label = f"{target}, {name}" if name else target
                raise BadInput("TARGET", label, str(error)) from error
            yield "end", (number, name)


def _peer_record(
    target: str, summary: str, module: ModuleType, promise: Promise
) -> Peer:
    """Return the record of an optimizer for the page, without its tests."""
    from dpverify.conform.peers.recording import peer_without_tests, with_known_finding

    return with_known_finding(
        peer_without_tests(target, summary, module, promise), target, module
    )


def _tests(
    target: str, pair: Any, options: Options
) -> Iterator[tuple[str, ConformanceTest | TestFamily]]:
    from dpverify.conform import ConformanceTest

    subject, promise = pair
    tests: Iterator[ConformanceTest | TestFamily] = (
        _training_tests(target, subject, promise, options)
        if options.training
        else _optimizer_tests(subject, promise, options)
    )
    for test in tests:
        yield "test" if isinstance(test, ConformanceTest) else "kind", test
        raise_lost_interrupt()


def _optimizer_tests(
    optimizer: PrivateOptimizer, promise: Promise, options: Options
) -> Iterator[ConformanceTest | TestFamily]:
    from dpverify.conform.coverage import check_memory
    from dpverify.conform.run import announced_tests, check_options

    check_options(options.seed, options.alpha, options.outputs)
    check_memory(promise, options.outputs)
    return announced_tests(
        optimizer, promise, options.seed, options.alpha, options.outputs
    )


def _training_tests(
    target: str, make: Training, promise: Promise, options: Options
) -> Iterator[ConformanceTest]:
    from dpverify.conform.training.run import (
        RUNS,
        all_training_tests,
        check_training_options,
    )

    check_training_options(promise, options.seed, options.alpha, RUNS, options.ranks)
    load = partial(load_training, target, options.device)
    return all_training_tests(
        make, load, promise, options.ranks, options.timeout, options.seed, options.alpha
    )


def _card_name(device: str) -> str:
    from dpverify.conform.guard import card_name
    from dpverify.kernels.check import ArgumentError

    try:
        return card_name(device)
    except ArgumentError as error:
        raise BadInput("--device", device, error.rule) from error


def _training(
    target: str, device: str | None
) -> tuple[str, ModuleType, tuple[Training, Promise]]:
    """Return the docstring of a training on one line, its module, and the training with its promise."""
    make, module = load_function("TARGET", target)
    from dpverify.conform import Promise
    from dpverify.conform.peers.recording import docstring_of

    promise = getattr(module, "PROMISE", None)
    if not isinstance(promise, Promise):
        raise BadInput(
            "TARGET",
            target,
            "must be in a module with a PROMISE, a dpverify.conform.Promise",
        )
    pair = (with_device(target, make, device), promise)
    return docstring_of(make, target), module, pair


def _entry(
    target: str, name: str, pair: Pair, auditors: Auditors, options: Options
) -> CatalogueEntry:
    """Test one optimizer of a catalogue and return its entry."""
    from dpverify.conform.catalogue import judge

    functions = {auditor: function for auditor, (function, _) in auditors.items()}
    test_options: dict[str, Any] = {
        "seed": options.seed,
        "seeds": options.seeds,
        "alpha": options.alpha,
    }
    return judge(target, name, *pair, auditors=functions, **test_options)


def _is_pair(pair: object) -> bool:
    """Test whether this is an optimizer and its promise."""
    from dpverify.conform import PrivateOptimizer, Promise

    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        return False
    return isinstance(pair[0], PrivateOptimizer) and isinstance(pair[1], Promise)


def _load_optimizer(
    target: str, device: str | None
) -> tuple[str, ModuleType, Pair | dict[str, Pair]]:
    """Return the docstring of a function on one line, its module, and its result."""
    value, module = algorithm_or_value(target)
    make = getattr(value, "conformance", value)  # a method of Algorithm
    if not callable(make):
        raise BadInput(
            "TARGET", target, f"must be a function, is {type(value).__name__}"
        )
    from dpverify.conform.peers.recording import docstring_of

    build = with_device(target, make, device)
    try:
        with foreign_code(target):
            several = build()
            pairs = list(several.values()) if isinstance(several, dict) else [several]
        check_originals(target)
    except ForeignError as error:
        raise BadInput("TARGET", target, error.reason) from error
    if not pairs or not all(map(_is_pair, pairs)):
        empty = "" if pairs else ", or a dict of such pairs that is not empty"
        raise BadInput(
            "TARGET", target, f"must return a PrivateOptimizer and a Promise{empty}"
        )
    return docstring_of(make, target), module, several
