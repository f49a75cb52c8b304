"""Records of finished runs: block outcomes, exit codes, hashes of all inputs, and stored runs. No check is imported.

The *inputs* are all files of dpverify, its specs, its recorded run, and the installed
packages. This is more than a check needs, so that no dependency is missed. After any
change the checks run again. Reading and hashing twenty megabytes takes a twentieth of a
second.

A *stored run* answers an equal request without running checks, as long as no input has changed. A run is stored only
if each check was decided and all blocks of the checks are in the store. Running the checks again would then assemble
the same run from these blocks.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dpverify.cache_files import Snapshot, digest_of, snapshot
from dpverify.harness.recorded_proof import CERTIFICATES
from dpverify.harness.run.manifest import commit, machine
from dpverify.harness.run.store_file import StoreError
from dpverify.ledger.errors import SpecError
from dpverify.ledger.load import bundled, outside_papers
from dpverify.ledger.records import HOLDS, Status, encode
from dpverify.ledger.results import Result, Run, decode, lost_proofs

if TYPE_CHECKING:
    from dpverify.harness.run.store import Store


@dataclass(frozen=True)
class BlockOutcome:
    """The outcome of one block."""

    part: Any  # the block's part; None after an error
    seconds: float  # core seconds, approximately
    error: str = ""  # empty, or the error and its place in our code
    compiling: float = 0.0  # the part of these seconds in which kernels were compiled


def contradicts(pinned: Status, status: Status) -> bool:
    """Return whether evidence contradicts a pin: one of the two statuses is "refuted", and the other is in HOLDS."""
    return (pinned == "refuted" and status in HOLDS) or (
        status == "refuted" and pinned in HOLDS
    )


def is_unconfirmed(result: Result) -> bool:
    """Return whether the evidence of this run is weaker than the pin but does not contradict it."""
    pairs = [(result.pinned, result.status)]
    pairs += [(statement.pinned, statement.status) for statement in result.beside]
    return any(
        pinned in {"refuted", *HOLDS}
        and status != pinned
        and not (pinned in HOLDS and status in HOLDS[: HOLDS.index(pinned)])
        and not contradicts(pinned, status)
        for pinned, status in pairs
    )


def exit_code(
    run: Run, *, strict: bool = False, strict_pins: Collection[str] = ()
) -> int:
    """Return the exit code of a run: 130 after Ctrl-C, 1 after a failure, otherwise 0.

    Failures are: a pin is contradicted; sources disagree; a check raised an error or did not detect a planted fault;
    the slack of a statement that is pinned as tight is above 1; counterexamples contradict the recorded severity; a
    proof of a statement that is pinned as proved is lost.
    ``strict``: an unconfirmed pin is also a failure. ``strict_pins``: papers for which a claim without a pin that is
    refuted, inconclusive or untested is also a failure.
    """
    if run.run.interrupted:
        return 130
    red = any(
        r.contradicts or r.sources_disagree or errors(r) or r.missed_faults or r.loosened or r.misjudged
        or lost_proofs(r) or (r.unpinned and r.claim.partition(":")[0] in strict_pins)
        for r in run.results
    )  # fmt: skip
    return int(red or (strict and any(map(is_unconfirmed, run.results))))


def errors(result: Result) -> list[str]:
    """Return the errors in our code, one line per check that raised an error."""
    return [
        f"{check.name}: {check.error}" for check in result.all_checks if check.error
    ]


PACKAGE = Path(__file__).parents[1]
# suffixes of the files and folders that appear or change when a package is installed
DISTRIBUTIONS = (".dist-info", ".egg-info", ".egg-link", ".pth")


class Inputs:
    """Snapshot of everything that an answer may depend on. Create it before a command reads any of its inputs.

    ``specs``: the folder of records that the command names, or None for the records that come with dpverify.
    """

    def __init__(self, specs: Path | None) -> None:
        self._specs = specs
        self._before = self._read()

    @property
    def digest(self) -> str:
        """Digest of all inputs, or "" if some of them are unknown, so that no answer may be stored or reused."""
        return "" if self._before is None else self._before.digest

    @property
    def are_unchanged(self) -> bool:
        """Whether the inputs equal the snapshot, and none of them changed after this process began to load dpverify."""
        if self._before is None or not self._before.is_older_than_process:
            return False
        return self._read() == self._before

    def _read(self) -> Snapshot | None:
        """Return a snapshot of the inputs, or None if some of them are unknown.

        Papers that do not come with dpverify may use code and data from anywhere. With them, nothing is stored.
        """
        try:
            if outside_papers(Path.cwd()) or not PACKAGE.is_dir():
                return None
            places = list(self._places())
            files = snapshot(places)
            return Snapshot(
                digest_of((files.digest, *map(str, places), *installed())),
                files.changed_at,
            )
        except OSError:
            return None

    def _places(self) -> Iterator[Path]:
        yield PACKAGE
        with suppress(SpecError):  # a copy of the package without its specs
            yield bundled("specs")
        with suppress(SpecError):
            yield bundled("reports") / "data"
            yield bundled("reports") / CERTIFICATES
        if self._specs is not None:
            yield from sorted(self._specs.glob("*/*.toml"))


def installed() -> list[str]:
    """List Python's version, the kind of machine, and the installed packages with version and installation time."""
    descriptions = [
        sys.version,
        str(sys.flags.optimize),
        sys.platform,
        platform.machine(),
    ]
    for folder in sys.path:
        try:
            entries = sorted(Path(folder).iterdir()) if folder else []
        except OSError:  # an archive, or a path that does not exist
            continue
        descriptions += [
            f"{entry.name} {entry.stat().st_mtime_ns}"
            for entry in entries
            if entry.suffix in DISTRIBUTIONS
        ]
    return descriptions


