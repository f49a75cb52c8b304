"""Open the execution backend and the result cache of a command; heavy imports are inside functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.output import BadInput, complain
from dpverify.processes import process_pool, usable_cores

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from dpverify.harness.run.backend import Backend
    from dpverify.harness.run.cluster import Cluster
    from dpverify.harness.run.store import Store

# with at most this many claims, a run may end before
# workers that are started later would be ready
MAX_CLAIMS = 8
# limit on the characters of all names, which are written to the process before it reads
MAX_LENGTH = 2000


@contextmanager
def open_cluster(address: str | None) -> Iterator[Cluster | None]:
    """Connect to the cluster at an address. The cluster keeps running after the block."""
    if address is None:
        yield None
        return
    from dpverify.harness.run.cluster import Cluster, ClusterError

    try:
        cluster = Cluster(address)
    except ClusterError as error:
        raise BadInput(
            "--cluster", address, f"must be a Dask cluster that can judge ({error})"
        ) from error
    from dpverify.kernels.check import ArgumentError

    try:
        yield cluster
    except ArgumentError as error:
        if error.variable != "cluster":
            raise
        raise BadInput("--cluster", address, error.rule) from error
    finally:
        cluster.close()


def open_store(path: Path | None) -> Store | None:
    """Open the result cache. An unusable file is an error if the user named it; the default one is optional."""
    from dpverify.cache_files import default_store
    from dpverify.harness.run.store import Store
    from dpverify.harness.run.store_file import StoreError

    try:
        return Store(path or default_store())
    except StoreError as error:
        if path is not None:
            raise BadInput(
                "--store", path, f"must be a store of evidence, or new ({error})"
            ) from error
        complain(str(error))
        return None


@contextmanager
def open_backend(
    address: str | None,
    store: Path | None,
    *,
    fresh: bool,
    min_seconds: float = 0.0,
    temporary: bool = False,
    limit: float = 0.0,
) -> Iterator[Backend]:
    """Open the cluster and the result cache of a command; print their messages after the block."""
    from dpverify.harness.run.backend import Backend

    blocks = open_store(store)
    try:
        with open_cluster(address) as cluster:
            backend = Backend(blocks, cluster, fresh, min_seconds, temporary, limit)
            yield backend
            for line in backend.words():
                complain(line)
    finally:
        if blocks is not None:
            blocks.close()


@contextmanager
def early_worker(claims: Sequence[str]) -> Iterator[Executor | None]:
    """Start a worker that loads the checks of the named claims while this process is still importing.

    Yield None for patterns, for many claims, or on one core.
    """
    words = "".join(claims)
    if (
        not 0 < len(claims) <= MAX_CLAIMS
        or len(words) > MAX_LENGTH
        or set("*?[") & set(words)
        or usable_cores() < 2
    ):
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
