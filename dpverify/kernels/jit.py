"""The options of the JIT compiler. No other module imports ``numba.njit``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ParamSpec, TypeVar, cast

from numba import config, njit
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher
from numba.extending import is_jitted

from dpverify.kernels.numba_internals import entries, prepare, without_dispatch

P = ParamSpec("P")
R = TypeVar("R")

# raised by a call of a kernel that cannot be compiled for these argument types
CompilationError = NumbaError


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on its first call, for the argument types of that call.

    The kernel releases the GIL while it runs. Division by zero gives infinities and
    NaN, as in numpy. fastmath is off, because it would change the numbers that dpverify
    verifies. Compiled code is cached on disk; see ``kernels.fingerprint``. Literal
    arguments, as in ``f(0, x)``, are not compiled separately. With
    ``NUMBA_DISABLE_JIT=1`` the function is returned unchanged.

    ``function`` takes and returns numbers and arrays. It may call other kernels and take them as arguments, but not as
    a first-class function type of numba.
    """
    return _compiled(function, counting=True)


def inner_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel that other kernels call in a loop. It may not allocate arrays, and counts no references.

    Reference counts took half the time of an optimizer's step at d = 8. The calling kernel keeps the arrays alive. A
    call from Python runs a kernel with the same body that counts references.
    """
    return _compiled(function, counting=False)


def step_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile an inner kernel that is inlined in every kernel that calls it; a call costs as much as 20 numbers."""
    return _compiled(function, counting=False, copied=True)


def _compiled(
    function: Callable[P, R], *, counting: bool, copied: bool = False
) -> Callable[P, R]:
    compiled = njit(
        nogil=True,
        error_model="numpy",
        forceinline=copied,
        **entries(counting=counting),
    )(function)
    if is_jitted(compiled):
        prepare(compiled)
        if not counting:
            cast("Any", compiled).__class__ = InnerKernel
    return cast("Callable[P, R]", compiled)


class InnerKernel(CPUDispatcher):
    """A kernel without a Python wrapper. A call from Python runs another kernel with the same body."""

    py_func: Callable[..., Any]

    @cached_property
    def entry(self) -> Callable[..., Any]:
        """The kernel that Python calls."""
        return kernel(self.py_func)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function."""
        return self.entry(*arguments, **named)


def python_of(function: Callable[P, R]) -> Callable[P, R]:
    """Return the Python function of a kernel. The kernels that it calls stay compiled."""
    return cast("Callable[P, R]", getattr(function, "py_func", function))


def for_types_of(
    function: Callable[P, R], *arguments: P.args, **_: P.kwargs
) -> Callable[P, R]:
    """Return a kernel compiled for the types of these arguments, which skips numba's dispatch.

    Dispatch on the type of a named tuple takes ten times as long as passing it. Use this only for calls in a Python
    loop.
    """
    if not is_jitted(function):
        return function
    entry = function.entry if isinstance(function, InnerKernel) else function
    return cast("Callable[P, R]", without_dispatch(entry, arguments))


def is_kernel(function: object) -> bool:
    """Test whether compiled code can call this function.

    True for a kernel. If the JIT is disabled, nothing is compiled, and every callable passes.
    """
    return callable(function) and (
        is_jitted(function) or bool(vars(config)["DISABLE_JIT"])
    )
