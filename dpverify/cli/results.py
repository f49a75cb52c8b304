"""Print the results of ``conform`` and ``audit``. The results of ``conform`` are also collected for its pages."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dpverify.cli.output import OK, BadInput
from dpverify.foreign import ForeignError

if TYPE_CHECKING:
    from dpverify.conform import Conformance, ConformanceTest
    from dpverify.conform.peers.records import CatalogueEntry, Peer
    from dpverify.privacy.audit.records import AuditorCoverage, AuditResult


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
        """Process a message of ``conform.records``."""
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
        from dpverify.conform.guard import failed_call_test
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
            self._tests.append(failed_call_test("this optimizer", error))
        self._end()

    def _progress(self, done: int, total: int, label: str) -> None:
        """Show the progress of the tests on stderr if it is a terminal; ``total`` is 0 if unknown."""
        from dpverify.report.text.console import rounds_on_stderr

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

        from dpverify.conform.report import report_lines
        from dpverify.report.text.console import print_lines
        from dpverify.report.text.paragraphs import StyledLine

        self.hide_progress()
        console = Console()
        lines = report_lines(
            conformance.tests,
            conformance.alpha,
            min(console.width, WIDEST),
            verbose=self.verbose,
            verbose_option="--verbose",
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


def audit_lines(result: AuditResult) -> list[str]:
    """Return the lines that describe the result of an audit."""
    sure = f"{100.0 * result.confidence:.6g}% confidence"
    bound = f"epsilon >= {result.epsilon:.4g} at delta {result.bound.delta:.6g}, {sure}"
    if result.bound.mu is not None:
        bound += f" (mu >= {float(result.bound.mu):.4g})"
    evidence = result.evidence
    if result.law == "gaussian":
        basis = f"given that outputs are Gaussian with one covariance; {evidence.trials // 2} outputs per data set"
    else:
        basis = (
            f"nothing assumed but independent calls; {evidence.right} guesses right and {evidence.wrong} wrong in "
            f"{evidence.trials} rounds, by: {evidence.rule} ({evidence.training} rounds to learn it)"
        )
    return [
        f"{result.mechanism}: {bound}",
        f"  {basis}",
        *(f"  note: {note}" for note in result.notes),
        *_verdict(result),
    ]


def _verdict(result: AuditResult) -> list[str]:
    claim = result.claim
    power = result.power
    if claim is None or power is None:
        return ["  no claim to refute: give one with --epsilon and --delta"]
    words = f"  claim (epsilon {claim.epsilon:.6g}, delta {claim.delta:.6g}): "
    if result.verdict == "refuted":
        chance = (
            ""
            if result.p_value is None
            else f"; if it were true, evidence this strong had probability at most {result.p_value:.2g}"
        )
        return [
            f"{words}refuted at {100.0 * result.confidence:.6g}% confidence{chance}"
        ]
    chance = f"{100.0 * power.chance:.6g}%"
    if power.shortfall is not None:
        power_text = (
            f"a Gaussian mechanism whose sigma is {100.0 * power.shortfall:.2g}% short "
            f"is refuted with chance {chance}"
        )
    else:
        power_text = "no Gaussian mechanism, however short its sigma, is refuted"
    largest_epsilon = float(power.largest_epsilon)
    limit = (
        ""
        if math.isinf(largest_epsilon)
        else f"; no bound above {largest_epsilon:.3g} is possible with so few"
    )
    advice = ""
    if power.n_for_15_percent is not None and power.n_for_15_percent > result.n:
        advice = f"; for 15% short it takes --n {power.n_for_15_percent}"
        advice += (
            ""
            if result.law == "gaussian"
            else " (fewer with --law gaussian, where that law is given)"
        )
    return [
        f"{words}not refuted at this power",
        f"  power: {power_text}{limit}{advice}",
    ]


def coverage_lines(coverage: AuditorCoverage) -> list[str]:
    """Return the error counts and the bounds of an auditor, one line for each law, and a conclusion."""
    width = max(len(law.law) for law in coverage.laws)
    rows = [f"{'law':{width}}  epsilon  bound  wrong  refuted at half"]
    for law in coverage.laws:
        bound = "" if law.mean_bound is None else f"{float(law.mean_bound):.3f}"
        refuted = "" if law.refuted is None else str(law.refuted)
        mark = "  wrong too often" if law.is_accused else ""
        rows.append(
            f"{law.law:{width}}  {float(law.epsilon):7.3f}  {bound:>5}  {law.wrong:5}  {refuted:>15}{mark}"
        )
    accusing = sum(law.is_accused for law in coverage.laws)
    if accusing:
        allowed = 100.0 * (1.0 - coverage.confidence)
        verdict = f"wrong in more than {allowed:.3g}% of runs on {accusing} of {len(coverage.laws)} laws"
    else:
        verdict = f"not accused; an error rate from {100.0 * coverage.seen_from:.3g}% on would have been found"
    numbers = f"{coverage.runs} runs on each law, {coverage.n} outputs on each data set, delta {coverage.delta:g}"
    return [*rows, f"{coverage.auditor}: {verdict} ({numbers})"]
