"""The command line ``dpverify``."""

from __future__ import annotations

from collections.abc import Sequence


def main(tokens: Sequence[str] | None = None) -> int:
    """Run one command; see ``dpverify.cli.app.main``."""
    # imported here, because worker processes import this package without it
    from dpverify.cli.app import main as run

    return run(tokens)


__all__ = ["main"]
