"""Where the blocks of a command run, and where they are kept: ``--cluster``, ``--store`` and ``--fresh``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.output import BadInput, complain

if TYPE_CHECKING:
    from dpverify.harness.run.cluster import Cluster
    from dpverify.harness.run.store import Store
    from dpverify.harness.run.work import Means


@contextmanager
def connected(address: str | None) -> Iterator[Cluster | None]:
    """The cluster at an address, which is left as it is at the end."""
    if address is None:
        yield None
        return
    from dpverify.harness.run.cluster import Cluster, ClusterError

    try:
        cluster = Cluster(address)
    except ClusterError as error:
        raise BadInput("--cluster", address, f"must be a Dask cluster that can judge ({error})") from error
    from dpverify.kernels.check import ArgumentError

    try:
        yield cluster
    except ArgumentError as error:
        if error.variable != "cluster":
            raise
        raise BadInput("--cluster", address, error.rule) from error
    finally:
        cluster.close()


def opened(path: Path | None) -> Store | None:
    """The store of blocks; the user's own must be one, and without the default one nothing is lost but time."""
    from dpverify.cache_files import default_store
    from dpverify.harness.run.store import Store
    from dpverify.harness.run.store_file import StoreError

    try:
        return Store(path or default_store())
    except StoreError as error:
        if path is not None:
            raise BadInput("--store", path, f"must be a store of evidence, or new ({error})") from error
        complain(str(error))
        return None


@contextmanager
def means_of(
    address: str | None,
    store: Path | None,
    *,
    fresh: bool,
    least: float = 0.0,
    passing: bool = False,
    limit: float = 0.0,
) -> Iterator[Means]:
    """Cluster and store of a command in pieces; at the end, what to know of them is said."""
    from dpverify.harness.run.work import Means

    blocks = opened(store)
    try:
        with connected(address) as cluster:
            means = Means(blocks, cluster, fresh, least, passing, limit)
            yield means
            for line in means.words():
                complain(line)
    finally:
        if blocks is not None:
            blocks.close()
