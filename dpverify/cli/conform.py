"""``dpverify conform``: whether an optimizer of yours does what its accounting presumes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dpverify.apart import run_apart
from dpverify.cli.audit import load_function
from dpverify.cli.output import OK, BadInput, Real, Whole, check_file, check_folder
from dpverify.foreign import ForeignError, foreign_code, raise_lost_interrupt

if TYPE_CHECKING:
    from dpverify.conform import Conformance, ConformanceTest, PrivateOptimizer, Promise
    from dpverify.conform.beside import Auditor
    from dpverify.conform.run import TestFamily
    from dpverify.report.peer_records import CatalogueEntry, Peer

    Pair: TypeAlias = tuple[PrivateOptimizer, Promise]
    Auditors: TypeAlias = dict[str, tuple[Auditor, ModuleType]]

REFUTED = 1
WIDEST = 110  # lines stop here, however wide the terminal is
SECONDS = 60.0  # that one call of foreign code may take


def conform(
    *targets: str,
    seed: Whole = 0,
    alpha: Real = 1e-4,
    outputs: Whole = 0,
    seeds: Whole = 1,
    timeout: Real = SECONDS,
    beside: list[str] | None = None,
    report: Path | None = None,
    summary: Path | None = None,
    verbose: bool = False,
) -> int:
    """Test whether an optimizer does what its privacy accounting assumes.

    The tests look at the batches, at what one example changes, at the noise and at the state. A call of your code that
    raises, exits or does not return is a fault as well. The exit code is 1 if a test finds a fault or cannot be run.

    Parameters
    ----------
    targets
        Functions, as module:function or file.py:function. Each returns a PrivateOptimizer and a Promise (both from
        dpverify.conform), or a dict from names to such pairs.
    seed
        Seed of the tests.
    alpha
        Upper bound on the false-alarm probability of all tests together.
    outputs
        Also bound epsilon from below, with this number of runs on each side of pairs of batches; 0 skips this test.
    seeds
        For a dict: number of seeds. Counts the seeds for which a fault is found.
    timeout
        Seconds that one call of your code may take. Your code runs in a process of its own, which is ended after that
        time. 0 runs it in this process without a limit, for a debugger.
    beside
        For a dict: other auditors to compare with, as module:function; docs/examples/peers has some.
    report
        Folder in which the page peers.md and its data are written.
    summary
        File to which a summary in markdown is appended, for example "$GITHUB_STEP_SUMMARY".
    verbose
        List every test with its numbers and the smallest fault that it detects.
    """
    if not targets:
        raise BadInput("TARGETS", "nothing", "must be at least one module:function or file.py:function")
    if seeds < 1:
        raise BadInput("--seeds", str(seeds), "must be at least 1")
    if timeout < 0:
        raise BadInput("--timeout", str(timeout), "must be at least 0")
    if report is not None:
        for inside in (report, report / "data"):
            check_folder("--report", inside)
    if summary is not None:
        check_file("--summary", summary)
    options = Options(seed, alpha, outputs, seeds, report is not None)
    run = _Answers(targets, seeds, summary, verbose=verbose)
    auditors = tuple(beside or ())
    while not run.complete:
        try:
            for message, value in run_apart(timeout, results, targets, auditors, frozenset(run.done), options):
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
        from dpverify.conform.peers import RunSettings, short_target, write_peers

        command = f"dpverify conform {' '.join(map(short_target, targets))} --seed {seed}"
        command += f" --outputs {outputs}" if outputs else ""
        about_run = RunSettings(command, seed, seeds, alpha, run.auditors)
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


Place: TypeAlias = tuple[int, str]  # number of the target, name in its dict or ""


def results(
    targets: tuple[str, ...], beside: tuple[str, ...], done: frozenset[Place], options: Options
) -> Iterator[tuple[str, Any]]:
    """Load all targets, so that none is tested where one is refused; then test the optimizers that are not done yet."""
    import dpverify.conform.catalogue
    import dpverify.conform.outputs  # noqa: F401  loaded here, so that this does not count as foreign code's time
    from dpverify.conform.peers import about, described, short_target

    made = [_made(target) for target in targets]
    auditors = {short_target(target): load_function("--beside", target) for target in beside}
    yield "auditors", {name: about(function, module, name) for name, (function, module) in auditors.items()}
    for number, (target, (says, module, several)) in enumerate(zip(targets, made, strict=True)):
        pairs = several if isinstance(several, dict) else {"": several}
        for name, pair in pairs.items():
            if (number, name) in done:
                continue
            yield "begin", (number, name)
            try:
                if isinstance(several, dict):
                    yield "entry", _entry(short_target(target), name, pair, auditors, options)
                else:
                    yield "optimizer", (says, described(target, says, module, pair[1]) if options.pages else None)
                    yield from _tests(pair, options)
            except ValueError as error:
                label = f"{target}, {name}" if name else target
                raise BadInput("TARGET", label, str(error)) from error
            yield "end", (number, name)


def _tests(pair: Pair, options: Options) -> Iterator[tuple[str, ConformanceTest | TestFamily]]:
    from dpverify.conform import ConformanceTest
    from dpverify.conform.effort import check_memory
    from dpverify.conform.run import announced_tests, check_options

    check_options(options.seed, options.alpha, options.outputs)
    check_memory(pair[1], options.outputs)
    for found in announced_tests(*pair, options.seed, options.alpha, options.outputs):
        yield "test" if isinstance(found, ConformanceTest) else "kind", found
        raise_lost_interrupt()


def _entry(target: str, name: str, pair: Pair, auditors: Auditors, options: Options) -> CatalogueEntry:
    """Judge one of a catalogue."""
    from dpverify.conform.catalogue import judge

    functions = {auditor: function for auditor, (function, _) in auditors.items()}
    how: dict[str, Any] = {"seed": options.seed, "seeds": options.seeds, "alpha": options.alpha}
    return judge(target, name, *pair, auditors=functions, **how)


class _Answers:
    """What the tests have found so far, printed as soon as an optimizer is done."""

    def __init__(self, targets: tuple[str, ...], seeds: int, summary: Path | None, *, verbose: bool) -> None:
        self.targets = targets
        self.seeds = seeds
        self.summary = summary
        self.verbose = verbose
        self.code = OK
        self.complete = False
        self.done: set[Place] = set()
        self.peers: list[Peer] = []
        self.entries: list[CatalogueEntry] = []
        self.auditors: dict[str, str] = {}
        self._place: Place | None = None
        self._optimizer: tuple[str, Peer | None] | None = None
        self._tests: list[ConformanceTest] = []
        self._bar = ExitStack()  # what shows how far the tests are, while nothing is printed
        self._show: Callable[[int, int, str], None] | None = None

    def take(self, message: str, value: Any) -> None:
        """Take a message of `results`."""
        if message == "auditors":
            self.auditors = value
        elif message == "begin":
            self._place = value
            self._optimizer = None
            self._tests = []
            if value[1]:
                self._progress(len(self.done), 0, value[1])
        elif message == "kind":
            self._progress(value.number, value.total, value.name)
        elif message == "optimizer":
            self._optimizer = value
        elif message == "test":
            self._tests.append(value)
        elif message == "entry":
            self._add_entry(value, "")
        else:
            self._end()

    def fail(self, error: ForeignError) -> None:
        """Take that foreign code ended its process or did not return; what was found before is kept."""
        from dpverify.conform.guarded import failed_call
        from dpverify.conform.peers import short_target
        from dpverify.report.peer_records import CatalogueEntry

        if self._place is None:
            raise BadInput("TARGET", ", ".join(self.targets), str(error)) from error
        number, name = self._place
        if self._optimizer is None:
            target = short_target(self.targets[number])
            entry = CatalogueEntry(target=target, name=name, found=self.seeds, by="calls", seconds=0.0, answers=[])
            self._add_entry(entry, str(error))
        else:
            self._tests.append(failed_call("this optimizer", error))
        self._end()

    def _progress(self, done: int, total: int, label: str) -> None:
        """Show on stderr how far the tests are, if it is a terminal; ``total``: 0 if it is not known."""
        from dpverify.report.terminal import rounds_on_stderr

        self._show = self._show or self._bar.enter_context(rounds_on_stderr())
        self._show(done, total or done + 1, label)

    def hide_progress(self) -> None:
        """Take away what shows how far the tests are, so that results can be printed."""
        self._bar.close()
        self._show = None

    def show_unfinished(self) -> None:
        """Print what was found of an optimizer whose tests did not end."""
        self.hide_progress()
        if self._tests:
            target = self.targets[self._place[0]] if self._place else ""
            print(f"{target}: its tests did not end; they had found:", *self._tests, sep="\n", flush=True)

    def _end(self) -> None:
        from dpverify.conform import Conformance
        from dpverify.conform.peers import with_tests
        from dpverify.conform.summary import append_summary

        assert self._place is not None
        if self._optimizer is not None:
            found = Conformance(self._tests)
            says, peer = self._optimizer
            target = self.targets[self._place[0]]
            self._print([f"{target}: {says}"] if len(self.targets) > 1 else [], found)
            self.code = self.code if found else REFUTED
            if self.summary is not None:
                append_summary(target, found, self.summary)
            if peer is not None:
                self.peers.append(with_tests(peer, found))
        self.done.add(self._place)
        self._place = None
        self._tests = []

    def _print(self, titles: list[str], found: Conformance) -> None:
        from rich.console import Console

        from dpverify.conform.causes import report
        from dpverify.report.terminal import print_lines
        from dpverify.report.text.paragraphs import StyledLine

        self.hide_progress()
        console = Console()
        lines = report(found.tests, found.alpha, min(console.width, WIDEST), verbose=self.verbose, how="--verbose")
        print_lines([*(StyledLine(title, "bold") for title in titles), *lines], console)

    def _add_entry(self, entry: CatalogueEntry, reason: str) -> None:
        from dpverify.conform.summary import append_entry

        self.hide_progress()
        self.entries.append(entry)
        self.code = REFUTED if entry.found or entry.untested else self.code
        if self.summary is not None:
            append_entry(entry, self.seeds, self.summary)
        words = [f"{a.auditor}: {'raised ' if a.broken else ''}{a.says or 'nothing'}" for a in entry.answers]
        untested = f"not tested: {', '.join(entry.untested)}" if entry.untested else ""
        by = [word for word in (entry.by, untested, reason) if word]
        print(f"{entry.name}: {entry.found} of {self.seeds}", *by, *words, sep="; ", flush=True)


def _made(target: str) -> tuple[str, ModuleType, Pair | dict[str, Pair]]:
    """What a function says of itself, its module, and what it returns."""
    make, module = load_function("TARGET", target)
    from dpverify.conform import PrivateOptimizer, Promise
    from dpverify.conform.peers import says_of

    try:
        with foreign_code(target):
            several = make()
            pairs = list(several.values()) if isinstance(several, dict) else [several]
            (*_,) = ((optimizer, promise) for optimizer, promise in pairs)
    except ForeignError as error:
        raise BadInput("TARGET", target, error.reason) from error
    if not all(isinstance(one, PrivateOptimizer) and isinstance(other, Promise) for one, other in pairs):
        raise BadInput("TARGET", target, "must return a PrivateOptimizer and a Promise")
    return says_of(make, target), module, several
