"""Lemma 7 under fresh permutations, corrected, and what Theorem 9 takes from it: noise, and the parts of the bias.

m_hat_t - m_t is the noise plus ``own``, the centred gradients at the anchors with the weights of the difference, and
``moved``, their changes from anchor to anchor; both bounded by ``reorder.reorder_lemma_derivations``.
"""

from __future__ import annotations

from typing import Final

from sympy import Integer, Min, Rational, Symbol, sqrt

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise import sr_total_derivations as sr_total
from dpverify.papers.tran2022.reorder import reorder_lemma_derivations as lemma
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Premise, Step
from dpverify.symbolic.derive.referenced import refer
from dpverify.symbolic.expressions.functions import Moment
from dpverify.symbolic.expressions.ranges import BoundedVector, Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_definitions, sympy_sides

NOISE = sr_total.NOISE
OWN = Symbol("own")
MOVED = Symbol("moved")
ONE_ORDER: Final = {"ordering": "once"}  # under which the noise is all that there is
ONE_EXAMPLE: Final = "with one example there is one order"


def bias(statement: Statement) -> Derivation:
    """Derive the corrected ``lemma-7`` and ``lemma-7-norm``, fresh permutations, from ``E|noise + own + moved|``."""
    full = sympy_definitions(statement)
    alpha, gamma, n, G, L, eta = (full[name] for name in ("alpha", "gamma", "N", "G", "L", "eta"))
    _, printed = sympy_sides(statement)
    claim = statement.key.partition(":")[2]
    noise = refer(statement, claim, Moment(NOISE, 1), "printed" if claim.endswith("norm") else "amended", ONE_ORDER)
    of_noise = noise.rhs
    way = eta * n * L
    of_own = 2 * G * sqrt(alpha)
    of_moved = Rational(11, 10) * way * sqrt(alpha / gamma)
    where = {"alpha": alpha, "N": n}
    own_square = cite(lemma.difference(), Moment(OWN, 2), **where, gamma=gamma, length=G)
    moved_square = cite(lemma.change(), Moment(MOVED, 2), **where, gamma=gamma, length=way)
    separated = of_noise + sqrt(Moment(OWN, 2)) + sqrt(Moment(MOVED, 2))
    several = (
        Step(of_noise + sqrt(Moment(OWN + MOVED, 2)), "<=", "jensen-sqrt", {"X": OWN + MOVED}),
        Step(separated, "<=", "minkowski", {"u": OWN, "w": MOVED}),
        Step(
            of_noise + sqrt(own_square.rhs) + sqrt(Moment(MOVED, 2)),
            "<=",
            "premise",
            {},
            ("the reordering's mean square",),
        ),
        Step(
            of_noise + sqrt(own_square.rhs) + sqrt(moved_square.rhs),
            "<=",
            "premise",
            {},
            ("the way between two anchors",),
        ),
        Step(printed, "="),
    )
    single = (
        Step(of_noise, "<=", "premise", {}, (ONE_EXAMPLE,)),
        Step(printed, "<=", "drop-nonnegative", {"a": of_noise, "b": printed - of_noise}),
    )
    steps = (
        Step(Moment(NOISE, 1) + Moment(OWN + MOVED, 1), "<=", "moment-triangle", {"u": NOISE, "w": OWN + MOVED}),
        Step(of_noise + Moment(OWN + MOVED, 1), "<=", "premise", {}, ("the noise",)),
        Cases(printed, "<=", (Case(n >= 2, several), Case(n <= 1, single))),
    )
    premises = {
        "the noise": noise,
        "the reordering's mean square": own_square,
        "the way between two anchors": moved_square,
        ONE_EXAMPLE: Premise(Moment(OWN + MOVED, 1), "<=", Integer(0)),
    }
    several_examples = Min(n - 1, 1)
    first: dict[str, Variable] = {"several": integer(0, 1), "N": integer(1, 1 + 60 * sr_total.SEVERAL)}
    first["alpha"] = real(1 / n, 1)
    variables: dict[str, Variable] = {
        **first,
        **{name: usual for name, usual in sr_total.ranges(statement).items() if name not in first},
        "noise": BoundedVector(4, of_noise),
        "own": BoundedVector(4, of_own * several_examples),
        "moved": BoundedVector(4, of_moved * several_examples),
    }
    return Derivation(
        "noise and bias",
        "ours",
        variables,
        sympy_conditions(statement),
        Moment(NOISE + OWN + MOVED, 1),
        steps,
        premises,
        local=("several", "noise", "own", "moved"),
    )
