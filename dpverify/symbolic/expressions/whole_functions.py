"""Functions of whole numbers as variables of a derivation: any function, or one that a formula computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from flint import ctx, fmpq

from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.numbers import Datum, Value
from dpverify.symbolic.expressions.from_sympy import compile_expr
from dpverify.symbolic.expressions.ranges import numbers_of


@dataclass(frozen=True)
class AnyFunction:
    """Declares a function symbol to be any function of whole numbers; it has a value everywhere."""

    arity: int = 1

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Datum:
        """Draw small rationals, the same ones for the same arguments."""
        return _Drawn(rng.random())


class _Drawn(Datum):
    def __init__(self, seed: float) -> None:
        self.seed = seed

    def __call__(self, *args: Value) -> Value:
        rng = Random(f"{self.seed} {_whole(args)}")
        return fmpq(rng.randint(-9, 9), rng.choice((1, 2, 3)))


@dataclass(frozen=True)
class FunctionOf:
    """Declares a function symbol to have the values of a formula, which may apply the function itself."""

    name: str
    parameters: tuple[Any, ...]  # symbols for the whole arguments
    value: Any

    @property
    def arity(self) -> int:
        """Number of arguments."""
        return len(self.parameters)

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Datum:
        """Take the numbers and functions of the point that are drawn before it."""
        return _Computed(self, numbers_of(point))


class _Computed(Datum):
    def __init__(self, function: FunctionOf, env: dict[str, Any]) -> None:
        self.names = [parameter.name for parameter in function.parameters]
        self.value = compile_expr(function.value)
        self.env = env | {function.name: self}
        self.known: dict[tuple[int, ...], Value] = {}

    def __call__(self, *args: Value) -> Value:
        at = (int(ctx.prec), *_whole(args))
        if at not in self.known:
            self.known[at] = self.value(self.env | dict(zip(self.names, args, strict=True)), int(ctx.prec))
        return self.known[at]


def _whole(args: tuple[Value, ...]) -> tuple[int, ...]:
    return tuple(elementary.as_int("a function of whole numbers", f"argument {k}", a) for k, a in enumerate(args, 1))
