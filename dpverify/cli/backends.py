"""The options ``--cluster``, ``--store`` and ``--fresh``: where a command runs its work, and its result cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.output import BadInput, complain

if TYPE_CHECKING:
    from dpverify.harness.run.backend import Backend
    from dpverify.harness.run.cluster import Cluster
    from dpverify.harness.run.store import Store


@contextmanager
def open_cluster(address: str | None) -> Iterator[Cluster | None]:
    """Connect to the cluster at an address. The cluster keeps running at the end."""
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


def open_store(path: Path | None) -> Store | None:
    """Open the result cache. An unusable file is an error if the user named it; the default one is optional."""
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
def open_backend(
    address: str | None,
    store: Path | None,
    *,
    fresh: bool,
    min_seconds: float = 0.0,
    temporary: bool = False,
    limit: float = 0.0,
) -> Iterator[Backend]:
    """Open cluster and result cache of a command; at the end print their messages."""
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
