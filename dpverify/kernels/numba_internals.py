"""All uses of numba's undocumented internals.

A new release of numba may break them. Only this module and ``fingerprint``, which reads the functions of kernels,
intrinsics and overloads, use internals. ``tests/unit/kernels/test_numba_internals.py`` shows which internal changed and
what to do. One change affects all functions that numba compiles in this process: the patch of function ids. Everything
else affects only the kernels of dpverify.
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

LINE = 8  # numbers in a cache line

LAYERS = np.array(ziggurat.ki_double, dtype=np.int64)
"""Part of each layer of the ziggurat, in units of 2^-52, that lies entirely below the normal density."""

WIDTHS = np.concatenate([ziggurat.wi_double, -ziggurat.wi_double])
"""Width of each layer divided by 2^52, followed by the negative widths."""

HEIGHTS = np.array(ziggurat.fi_double)  # density at the end of each layer

TAIL, PER_TAIL = float(ziggurat.ziggurat_nor_r), float(ziggurat.ziggurat_nor_inv_r)
"""Start of the tail, and its inverse."""

OPTIONS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")
"""Settings of numba that affect the compiled code."""

FunctionIdentity._unique_ids = itertools.count(secrets.randbits(60))
"""Numba numbers functions from 1 in each process. Closures with the same body differ
only by this number. With numba's own numbers, code that two processes compiled is
confused when both load it from a cache: the results are wrong, without an error. This
patch starts each process at a random number, at no cost."""

_dumps: Callable[[Any], bytes] = serialize.dumps
_type_of: Callable[[Any], Any] = typeof
_without_value: Callable[[Any], Any] = types.unliteral


_listener: Callable[[], Any] = event.TimingListener
_register: Callable[[str, Any], None] = event.register
_compiling = _listener()
_register("numba:compile", _compiling)


def seconds_compiling() -> float:
    """Return the seconds for which this process has compiled kernels; loading from the cache does not count."""
    return float(_compiling.duration) if _compiling.done else 0.0


def prepare(compiled: Any) -> None:
    """Set our cache on a jitted function, and make calls with literals use the code for variables."""
    compiled._cache = KernelCache.of(compiled)
    compiled.get_call_template = partial(
        _typed_as_variables, compiled.get_call_template
    )


def entries(*, counting: bool) -> Any:
    """Return the JIT options for code that counts references and has a Python wrapper, or has neither of the two.

    Without these options, numba compiles a function with the options of its caller. No kernel has a C wrapper.
    """
    return {
        "_nrt": counting,
        "no_cpython_wrapper": not counting,
        "no_cfunc_wrapper": True,
    }


def _typed_as_variables(
    resolve: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """Resolve a call by its argument types only. Otherwise numba compiles a kernel again for each literal."""
    return resolve(
        tuple(_without_value(argument) for argument in arguments),
        {name: _without_value(argument) for name, argument in named.items()},
    )


def without_dispatch(compiled: Any, arguments: tuple[object, ...]) -> Any:
    """Compile for the types of these arguments, and return the compiled function, which does not check types."""
    argument_types = tuple(_type_of(argument) for argument in arguments)
    compiled.compile(argument_types)
    return compiled.get_overload(argument_types)


class KernelCache(FunctionCache):
    """Cache of one kernel. numba calls ``load_overload`` before it compiles and ``save_overload`` afterwards."""

    compiled: Any  # the kernel, with its options

    @classmethod
    def of(cls, compiled: Any) -> KernelCache | NullCache:
        """Return the cache of a kernel, or a NullCache if it has no source file or no folder is writable.

        The folder is ``NUMBA_CACHE_DIR``, the folder of the source file, or the user's cache folder, in this order.
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
        except (
            AttributeError,
            ImportError,
        ):  # written by a release in which a class had another name
            return None
        compiled = self._impl.rebuild(target_context, reduced)
        # A kernel among the arguments was pickled as a copy. The dispatcher, and code
        # that calls this kernel, must see the original.
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
        except (
            OSError
        ):  # a full disk or a read-only folder: use the code without caching it
            return

    def _file(self, arguments: tuple[Any, ...], codegen: Any) -> Path:
        settings = [vars(config)[name] for name in OPTIONS]
        parts = (
            fingerprint(self.compiled),
            *map(_name_of, arguments),
            codegen.magic_tuple(),
        )
        return Path(self.cache_path) / file_name(
            self._impl.filename_base, parts, settings
        )


