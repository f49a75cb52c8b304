"""A worker process for a run of a few claims, started before their code is loaded; imports nothing heavy at the top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dpverify.processes import process_pool, usable_cores

if TYPE_CHECKING:
    from concurrent.futures import Executor

FEW = 8  # claims up to which a run may be over before workers, started when their number is known, would be ready
LONG = 2000  # characters of all names, which are written to the process before it reads


@contextmanager
def early_worker(claims: Sequence[str]) -> Iterator[Executor | None]:
    """Start a process that loads the checks of some claims; none for patterns, for many claims, or on one core."""
    words = "".join(claims)
    if not 0 < len(claims) <= FEW or len(words) > LONG or set("*?[") & set(words) or usable_cores() < 2:
        yield None
        return
    with process_pool(1, wait=False) as pool:
        pool.submit(_load, list(claims))
        yield pool


def _load(claims: list[str]) -> None:
    from dpverify.harness.run.tasks import prepare_worker
    from dpverify.papers import load

    prepare_worker()
    for claim in claims:
        paper, colon, name = claim.partition(":")
        if colon and (checks := load(paper)) is not None:
            checks.entries(name)
