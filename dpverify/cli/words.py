"""Types of words on the command line that several commands take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, TypeAlias

from cyclopts import Parameter, Token


def whole(type_: object, tokens: Sequence[Token]) -> int:
    """Read a whole number as it is written; 1.5 is none, and is not rounded to one."""
    word = tokens[0].value
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", word):
        raise ValueError(f"{word!r} must be a whole number of at most 18 digits")
    return int(word)


Whole: TypeAlias = Annotated[int, Parameter(converter=whole, n_tokens=1)]
"""A whole number."""

Target: TypeAlias = Annotated[str, Parameter(allow_leading_hyphen=True)]
"""A file, or - for stdout."""