def _waits_for_address(library: Any) -> bool:
    """Test whether code needs the address of a function that is compiled in the same process (mutual recursion).

    A process that loads such code from a cache has not compiled that function; with numba's own cache it crashes.
    """
    return any(
        variable.name.startswith(RuntimeLinker.PREFIX)
        for variable in library._final_module.global_variables
    )


def _arguments(sig: Any) -> tuple[Any, ...]:
    """Return the argument types of a signature or of a plain sequence of types."""
    return tuple(sig.args if isinstance(sig, Signature) else sig)


def _name_of(type_: Any) -> str:
    """Return the name of an argument's type. A kernel is named by its fingerprint: numba's name has an address."""
    if isinstance(type_, types.Dispatcher):
        return fingerprint(type_.dispatcher)
    if isinstance(type_, types.NamedTuple):  # numba's name has only the field types
        return f"{type_}{type_.fields}{[_name_of(field) for field in type_.types]}"
    return str(type_)


def trailing_zeros(t: int) -> int:
    """Return the number of trailing zero bits of an integer; 64 for 0."""
    return int(t & -t).bit_length() - 1 if t else 64


@intrinsic
def _count_zeros(_: Any, t: Any) -> Any:
    """Emit the ``cttz`` instruction; the branch of a loop would be mispredicted for every other number."""

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
    """Return the condition, and tell the compiler that it is rarely true.

    The compiler then moves the conditional code out of the loop and reserves no registers for it.
    """
    return condition


@intrinsic
def _expect_not(_: Any, condition: Any) -> Any:
    """Emit the intrinsic ``llvm.expect``."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bit = ir.IntType(1)
        mark = builder.module.declare_intrinsic(
            "llvm.expect", [bit], ir.FunctionType(bit, [bit, bit])
        )
        return builder.call(mark, [arguments[0], bit(0)])

    return types.boolean(types.boolean), emit


expect_not: Any = _expect_not


@overload(unlikely, strict=False, inline="always")
def _unlikely(condition: Any) -> Any:
    def expect(condition: Any) -> Any:
        return expect_not(condition)

    return expect


def prefetch(values: Vector, place: np.uint64) -> None:
    """Prefetch the cache line of ``values[place]``. Without compilation this does nothing."""


@intrinsic
def _emit_prefetch(_: Any, values: Any, place: Any) -> Any:
    """Emit the intrinsic ``llvm.prefetch``, for reading, to the first-level cache."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        # numba has no type annotations for it
        insert: Any = cgutils.get_or_insert_function
        function = insert(builder.module, function_type, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), byte)
        builder.call(function, [address, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(values, place), emit


emit_prefetch: Any = _emit_prefetch


@overload(prefetch, strict=False)
def _prefetch(values: Any, place: Any) -> Any:
    def ask(values: Any, place: Any) -> Any:
        return emit_prefetch(values, place)

    return ask


def put_line(values: Vector, place: int, row: Vector, at: int) -> None:
    """Copy ``row[at : at + LINE]`` to the cache line ``values[place : place + LINE]``, bypassing the caches."""
    values[place : place + LINE] = row[at : at + LINE]


@intrinsic
def _emit_store(_: Any, values: Any, place: Any, row: Any, at: Any) -> Any:
    """Emit a load and a nontemporal store."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        into = context.make_array(signature.args[0])(context, builder, arguments[0])
        source = context.make_array(signature.args[2])(context, builder, arguments[2])
        line = ir.VectorType(ir.DoubleType(), LINE).as_pointer()
        loaded_line = builder.load(
            builder.bitcast(builder.gep(source.data, [arguments[3]]), line), align=8
        )
        address = builder.bitcast(builder.gep(into.data, [arguments[1]]), line)
        stored = builder.store(loaded_line, address, align=8 * LINE)
        stored.set_metadata(
            "nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        )
        return context.get_dummy_value()

    return types.void(values, place, row, at), emit


emit_store: Any = _emit_store


@overload(put_line, strict=False)
def _put_line(values: Any, place: Any, row: Any, at: Any) -> Any:
    def write_line(values: Any, place: Any, row: Any, at: Any) -> Any:
        return emit_store(values, place, row, at)

    return write_line
