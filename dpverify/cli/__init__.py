"""The command line: ``dpverify verify``, ``list``, ``explain``, ``train``, ``bench``, ``doctor``."""

from __future__ import annotations

from collections.abc import Sequence


def main(tokens: Sequence[str] | None = None) -> int:
    """Run one command; see ``main``."""
    from dpverify.cli.app import main as run  # not above: a worker process imports this package, and parses no words

    return run(tokens)


__all__ = ["main"]
