"""Record tested optimizers: promise, epsilon, library versions and test results."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dpverify.conform.peers.page import PEERS_PAGE
from dpverify.conform.peers.records import (
    SEVERITIES,
    CardRun,
    Catalogue,
    CatalogueEntry,
    Peer,
    PeersRun,
    PeerTest,
    SeededRun,
)
from dpverify.conform.promise import Promise
from dpverify.conform.records import Conformance
from dpverify.harness.run.manifest import commit
from dpverify.privacy import epsilon

if TYPE_CHECKING:
    from dpverify.privacy.audit.records import AuditResult

# steps and delta of the epsilon that a page shows
STEPS = 1000
DELTA = 1e-5

# dict in an adapter: function -> (severity, the
# library's documentation) of a known finding
FINDINGS_NAME = "FINDINGS"


def short_target(target: str) -> str:
    """Return the last two parts of a path, which do not depend on the machine."""
    return "/".join(Path(target).parts[-2:])


def docstring_of(function: Callable[..., Any], target: str) -> str:
    """Return the docstring of a function on one line, or ``target`` if there is none."""
    return " ".join((function.__doc__ or target).split())


def with_tests(peer: Peer, conformance: Conformance) -> Peer:
    """Return the record of an optimizer with the results of its tests."""
    tests = [
        PeerTest(
            name=test.name,
            passed=test.passed,
            found=test.found,
            sees=test.sees,
            tested=test.is_tested,
        )
        for test in conformance.tests
    ]
    return msgspec.structs.replace(peer, tests=tests)


def peer_without_tests(
    target: str, says: str, module: ModuleType, promise: Promise
) -> Peer:
    """Return the record of an optimizer without test results."""
    rate = promise.batch / promise.examples
    bounds = list[float]()
    # neighbours for which epsilon is computed
    usual_neighbours = "add-remove" if promise.sampling == "poisson" else "replace-one"
    if (
        promise.sampling != "epochs"
        and promise.neighbours == usual_neighbours
        and promise.covariance is None
        and promise.memory is None
    ):
        epsilon_bounds = epsilon(
            promise.joint_multiplier,
            DELTA,
            steps=STEPS,
            rate=rate,
            sampling=promise.sampling,
        )
        bounds = [epsilon_bounds.lower, epsilon_bounds.upper]
    promise_text = f"{promise.sampling}, rate {rate:.3g}, noise multiplier {promise.sigma:g}, {promise.neighbours}"
    return Peer(
        target=short_target(target),
        says=says,
        promise=promise_text,
        epsilon=bounds,
        versions=versions_of(module),
        tests=[],
    )


def versions_of(module: ModuleType) -> dict[str, str]:
    """Return versions of the loaded distributions that a module imports, also inside functions, except dpverify."""
    versions = {}
    distributions = packages_distributions()
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):  # no source available
        return {}
    imports = [
        node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = {
        alias.name
        for node in imports
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {node.module or "" for node in imports if isinstance(node, ast.ImportFrom)}
    names |= set(_dynamic_imports(tree))
    # some wheels install a package of this name
    packages = {name.partition(".")[0] for name in names} - {"tests"}
    for package in packages & sys.modules.keys():
        for distribution in distributions.get(package, []):
            versions[distribution] = version(distribution)
    versions.pop("dpverify", None)
    return dict(sorted(versions.items()))


def _dynamic_imports(tree: ast.Module) -> Iterator[str]:
    """Yield the names of modules imported by calls of ``import_module``."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name("import_module"), args=[ast.Constant(str(name)), *_]
            ):
                yield name


def versioned_docstring(
    function: Callable[..., Any], module: ModuleType, target: str
) -> str:
    """Return the docstring of a function and the versions of the libraries that its module imports."""
    versions = ", ".join(
        f"{name} {version}" for name, version in versions_of(module).items()
    )
    return docstring_of(function, target) + (f" ({versions})" if versions else "")


