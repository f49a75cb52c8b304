"""Load the targets of ``conform`` and ``audit``; print and collect the results of ``conform``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from dpverify import targets
from dpverify.cli.output import OK, BadInput
from dpverify.foreign import ForeignError, foreign_code
from dpverify.targets import TargetError, load_object

if TYPE_CHECKING:
    from dpverify.conform import Conformance, ConformanceTest
    from dpverify.conform.peers.records import CatalogueEntry, Peer


DATASETS = "datasets"


def load_datasets(target: str | None, module: ModuleType) -> object:
    """Return the pair of data sets ``module:name``, by default ``datasets`` of the mechanism's module, or None."""
    if target is not None:
        value = load_value("--datasets", target)[0]
    elif not isinstance(
        getattr(module, DATASETS, module), ModuleType
    ):  # excludes `from sklearn import datasets`
        target = f"{module.__name__}:{DATASETS}"
        value = getattr(module, DATASETS)
    else:
        return None
    if not callable(value):
        return value
    try:
        with foreign_code("datasets"):
            return value()
    except ForeignError as error:
        raise BadInput("--datasets", target, error.reason) from error


def load_function(option: str, target: str) -> tuple[Callable[..., Any], ModuleType]:
    """Import a function and return it with its module; raise BadInput for the option if this fails."""
    try:
        return targets.load_function(target)
    except TargetError as error:
        raise BadInput(option, target, str(error)) from error


def load_value(option: str, target: str) -> tuple[Any, ModuleType]:
    """Import an object and return it with its module; raise BadInput for the option if this fails."""
    try:
        return load_object(target)
    except TargetError as error:
        raise BadInput(option, target, str(error)) from error


REFUTED = 1
WIDEST = 110  # maximum length of lines, also in a wider terminal

Place: TypeAlias = tuple[int, str]  # (number of the target, name in its dict or "")


class ConformAnswers:
    """The results of the tests so far. The results of an optimizer are printed when its tests are finished."""

    def __init__(
        self,
        targets: tuple[str, ...],
        seeds: int,
        summary: Path | None,
        *,
        verbose: bool,
    ) -> None:
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
        self.versions: dict[str, dict[str, str]] = {}  # target -> library -> version
        self.card = ""  # name of the graphics card of --device
        self._place: Place | None = None
        self._optimizer: tuple[str, Peer | None] | None = None
        self._tests: list[ConformanceTest] = []
        self._bar = ExitStack()  # the progress bar
        self._show: Callable[[int, int, str], None] | None = None

    def take(self, message: str, value: Any) -> None:
        """Process a message of ``conform.results``."""
        if message == "auditors":
            self.auditors = value
        elif message == "versions":
            self.versions = value
        elif message == "card":
            self.card = value
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
        """Record that foreign code ended its process or did not return; keep earlier results."""
        from dpverify.conform.guarded import failed_call
        from dpverify.conform.peers.recording import short_target
        from dpverify.conform.peers.records import CatalogueEntry

        if self._place is None:
            raise BadInput("TARGET", ", ".join(self.targets), str(error)) from error
        number, name = self._place
        if self._optimizer is None:
            target = short_target(self.targets[number])
            entry = CatalogueEntry(
                target=target,
                name=name,
                found=self.seeds,
                by="calls",
                seconds=0.0,
                answers=[],
            )
            self._add_entry(entry, str(error))
        else:
            self._tests.append(failed_call("this optimizer", error))
        self._end()

    def _progress(self, done: int, total: int, label: str) -> None:
        """Show the progress of the tests on stderr if it is a terminal; ``total`` is 0 if unknown."""
        from dpverify.report.terminal import rounds_on_stderr

        self._show = self._show or self._bar.enter_context(rounds_on_stderr())
        self._show(done, total or done + 1, label)

    def hide_progress(self) -> None:
        """Remove the progress bar, so that results can be printed."""
        self._bar.close()
        self._show = None

    def show_unfinished(self) -> None:
        """Print the results of an optimizer whose tests did not finish."""
        self.hide_progress()
        if self._tests:
            target = self.targets[self._place[0]] if self._place else ""
            print(
                f"{target}: its tests did not end; they had found:",
                *self._tests,
                sep="\n",
                flush=True,
            )

    def _end(self) -> None:
        from dpverify.conform import Conformance
        from dpverify.conform.peers.recording import with_tests
        from dpverify.conform.report import append_summary

        assert self._place is not None
        if self._optimizer is not None:
            conformance = Conformance(self._tests)
            summary, peer = self._optimizer
            target = self.targets[self._place[0]]
            self._print(
                [f"{target}: {summary}"] if len(self.targets) > 1 else [], conformance
            )
            self.code = self.code if conformance else REFUTED
            if self.summary is not None:
                append_summary(target, conformance, self.summary)
            if peer is not None:
                self.peers.append(with_tests(peer, conformance))
        self.done.add(self._place)
        self._place = None
        self._tests = []

    def _print(self, titles: list[str], conformance: Conformance) -> None:
        from rich.console import Console

        from dpverify.conform.report import report
        from dpverify.report.terminal import print_lines
        from dpverify.report.text.paragraphs import StyledLine

        self.hide_progress()
        console = Console()
        lines = report(
            conformance.tests,
            conformance.alpha,
            min(console.width, WIDEST),
            verbose=self.verbose,
            how="--verbose",
        )
        print_lines([*(StyledLine(title, "bold") for title in titles), *lines], console)

    def _add_entry(self, entry: CatalogueEntry, reason: str) -> None:
        from dpverify.conform.report import append_entry

        self.hide_progress()
        self.entries.append(entry)
        self.code = REFUTED if entry.found or entry.untested else self.code
        if self.summary is not None:
            append_entry(entry, self.seeds, self.summary)
        words = [
            f"{a.auditor}: {'raised ' if a.broken else ''}{a.says or 'nothing'}"
            for a in entry.answers
        ]
        untested = f"not tested: {', '.join(entry.untested)}" if entry.untested else ""
        by = [word for word in (entry.by, untested, reason) if word]
        print(
            f"{entry.name}: {entry.found} of {self.seeds}",
            *by,
            *words,
            sep="; ",
            flush=True,
        )
