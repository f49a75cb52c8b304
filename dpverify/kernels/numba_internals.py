"""Parts of numba that it does not promise to keep: what is patched, what is called, and what is built on.

A new release may break them. Only this module and ``fingerprint``, which asks what stands behind a kernel, an
intrinsic and an overloaded function, touch such parts; ``tests/unit/kernels/test_numba_internals.py`` says which part
broke, and what to do. One part is patched in numba itself, and so for everybody's functions: their numbers. Everything
else concerns our kernels alone.
"""

from __future__ import annotations

import itertools
import pickle
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # no py.typed
from numba import typeof, types
from numba.core import cgutils, config, event, serialize
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import FunctionCache, NullCache
from numba.core.codegen import RuntimeLinker
from numba.core.typing.templates import Signature
from numba.extending import intrinsic, overload
from numba.np.random import _constants as ziggurat

from dpverify.cache_files import prune, read, write
from dpverify.kernels.fingerprint import file_name, fingerprint
from dpverify.kernels.typing import Vector

LINE = 8  # Numbers in a cache line

LAYERS = np.array(ziggurat.ki_double, dtype=np.int64)
"""Part of each layer of the ziggurat, of 2^52, that lies wholly below the normal density."""

WIDTHS = np.concatenate([ziggurat.wi_double, -ziggurat.wi_double])
"""Width of each layer over 2^52, and the same with a minus sign."""

HEIGHTS = np.array(ziggurat.fi_double)  # Density at the end of each layer

TAIL, PER_TAIL = float(ziggurat.ziggurat_nor_r), float(ziggurat.ziggurat_nor_inv_r)
"""Where the tail begins, and one over it."""

OPTIONS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")
"""Settings of numba that change what a function compiles to."""

FunctionIdentity._unique_ids = itertools.count(secrets.randbits(60))
"""Numba numbers functions from 1 in each process, and the number tells machine code of two closures of one body apart.
With numba's own numbers, code that two processes compiled is taken for each other where both are loaded from a cache:
the results are wrong, without an error. This patch begins each process at a random number, which costs nothing."""

_dumps: Callable[[Any], bytes] = serialize.dumps
_type_of: Callable[[Any], Any] = typeof
_without_value: Callable[[Any], Any] = types.unliteral


_listener: Callable[[], Any] = event.TimingListener
_register: Callable[[str, Any], None] = event.register
_compiling = _listener()
_register("numba:compile", _compiling)


def seconds_compiling() -> float:
    """Seconds for which this process has compiled kernels so far; one that was found compiled costs none."""
    return float(_compiling.duration) if _compiling.done else 0.0


def prepare(compiled: Any) -> None:
    """Give a jitted function our cache, and let it be called with a number written out as with a variable."""
    compiled._cache = KernelCache.of(compiled)
    compiled.get_call_template = partial(_typed_as_variables, compiled.get_call_template)


def entries(*, counting: bool) -> Any:
    """Options of the jit: compiled code counts references to arrays and has an entry for Python, or neither.

    Where neither is said, a function does what the one did for whose sake it is compiled. None has an entry for C.
    """
    return {"_nrt": counting, "no_cpython_wrapper": not counting, "no_cfunc_wrapper": True}


