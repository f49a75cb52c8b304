from types import FunctionType

import numpy as np
import pytest
from numba import config

from dpverify.kernels import dyadic
from dpverify.kernels.fingerprint import fingerprint
from dpverify.kernels.jit import kernel, python_of, step_kernel

pytestmark = pytest.mark.skipif(
    bool(vars(config)["DISABLE_JIT"]), reason="the jit is off: no function is a kernel"
)

CALLER = "def caller(x):\n    return x + callee(x) * SCALE\n"


def function(source: str, name: str, **scope: object) -> FunctionType:
    namespace: dict[str, object] = {"__name__": "made", **scope}
    exec(source, namespace)
    made = namespace[name]
    assert isinstance(made, FunctionType)
    return made


def caller(
    source: str = CALLER,
    callee: str = "def callee(x):\n    return x\n",
    scale: object = 2,
) -> str:
    return fingerprint(
        function(
            source, "caller", callee=kernel(function(callee, "callee")), SCALE=scale
        )
    )


def test_the_same_sources_have_the_same_fingerprint() -> None:
    assert caller() == caller()


def test_another_body_another_fingerprint() -> None:
    assert caller(CALLER.replace("+", "-")) != caller()


def test_another_body_of_a_kernel_that_is_called_another_fingerprint() -> None:
    assert caller(callee="def callee(x):\n    return x + 1\n") != caller()


def test_other_options_of_a_kernel_that_is_called_another_fingerprint() -> None:
    callee = function("def callee(x):\n    return x\n", "callee")
    assert (
        fingerprint(function(CALLER, "caller", callee=step_kernel(callee), SCALE=2))
        != caller()
    )


def test_another_constant_another_fingerprint() -> None:
    assert caller(scale=3) != caller()
    assert caller(scale=np.arange(3)) != caller(scale=np.arange(3)[::-1])
    assert caller(scale=np.arange(3)) != caller(scale=np.arange(3.0))


def test_another_value_in_the_closure_another_fingerprint() -> None:
    def make(c: float) -> FunctionType:
        def scaled(x: float) -> float:
            return c * x

        assert isinstance(scaled, FunctionType)
        return scaled

    assert fingerprint(make(1.0)) != fingerprint(make(2.0))
    assert fingerprint(make(1.0)) == fingerprint(make(1.0))


def test_kernels_of_a_module_of_ours_count() -> None:
    source = "def caller(t):\n    return dyadic.lowbit(t)\n"
    assert "dyadic" in source
    fake = type(dyadic)("dpverify.kernels.dyadic")
    fake.__dict__["lowbit"] = kernel(
        function("def lowbit(t):\n    return t\n", "lowbit")
    )
    real = fingerprint(function(source, "caller", dyadic=dyadic))
    assert real != fingerprint(function(source, "caller", dyadic=fake))


def test_recursion_ends() -> None:
    recursive = kernel(
        function("def f(n):\n    return 1 if n == 0 else n * f(n - 1)\n", "f")
    )
    body = python_of(recursive)
    assert isinstance(body, FunctionType)
    body.__globals__["f"] = recursive
    assert len(fingerprint(body)) == 64
