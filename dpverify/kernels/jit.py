"""The one place that owns the options of the jit: nobody else imports ``numba.njit``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar, cast

from numba import config, njit, types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from dpverify.kernels.cache import KernelCache

P = ParamSpec("P")
R = TypeVar("R")

_without_value: Callable[[Any], Any] = types.unliteral

CompilationError = NumbaError
"""What calling a kernel raises when it cannot be compiled for the types of its arguments."""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on its first call, for the types of that call.

    The interpreter's lock is released while it runs, division by zero gives infinities and NaN as in numpy, and every
    operation is rounded as it is written: no fastmath, it would change the numbers that we verify. Compiled code is
    kept between runs; see ``kernels.cache``. A kernel that is called with a number written out, as in
    ``f(0, x)``, is the one that is called with a variable. Under ``NUMBA_DISABLE_JIT=1`` the function comes back as is.

    ``function``: numbers and arrays in, numbers and arrays out. It may call other kernels, and take them as arguments.
    """
    compiled = njit(nogil=True, error_model="numpy")(function)
    if isinstance(compiled, Dispatcher):
        dispatcher = cast("Any", compiled)
        dispatcher._cache = KernelCache.of(compiled.py_func)
        dispatcher.get_call_template = partial(_typed_as_variables, dispatcher.get_call_template)
    return cast("Callable[P, R]", compiled)


def _typed_as_variables(resolve: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Resolve a call by the types of its arguments alone: numba would compile a kernel anew for each written number."""
    return resolve(
        tuple(_without_value(argument) for argument in arguments),
        {name: _without_value(argument) for name, argument in named.items()},
    )


def python_of(function: Callable[P, R]) -> Callable[P, R]:
    """Give the Python body of a kernel; kernels that it calls stay compiled. The function that was decorated."""
    return cast("Callable[P, R]", getattr(function, "py_func", function))


def is_kernel(function: object) -> bool:
    """Tell whether compiled code can call this function.

    True for a kernel; for any callable where the jit is switched off, since nothing is compiled then.
    """
    return isinstance(function, Dispatcher) or (bool(vars(config)["DISABLE_JIT"]) and callable(function))
