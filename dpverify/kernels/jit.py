"""The one place that owns the options of the jit: nobody else imports ``numba.njit``."""

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

CompilationError = NumbaError  # What calling a kernel raises when it cannot be compiled for the types of its arguments


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on its first call, for the types of that call.

    The interpreter's lock is released while it runs, division by zero gives infinities and NaN as in numpy, and every
    operation is rounded as it is written: no fastmath, it would change the numbers that we verify. Compiled code is
    kept between runs; see ``kernels.fingerprint``. A kernel that is called with a number written out, as in
    ``f(0, x)``, is the one that is called with a variable. Under ``NUMBA_DISABLE_JIT=1`` the function comes back as is.

    ``function``: numbers and arrays in, numbers and arrays out. It may call other kernels, and take them as arguments,
    but not as a typed function of numba's.
    """
    return _compiled(function, counting=True)


def inner_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel that others call in a loop. It makes no array, and counts no references to those it is given.

    To count them took half of an optimizer's step at d = 8. Whoever calls it holds its arrays. Python, which does not,
    calls a kernel of the same body that counts.
    """
    return _compiled(function, counting=False)


def step_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile an inner kernel, and copy it into every kernel that calls it: a call costs as much as 20 numbers."""
    return _compiled(function, counting=False, copied=True)


def _compiled(function: Callable[P, R], *, counting: bool, copied: bool = False) -> Callable[P, R]:
    compiled = njit(nogil=True, error_model="numpy", forceinline=copied, **entries(counting=counting))(function)
    if is_jitted(compiled):
        prepare(compiled)
        if not counting:
            cast("Any", compiled).__class__ = InnerKernel
    return cast("Callable[P, R]", compiled)


class InnerKernel(CPUDispatcher):
    """A kernel that has no entry for Python, which finds one of the same body instead."""

    py_func: Callable[..., Any]

    @cached_property
    def entry(self) -> Callable[..., Any]:
        """The kernel that Python calls."""
        return kernel(self.py_func)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Do what the function does."""
        return self.entry(*arguments, **named)


def python_of(function: Callable[P, R]) -> Callable[P, R]:
    """Give the Python body of a kernel; kernels that it calls stay compiled. The function that was decorated."""
    return cast("Callable[P, R]", getattr(function, "py_func", function))


def for_types_of(function: Callable[P, R], *arguments: P.args, **_: P.kwargs) -> Callable[P, R]:
    """Give a kernel as compiled for arguments of just these types: records then cost a Python caller little.

    To find the type of a record takes ten times as long as to hand it over. Only for calls in a loop of Python.
    """
    if not is_jitted(function):
        return function
    entry = function.entry if isinstance(function, InnerKernel) else function
    return cast("Callable[P, R]", without_dispatch(entry, arguments))


def is_kernel(function: object) -> bool:
    """Tell whether compiled code can call this function.

    True for a kernel; for any callable where the jit is switched off, since nothing is compiled then.
    """
    return callable(function) and (is_jitted(function) or bool(vars(config)["DISABLE_JIT"]))
