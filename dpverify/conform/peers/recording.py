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
FINDINGS = "FINDINGS"


def short_target(target: str) -> str:
    """Return the last two parts of a path, which do not depend on the machine."""
    return "/".join(Path(target).parts[-2:])


def says_of(function: Callable[..., Any], target: str) -> str:
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


def described(target: str, says: str, module: ModuleType, promise: Promise) -> Peer:
    """Return the record of an optimizer without test results."""
    rate = promise.batch / promise.examples
    bounds = list[float]()
    # neighbours for which epsilon is computed
    usual = "add-remove" if promise.sampling == "poisson" else "replace-one"
    if (
        promise.sampling != "epochs"
        and promise.neighbours == usual
        and promise.covariance is None
        and promise.memory is None
    ):
        bounds_of_epsilon = epsilon(
            promise.joint_multiplier,
            DELTA,
            steps=STEPS,
            rate=rate,
            sampling=promise.sampling,
        )
        bounds = [bounds_of_epsilon.lower, bounds_of_epsilon.upper]
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
    version_of = {}
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
    names |= set(_imported_by_name(tree))
    # some wheels install a package of this name
    tops = {name.partition(".")[0] for name in names} - {"tests"}
    for top in tops & sys.modules.keys():
        for distribution in distributions.get(top, []):
            version_of[distribution] = version(distribution)
    version_of.pop("dpverify", None)
    return dict(sorted(version_of.items()))


def _imported_by_name(tree: ast.Module) -> Iterator[str]:
    """Yield the names of modules imported by calls of ``import_module``."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name("import_module"), args=[ast.Constant(str(name)), *_]
            ):
                yield name


def about(function: Callable[..., Any], module: ModuleType, target: str) -> str:
    """Return the docstring of a function and the versions of the libraries that its module imports."""
    versions = ", ".join(
        f"{name} {version}" for name, version in versions_of(module).items()
    )
    return says_of(function, target) + (f" ({versions})" if versions else "")


class RunSettings(NamedTuple):
    """Settings of the run that made a page."""

    command: str
    seed: int
    seeds: int
    alpha: float
    auditors: dict[str, str]
    card: str = ""  # name of the graphics card, if there is one
    versions: dict[str, dict[str, str]] = {}  # target -> library -> version


def annotated(peer: Peer, target: str, module: ModuleType) -> Peer:
    """Add the severity of a known finding and the library's documentation of it, both from the adapter."""
    severity, documented = getattr(module, FINDINGS, {}).get(
        target.rpartition(":")[2], ("", "")
    )
    if severity and severity not in SEVERITIES:
        raise ValueError(
            f"severity must be one of {', '.join(SEVERITIES)}, got {severity!r}."
        )
    return msgspec.structs.replace(peer, severity=severity, documented=documented)


def audited(target: str, module: ModuleType, result: AuditResult) -> Peer:
    """Return the record of an optimizer with the result of its audit."""
    claim = result.claim
    bound = f"epsilon is at least {result.epsilon:.4g} at delta = {result.bound.delta:g} ({result.n} outputs)"
    limit = result.power.largest_epsilon if result.power else 0.0
    test = PeerTest(
        name="audit",
        passed=result.verdict != "refuted",
        found=bound,
        sees=f"no epsilon above {float(limit):.3g}"
        if claim
        else "a lower bound, without a claim",
    )
    peer = Peer(
        target=short_target(target),
        says=says_of(getattr(module, target.rpartition(":")[2]), target),
        promise=f"epsilon {claim.epsilon:g}, delta {claim.delta:g}"
        if claim
        else "nothing",
        epsilon=[],
        versions=versions_of(module),
        tests=[test],
    )
    return annotated(peer, target, module)


def seeded_runs(entries: list[CatalogueEntry], run: RunSettings) -> list[SeededRun]:
    """Return the results of many seeds per target, with confidence limits of the rate of runs with a fault."""
    from dpverify.harness.statistics.effects import proportion_limits

    runs = []
    for target in dict.fromkeys(entry.target for entry in entries):
        optimizers = [entry for entry in entries if entry.target == target]
        faults = sum(entry.found for entry in optimizers)
        limits = proportion_limits(faults, run.seeds * len(optimizers), 0.05)
        runs.append(
            SeededRun(
                target=target,
                versions=run.versions.get(target, {}),
                commit=commit(),
                command=_seeds_command(target, run.seed, run.seeds),
                seed=run.seed,
                seeds=run.seeds,
                entries=optimizers,
                limits=list(limits),
            )
        )
    return runs


