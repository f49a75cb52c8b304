"""Compiled kernels kept on disk, named by all that went into them.

Numba's own cache numbers its files and keeps an index beside them. Two processes that compile different signatures at
once may pick the same number, and the index is written before the file that it names; either way one of them can be
handed the machine code of another function. It also looks at one source file only, so that a kernel which calls a
kernel of another file stays as it was when that one changes. A verifier cannot live with either. Here a file's name is
the digest of the code, of every kernel and constant that it reaches, of the signature and of the compiler; it is
written aside and moved into place, so a file is there whole or not at all, and no index can disagree with it.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import config, serialize
from numba.core.caching import FunctionCache, NullCache
from numba.core.typing.templates import Signature

from dpverify.kernels.fingerprint import fingerprint

_OPTIONS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")
_dumps: Callable[[Any], bytes] = serialize.dumps

MOST_FILES = 64
"""Files kept for one function: past that, the oldest go."""


class KernelCache(FunctionCache):
    """The cache of one kernel; numba calls ``load_overload`` before it compiles and ``save_overload`` after."""

    @classmethod
    def of(cls, py_func: Any) -> KernelCache | NullCache:
        """Make the cache of a function, or none where it has no source file or no folder can be written to.

        In ``NUMBA_CACHE_DIR``, else beside the source file, else in the user's cache folder.
        """
        try:
            return cls(py_func)
        except (RuntimeError, OSError):
            return NullCache()

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        arguments = _arguments(sig)
        payload = _read(self._file(arguments, target_context.codegen()))
        if payload is None:
            return None
        compiled = self._impl.rebuild(target_context, pickle.loads(payload))
        # A kernel among the arguments was pickled as a copy; the dispatcher and code that calls this kernel must find
        # the one that was asked for.
        compiled.fndesc.argtypes = arguments
        return compiled._replace(signature=compiled.signature.replace(args=arguments))

    def _save_overload(self, sig: Any, data: Any) -> None:
        if not self._impl.check_cachable(data):
            return
        arguments = _arguments(sig)
        try:
            self._impl.locator.ensure_cache_path()
            file = self._file(arguments, data.codegen)
            _write(file, _dumps(self._impl.reduce(data)))
            _prune(file)
        except OSError:  # a full disk, or a folder that has become read-only: the code just compiled is as good
            return

    def _file(self, arguments: tuple[Any, ...], codegen: Any) -> Path:
        digest = hashlib.sha256()
        for part in (
            fingerprint(self._py_func),
            *map(_name_of, arguments),
            codegen.magic_tuple(),
            numba.__version__,
            sys.version_info[:2],
            [vars(config)[name] for name in _OPTIONS],
        ):
            digest.update(repr(part).encode() + b"\n")
        return Path(self.cache_path) / f"{self._impl.filename_base}.{digest.hexdigest()[:32]}.nbc"


def _arguments(sig: Any) -> tuple[Any, ...]:
    """Types of the arguments, from a signature or from a plain sequence of them."""
    return tuple(sig.args if isinstance(sig, Signature) else sig)


def _name_of(type_: Any) -> str:
    """Name an argument's type; a kernel by its contents, because its own name holds an address."""
    return fingerprint(type_.dispatcher.py_func) if isinstance(type_, types.Dispatcher) else str(type_)


def _read(file: Path) -> bytes | None:
    """Read a file that ``_write`` wrote; None where there is none, or it is damaged."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    digest, payload = content[:32], content[32:]
    return payload if hashlib.sha256(payload).digest() == digest else None


def _write(file: Path, payload: bytes) -> None:
    aside = file.with_name(f"{file.name}.{uuid.uuid4().hex[:16]}.tmp")
    try:
        aside.write_bytes(hashlib.sha256(payload).digest() + payload)
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)


def _prune(file: Path) -> None:
    """Remove the oldest files of this function, so that old versions of it do not pile up."""
    base = file.name.rsplit(".", 2)[0]
    found = []
    for other in file.parent.glob(f"{base}.*.nbc"):
        try:
            found.append((other.stat().st_mtime_ns, other))
        except OSError:  # another process was faster
            continue
    for _, other in sorted(found)[:-MOST_FILES]:
        other.unlink(missing_ok=True)
