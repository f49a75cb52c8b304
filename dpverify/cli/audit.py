"""``dpverify audit``: a lower bound on the epsilon of a user's mechanism or of a bundled algorithm."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dpverify.apart import run_apart
from dpverify.cli.output import (
    INTERRUPTED,
    OK,
    STDOUT,
    BadInput,
    Fresh,
    Real,
    Target,
    Whole,
    check_folder,
    check_json,
    complain,
    write_record,
)
from dpverify.cli.targets import cache_key, find, load_function, load_targets
from dpverify.foreign import ForeignError

if TYPE_CHECKING:
    from rich.console import Console

    from dpverify.conform.peers.records import Peer
    from dpverify.privacy.audit.records import AuditorCoverage, AuditResult, Law


REFUTED = 1

CALL_SECONDS = 60.0  # time limit of one call of foreign code
MIN_SECONDS = 0.05  # blocks of outputs that took less time are not stored


def audit(
    mechanism: str | None = None,
    *,
    auditor: str | None = None,
    datasets: str | None = None,
    epsilon: Real | None = None,
    delta: Real | None = None,
    n: Whole | None = None,
    runs: Whole | None = None,
    confidence: Real = 0.95,
    law: Literal["any", "gaussian"] | None = None,
    score: str | None = None,
    seed: Whole = 0,
    json: Target | None = None,
    cluster: str | None = None,
    store: Path | None = None,
    fresh: Fresh = False,
    timeout: Real = CALL_SECONDS,
    report: Path | None = None,
) -> int:
    """Compute a lower confidence bound on the epsilon of a mechanism.

    The bound comes from outputs of the mechanism on two neighbouring data sets. The
    mechanism is a Python function mechanism(dataset, rng) that returns an array of
    numbers, always of one shape. mechanism(dataset, rng, size) may return many
    independent outputs at once, which is faster. Calls must be independent of each
    other. A part of the outputs (a quarter, or a tenth if there are many) trains the
    rule that classifies the remaining outputs.

    With --auditor, another auditor is audited instead: it gets outputs of laws whose
    epsilon is known, and the command reports how often it is wrong and how large its
    bounds are.

    The exit code is 1 if the claim is refuted, or if the auditor is wrong more often
    than it states.

    Parameters
    ----------
    mechanism
        module:function or file.py:function; your own algorithm, as file.py:NAME; or a
        bundled algorithm, which is audited on its worst case: dp-nsgd, sr-nsgd, dp-srm,
        dpageem.
    auditor
        module:function or file.py:function of auditor(first, second, epsilon, delta,
        confidence, seed). first and second are arrays (n, d) of outputs on two data
        sets. It returns a lower bound of epsilon, or whether it refutes (epsilon,
        delta). Only --delta, --n, --runs, --confidence, --seed, --json, --timeout and
        --report apply.
    datasets
        module:name of a pair of neighbouring data sets, or of a function that returns a
        pair. Default: the name datasets in the module of the mechanism, or ten zeros
        against nine zeros and a 1.
    epsilon
        The claimed epsilon. The answer is then "refuted" or "not refuted at this
        power", never "private". Default: no claim; for bundled algorithms, the epsilon
        that the accountant certifies.
    delta
        The delta at which epsilon is bounded. Default: 1e-5; with --auditor 0.01.
    n
        Number of outputs that are drawn on each data set. Default: 100,000; with
        --auditor 1,000.
    runs
        With --auditor, runs on each law. Default: 200.
    confidence
        Confidence of the lower bound.
    law
        Assumption about the outputs. gaussian: they are Gaussian with a common
        covariance; any: none. Default: any; for bundled algorithms gaussian.
    score
        module:function that maps outputs to scores, large where the second data set is
        likely. Default: learned scores.
    seed
        Seed of the random numbers; the same seed gives the same result.
    json
        Write the result as JSON to this file, or to stdout for -. With -, the text goes
        to stderr.
    cluster
        Address of a Dask scheduler whose cluster does the work, such as
        tcp://127.0.0.1:8786; see docs/cluster.md.
    store
        File in which finished work is stored, so that an interrupted run can continue.
        Default: the path in DPVERIFY_STORE, or dpverify/evidence.sqlite in the cache
        folder of the user.
    fresh
        Ignore the store and draw everything again. --resume is the default.
    timeout
        Time limit in seconds for one call of your code or, with --cluster, for a block
        of calls. Your code runs in a separate process, which is killed after that time.
        0 runs it in this process without a limit, for a debugger.
    report
        Folder of a report. The result is added to its page peers.md, with --auditor to
        auditors.md. Not for bundled algorithms.
    """
    check_json(json)
    if (mechanism is None) == (auditor is None):
        raise BadInput(
            "MECHANISM", str(mechanism), "must be given, or --auditor instead of it"
        )
    if timeout < 0:
        raise BadInput("--timeout", timeout, "must be at least 0")
    if mechanism is None:
        assert auditor is not None
        others = {
            "--datasets": datasets,
            "--epsilon": epsilon,
            "--law": law,
            "--score": score,
            "--cluster": cluster,
            "--store": store,
        }
        for option, value in others.items():
            if value is not None:
                raise BadInput(option, str(value), "must not be given with --auditor")
        options = {
            "n": 1000 if n is None else n,
            "delta": 0.01 if delta is None else delta,
            "confidence": confidence,
            "runs": 200 if runs is None else runs,
            "seed": seed,
        }
        return _audit_auditor(auditor, options, json, timeout, report)
    if runs is not None:
        raise BadInput("--runs", runs, "must be given with --auditor only")
    if report is not None:
        if ":" not in mechanism:
            raise BadInput(
                "--report",
                str(report),
                "needs a mechanism that is module:function or file.py:function",
            )
        for inside in (report, report / "data"):
            check_folder("--report", inside)
    from rich.console import Console

    size = 100_000 if n is None else n
    options = {
        "delta": 1e-5 if delta is None else delta,
        "n": size,
        "confidence": confidence,
        "seed": seed,
    }
    limit = timeout if ":" in mechanism else 0.0
    request = (
        mechanism,
        datasets,
        score,
        epsilon,
        law,
        cluster,
        store,
        fresh,
        limit,
        report is not None,
        options,
    )
    try:
        ((result, peer),) = run_apart(limit, results, *request)
    except ForeignError as error:
        raise BadInput("audit", mechanism, str(error)) from error
    write_record(result, json)
    from dpverify.cli.results import audit_lines

    console = Console(stderr=json == STDOUT)
    _show(audit_lines(result), console)
    if report is not None and peer is not None:
        _show(
            [f"wrote {report / name}" for name in _record(result, peer, report)],
            console,
        )
    if result.interrupted:
        complain("interrupted; the bound is from what was drawn until then")
        return INTERRUPTED
    return REFUTED if result.verdict == "refuted" else OK


def _audit_auditor(
    auditor: str,
    options: dict[str, Any],
    json: Target | None,
    limit: float,
    report: Path | None,
) -> int:
    """Audit an auditor in a separate process, print a table and return the exit code."""
    for folder in () if report is None else (report, report / "data"):
        check_folder("--report", folder)
    try:
        ((coverage, says, versions),) = run_apart(limit, coverages, auditor, options)
    except ForeignError as error:
        raise BadInput("--auditor", auditor, str(error)) from error
    write_record(coverage, json)
    from dpverify.cli.results import coverage_lines

    print(
        "\n".join(coverage_lines(coverage)),
        file=sys.stderr if json == STDOUT else sys.stdout,
    )
    if report is not None:
        from dpverify.conform.peers.coverage_page import audited_auditor, write_auditor
        from dpverify.conform.peers.recording import short_target

        target = short_target(auditor)
        numbers = " ".join(f"--{name} {value:g}" for name, value in options.items())
        entry = audited_auditor(
            target,
            says,
            versions,
            f"dpverify audit --auditor {target} {numbers}",
            coverage,
        )
        print(
            "\n".join(f"wrote {report / name}" for name in write_auditor(report, entry))
        )
    return REFUTED if coverage.is_accused else OK


def coverages(
    auditor: str, options: dict[str, Any]
) -> Iterator[tuple[AuditorCoverage, str, dict[str, str]]]:
    """Load and audit an auditor with a progress bar; yield the result, the docstring and the library versions."""
    from dpverify.conform.peers.recording import docstring_of, versions_of
    from dpverify.privacy.audit.auditor_coverage import audit_auditor
    from dpverify.privacy.audit.records import AuditError
    from dpverify.report.text.console import rounds_on_stderr

    function, module = load_function("--auditor", auditor)
    try:
        with rounds_on_stderr() as report:
            coverage = audit_auditor(function, name=auditor, report=report, **options)
    except AuditError as error:
        raise BadInput("--auditor", auditor, str(error)) from error
    yield coverage, docstring_of(function, auditor), versions_of(module)


def _record(result: AuditResult, peer: Peer, report: Path) -> list[str]:
    """Add a result to the page peers.md, and return the written files."""
    from dpverify.conform.peers.recording import RunSettings, write_peers

    command = f"dpverify audit {peer.target} --n {result.n} --seed {result.seed}"
    if result.claim is not None:
        command += f" --epsilon {result.claim.epsilon:g} --delta {result.claim.delta:g}"
    settings = RunSettings(command, result.seed, 1, 1.0 - result.confidence, {})
    return write_peers(report, [peer], [], settings)


def _show(texts: list[str], console: Console) -> None:
    """Print each text on one line or, in a terminal, wrapped."""
    from dpverify.report.text.console import print_lines
    from dpverify.report.text.paragraphs import StyledLine, wrapped

    for text in texts:
        style = "bold red" if ": refuted at" in text else ""
        parts = (
            wrapped(text, min(console.width, 110), first="", indent="    ")
            if console.is_terminal
            else [text]
        )
        print_lines([StyledLine(part, style) for part in parts], console)


def results(
    mechanism: str,
    datasets: str | None,
    score: str | None,
    epsilon: float | None,
    law: Law | None,
    cluster: str | None,
    store: Path | None,
    fresh: bool,
    limit: float,
    is_recorded: bool,
    options: dict[str, Any],
) -> Iterator[tuple[AuditResult, Peer | None]]:
    """Load and audit a mechanism with a progress bar; yield the result, and its record if a page needs it."""
    from dpverify.cli.backends import open_backend
    from dpverify.privacy.audit.audit import audit as run
    from dpverify.privacy.audit.records import AuditError
    from dpverify.privacy.audit.sampling import AuditBackend
    from dpverify.report.text.console import rounds_on_stderr

    delta = options["delta"]
    try:
        target = find(mechanism, datasets, score, delta)
        context = open_backend(
            cluster,
            store,
            fresh=fresh,
            min_seconds=MIN_SECONDS,
            temporary=True,
            limit=limit,
        )
        with context as backend, rounds_on_stderr() as report:
            request = cache_key(mechanism, datasets, target)
            if request is None:
                backend.store = None
            origin = partial(load_targets, mechanism, datasets, delta)
            result = run(
                target.mechanism,
                target.datasets,
                epsilon=target.epsilon if epsilon is None else epsilon,
                law=law or target.law,
                score=target.score,
                name=mechanism,
                remarks=target.remarks,
                report=report,
                backend=AuditBackend(backend.outcomes, request or "", origin),
                **options,
            )
    except AuditError as error:
        raise BadInput("audit", mechanism, str(error)) from error
    yield result, _peer(mechanism, result) if is_recorded else None


def _peer(mechanism: str, result: AuditResult) -> Peer:
    """Return the record of the audited mechanism, whose module is loaded in this process."""
    from dpverify.conform.peers.recording import audited_peer

    return audited_peer(mechanism, load_function("MECHANISM", mechanism)[1], result)