def write_peers(
    report: Path, peers: list[Peer], entries: list[CatalogueEntry], run: RunSettings
) -> list[str]:
    """Record a run and return the written files. The report keeps the results of other targets.

    Runs on a graphics card and catalogues without other auditors are recorded separately. If the seeds of such a
    catalogue continue the recorded seeds, the results are merged.
    """
    old = PEERS_PAGE.read(report)
    new_peers = [
        msgspec.structs.replace(peer, command=run.command, commit=commit())
        for peer in peers
    ]
    catalogue = old.catalogue if old else None
    card = old.card if old else None
    seeded = old.seeded if old else []
    command = (
        run.command
        + f" --seeds {run.seeds}"
        + "".join(f" --beside {name}" for name in run.auditors)
    )
    if run.card:
        card = CardRun(
            card=run.card,
            commit=commit(),
            seeds=run.seeds,
            command=command,
            peers=peers,
            entries=entries,
        )
        new_peers = []
    elif entries and not run.auditors:
        seeded = _with_new_seeds(seeded, seeded_runs(entries, run))
    elif entries:
        catalogue = Catalogue(
            commit=commit(),
            seed=run.seed,
            seeds=run.seeds,
            alpha=run.alpha,
            command=command,
            auditors=run.auditors,
            entries=entries,
        )
    if new_peers or old is None:
        tested = {peer.target for peer in new_peers}
        other_peers = (
            [_dated(peer, old) for peer in old.peers if peer.target not in tested]
            if old
            else []
        )
        record = PeersRun(
            commit=commit(),
            seed=run.seed,
            alpha=run.alpha,
            command=run.command,
            peers=[*other_peers, *new_peers],
            catalogue=catalogue,
            seeded=seeded,
            card=card,
        )
    else:
        record = msgspec.structs.replace(
            old, catalogue=catalogue, seeded=seeded, card=card
        )
    return list(PEERS_PAGE.write(record, report))


def _dated(peer: Peer, run: PeersRun) -> Peer:
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
    new = {run.target: run for run in runs}
    unchanged = []
    for run in stored:
        later = new.get(run.target)
        if later is None or _is_earlier(run, later):
            unchanged.append(run)
        elif _is_continued(run, later):
            new[run.target] = _joined(run, later)
    return sorted([*unchanged, *new.values()], key=lambda run: (run.target, run.seed))


def _is_earlier(run: SeededRun, later: SeededRun) -> bool:
    """Test whether a stored run with the same libraries and another commit has only smaller seeds."""
    return (
        run.versions == later.versions
        and run.commit != later.commit
        and run.seed + run.seeds <= later.seed
    )


def _is_continued(run: SeededRun, later: SeededRun) -> bool:
    same = [
        run.target,
        run.versions,
        run.commit,
        run.seed + run.seeds,
        [entry.name for entry in run.entries],
    ]
    return same == [
        later.target,
        later.versions,
        later.commit,
        later.seed,
        [entry.name for entry in later.entries],
    ]


def _joined(run: SeededRun, later: SeededRun) -> SeededRun:
    from dpverify.harness.statistics.effects import proportion_limits

    seeds = run.seeds + later.seeds
    entries = [
        msgspec.structs.replace(
            entry,
            found=entry.found + following.found,
            by=entry.by if entry.found >= following.found else following.by,
            untested=sorted({*entry.untested, *following.untested}),
            seconds=(run.seeds * entry.seconds + later.seeds * following.seconds)
            / seeds,
        )
        for entry, following in zip(run.entries, later.entries, strict=True)
    ]
    limits = proportion_limits(
        sum(entry.found for entry in entries), seeds * len(entries), 0.05
    )
    return msgspec.structs.replace(
        run,
        command=_seeds_command(run.target, run.seed, seeds),
        seeds=seeds,
        entries=entries,
        limits=list(limits),
    )


def _seeds_command(target: str, seed: int, seeds: int) -> str:
    return f"dpverify conform {target} --seed {seed} --seeds {seeds}"
