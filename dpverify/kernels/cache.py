"""Files of compiled kernels, named by all that went into them.

Numba's own cache numbers its files and keeps an index beside them. Two processes that compile different signatures at
once may pick the same number, and the index is written before the file that it names; either way one of them can be
handed the machine code of another function. It also looks at one source file only, so that a kernel which calls a
kernel of another file stays as it was when that one changes. A verifier cannot live with either. Here a file's name is
the digest of the code, of every kernel and constant that it reaches, of the signature and of the compiler with its
options; it is
written aside and moved into place, so a file is there whole or not at all, and no index can disagree with it.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable

import llvmlite  # type: ignore[import-untyped]  # no py.typed
import numba

FORMAT = 4  # Other than in releases whose files must not be read


def file_name(base: str, code: Iterable[object], settings: object) -> str:
    """Name the file of a function: ``code`` is what it is compiled from, ``settings`` those of the compiler."""
    digest = hashlib.sha256()
    for part in (FORMAT, *code, numba.__version__, llvmlite.__version__, sys.version_info[:2], settings):
        digest.update(repr(part).encode() + b"\n")
    return f"{base}.{digest.hexdigest()[:32]}.nbc"
