"""Compile formula trees to Python closures, once per tree: a search evaluates the same formula thousands of times."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from flint import arb, ctx, fmpq

from dpverify.ledger.formula import (
    Bin,
    Call,
    Compare,
    Formula,
    Inf,
    Infimum,
    Integral,
    Name,
    Neg,
    Num,
    Sum,
    Supremum,
    free_names,
    walk,
)
from dpverify.symbolic.exact import elementary, privacy_curves
from dpverify.symbolic.exact.extrema import ExtremumValue
from dpverify.symbolic.exact.growth import growth
from dpverify.symbolic.exact.integrals import IntegralValue
from dpverify.symbolic.exact.numbers import (
    MAX_BITS,
    OO,
    Datum,
    DomainError,
    EvaluationError,
    UndecidedError,
    UnsupportedError,
    Value,
    compare,
    conjunction,
    counted,
    spend,
    to_value,
    working_precision,
)
from dpverify.symbolic.exact.series import Series
from dpverify.symbolic.exact.sums import (
    Closure,
    Env,
    constant_ratio,
    distributed,
    finite_sum,
    geometric_series,
)
from dpverify.symbolic.laws import functions as law_functions

_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "log2": elementary.log2,
    "mod": elementary.mod,
    "bit": elementary.bit,
    "popcount": elementary.popcount,
    "tree_nodes": elementary.tree_nodes,
    "binomial": elementary.binomial,
    "sqrt": elementary.sqrt,
    "exp": elementary.exp,
    "min": elementary.minimum,
    "max": elementary.maximum,
    "abs": abs,
    "pi": arb.pi,
    "erf": elementary.erf,
    "tanh": elementary.tanh,
    "gamma": elementary.gamma,
    "normal_cdf": privacy_curves.normal_cdf,
    "laplace_delta": privacy_curves.laplace_delta,
    "binomial_delta": privacy_curves.binomial_delta,
    "gaussian_delta": privacy_curves.gaussian_delta,
    "sampled_gaussian_delta": privacy_curves.sampled_gaussian_delta,
    "gaussian_epsilon": privacy_curves.gaussian_epsilon,
    "sampled_gaussian_epsilon": privacy_curves.sampled_gaussian_epsilon,
    "batch_gaussian_delta": privacy_curves.batch_gaussian_delta,
    "batch_gaussian_epsilon": privacy_curves.batch_gaussian_epsilon,
    "replaced_gaussian_delta": privacy_curves.replaced_gaussian_delta,
    "replaced_gaussian_epsilon": privacy_curves.replaced_gaussian_epsilon,
    "sampled_gaussian_renyi": privacy_curves.sampled_gaussian_renyi,
    "renyi_delta": privacy_curves.renyi_delta,
    "renyi_epsilon": privacy_curves.renyi_epsilon,
    "zcdp_delta": privacy_curves.zcdp_delta,
    "zcdp_epsilon": privacy_curves.zcdp_epsilon,
    **law_functions.FUNCTIONS,
}

#: Functions that derivations use beyond the formula language; ``#`` cannot occur in a printed name.
INTERNAL: dict[str, Callable[..., Value]] = {
    "#popcount": elementary.popcount,
    "#gamma": elementary.gamma,
    "#loggamma": elementary.loggamma,
    "#erf": elementary.erf,
    "#erfc": elementary.erfc,
    "#pi": arb.pi,
}

#: Functions of laws and vectors: a method of the value of their first argument.
_METHODS = {"#moment": "moment", "#norm": "norm", "#inner": "inner"}


@lru_cache(maxsize=4096)
def compile_formula(node: Formula, extended: bool = False) -> Closure:
    """Compile a formula to a function of a dict.

    If ``extended``, ``x/0`` and ``log(0)`` are infinities, not errors.
    """
    return _Compiler(extended).node(node)


class _Compiler:
    """Compiler that walks a tree and returns closures."""

    def __init__(self, extended: bool) -> None:
        self.extended = extended
        self.divide = elementary.divide_extended if extended else elementary.divide
        self.log = elementary.log_extended if extended else elementary.log

    def node(self, node: Formula) -> Closure:
        """Return the closure of a node. A node without names is folded to a constant."""
        closure = self._node(node)
        return _constant(closure) if _is_constant(node) else closure

    def _node(self, node: Formula) -> Closure:
        match node:
            case Num(value):
                number = to_value(value)
                return lambda env: number
            case Inf():
                return lambda env: OO
            case Name(name):
                return _lookup(name)
            case Neg(arg):
                inner = self.node(arg)
                return lambda env: -inner(env)
            case Bin():
                return self.binary(node)
            case Call(name, args):
                return self.call(name, args)
            case Integral():
                return IntegralValue(node, self.part)
            case Infimum() | Supremum():
                return ExtremumValue(node, self.part)
            case Sum():
                return self.sum(node)

    def part(self, node: Formula) -> Closure:
        """Return the closure of a formula that is built from parts of the tree."""
        return compile_formula(node, self.extended)

    def binary(self, node: Bin) -> Closure:
        """Return the closure of a binary operation."""
        left, right = self.node(node.left), self.node(node.right)
        match node.op:
            case "+":
                return lambda env: left(env) + right(env)
            case "-":
                return lambda env: left(env) - right(env)
            case "*":
                return lambda env: left(env) * right(env)
            case "/":
                divide = self.divide
                return lambda env: divide(left(env), right(env))
            case "**":
                power = elementary.power
                return lambda env: power(left(env), right(env))

    def call(self, name: str, args: tuple[Formula, ...]) -> Closure:
        """Return the closure of a function call."""
        if name in {"floor", "ceil"}:
            match args:
                case (Call("log2", (arg,)),) if name == "floor":
                    return _apply(elementary.floor_log2, (self.node(arg),))
            return _rounded(
                elementary.floor if name == "floor" else elementary.ceil,
                self.node(args[0]),
            )
        if name.startswith("#if"):
            return self.choice(name.removeprefix("#if"), args)
        closures = tuple(self.node(arg) for arg in args)
        if law_functions.returns_law(name):
            closures = tuple(map(law_functions.with_shared_value, args, closures))
        elif name in law_functions.FUNCTIONS:
            return law_functions.apply_with_shared_values(
                law_functions.FUNCTIONS[name], closures
            )
        if name in _METHODS:
            return _method(_METHODS[name], closures)
        function = (
            self.log if name == "log" else _FUNCTIONS.get(name) or INTERNAL.get(name)
        )
        return _apply(function, closures) if function else _declared(name, closures)

    def choice(self, relation: str, args: tuple[Formula, ...]) -> Closure:
        """Return the closure of ``#if<=(left, right, then, otherwise)``."""
        left, right, then, otherwise = (self.node(arg) for arg in args)

        def choose(env: Env) -> Value:
            is_true = compare(left(env), relation, right(env))
            if is_true is None:
                raise UndecidedError(
                    f"the condition {left(env)} {relation} {right(env)} of a case split."
                )
            return then(env) if is_true else otherwise(env)

        return choose

    def sum(self, node: Sum) -> Closure:
        """Return the closure of a sum."""
        index, lo, hi = node.index, self.node(node.lo), self.node(node.hi)
        body, ratio = self.node(node.body), self.ratio(node.body, index)
        series = self.series(node.body, index)
        parts = sum(1 for _ in walk(node.body))

        def add_up(env: Env) -> Value:
            first = elementary.as_int(f"the sum over {index}", "lo", lo(env))
            last = hi(env)
            if last == OO:
                return series(env, first)
            end = elementary.as_int(f"the sum over {index}", "hi", last)
            return finite_sum(env, body, index, first, end, ratio, parts)

        return add_up

    def ratio(self, body: Formula, index: str) -> Closure | None:
        """Return the closure of the ratio of successive terms, or None if they have no constant ratio."""
        ratio = constant_ratio(body, index)
        return None if ratio is None else self.node(ratio)

    def series(self, body: Formula, index: str) -> Callable[[Env, int], Value]:
        """Return an infinite sum as a function of the values and of its first index.

        A linear combination of geometric series has a closed form. Other series are enclosed by the growth of their
        terms.
        """
        ratio = self.ratio(body, index)
        if ratio is not None:
            terms = self.node(body)
            return lambda env, lo: geometric_series(env, terms, index, lo, ratio)
        match body:
            case Neg(arg):
                inner = self.series(arg, index)
                return lambda env, lo: -inner(env, lo)
            case Bin("+" | "-" as op, left, right):
                first, second = self.series(left, index), self.series(right, index)
                if op == "+":
                    return lambda env, lo: _not_nan(
                        first(env, lo) + second(env, lo), index
                    )
                return lambda env, lo: _not_nan(first(env, lo) - second(env, lo), index)
            case Bin("*", left, right) if index not in free_names(left):
                factor, inner = self.node(left), self.series(right, index)
                return lambda env, lo: factor(env) * inner(env, lo)
            case Bin("*" | "/" as op, left, right) if index not in free_names(right):
                factor, inner, divide = (
                    self.node(right),
                    self.series(left, index),
                    self.divide,
                )
                if op == "*":
                    return lambda env, lo: inner(env, lo) * factor(env)
                return lambda env, lo: divide(inner(env, lo), factor(env))
        spread = distributed(body, index)
        if spread is not None:
            return self.series(spread, index)
        shape = growth(body, index)
        return (
            _unknown_series(index)
            if shape is None
            else Series(body, index, shape, self.node)
        )


