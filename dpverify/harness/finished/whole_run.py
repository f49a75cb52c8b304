"""A finished run, stored with its blocks. An equal request is answered without running checks.

It is found again only while none of its inputs has changed. It is stored only where each check was decided and each of
its blocks is in the store, so that what is found here is what the blocks there would give.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from dpverify.cache_files import digest_of
from dpverify.harness.finished.block_outcome import BlockOutcome
from dpverify.harness.finished.inputs import Inputs
from dpverify.harness.run.manifest import commit, machine
from dpverify.harness.run.store_file import StoreError
from dpverify.ledger.records import encode
from dpverify.ledger.results import Run, decode

if TYPE_CHECKING:
    from dpverify.harness.run.store import Store

MOST_BYTES = 2_000_000  # a larger run is put together from its blocks


@dataclass(frozen=True)
class WholeRun:
    """The request for a run, with the inputs that determine its results."""

    claims: tuple[str, ...]  # full ids
    budget: str
    seed: int
    inputs: Inputs

    @property
    def label(self) -> str:
        """Name for people."""
        return f"the run of {', '.join(self.claims[:3])}"

    @property
    def asked(self) -> str:
        """What was asked; an equal request with other inputs replaces it."""
        return f"run {digest_of(self.claims)} {self.budget} {self.seed}"

    @property
    def terms(self) -> tuple[str, ...]:
        """Nothing that is not part of the inputs."""
        return ()

    @property
    def parts(self) -> tuple[type, ...]:
        """A run is stored as text."""
        return ()

    def recalled(self, store: Store) -> Run | None:
        """Return the stored run if no input has changed, or None if there is none or it cannot be read."""
        start = time.perf_counter()
        if not self.inputs.digest:
            return None
        try:
            blocks = store.found(self, self.inputs.digest)
            run = decode(blocks[0].part.encode())
        except (StoreError, KeyError, AttributeError, ValueError):  # the run itself meets the same error, and says so
            return None
        seconds = round(time.perf_counter() - start, 3)
        return msgspec.structs.replace(
            run, run=msgspec.structs.replace(run.run, commit=commit(), machine=machine(), seconds=seconds)
        )

    def keep(self, store: Store, run: Run, checks: int) -> None:
        """Store a run in which each check was decided; ``checks``: how many of them have blocks, all of them there."""
        complete_run = msgspec.structs.replace(run.run, from_store=checks, stale_in_store=0)
        text = encode(msgspec.structs.replace(run, run=complete_run)).decode()
        if len(text) > MOST_BYTES or not self.inputs.are_unchanged:
            return
        try:
            store.keep(self, self.inputs.digest, 0, BlockOutcome(text, run.run.seconds))
        except StoreError as error:
            store.failure = str(error)
