"""Where two expressions differ: the parts that differ, from the innermost pair to the whole, with what is around."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import sympy

from dpverify.symbolic.expressions.functions import HOLE

Around = Callable[[Any], Any]


class Difference(NamedTuple):
    """A part of one expression and what the other one has in its place."""

    context: Any  # both expressions with ``HOLE`` in that place
    old: Any
    new: Any


def differences(old: Any, new: Any) -> Iterator[Difference]:
    """Yield the pairs of parts by which two expressions differ, the innermost first."""
    seen: set[Difference] = set()
    for difference in _within(old, new, lambda part: part):
        if difference not in seen:
            seen.add(difference)
            yield difference


def _within(old: Any, new: Any, around: Around) -> Iterator[Difference]:
    if old == new:
        return
    for operation in (sympy.Add, sympy.Mul):
        yield from _of_operands(operation, old, new, around)
    if isinstance(old, sympy.Sum | sympy.Integral) and type(old) is type(new) and len(old.limits) == len(new.limits):
        yield from _of_sums(old, new, around)
    elif old.func == new.func and len(old.args) == len(new.args) and not (old.is_Add or old.is_Mul):
        places = [k for k, (a, b) in enumerate(zip(old.args, new.args, strict=True)) if a != b]
        if len(places) == 1:
            (k,) = places
            yield from _within(old.args[k], new.args[k], lambda part: around(_with_argument(old, k, part)))
    yield Difference(around(HOLE), old, new)


def _of_operands(operation: Any, old: Any, new: Any, around: Around) -> Iterator[Difference]:
    """Compare the terms that two sums do not share, or the factors of two products."""
    if not (isinstance(old, operation) or isinstance(new, operation)):
        return
    ours = Counter(operation.make_args(old))
    theirs = Counter(operation.make_args(new))
    shared = operation(*(ours & theirs).elements())
    if shared == operation.identity:
        return
    remaining = operation(*(ours - theirs).elements()), operation(*(theirs - ours).elements())
    yield from _within(*remaining, lambda part: around(operation(shared, part)))


def _of_sums(old: Any, new: Any, around: Around) -> Iterator[Difference]:
    """Compare the terms of two sums over the same numbers, or one end of two sums of the same terms."""
    renamed = {there[0]: here[0] for here, there in zip(old.limits, new.limits, strict=True)}
    body = new.function.xreplace(renamed)
    ours = [end for limit in old.limits for end in limit[1:]]
    theirs = [end.xreplace(renamed) for limit in new.limits for end in limit[1:]]
    if ours == theirs:
        yield from _within(old.function, body, lambda part: around(old.func(part, *old.limits)))
    elif body == old.function and len(old.limits) == 1:
        places = [k for k, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
        index = old.limits[0][0]
        if len(places) == 1:
            (k,) = places

            def with_end(part: Any) -> Any:
                return around(old.func(old.function, (index, *ours[:k], part, *ours[k + 1 :])))

            yield from _within(ours[k], theirs[k], with_end)


def _with_argument(expr: Any, place: int, part: Any) -> Any:
    arguments = list(expr.args)
    arguments[place] = part
    return expr.func(*arguments)