def _typed_as_variables(resolve: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Resolve a call by the types of its arguments alone: numba would compile a kernel anew for each written number."""
    return resolve(
        tuple(_without_value(argument) for argument in arguments),
        {name: _without_value(argument) for name, argument in named.items()},
    )


def without_dispatch(compiled: Any, arguments: tuple[object, ...]) -> Any:
    """Compile for the types of these arguments, and give what a call would find: it looks at no types again."""
    argument_types = tuple(_type_of(argument) for argument in arguments)
    compiled.compile(argument_types)
    return compiled.get_overload(argument_types)


class KernelCache(FunctionCache):
    """The cache of one kernel; numba calls ``load_overload`` before it compiles and ``save_overload`` after."""

    compiled: Any  # the kernel, with its options

    @classmethod
    def of(cls, compiled: Any) -> KernelCache | NullCache:
        """Make the cache of a function, or none where it has no source file or no folder can be written to.

        In ``NUMBA_CACHE_DIR``, else beside the source file, else in the user's cache folder.
        """
        try:
            cache = cls(compiled.py_func)
        except (RuntimeError, OSError):
            return NullCache()
        cache.compiled = compiled
        return cache

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        arguments = _arguments(sig)
        payload = read(self._file(arguments, target_context.codegen()))
        if payload is None:
            return None
        try:
            reduced = pickle.loads(payload)
        except (AttributeError, ImportError):  # of a release in which a class had another name, or another place
            return None
        compiled = self._impl.rebuild(target_context, reduced)
        # A kernel among the arguments was pickled as a copy; the dispatcher and code that calls this kernel must find
        # the one that was asked for.
        compiled.fndesc.argtypes = arguments
        return compiled._replace(signature=compiled.signature.replace(args=arguments))

    def _save_overload(self, sig: Any, data: Any) -> None:
        if not self._impl.check_cachable(data) or _waits_for_address(data.library):
            return
        arguments = _arguments(sig)
        try:
            self._impl.locator.ensure_cache_path()
            file = self._file(arguments, data.codegen)
            write(file, _dumps(self._impl.reduce(data)))
            prune(file)
        except OSError:  # a full disk, or a folder that has become read-only: the code just compiled is as good
            return

    def _file(self, arguments: tuple[Any, ...], codegen: Any) -> Path:
        settings = [vars(config)[name] for name in OPTIONS]
        parts = (fingerprint(self.compiled), *map(_name_of, arguments), codegen.magic_tuple())
        return Path(self.cache_path) / file_name(self._impl.filename_base, parts, settings)


def _waits_for_address(library: Any) -> bool:
    """Tell whether code calls a function whose address numba looks up when it loads, as functions that call each other.

    A process that reads such code from a cache has compiled no such function: numba's own cache crashes there.
    """
    return any(variable.name.startswith(RuntimeLinker.PREFIX) for variable in library._final_module.global_variables)


def _arguments(sig: Any) -> tuple[Any, ...]:
    """Types of the arguments, from a signature or from a plain sequence of them."""
    return tuple(sig.args if isinstance(sig, Signature) else sig)


def _name_of(type_: Any) -> str:
    """Name an argument's type: a kernel by its contents, because its own name holds an address."""
    if isinstance(type_, types.Dispatcher):
        return fingerprint(type_.dispatcher)
    if isinstance(type_, types.NamedTuple):  # numba's name has the types of the fields, and not theirs
        return f"{type_}{type_.fields}{[_name_of(field) for field in type_.types]}"
    return str(type_)


def trailing_zeros(t: int) -> int:
    """Count the zeros that end the binary expansion of a whole number; 64 for 0."""
    return int(t & -t).bit_length() - 1 if t else 64


@intrinsic
def _count_zeros(_: Any, t: Any) -> Any:
    """Emit the one instruction that does it: a loop would be mispredicted at every other number."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = context.cast(builder, arguments[0], signature.args[0], types.int64)
        return builder.cttz(number, ir.Constant(ir.IntType(1), 0))

    return types.int64(t), emit


count_zeros: Any = _count_zeros


@overload(trailing_zeros, strict=False)
def _trailing_zeros(t: Any) -> Any:
    def count(t: Any) -> Any:
        return count_zeros(t)

    return count


def unlikely(condition: bool) -> bool:
    """Tell the compiler that a condition seldom holds; the condition itself.

    What follows then keeps out of the registers and of the code of the loop around it.
    """
    return condition


@intrinsic
def _expect_not(_: Any, condition: Any) -> Any:
    """Emit the compiler's own mark."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bit = ir.IntType(1)
        mark = builder.module.declare_intrinsic("llvm.expect", [bit], ir.FunctionType(bit, [bit, bit]))
        return builder.call(mark, [arguments[0], bit(0)])

    return types.boolean(types.boolean), emit


expect_not: Any = _expect_not


@overload(unlikely, strict=False, inline="always")
def _unlikely(condition: Any) -> Any:
    def expect(condition: Any) -> Any:
        return expect_not(condition)

    return expect


def prefetch(values: Vector, place: np.uint64) -> None:
    """Ask for the cache line of ``values[place]``; nothing is read or changed, so plain Python does nothing."""


@intrinsic
def _ask(_: Any, values: Any, place: Any) -> Any:
    """Emit the compiler's own prefetch: for reading, into the nearest cache."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        insert: Any = cgutils.get_or_insert_function  # numba gives it no types
        function = insert(builder.module, function_type, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), byte)
        builder.call(function, [address, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(values, place), emit


ask_for: Any = _ask


@overload(prefetch, strict=False)
def _prefetch(values: Any, place: Any) -> Any:
    def ask(values: Any, place: Any) -> Any:
        return ask_for(values, place)

    return ask


def put_line(values: Vector, place: int, row: Vector, at: int) -> None:
    """Copy ``row[at : at + LINE]`` to ``values[place : place + LINE]``, which is a cache line, around the caches."""
    values[place : place + LINE] = row[at : at + LINE]


@intrinsic
def _put(_: Any, values: Any, place: Any, row: Any, at: Any) -> Any:
    """Emit one load, and one store that is marked as not to be read again soon."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        into = context.make_array(signature.args[0])(context, builder, arguments[0])
        source = context.make_array(signature.args[2])(context, builder, arguments[2])
        line = ir.VectorType(ir.DoubleType(), LINE).as_pointer()
        loaded_line = builder.load(builder.bitcast(builder.gep(source.data, [arguments[3]]), line), align=8)
        address = builder.bitcast(builder.gep(into.data, [arguments[1]]), line)
        stored = builder.store(loaded_line, address, align=8 * LINE)
        stored.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
        return context.get_dummy_value()

    return types.void(values, place, row, at), emit


put: Any = _put


@overload(put_line, strict=False)
def _put_line(values: Any, place: Any, row: Any, at: Any) -> Any:
    def write_line(values: Any, place: Any, row: Any, at: Any) -> Any:
        return put(values, place, row, at)

    return write_line
