"""Claims as pytest items: one per claim, reading, variant and check, and one per claim and reading for the pin.

``pytest specs`` (or ``specs`` among the test paths) collects every ``specs/<paper>/claims.toml``. A typical item is
``tran2022:lemma-12[ordering=fresh|printed|noise-law]``. If the claim has no readings, the part before the first bar is
missing. For the pinned verdict, the last part is ``pin``. Claims without checks have no items; the summary counts them.
The plugin shares a store with ``dpverify verify``: results for the same code, budget and seed are reused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

# imported only when a spec is collected, because all pytest runs of the environment
# load the plugin
if TYPE_CHECKING:
    from _pytest._code.code import ExceptionInfo, TerminalRepr

    from dpverify.conform import Conformance, PrivateOptimizer, Promise
    from dpverify.harness.run.runner import SessionEvidence
    from dpverify.harness.run.suite import JudgedReading
    from dpverify.harness.run.tasks import Job
    from dpverify.ledger.check_results import CheckResult
    from dpverify.ledger.claims import ClaimSpec

PIN = "pin"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line options and the ini option."""
    group = parser.getgroup("dpverify", "claims of papers")
    group.addoption(
        "--dpverify-budget",
        choices=("smoke", "standard", "full"),
        default="smoke",
        help="how thoroughly claims are checked (default: smoke)",
    )
    group.addoption(
        "--dpverify-seed",
        type=int,
        default=0,
        help="seed of the checks of claims (default: 0)",
    )
    fresh = "take nothing from the store of evidence, and derive and search also what has not changed since recorded"
    group.addoption("--dpverify-fresh", action="store_true", help=fresh)
    unpinned = "fail on a claim that is refuted, inconclusive or untested without a pin, as papers with strict_pins do"
    group.addoption(
        "--dpverify-strict-pins", "--strict-pins", action="store_true", help=unpinned
    )
    where = "where the checks of a paper are found, as module:function, or a package"
    parser.addini("dpverify_checks", where, default="dpverify.papers:load")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of pytest-xdist, which may not be installed; it sends the items of a claim to one process."""
    config.addinivalue_line(
        "markers", "xdist_group(name): tests that one process runs (pytest-xdist)"
    )


@pytest.fixture
def assert_conforms(request: pytest.FixtureRequest) -> Callable[..., Conformance]:
    """Return a function that fails the test if an optimizer does not do what its accounting assumes.

    ``assert_conforms(optimizer, promise, seed=0, alpha=1e-4)`` takes the arguments of ``dpverify.conformance``. If the
    environment variable GITHUB_STEP_SUMMARY names a file, a summary is appended to it.
    """
    from dpverify.conform import conformance
    from dpverify.conform.report import append_summary

    def check(
        optimizer: PrivateOptimizer, promise: Promise, **options: Any
    ) -> Conformance:
        result = conformance(optimizer, promise, **options)
        append_summary(request.node.name, result)
        if not result:
            pytest.fail(str(result), pytrace=False)
        return result

    return check


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> pytest.Collector | None:
    """Collect ``specs/<paper>/claims.toml``."""
    if file_path.name == "claims.toml" and file_path.parent.parent.name == "specs":
        return SpecFile.from_parent(parent, path=file_path)
    return None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print what the items do not show: the number of claims without checks, and the pins that were not confirmed."""
    for title, *lines in (*config.stash.get(WORKER_SUMMARIES, []), *_summaries(config)):
        terminalreporter.section(title)
        for line in lines:
            terminalreporter.line(line)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the summaries to the main process if this is a worker of pytest-xdist."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["dpverify"] = _summaries(session.config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Receive the summaries of a worker."""
    node.config.stash.setdefault(WORKER_SUMMARIES, []).extend(
        getattr(node, "workeroutput", {}).get("dpverify", [])
    )


def _summaries(config: pytest.Config) -> list[list[str]]:
    """Return a title and lines for each specs folder with checks that ran in this process."""
    return [
        [
            f"claims of {evidence.directory.name}, budget {evidence.budget}, seed {evidence.seed}",
            *evidence.summary(),
        ]
        for evidence in config.stash.get(EVIDENCE_KEY, {}).values()
    ]


