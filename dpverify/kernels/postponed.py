"""Machine code that is made when its address is asked for.

Numba optimizes each function and makes machine code of it when it is compiled, and does both again in every function
that calls it, which takes in what it calls first. For what nobody calls from Python the first time is for nothing: of
an optimizer's step it took half of the time. Here a function is handed on to its callers as it was written, and what
Python calls is optimized once, with all that it takes in.

These are parts of numba that it does not promise to keep, as in ``numba_internals``.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary, JITCPUCodegen, RuntimeLinker
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher

MANGLED = "_ZN"  # how names of compiled functions of Python begin
COUNTS = "NRT_"  # how names of functions that count references to arrays begin

_library: Any = JITCodeLibrary  # numba gives few of its methods types
_codegen: Any = JITCPUCodegen
dispatcher: Any = CPUDispatcher
_lock: Any = global_compiler_lock
_environment: Any = lookup_environment  # of a function, by the name of the variable that holds it in machine code
_set: Any = JITCPUCodegen.set_env


class PostponedLibrary(_library):  # type: ignore[misc]  # it has no types
    """What numba keeps of one compiled function; it makes machine code in ``finalize``, this class in ``_complete``."""

    _postponed = _optimized = False

    def _optimize_functions(self, module: Any) -> None:
        """Do as numba does, but with one set of passes for all functions, and only with those that are defined here."""
        module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """Optimize what counts references, which are dropped before callers take it in; the rest waits for them."""
        self._optimized = any(function.name.startswith(COUNTS) for function in self._final_module.functions)
        if self._optimized:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        variables = [item.name for item in self._final_module.global_variables]
        recursive = any(name.startswith(RuntimeLinker.PREFIX) for name in variables)  # asks for addresses unseen
        python = any(item.name.startswith(MANGLED) for item in self.get_defined_functions())  # else a part of numba
        if recursive or not python or self._is_read():
            self._complete()
            return
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = self._postponed = True

    def _is_read(self) -> bool:
        """Whether its machine code was read from a cache."""
        return bool(self._object_caching_enabled and self._compiled_object)

    def _complete(self) -> None:
        if not (self._optimized or self._is_read()):
            super()._optimize_final_module()
            self._final_module.verify()
        super()._finalize_final_module()
        for variable in self._final_module.global_variables:
            if (environment := _environment(variable.name)) is not None:
                _set(self._codegen, variable.name, environment)
        self._postponed = False

    def get_pointer_to_function(self, name: str) -> int:
        """Give the address of a function, whose machine code is made now if it is postponed; 0 for an unknown one."""
        with _lock:
            self._ensure_finalized()
            if self._postponed and any(function.name == name for function in self.get_defined_functions()):
                self._complete()
            return int(super().get_pointer_to_function(name))

    def serialize_using_object_code(self) -> Any:
        """Give what a cache keeps: where there is no machine code, what callers take in."""
        self._ensure_finalized()
        return self.serialize_using_bitcode() if self._postponed else super().serialize_using_object_code()


def _set_where_known(codegen: Any, name: str, environment: Any) -> None:
    """Set a function's environment where machine code holds it already; else ``_complete`` does."""
    if codegen._engine.is_symbol_defined(name):
        _set(codegen, name, environment)


def postpone() -> None:
    """Let numba make machine code in this process when it is asked for, of functions compiled from now on."""
    _codegen._library_class = PostponedLibrary
    _codegen.set_env = _set_where_known