MAX_BYTES = 2_000_000  # a larger run is assembled from its blocks instead


@dataclass(frozen=True)
class WholeRun:
    """The request for a run, with the inputs that determine its results."""

    claims: tuple[str, ...]  # full ids
    budget: str
    seed: int
    inputs: Inputs

    @property
    def label(self) -> str:
        """Name of the run in messages."""
        return f"the run of {', '.join(self.claims[:3])}"

    @property
    def request_key(self) -> str:
        """Key of the request. A stored run with the same key and other inputs is replaced."""
        return f"run {digest_of(self.claims)} {self.budget} {self.seed}"

    @property
    def terms(self) -> tuple[str, ...]:
        """Empty: everything that determines the result is part of the inputs."""
        return ()

    @property
    def parts(self) -> tuple[type, ...]:
        """Empty: a run is stored as text."""
        return ()

    def stored_run(self, store: Store) -> Run | None:
        """Return the stored run if no input has changed, or None if no run is stored or it cannot be read."""
        start = time.perf_counter()
        if not self.inputs.digest:
            return None
        try:
            blocks = store.stored_blocks(self, self.inputs.digest)
            run = decode(blocks[0].part.encode())
        except (
            StoreError,
            KeyError,
            AttributeError,
            ValueError,
        ):  # the checks then run, and the run reports an unreadable store
            return None
        seconds = round(time.perf_counter() - start, 3)
        return msgspec.structs.replace(
            run,
            run=msgspec.structs.replace(
                run.run, commit=commit(), machine=machine(), seconds=seconds
            ),
        )

    def save(self, store: Store, run: Run, checks: int) -> None:
        """Store a run in which each check was decided, unless it is too large or an input has changed.

        ``checks``: the number of checks with blocks. All of these blocks are in the store.
        """
        run_info = msgspec.structs.replace(run.run, from_store=checks, stale_in_store=0)
        encoded = encode(msgspec.structs.replace(run, run=run_info))
        if len(encoded) > MAX_BYTES or not self.inputs.are_unchanged:
            return
        try:
            store.save(
                self,
                self.inputs.digest,
                0,
                BlockOutcome(encoded.decode(), run.run.seconds),
            )
        except StoreError as error:
            store.failure = str(error)