EVIDENCE_KEY: pytest.StashKey[dict[Path, SessionEvidence]] = pytest.StashKey()
WORKER_SUMMARIES: pytest.StashKey[list[list[str]]] = pytest.StashKey()


def _evidence(directory: Path, config: pytest.Config) -> SessionEvidence:
    from dpverify.harness.run.runner import SessionEvidence

    options = (
        config.getoption(f"--dpverify-{name}") for name in ("budget", "seed", "fresh")
    )
    return SessionEvidence(directory, config.getini("dpverify_checks"), *options)


class SpecFile(pytest.File):
    """The claims of one paper."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the items of every claim with a check; invalid records or checks are one-line errors."""
        from dpverify.ledger.errors import SpecError

        try:
            yield from self._all_items()
        except (SpecError, ValueError) as error:
            raise self.CollectError(str(error)) from error

    def _all_items(self) -> Iterator[pytest.Item]:
        evidence_by_directory = self.config.stash.setdefault(EVIDENCE_KEY, {})
        directory = self.path.parent.parent
        if directory not in evidence_by_directory:
            evidence_by_directory[directory] = _evidence(directory, self.config)
        evidence = evidence_by_directory[directory]
        lines = self.path.read_text(encoding="utf-8").splitlines()
        places = {text.strip(): line for line, text in enumerate(lines)}
        for claim in evidence.suite.specs.claims(self.path.parent.name):
            for case in evidence.suite.cases(claim):
                if not case.jobs:
                    evidence.untested.append(claim.key)
                if case.jobs or claim.verdict(case.reading) is None:
                    yield from self._items(
                        evidence, case, places.get(f'id = "{claim.record.id}"', 0)
                    )

    def _items(
        self, evidence: SessionEvidence, case: JudgedReading, line: int
    ) -> Iterator[pytest.Item]:
        from dpverify.harness.run.tasks import item_id

        for job in case.jobs:
            item: CheckItem = CheckItem.from_parent(self, name=job.label)
            item.evidence = evidence
            item.job = job
            item.case = case
            item.claim = case.claim
            item.line = line
            # each check runs once, for the pin as well
            item.add_marker(pytest.mark.xdist_group(case.claim.key))
            yield item
        pin: PinItem = PinItem.from_parent(
            self, name=item_id(case.claim.key, case.reading, "printed", PIN)
        )
        pin.evidence = evidence
        pin.case = case
        pin.claim = case.claim
        pin.line = line
        pin.add_marker(pytest.mark.xdist_group(case.claim.key))
        yield pin


class EvidenceError(Exception):
    """Evidence against a pin, a check that cannot fail, or sources that disagree."""


