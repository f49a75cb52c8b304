"""Cases that take no time, and some that fail, for the processes that measure."""

from __future__ import annotations

import os

from dpverify.bench.case import Forms


def good(*, seed: int) -> Forms:
    os.write(1, b"what a case prints is thrown away")
    return {"limit": lambda: None, "ours": lambda: sum(range(50))}


def wrong(*, seed: int) -> Forms:
    raise ValueError("of two\nlines")


def dies(*, seed: int) -> Forms:
    os._exit(7)


def threads(*, seed: int) -> Forms:
    names = sorted(
        name
        for name, value in os.environ.items()
        if name.endswith("_NUM_THREADS") and value == "1"
    )
    raise ValueError(" ".join(names))