class RunSettings(NamedTuple):
    """Settings of the run that made a page."""

    command: str
    seed: int
    seeds: int
    alpha: float
    auditors: dict[str, str]
    card: str = ""  # name of the graphics card, if there is one
    versions: dict[str, dict[str, str]] = {}  # target -> library -> version


def with_known_finding(peer: Peer, target: str, module: ModuleType) -> Peer:
    """Add the severity of a known finding and the library's documentation of it, both from the adapter."""
    severity, documented = getattr(module, FINDINGS_NAME, {}).get(
        target.rpartition(":")[2], ("", "")
    )
    if severity and severity not in SEVERITIES:
        raise ValueError(
            f"severity must be one of {', '.join(SEVERITIES)}, got {severity!r}."
        )
    return msgspec.structs.replace(peer, severity=severity, documented=documented)


def audited_peer(target: str, module: ModuleType, result: AuditResult) -> Peer:
    """Return the record of an optimizer with the result of its audit."""
    claim = result.claim
    finding = f"epsilon is at least {result.epsilon:.4g} at delta = {result.bound.delta:g} ({result.n} outputs)"
    limit = result.power.largest_epsilon if result.power else 0.0
    test = PeerTest(
        name="audit",
        passed=result.verdict != "refuted",
        found=finding,
        sees=f"no epsilon above {float(limit):.3g}"
        if claim
        else "a lower bound, without a claim",
    )
    peer = Peer(
        target=short_target(target),
        says=docstring_of(getattr(module, target.rpartition(":")[2]), target),
        promise=f"epsilon {claim.epsilon:g}, delta {claim.delta:g}"
        if claim
        else "nothing",
        epsilon=[],
        versions=versions_of(module),
        tests=[test],
    )
    return with_known_finding(peer, target, module)


def seeded_runs(
    entries: list[CatalogueEntry], settings: RunSettings
) -> list[SeededRun]:
    """Return the results of many seeds per target, with confidence limits of the rate of runs with a fault."""
    from dpverify.harness.statistics.effects import proportion_limits

    runs = []
    for target in dict.fromkeys(entry.target for entry in entries):
        optimizers = [entry for entry in entries if entry.target == target]
        faults = sum(entry.found for entry in optimizers)
        limits = proportion_limits(faults, settings.seeds * len(optimizers), 0.05)
        runs.append(
            SeededRun(
                target=target,
                versions=settings.versions.get(target, {}),
                commit=commit(),
                command=_seeds_command(target, settings.seed, settings.seeds),
                seed=settings.seed,
                seeds=settings.seeds,
                entries=optimizers,
                limits=list(limits),
            )
        )
    return runs


def write_peers(
    report: Path,
    peers: list[Peer],
    entries: list[CatalogueEntry],
    settings: RunSettings,
) -> list[str]:
    """Record a run and return the written files. The report keeps the results of other targets.

    Runs on a graphics card and catalogues without other auditors are recorded separately. If the seeds of such a
    catalogue continue the recorded seeds, the results are merged.
    """
    stored_run = PEERS_PAGE.read(report)
    new_peers = [
        msgspec.structs.replace(peer, command=settings.command, commit=commit())
        for peer in peers
    ]
    catalogue = stored_run.catalogue if stored_run else None
    card = stored_run.card if stored_run else None
    seeded = stored_run.seeded if stored_run else []
    command = (
        settings.command
        + f" --seeds {settings.seeds}"
        + "".join(f" --beside {name}" for name in settings.auditors)
    )
    if settings.card:
        card = CardRun(
            card=settings.card,
            commit=commit(),
            seeds=settings.seeds,
            command=command,
            peers=peers,
            entries=entries,
        )
        new_peers = []
    elif entries and not settings.auditors:
        seeded = _with_new_seeds(seeded, seeded_runs(entries, settings))
    elif entries:
        catalogue = Catalogue(
            commit=commit(),
            seed=settings.seed,
            seeds=settings.seeds,
            alpha=settings.alpha,
            command=command,
            auditors=settings.auditors,
            entries=entries,
        )
    if new_peers or stored_run is None:
        tested_targets = {peer.target for peer in new_peers}
        other_peers = (
            [
                _with_origin(peer, stored_run)
                for peer in stored_run.peers
                if peer.target not in tested_targets
            ]
            if stored_run
            else []
        )
        record = PeersRun(
            commit=commit(),
            seed=settings.seed,
            alpha=settings.alpha,
            command=settings.command,
            peers=[*other_peers, *new_peers],
            catalogue=catalogue,
            seeded=seeded,
            card=card,
        )
    else:
        record = msgspec.structs.replace(
            stored_run, catalogue=catalogue, seeded=seeded, card=card
        )
    return list(PEERS_PAGE.write(record, report))