def _unknown_series(index: str) -> Callable[[Env, int], Value]:
    def refuse(env: Env, lo: int) -> Value:
        raise UnsupportedError(
            f"the sum over {index} to oo: how its terms shrink is known for products, quotients and powers of "
            f"polynomials in {index}, of exponentials of such, and of gamma."
        )

    return refuse


def _not_nan(value: Value, index: str) -> Value:
    """Return the value. Raise an UnsupportedError if two series diverge to opposite infinities."""
    if isinstance(value, arb) and value.is_nan():
        raise UnsupportedError(f"the sum over {index} to oo: its parts diverge.")
    return value


def _lookup(name: str) -> Closure:
    def look_up(env: Env) -> Any:
        try:
            return env[name]
        except KeyError:
            raise EvaluationError(f"the symbol {name} has no value.") from None

    return look_up


def _declared(name: str, args: tuple[Closure, ...]) -> Closure:
    def apply(env: Env) -> Any:
        if name not in env:
            raise EvaluationError(f"the function {name} has no value.")
        return env[name](*(arg(env) for arg in args))

    return apply


def _method(method: str, closures: tuple[Callable[[Env], Any], ...]) -> Closure:
    subject, *args = closures

    def apply(env: Env) -> Value:
        bearer = subject(env)
        if not isinstance(bearer, Datum):
            raise DomainError(f"{bearer} is a number and has no {method}.")
        value: Value = getattr(bearer, method)(*(arg(env) for arg in args))
        return value

    return apply


