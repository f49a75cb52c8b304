"""The command line ``dpverify``."""

from __future__ import annotations

from collections.abc import Sequence


def main(tokens: Sequence[str] | None = None) -> int:
    """Run one command; see ``dpverify.cli.app.main``."""
    from dpverify.cli.app import main as run  # imported here, because worker processes import this package without it

    return run(tokens)


__all__ = ["main"]