def _with_origin(peer: Peer, run: PeersRun) -> Peer:
    """Return a stored record with the command and commit of its run, to keep it in a later run."""
    return msgspec.structs.replace(
        peer, command=peer.command or run.command, commit=peer.commit or run.commit
    )


def _with_new_seeds(stored: list[SeededRun], runs: list[SeededRun]) -> list[SeededRun]:
    """Add runs to the stored ones.

    If commit and libraries are the same and the new seeds follow those of a stored run, the two runs are joined. A
    stored run with smaller seeds, another commit and the same libraries is kept. Other stored runs of the target are
    replaced.
    """
    new_runs = {run.target: run for run in runs}
    unchanged = []
    for run in stored:
        new_run = new_runs.get(run.target)
        if new_run is None or _is_earlier(run, new_run):
            unchanged.append(run)
        elif _is_continued(run, new_run):
            new_runs[run.target] = _joined_runs(run, new_run)
    return sorted(
        [*unchanged, *new_runs.values()], key=lambda run: (run.target, run.seed)
    )


def _is_earlier(stored_run: SeededRun, new_run: SeededRun) -> bool:
    """Test whether a stored run with the same libraries and another commit has only smaller seeds."""
    return (
        stored_run.versions == new_run.versions
        and stored_run.commit != new_run.commit
        and stored_run.seed + stored_run.seeds <= new_run.seed
    )


def _is_continued(stored_run: SeededRun, new_run: SeededRun) -> bool:
    expected = [
        stored_run.target,
        stored_run.versions,
        stored_run.commit,
        stored_run.seed + stored_run.seeds,
        [entry.name for entry in stored_run.entries],
    ]
    return expected == [
        new_run.target,
        new_run.versions,
        new_run.commit,
        new_run.seed,
        [entry.name for entry in new_run.entries],
    ]


def _joined_runs(stored_run: SeededRun, new_run: SeededRun) -> SeededRun:
    from dpverify.harness.statistics.effects import proportion_limits

    seeds = stored_run.seeds + new_run.seeds
    entries = [
        msgspec.structs.replace(
            entry,
            found=entry.found + new_entry.found,
            by=entry.by if entry.found >= new_entry.found else new_entry.by,
            untested=sorted({*entry.untested, *new_entry.untested}),
            seconds=(
                stored_run.seeds * entry.seconds + new_run.seeds * new_entry.seconds
            )
            / seeds,
        )
        for entry, new_entry in zip(stored_run.entries, new_run.entries, strict=True)
    ]
    limits = proportion_limits(
        sum(entry.found for entry in entries), seeds * len(entries), 0.05
    )
    return msgspec.structs.replace(
        stored_run,
        command=_seeds_command(stored_run.target, stored_run.seed, seeds),
        seeds=seeds,
        entries=entries,
        limits=list(limits),
    )


def _seeds_command(target: str, seed: int, seeds: int) -> str:
    return f"dpverify conform {target} --seed {seed} --seeds {seeds}"
