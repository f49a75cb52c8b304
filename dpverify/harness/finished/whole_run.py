"""A whole run that is over, kept beside its blocks: the same request of the same code is answered without its checks.

It is found again only where nothing has changed that its results follow from: the code that judges its claims with all
of ours that this imports, every file of the specs, what is taken from the recorded run, and the versions of Python and
of the libraries. It is kept only where each check was decided and each block of it is in the store, so that what is
found here is what the blocks there would give.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dpverify.cache_files import digest_of
from dpverify.harness.finished.block_outcome import BlockOutcome
from dpverify.harness.finished.code_cache import keep_new_code
from dpverify.harness.run.hashes import evidence_hash
from dpverify.harness.run.manifest import commit, machine
from dpverify.harness.run.store_file import StoreError
from dpverify.ledger.records import encode
from dpverify.ledger.results import Run, decode

if TYPE_CHECKING:
    from dpverify.harness.run.store import Store

RUNNER = "dpverify.harness.run.runner"  # the module that makes results of what checks find
MOST_BYTES = 2_000_000  # a larger run is put together from its blocks


@dataclass(frozen=True)
class WholeRun:
    """The request for a run, and what its results follow from."""

    claims: tuple[str, ...]  # full ids
    budget: str
    seed: int
    modules: tuple[str, ...]  # that may judge these claims
    texts: tuple[str, ...]  # what else counts, such as the list of all files with checks
    files: tuple[Path, ...]  # folders and files whose content counts

    @property
    def label(self) -> str:
        """Name for people."""
        return f"the run of {', '.join(self.claims[:3])}"

    @property
    def asked(self) -> str:
        """What was asked; an equal request of other code replaces it."""
        return f"run {digest_of(self.claims)} {self.budget} {self.seed}"

    @property
    def terms(self) -> tuple[str, ...]:
        """Nothing that is not part of the evidence."""
        return ()

    @property
    def parts(self) -> tuple[type, ...]:
        """A run is kept as text."""
        return ()

    @cached_property
    def evidence(self) -> str:
        """Digest of all that the results follow from."""
        judged = digest_of((*self.claims, *self.texts, *_contents(self.files)))
        return evidence_hash(judged, (*self.modules, RUNNER))

    def recalled(self, store: Store) -> Run | None:
        """Return the run if it is there and nothing has changed; None where it is not, or cannot be read."""
        start = time.perf_counter()
        try:
            found = store.found(self, self.evidence)
        except (StoreError, ValueError):  # the run itself meets the same error, and says so
            return None
        keep_new_code()
        if 0 not in found or not isinstance(found[0].part, str):
            return None
        try:
            run = decode(found[0].part.encode())
        except (msgspec.DecodeError, UnicodeError):
            return None
        seconds = round(time.perf_counter() - start, 3)
        return msgspec.structs.replace(
            run, run=msgspec.structs.replace(run.run, commit=commit(), machine=machine(), seconds=seconds)
        )

    def keep(self, store: Store, run: Run, checks: int) -> None:
        """Keep a run in which each check was decided; ``checks``: how many of them have blocks, all of them there."""
        again = msgspec.structs.replace(run.run, from_store=checks, stale_in_store=0)
        text = encode(msgspec.structs.replace(run, run=again)).decode()
        if len(text) > MOST_BYTES:
            return
        try:
            store.keep(self, self.evidence, 0, BlockOutcome(text, run.run.seconds))
        except StoreError as error:
            store.failure = str(error)


def _contents(places: Sequence[Path]) -> Iterable[str]:
    """Yield name and digest of each file, and of each file in a folder; a place that is missing counts as such."""
    for place in places:
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        for file in files:
            if file.is_file():
                yield f"{file.relative_to(place).as_posix()} {hashlib.sha256(file.read_bytes()).hexdigest()}"
        yield f"end {place.exists()}"
