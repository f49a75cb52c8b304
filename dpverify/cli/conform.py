"""``dpverify conform``: whether an optimizer of yours does what its accounting presumes."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from dpverify.cli.audit import load_function
from dpverify.cli.output import OK, BadInput, check_folder

if TYPE_CHECKING:
    from dpverify.conform import Conformance, PrivateOptimizer, Promise
    from dpverify.report.peers import Peer

REFUTED = 1
STEPS, DELTA = 1000, 1e-5  # of the epsilon that a page shows


def conform(*targets: str, seed: int = 0, alpha: float = 1e-4, outputs: int = 0, report: Path | None = None) -> int:
    """Test an optimizer of yours: its batches, what one example changes, its noise, what its state remembers.

    ``targets``: module:function or file.py:function, one or more; the function returns a PrivateOptimizer and a
    Promise, both of dpverify.conform. Exit code 1 where a test finds a fault. ``alpha``: most that the chance of a
    false alarm is. ``outputs``: bound epsilon from below as well, by so many runs on each side of pairs of batches.
    ``report``: folder whose page peers.md says what was found.
    """
    if not targets:
        raise BadInput("TARGETS", "nothing", "must be at least one module:function or file.py:function")
    if report is not None:
        for inside in (report, report / "data"):
            check_folder("--report", inside)
    made = [(target, *_made(target)) for target in targets]  # what cannot be loaded is refused before anything is run
    from dpverify.conform import conformance

    peers, code = [], OK
    for target, says, module, optimizer, promise in made:
        try:
            found = conformance(optimizer, promise, seed=seed, alpha=alpha, outputs=outputs)
        except ValueError as error:
            raise BadInput("TARGET", target, str(error)) from error
        print(*([f"{target}: {says}"] if len(targets) > 1 else []), found, sep="\n")
        code = code if found else REFUTED
        if report is not None:
            peers.append(_peer(target, says, module, promise, found))
    if report is not None:
        _write(peers, report, seed, alpha)
    return code


def _made(target: str) -> tuple[str, ModuleType, PrivateOptimizer, Promise]:
    """What a function says of itself, and what it returns."""
    make, module = load_function("TARGET", target)
    from dpverify.conform import PrivateOptimizer, Promise

    try:
        optimizer, promise = make()
    except Exception as error:
        raise BadInput("TARGET", target, f"raised {type(error).__name__}: {error}") from error
    if not isinstance(optimizer, PrivateOptimizer) or not isinstance(promise, Promise):
        raise BadInput("TARGET", target, "must return a PrivateOptimizer and a Promise")
    return " ".join((make.__doc__ or target).split()), module, optimizer, promise


def _peer(target: str, says: str, module: ModuleType, promise: Promise, found: Conformance) -> Peer:
    """What a page has of an optimizer."""
    from dpverify.privacy import epsilon
    from dpverify.report.peers import Peer, PeerTest

    rate, bounds = promise.batch / promise.examples, list[float]()
    usual = "add-remove" if promise.sampling == "poisson" else "replace-one"  # the neighbours that epsilon is for
    if promise.sampling != "epochs" and promise.neighbours == usual and promise.covariance is None:
        both = epsilon(promise.sigma, DELTA, steps=STEPS, rate=rate, sampling=promise.sampling)
        bounds = [both.lower, both.upper]
    said = f"{promise.sampling}, rate {rate:.3g}, noise multiplier {promise.sigma:g}, {promise.neighbours}"
    tests = [PeerTest(name=t.name, passed=t.passed, found=t.found, sees=t.sees) for t in found.tests]
    target = "/".join(Path(target).parts[-2:])  # not where it stands on this machine
    return Peer(target=target, says=says, promise=said, epsilon=bounds, versions=_versions(module), tests=tests)


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


def _write(peers: list[Peer], report: Path, seed: int, alpha: float) -> None:
    from dpverify.harness.run.manifest import commit
    from dpverify.report.peers import PEERS_PAGE, PeersRun

    command = f"dpverify conform {' '.join(peer.target for peer in peers)} --seed {seed}"
    run = PeersRun(commit=commit(), seed=seed, alpha=alpha, command=command, peers=peers)
    for name in PEERS_PAGE.write(run, report):
        print(f"wrote {report / name}")
