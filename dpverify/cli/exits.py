"""Exit codes, and the one line that bad input gets."""

from __future__ import annotations

import sys

OK = 0
BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141


class BadInput(Exception):  # noqa: N818 it is what happened, and main turns it into one line
    """Input that a command refuses: one line that names the variable, the value and the rule."""

    def __init__(self, variable: str, value: object, rule: str) -> None:
        super().__init__(f"{variable} {value}: {rule}")


def complain(message: str) -> None:
    """Print one line on stderr, whatever the message holds."""
    from dpverify.ledger.errors import printable

    print(f"dpverify: {printable(' '.join(message.split()), 2000)}", file=sys.stderr)
