"""Theorem 9, corrected, derived from Lemmas 5, 11 and 7 with every term that it leaves out.

Letters: ``gradient``, the expected norm at the output; ``error``, the mean over the run of E|m_hat_t - grad F(w_t)|,
with the parts ``sampling``, ``anchors``, ``lag``, ``startup``, ``noise``; ``drop``, the expected decrease of the loss.
Premises: NOTES_utility.md.
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Integer, Rational, Symbol

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise import sr_sharp_derivations as sr_sharp
from dpverify.papers.tran2022.utility import premises_derivations as parts_of
from dpverify.papers.tran2022.utility.symbol_ranges import ranges
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step
from dpverify.symbolic.derive.referenced import refer
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import FromPremises, Variable, integer
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_definitions, sympy_sides

LETTERS: Final = (
    "gradient",
    "drop",
    "error",
    "sampling",
    "anchors",
    "lag",
    "startup",
    "noise",
)
GRADIENT, DROP, ERROR, SAMPLING, ANCHORS, LAG, STARTUP, NOISE = (Symbol(name, nonnegative=True) for name in LETTERS)
DESCENT = "tran2022:lemma-5"
GAP = "the loss falls by at most R"
MOMENTUM = "the mean error is at most the sum of the means of its five parts"


def theorem_9(statement: Statement) -> Derivation:
    """Derive the corrected Theorem 9. From the expected norm to the bound in N, T, delta, G, L and R."""
    full = sympy_definitions(statement)
    noise = cite(sr_sharp.norm(), NOISE, N=full["N"], T=full["T"], d=full["d"], delta=full["delta"])
    sampling = cite(parts_of.reconstructed_sampling(), N=full["N"], T=full["T"])
    name = "tran2022:lemma-7"
    return _derive(statement, sampling, ((noise.rhs, name),), {name: noise})


def _derive(
    statement: Statement, sampling: Premise, noise: tuple[tuple[Any, str], ...], premises: dict[str, Premise]
) -> Derivation:
    """Put the parts of the error into Lemma 5, one after the other."""
    full = sympy_definitions(statement)
    eta, L, R, T, N = (full[name] for name in ("eta", "L", "R", "T", "N"))
    _, printed = sympy_sides(statement)
    where = {"N": N, "eta": eta}
    parts: dict[str, tuple[Any, Premise]] = {
        "sampling": (SAMPLING, sampling),
        "anchors": (ANCHORS, cite(parts_of.anchors(), **where)),
        "lag": (LAG, cite(parts_of.lag(), **where)),
        "startup": (STARTUP, cite(parts_of.startup(), N=N, T=T)),
    }
    part_premises = {f"the part {name}": premise for name, (_, premise) in parts.items()} | {
        DESCENT: refer(statement, "lemma-5", GRADIENT, "amended", drop=DROP, eta=eta, L=L, T=T, error_sum=T * ERROR),
        GAP: Premise(DROP, "<=", R),
        MOMENTUM: Premise(ERROR, "<=", SAMPLING + ANCHORS + LAG + STARTUP + NOISE),
    }
    now = {"drop": DROP, "error": ERROR}

    def whole() -> Any:
        return now["drop"] / (eta * T) + L * eta / 2 + 2 * now["error"]

    steps = [Step(whole(), "<=", "premise", {}, (DESCENT,))]
    now["drop"] = R
    steps.append(Step(whole(), "<=", "premise", {}, (GAP,)))
    values: dict[str, Any] = {name: letter for name, (letter, _) in parts.items()} | {"noise": NOISE}
    now["error"] = sum(values.values(), Integer(0))
    steps.append(Step(whole(), "<=", "premise", {}, (MOMENTUM,)))
    changes = [(name, premise.rhs, f"the part {name}") for name, (_, premise) in parts.items()]
    changes += [("noise", bound, claim) for bound, claim in noise]
    for name, bound, claim in changes:
        values[name] = bound
        now["error"] = sum(values.values(), Integer(0))
        steps.append(Step(whole(), "<=", "premise", {}, (claim,)))
    coefficient = Rational(1, 2)
    upper = Integer(2)
    remaining = whole() - coefficient * L * eta
    rounded = Step(
        remaining + upper * L * eta,
        "<=",
        "order",
        {"a": coefficient, "b": upper},
        context=remaining + HOLE * L * eta,
        note="the lag leaves 2 eta L out",
    )
    steps += [rounded, Step(printed, "=")]
    variables: dict[str, Variable] = {**ranges(statement), "N": integer(2, 200)}
    variables["T"] = integer(4 * N, 9000)
    bounded = {str(premise.lhs) for premise in (premises | part_premises).values()}
    variables |= {name: FromPremises() for name in LETTERS if name in bounded}
    return Derivation(
        "the parts of the error",
        "ours",
        variables,
        sympy_conditions(statement),
        GRADIENT,
        tuple(steps),
        premises | part_premises,
        local=LETTERS,
    )
