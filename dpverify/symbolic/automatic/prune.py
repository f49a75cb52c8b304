"""A certificate without facts that its proof does not need: what the checker accepts without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

MOST_TRIES = 120


def pruned(body: list[Any], accepts: Callable[[], bool], most: int = MOST_TRIES) -> None:
    """Take facts out of a body and of the lists inside it, as long as ``accepts`` says yes without them."""
    tries = iter(range(most))
    for items in reversed(list(_lists(body))):
        size = len(items) // 2 or 1
        while size:
            start = len(items) - size
            while start > -size:
                low = max(start, 0)
                taken = items[low : low + size]
                if next(tries, None) is None:
                    return
                del items[low : low + size]
                if not accepts():
                    items[low:low] = taken
                start -= size
            size //= 2


def _lists(items: list[Any]) -> Iterator[list[Any]]:
    yield items
    for item in items:
        for key in ("facts", "then", "else"):
            if key in item:
                yield from _lists(item[key])