def _apply(function: Callable[..., Value], args: tuple[Closure, ...]) -> Closure:
    if len(args) == 1:
        (only,) = args
        return lambda env: function(only(env))
    if len(args) == 2:
        first, second = args
        return lambda env: function(first(env), second(env))
    return lambda env: function(*(arg(env) for arg in args))


def _rounded(function: Callable[[Value], Value], arg: Closure) -> Closure:
    """Return a closure of floor or ceiling that raises the precision until only one integer is possible."""

    def apply(env: Env) -> Value:
        result = function(arg(env))
        bits = int(ctx.prec)
        while not isinstance(result, fmpq) and result.is_finite() and bits < MAX_BITS:
            bits *= 2
            with working_precision(bits):
                result = function(arg(env))
        return result

    return apply


def _is_constant(node: Formula) -> bool:
    if isinstance(node, Num | Inf) or free_names(node):
        return False
    pure_functions = _FUNCTIONS.keys() | INTERNAL.keys() | {"log", "floor", "ceil"}
    return all(
        part.name in pure_functions for part in walk(node) if isinstance(part, Call)
    )


def _constant(closure: Closure) -> Closure:
    """Return a closure that evaluates once per precision and charges the work of the evaluation at each use."""
    values: dict[int, tuple[Value, int]] = {}

    def constant(env: Env) -> Value:
        known = values.get(ctx.prec)
        if known is None:
            known = values[ctx.prec] = counted(lambda: closure(env))
        value, parts = known
        if parts:
            spend(parts)
        return value

    return constant


def compile_relation(
    node: Compare, extended: bool = False
) -> Callable[[Env], bool | None]:
    """Compile a chain of comparisons to a closure that returns True, False or None (undecided)."""
    sides = tuple(compile_formula(side, extended) for side in node.operands)

    def holds(env: Env) -> bool | None:
        values = [side(env) for side in sides]
        return conjunction(map(compare, values, node.ops, values[1:]))

    return holds
