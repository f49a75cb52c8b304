"""Proofs by induction over an integer of the statement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpverify.symbolic.automatic.instances import instance
from dpverify.symbolic.automatic.search import Search, tighten
from dpverify.symbolic.automatic.ways import at_value
from dpverify.symbolic.certify.checker import Expr, Form, k
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.prepared import prepare
from dpverify.symbolic.certify.readback import of_atom, written
from dpverify.symbolic.certify.writer import Writer

UNIT, ZERO = k.rational(1), k.rational(0)


def by_induction(search: Search, writer: Writer) -> bool:
    """Prove a statement from itself for the integer before; the first facts are written."""
    place, proof = writer.place, writer.proof
    for side in (proof.lhs, proof.rhs):
        prepare(search, place, side)
    return any(_over(search, writer, name, start) for name, start in _integers(writer))


def _integers(writer: Writer) -> Iterator[tuple[str, Expr]]:
    """Yield integers of the statement that its conditions bound by a number, with that."""
    proof = writer.proof
    for name in sorted(k.letters_in(writer.place.form(proof.gap))):
        if proof.letters.get(name) != "integer":
            continue
        forms = [writer.place.form(k.letter(name) - gap) for _, relation, gap in proof.conditions if relation == ">="]
        starts = [form for form in forms if name not in k.letters_in(form)]
        numbers = [form for form in starts if form.constant() is not None]
        if starts:
            yield name, written(max(numbers, key=lambda form: form.constant()) if numbers else starts[0])


def _over(search: Search, writer: Writer, name: str, start: Expr) -> bool:
    place, proof = writer.place, writer.proof
    letter = k.letter(name)
    gap = start - letter
    lists: tuple[list[Any], list[Any]] = ([], [])
    first = place.case(">=", gap, lists[0])
    strict = proof.relation == ">"
    if proof.relation == "=":
        at_start = k.put(proof.gap, {name: start})
        if not search.vanishes(first, at_start):
            return False
        context = k.put(proof.gap, {name: k.letter("HOLE")})
        first.fact("=", proof.gap - at_start, "congruent", "HOLE", context, letter, start)
        first.fact("=", proof.gap, "combine", [], [["1", [proof.gap - at_start]], ["1", [at_start]]])
    elif not at_value(search, first, proof.gap, name, start, strict, 5):
        return False
    later = place.case(">", -gap, lists[1])
    tighten(later, -gap)
    before = letter - UNIT
    search.expr(later, before - start)
    writer.use(later, "induction", name, {name: before})
    hypothesis = k.put(proof.gap, {name: before})
    splits = list(_last_terms(search, later, later.form(proof.gap), name))
    if not _step(search, later, proof, hypothesis, splits):
        return False
    place.split(gap, *lists, proof.relation, proof.gap)
    return True


def _last_terms(search: Search, place: FactList, form: Form, name: str) -> Iterator[tuple[Any, Expr]]:
    """Yield sums up to the integer, with the equation that takes their last term apart."""
    for atom in dict.fromkeys(a for m in form for a, _ in m if a[0] == "sum" and a[1] != "oo"):
        series = of_atom(atom)
        _, index, lo, hi, body = series
        if name not in k.letters_in(hi):
            continue
        where = {"f": (index, body), "lo": lo, "hi": hi, "m": hi - UNIT}
        for column in instance(search, place, "sum-split", where):
            if column.emit[0]():
                yield atom, column.factors[0]
            break


def _step(search: Search, place: FactList, proof: Any, hypothesis: Expr, splits: list[tuple[Any, Expr]]) -> bool:
    """From the statement for the integer before, and what comes to it."""
    relation = proof.relation
    prepare(search, place, hypothesis)
    target = place.form(proof.gap)
    rest = target - place.form(hypothesis)
    terms = [["1", [hypothesis]]]
    for atom, equation in splits:
        split = place.form(equation)
        whole = split.get(((atom, k.ONE),))
        held = {m: c for m, c in rest.items() if any(a is atom for a, _ in m)}
        if whole is None or not held:
            continue
        factor = k.form_of({tuple(f for f in m if f[0] is not atom): c / whole for m, c in held.items()})
        rest -= place.scope.product(factor, split)
        terms.append(["1", [written(factor), equation]])
    expr = written(rest)
    if relation == "=":
        if not search.vanishes(place, expr):
            return False
    elif not search.shown(place, expr):
        return search.shown(place, proof.gap, relation == ">")
    if rest:
        terms.append(["1", [expr]])
    return place.fact(relation, proof.gap, "combine", [], terms)