class ClaimItem(pytest.Item):
    """Base class of both kinds of items."""

    evidence: SessionEvidence
    case: JudgedReading
    claim: ClaimSpec
    line: int

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the position of the claim in its file."""
        return self.path, self.line, self.name

    # pytest narrows `style` to words that we do not need
    def repr_failure(
        self,
        excinfo: ExceptionInfo[BaseException],
        style: None = None,  # type: ignore[override]
    ) -> str | TerminalRepr:
        """Return the text of an EvidenceError; other exceptions are shown as usual."""
        if isinstance(excinfo.value, EvidenceError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def fail(self, against: list[str], details: list[str]) -> None:
        """Raise an EvidenceError with the claim, the contradicting evidence, all numbers, and the commands to rerun."""
        options = f"--dpverify-budget {self.evidence.budget} --dpverify-seed {self.evidence.seed}"
        cli = f"dpverify verify {self.claim.key} --budget {self.evidence.budget} --seed {self.evidence.seed}"
        lines = [
            f"{self.name}: {'; '.join(against)}",
            f"{self.claim.record.where}",
            *details,
        ]
        # without the suffix that pytest-xdist adds
        node = self.nodeid.partition("@")[0]
        raise EvidenceError(
            "\n  ".join([*lines, f"again: pytest '{node}' {options}", f"   or: {cli}"])
        )


class CheckItem(ClaimItem):
    """One check of one statement."""

    job: Job

    def runtest(self) -> None:
        """Run the check; fail if there is evidence against the pin, a missed control, an error or a disagreement."""
        from dpverify.ledger.records import HOLDS, SHOWN

        result = self.evidence.check(self.job, self.case)
        figures = ("status", "n", "alpha", "power", "detects", "seconds")
        # for --junitxml
        self.user_properties += [(name, getattr(result, name)) for name in figures]
        statement = self.job.context.statement
        against = []
        pinned = self.claim.pinned(statement.reading, statement.variant)
        if result.error:
            against.append(f"error: {result.error}")
        if result.kernel_disagrees:
            against.append("sources disagree: the kernel does not follow the exact law")
        # A check without a violation does not contradict "refuted": another check may
        # refute the claim. The pin item takes all checks together.
        refuted = result.status == "refuted"
        is_pinned_true = pinned in HOLDS
        if (refuted and is_pinned_true) or (
            result.status in SHOWN and pinned == "refuted"
        ):
            against.append(f"pinned {pinned}, but {result.status}")
        against.extend(
            f"missed the planted fault {c.name} ({c.fault})"
            for c in result.controls
            if not c.refuted
        )
        if against:
            self.fail(against, describe(self.job, result))
        if result.status in {"inconclusive", "untested"}:
            pytest.skip(f"{result.status}: {result.message}")


class PinItem(ClaimItem):
    """The pinned verdict of one claim under one reading, compared with all of its checks together."""

    def runtest(self) -> None:
        """Fail if the checks together contradict the pin or each other."""
        from dpverify.harness.run.suite import judged
        from dpverify.ledger.results import lost_proofs
        from dpverify.report.words import instead_words

        checks = [self.evidence.check(job, self.case) for job in self.case.jobs]
        specs = self.evidence.suite.specs
        (result,) = judged(specs, [self.case], [checks], [self.case.evidence_hash])
        against = []
        if result.sources_disagree:
            against += [
                f"sources disagree: {disagreement.text}"
                for disagreement in result.disagreements
            ]
        if result.contradicts:
            against.append(
                f"pinned {result.pinned}, but {result.status}: {result.reason}"
            )
            against += [
                f"{instead_words(statement)}: pinned {statement.pinned}, and {statement.status}"
                for statement in result.beside
            ]
        against += [
            f"no longer tight: slack of what is {form}, pinned as 1"
            for form in result.loosened
        ]
        against += [
            f"no longer proved, as it is pinned: {lost}" for lost in lost_proofs(result)
        ]
        if result.unpinned:
            words = f"{result.status}, and no verdict pins it"
            strict = specs.papers[
                self.claim.paper
            ].strict_pins or self.config.getoption("--dpverify-strict-pins")
            (against if strict else self.evidence.unpinned).append(
                words if strict else f"{self.name} ({result.status})"
            )
        against += (
            [f"{result.severity} is not what falls: {result.misjudged}"]
            if result.misjudged
            else []
        )
        if against:
            self.fail(
                against,
                [
                    line
                    for job, check in zip(self.case.jobs, checks, strict=True)
                    for line in describe(job, check)
                ],
            )
        self.evidence.looked_at.append((self.name, self.case, checks))


def describe(job: Job, result: CheckResult) -> list[str]:
    """Return lines with all results of a check."""
    lines = [f"{job.label}: {result.status}. {result.message}"]
    if result.statistic:
        lines.append(f"found: {result.statistic}")
    if result.n:
        lines.append(
            f"n = {result.n}, alpha = {result.alpha:g}, power = {result.power:g}, detects {result.detects}"
        )
    region = f", region: {result.region}" if result.region else ""
    lines.append(
        f"seed = {job.context.seed}, budget = {job.context.budget.name}{region}"
    )
    for counterexample in result.counterexamples:
        point = ", ".join(
            f"{name} = {number.exact or number.float}"
            for name, number in counterexample.parameters.items()
        )
        lhs = counterexample.lhs.exact or counterexample.lhs.float
        rhs = counterexample.rhs.exact or counterexample.rhs.float
        lines.append(
            f"{counterexample.kind} counterexample: {point}: left {lhs}, right {rhs} {counterexample.note}".rstrip()
        )
    for control in result.controls:
        outcome = "refuted" if control.refuted else "MISSED"
        lines.append(f"control {control.name}: {outcome}. {control.statistic}")
    for neighbour in result.true_neighbours:
        outcome = "REFUTED" if neighbour.refuted else "not refuted"
        lines.append(
            f"true neighbour {neighbour.name}: {outcome}. {neighbour.statistic}"
        )
    return lines
