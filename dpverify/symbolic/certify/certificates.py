"""The certificate of a derivation of a statement: its letters, conditions, facts and chain, as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sympy.core.function import AppliedUndef

from dpverify.ledger.statements import Statement
from dpverify.symbolic.certify.chains import Chains, NoCertificateError
from dpverify.symbolic.certify.checker import checker, rules
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.instances import condition_data, kind_of, premise_data, replaced
from dpverify.symbolic.certify.place import AllRows, FactList
from dpverify.symbolic.certify.prefix import (
    NotExpressibleError,
    Prefix,
    conditions_of,
    from_compare,
    from_formula,
    from_sympy,
)
from dpverify.symbolic.certify.prepare import prepare
from dpverify.symbolic.certify.readback import Readback
from dpverify.symbolic.certify.table import with_table
from dpverify.symbolic.derive.prepare import prepared
from dpverify.symbolic.derive.setting import Setting
from dpverify.symbolic.derive.steps import Derivation, symbol_conditions
from dpverify.symbolic.expressions.ranges import AnyVector, GaussianNorm, SetBits

_POINTS = 24


@dataclass
class Certificate:
    """One certificate, or why there is none."""

    data: dict[str, Any] | None
    reason: str = ""
    steps: int = 0  # that were written
    premises: dict[str, Any] = field(default_factory=dict)


def certify(statement: Statement, derivation: Derivation, digest: str) -> Certificate:
    """Write the certificate of a statement from its derivation."""
    chains = None
    try:
        clean = prepared(derivation)
        data = _header(statement, clean, digest)
        quantified = replaced(clean.steps)
        premises = {
            name: {"name": name, **premise_data(p, quantified.get(name, ()))} for name, p in clean.premises.items()
        }
        made = checker().Checker(rules())
        made.table = AllRows()
        made.premises = {name: checker().Rule(made.expressions, p) for name, p in premises.items()}
        proof = checker().Proof(made, {**data, "body": [], "chain": [], "last": "="})
        setting = Setting(clean.variables, _symbols(clean), clean.assumptions, _POINTS, 0)
        points = [_floats(point) for point in setting.points.found]
        place = FactList(proof, proof.scope, data["body"], points)
        goals = Goals(Readback(made.expressions, made.forms))
        chains = Chains(goals, clean)
        _first_facts(place, goals, data, clean)
        start = proof.read(from_sympy(clean.start))
        lhs = proof.read(data["lhs"])
        prepare(goals, place, lhs)
        prepare(goals, place, start)
        if not goals.zero(place, place.form(made.expressions.minus(start, lhs))):
            raise NoCertificateError("the derivation starts from something else than the left side")
        gaps = chains.links(place, clean.start, clean.steps, setting)
        data["chain"] = [["=", start], *([relation, after] for relation, _, after in gaps)]
        data["last"] = _conclude(chains, place, data, clean)
        body = with_table(made.expressions, {"statement": data, "premises": premises, "lemmas": []})
        for one in (body["statement"], *body["premises"].values(), *body["lemmas"]):
            one["seal"] = checker().seal(one, body["table"])
        return Certificate({"schema": 1, **body}, steps=chains.steps_written, premises=premises)
    except (NoCertificateError, NotExpressibleError, checker().Refused) as error:
        return Certificate(None, str(error), chains.steps_written if chains else 0)


def _header(statement: Statement, derivation: Derivation, digest: str) -> dict[str, Any]:
    defined: dict[str, Prefix] = {}
    for name, value in statement.let:
        defined[name] = from_formula(value, defined)
    letters: dict[str, Any] = {name: statement.domains[name].kind for name in statement.domains if name not in defined}
    conditions = [
        one
        for name in statement.domains
        for constraint in statement.domains[name].constraints
        for one in from_compare(constraint, defined)
    ]
    conditions += [one for constraint in statement.requires for one in from_compare(constraint, defined)]
    if statement.rhs is None or statement.relation not in {"<=", ">=", "="}:
        raise NoCertificateError("the statement has no sides with <=, >= or = between them")
    for name, declared in derivation.variables.items():
        if name in letters:
            continue
        if isinstance(declared, AnyVector):
            letters[name] = "vector"
        elif isinstance(declared, GaussianNorm):
            letters[name] = ["gaussian", from_sympy(declared.dimension), from_sympy(declared.variance)]
        elif isinstance(declared, SetBits):
            letters[name] = ["bits", from_sympy(declared.of)]
    for symbol in _symbols(derivation):
        if symbol.name not in letters:
            if symbol.name not in derivation.local:
                raise NoCertificateError(f"the statement says nothing of {symbol.name}")
            letters[symbol.name] = kind_of(symbol)
            conditions += [c for one in symbol_conditions(symbol) for c in condition_data(one) if c[0] != "integer"]
    local = set(derivation.local)
    for assumption in derivation.assumptions:
        if {s.name for s in assumption.free_symbols} & local:
            conditions += conditions_of(assumption)
    unseen = local & letters.keys() - {s.name for s in derivation.start.free_symbols} - _functions(derivation.start)
    lhs = from_sympy(derivation.start) if statement.lhs is None else from_formula(statement.lhs, defined)
    return {
        "name": statement.key,
        "variant": statement.variant,
        "reading": statement.reading,
        "digest": digest,
        "quantity": statement.quantity,
        "local": sorted(unseen),  # that there are values of them as assumed, the engine proves and the checker does not
        "letters": letters,
        "conditions": conditions,
        "lhs": lhs,
        "relation": statement.relation,
        "rhs": from_formula(statement.rhs, defined),
        "chain": [],
        "last": "=",
        "body": [],
    }


def _functions(expr: Any) -> set[str]:
    return {str(one.func) for one in expr.atoms(AppliedUndef)}


def _symbols(derivation: Derivation) -> list[Any]:
    from dpverify.symbolic.derive.derivation import _all_expressions

    expressions = (derivation.start, *derivation.assumptions, *_all_expressions(derivation.steps))
    found = {s for expr in expressions for s in expr.free_symbols if s.name in derivation.variables}
    return sorted(found, key=str)


def _floats(point: Any) -> dict[str, float]:
    found = {}
    for name, value in point.items():
        try:
            found[name] = float(value)
        except (TypeError, ValueError):
            continue
    return found


def _first_facts(place: FactList, goals: Goals, data: dict[str, Any], derivation: Derivation) -> None:
    """Signs of letters, integers tightened, and what the derivation assumes of the statement's letters."""
    e = place.e
    for _, expr in list(place.scope.facts):
        prepare(goals, place, expr)
    for name, kind in data["letters"].items():
        if kind in ("real", "integer") and not goals.expr(place, e.letter(name), True):
            goals.expr(place, e.letter(name))
    for relation, expr in list(place.scope.facts):
        form = place.form(expr)
        less = goals.k.added(form, goals.k.constant(-1))
        if relation == ">" and place.scope.integer(form) and not place.scope.sign(less):
            place.fact(">=", goals.read.form(less), "whole")
    for assumption in derivation.assumptions:
        for kind, a, b in conditions_of(assumption):
            up = kind in (">=", ">")
            expr = e.minus(e.read(a), e.read(b)) if up else e.minus(e.read(b), e.read(a))
            if kind not in {"=", "!="} and not goals.expr(place, expr, kind in (">", "<")):
                raise NoCertificateError(f"the derivation assumes {assumption}, which the statement does not grant")


def _conclude(chains: Chains, place: FactList, data: dict[str, Any], derivation: Derivation) -> str:
    last, printed = chains.read(place, derivation.last), place.e.read(data["rhs"])
    prepare(chains.goals, place, printed)
    if chains.goals.zero(place, place.form(place.e.minus(printed, last))):
        return "="
    relation, gap = chains.gap(place, data["relation"], last, printed)
    if relation == "=" or not chains.goals.expr(place, gap):
        raise NoCertificateError("the printed side is not proven to follow from the last expression")
    return str(data["relation"])
