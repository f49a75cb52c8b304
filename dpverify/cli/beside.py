"""A process beside this one for a run of a few claims: both load the code at once, and then share the checks.

It is started before the code of the checks is loaded here, and nothing heavy is imported at the top of this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dpverify.bench.machine import usable_cores
from dpverify.cli.machine import collect_seldom
from dpverify.harness.run.processes import process_pool

if TYPE_CHECKING:
    from concurrent.futures import Executor

FEW = 8
"""Claims up to which a run may be over before workers, started when their number is known, would be ready."""


@contextmanager
def process_beside(claims: Sequence[str]) -> Iterator[Executor | None]:
    """Start a process that loads the code of some claims' checks; it is ended when the block is left.

    With one worker; None for no claims, for more than a few, for patterns, or on one core.
    """
    if not 0 < len(claims) <= FEW or set("*?[") & set("".join(claims)) or usable_cores() < 2:
        yield None
        return
    with process_pool(1, wait=False) as pool:
        pool.submit(_load, list(claims))
        yield pool


def _load(claims: list[str]) -> None:
    """Import the checks of the claims and read their code, in the process beside."""
    collect_seldom()
    from dpverify.harness.run.tasks import prepare_worker

    prepare_worker([])
    from dpverify.harness.run.hashes import import_closure
    from dpverify.papers import load

    for claim in claims:
        paper, colon, name = claim.partition(":")
        checks = load(paper) if colon else None
        if checks is not None:
            import_closure(entry.module for entry in checks.entries(name))  # kept, for their evidence hashes
