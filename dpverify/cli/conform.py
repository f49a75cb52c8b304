"""``dpverify conform``: whether an optimizer of yours does what its accounting presumes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from dpverify.cli.audit import load_function
from dpverify.cli.output import OK, BadInput, check_folder

if TYPE_CHECKING:
    from dpverify.conform import Conformance, PrivateOptimizer, Promise
    from dpverify.conform.beside import Auditor
    from dpverify.report.peer_records import CatalogueEntry, Peer

    Pair: TypeAlias = tuple[PrivateOptimizer, Promise]
    Auditors: TypeAlias = dict[str, tuple[Auditor, ModuleType]]

REFUTED = 1
STEPS, DELTA = 1000, 1e-5  # of the epsilon that a page shows


def conform(
    *targets: str,
    seed: int = 0,
    alpha: float = 1e-4,
    outputs: int = 0,
    seeds: int = 1,
    beside: list[str] | None = None,
    report: Path | None = None,
) -> int:
    """Test an optimizer of yours: its batches, what one example changes, its noise, what its state remembers.

    ``targets``: module:function or file.py:function, one or more; the function returns a PrivateOptimizer and a
    Promise, both of dpverify.conform, or a dict of such pairs by their names. Exit code 1 where a test finds a fault.
    ``alpha``: most that the chance of a false alarm is. ``outputs``: bound epsilon from below as well, by so many runs
    on each side of pairs of batches. ``seeds``: of a dict, count in how many seeds a fault is found. ``beside``: other
    auditors, functions likewise, which are asked about each of a dict; docs/examples/peers has some.
    ``report``: folder whose page peers.md says what was found.
    """
    if not targets:
        raise BadInput("TARGETS", "nothing", "must be at least one module:function or file.py:function")
    if seeds < 1:
        raise BadInput("--seeds", str(seeds), "must be at least 1")
    if report is not None:
        for inside in (report, report / "data"):
            check_folder("--report", inside)
    made = [(target, *_made(target)) for target in targets]  # what cannot be loaded is refused before anything is run
    auditors = {_short(target): load_function("--beside", target) for target in beside or ()}
    peers: list[Peer] = []
    entries: list[CatalogueEntry] = []
    code = OK
    for target, says, module, several in made:
        if isinstance(several, dict):
            for name, pair in several.items():
                entries.append(_judged(_short(target), name, pair, auditors, seed=seed, seeds=seeds, alpha=alpha))
                code = REFUTED if entries[-1].found else code
            continue
        found = _tested(target, several, seed=seed, alpha=alpha, outputs=outputs)
        print(*([f"{target}: {says}"] if len(targets) > 1 else []), found, sep="\n")
        code = code if found else REFUTED
        if report is not None:
            peers.append(_peer(target, says, module, several[1], found))
    if report is not None:
        command = f"dpverify conform {' '.join(map(_short, targets))} --seed {seed}"
        command += f" --outputs {outputs}" if outputs else ""
        _write(report, peers, entries, auditors, command=command, seed=seed, seeds=seeds, alpha=alpha)
    return code


def _tested(target: str, pair: Pair, **how: Any) -> Conformance:
    from dpverify.conform import conformance

    try:
        return conformance(*pair, **how)
    except ValueError as error:
        raise BadInput("TARGET", target, str(error)) from error


def _judged(target: str, name: str, pair: Pair, auditors: Auditors, **how: Any) -> CatalogueEntry:
    """Judge one of a catalogue, and print a line."""
    from dpverify.conform.catalogue import judge

    try:
        entry = judge(target, name, *pair, auditors={one: function for one, (function, _) in auditors.items()}, **how)
    except ValueError as error:
        raise BadInput("TARGET", f"{target}, {name}", str(error)) from error
    others = (f"{a.auditor}: {'raised ' if a.broken else ''}{a.says or 'nothing'}" for a in entry.answers)
    print(f"{name}: {entry.found} of {how['seeds']}", *([entry.by] if entry.by else []), *others, sep="; ")
    return entry


def _short(target: str) -> str:
    """The last two parts of a path: not where it stands on this machine."""
    return "/".join(Path(target).parts[-2:])


def _made(target: str) -> tuple[str, ModuleType, Pair | dict[str, Pair]]:
    """What a function says of itself, its module, and what it returns."""
    make, module = load_function("TARGET", target)
    from dpverify.conform import PrivateOptimizer, Promise

    try:
        several = make()
        pairs = list(several.values()) if isinstance(several, dict) else [several]
        (*_,) = ((optimizer, promise) for optimizer, promise in pairs)
    except Exception as error:
        raise BadInput("TARGET", target, f"raised {type(error).__name__}: {error}") from error
    if not all(isinstance(one, PrivateOptimizer) and isinstance(other, Promise) for one, other in pairs):
        raise BadInput("TARGET", target, "must return a PrivateOptimizer and a Promise")
    return _says(make, target), module, several


def _says(function: Callable[..., Any], target: str) -> str:
    return " ".join((function.__doc__ or target).split())


def _peer(target: str, says: str, module: ModuleType, promise: Promise, found: Conformance) -> Peer:
    """What a page has of an optimizer."""
    from dpverify.privacy import epsilon
    from dpverify.report.peer_records import Peer, PeerTest

    rate, bounds = promise.batch / promise.examples, list[float]()
    usual = "add-remove" if promise.sampling == "poisson" else "replace-one"  # the neighbours that epsilon is for
    if promise.sampling != "epochs" and promise.neighbours == usual and promise.covariance is None:
        both = epsilon(promise.sigma, DELTA, steps=STEPS, rate=rate, sampling=promise.sampling)
        bounds = [both.lower, both.upper]
    said = f"{promise.sampling}, rate {rate:.3g}, noise multiplier {promise.sigma:g}, {promise.neighbours}"
    tests = [PeerTest(name=t.name, passed=t.passed, found=t.found, sees=t.sees) for t in found.tests]
    return Peer(target=_short(target), says=says, promise=said, epsilon=bounds, versions=_versions(module), tests=tests)


def _versions(module: ModuleType) -> dict[str, str]:
    """The distributions that a module imports, without dpverify."""
    from importlib.metadata import packages_distributions, version

    found, distributions = {}, packages_distributions()
    for value in vars(module).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
        for distribution in distributions.get(name.partition(".")[0], []):
            found[distribution] = version(distribution)
    found.pop("dpverify", None)
    return dict(sorted(found.items()))


def _write(
    report: Path, peers: list[Peer], entries: list[CatalogueEntry], auditors: Auditors,
    *, command: str, seed: int, seeds: int, alpha: float,
) -> None:  # fmt: skip
    """Record what was run; what was not, peers or a catalogue, stays as the report has it."""
    import msgspec

    from dpverify.harness.run.manifest import commit
    from dpverify.report.peer_records import Catalogue, PeersRun
    from dpverify.report.peers import PEERS_PAGE

    old = PEERS_PAGE.read(report)
    catalogue = old.catalogue if old else None
    if entries:
        said = {name: _about(function, module, name) for name, (function, module) in auditors.items()}
        whole = command + f" --seeds {seeds}" + "".join(f" --beside {name}" for name in auditors)
        catalogue = Catalogue(
            commit=commit(), seed=seed, seeds=seeds, alpha=alpha, command=whole, auditors=said, entries=entries
        )
    if peers or old is None:
        run = PeersRun(commit=commit(), seed=seed, alpha=alpha, command=command, peers=peers, catalogue=catalogue)
    else:
        run = msgspec.structs.replace(old, catalogue=catalogue)
    for name in PEERS_PAGE.write(run, report):
        print(f"wrote {report / name}")


def _about(function: Callable[..., Any], module: ModuleType, target: str) -> str:
    """What a function says of itself, and the versions of the libraries that its module imports."""
    versions = ", ".join(f"{name} {version}" for name, version in _versions(module).items())
    return _says(function, target) + (f" ({versions})" if versions else "")
