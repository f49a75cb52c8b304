"""What Theorems 6 and 9 take from the momentum's error, derived: its parts on average over a run, with alpha = 1/N.

Letters: ``sampling``, ``anchors``, ``lag``, ``startup``, means of the four parts of E|m_t - grad F(w_t)|; ``place``,
steps since the epoch's anchor, ``epochs``, whole epochs before it; ``far``, the momentum-weighted distance to the
anchors in steps.
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Integer, Rational, Sum, Symbol, exp, sqrt

from dpverify.papers.tran2022.reorder import reorder_lemma_derivations as lemma
from dpverify.papers.tran2022.reorder import reorder_rates_derivations as rates
from dpverify.papers.tran2022.reorder.reorder_mean_derivations import run_mean
from dpverify.papers.tran2022.reorder.reorder_rates_derivations import N
from dpverify.symbolic.derive.cited import Cited, cite
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Premise, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import FromPremises, Variable, integer, real
from dpverify.symbolic.rules.base import Holds

T: Final = Symbol("T", integer=True, positive=True)
G = Symbol("G", positive=True)
ETA = Symbol("eta", positive=True)
L: Final = Symbol("L", nonnegative=True)
PLACE, EPOCHS = (Symbol(name, integer=True, nonnegative=True) for name in ("place", "epochs"))
SAMPLING, ANCHORS, LAG, STARTUP, FAR = (
    Symbol(name, nonnegative=True) for name in ("sampling", "anchors", "lag", "startup", "far")
)
k, i, t = (Symbol(name, integer=True) for name in ("k", "i", "t"))
BETA: Final = 1 - 1 / N
BLOCK: Final = BETA**N
RANGES: Final[dict[str, Variable]] = {
    "N": integer(1, 60),
    "T": integer(1, 400),
    "G": real(0, 3, open_lo=True),
    "L": real(0, 3),
    "eta": real(0, 2, open_lo=True),
}
COUNTED: Final = "the present epoch counts from its present place, those before from their ends"
ONE_EXAMPLE: Final = "with one example every iterate is its own anchor"
IN_AN_EPOCH: Final = "places in an epoch, weighted"


def _derivation(name: str, letter: Any, steps: tuple[Any, ...], premises: dict[str, Premise], *used: str) -> Derivation:
    variables = {key: RANGES[key] for key in RANGES if key in used}
    return Derivation(
        name, "ours", {**variables, letter.name: FromPremises()}, (), letter, steps, premises, local=(letter.name,)
    )


def anchor_distance() -> Derivation:
    """Derive the weighted steps from the iterates to their anchors, all past epochs included: at most ``N/(e - 1)``."""
    last = BETA ** (N - 1)
    current = Sum(k * BETA ** (PLACE - k), (k, 0, PLACE)) / N
    before = Sum(k * BETA ** (N - 1 - k), (k, 0, N - 1)) / N
    powers = Sum(BLOCK**i, (i, 0, EPOCHS - 1))
    closed_form = PLACE - (N - 1) * (1 - BETA**PLACE)
    at_end = (N - 1) * last

    def chord(place: Any) -> Any:
        return (N - 1) * BLOCK / (1 - BLOCK) + place * (last - BLOCK) / (1 - BLOCK)

    start = current + BETA * BETA**PLACE * powers * before
    several = (
        Step(start, "<=", "premise", {}, (COUNTED,)),
        Step(
            closed_form + BETA * BETA**PLACE * powers * before,
            "=",
            "arithmetic-geometric",
            {"x": BETA, "m": PLACE},
            context=HOLE / N + BETA * BETA**PLACE * powers * before,
        ),
        Step(
            closed_form + BETA * BETA**PLACE * powers * at_end,
            "=",
            "arithmetic-geometric",
            {"x": BETA, "m": N - 1},
            context=closed_form + BETA * BETA**PLACE * powers * HOLE / N,
        ),
        Step(
            closed_form + BETA * BETA**PLACE / (1 - BLOCK) * at_end,
            "<=",
            "geometric-sum-bound",
            {"x": BLOCK, "m": EPOCHS - 1},
            context=closed_form + BETA * BETA**PLACE * HOLE * at_end,
        ),
        Step(PLACE - (N - 1) + (N - 1) * BETA**PLACE / (1 - BLOCK), "="),
        Step(
            PLACE - (N - 1) + (N - 1) * (1 - (1 - last) * PLACE / (N - 1)) / (1 - BLOCK),
            "<=",
            "power-chord",
            {"x": BETA, "y": PLACE, "d": N - 1},
            context=PLACE - (N - 1) + (N - 1) * HOLE / (1 - BLOCK),
        ),
        Step(chord(PLACE), "="),
        Step(chord(N - 1), "<=", "order", {"a": PLACE, "b": N - 1}, context=chord(HOLE)),
        Step((N - 1) * last / (1 - BLOCK), "="),
        Step(N * BLOCK / (1 - BLOCK), "=", note="N - 1 = N (1 - 1/N)"),
        Step(N * exp(-1) / (1 - exp(-1)), "<=", "premise", {}, ("the block",), context=N * HOLE / (1 - HOLE)),
    )
    goal = N * exp(-1) / (1 - exp(-1))
    single = (
        Step(Integer(0), "<=", "premise", {}, (ONE_EXAMPLE,)),
        Step(goal, "<=", "drop-nonnegative", {"a": Integer(0), "b": goal}),
    )
    variables: dict[str, Variable] = {
        "N": integer(1, 30),
        "place": integer(0, N - 1),
        "epochs": integer(0, 5),
        "far": FromPremises(),
    }
    premises = {
        COUNTED: Premise(FAR, "<=", start),
        ONE_EXAMPLE: Premise(FAR, "<=", Integer(0), (Holds(N <= 1),)),
        "the block": cite(rates.block_rate(), alpha=1 / N),
    }
    return Derivation(
        "places in the epochs",
        "ours",
        variables,
        (PLACE <= N - 1,),
        FAR,
        (Cases(goal, "<=", (Case(N >= 2, several), Case(N <= 1, single))),),
        premises,
        local=("place", "epochs", "far"),
    )


def anchors() -> Derivation:
    """Derive the anchors' part under fresh permutations: ``7/6 eta L N``, twice the weighted way, on both sides."""
    claim = "the anchors' part is at most 2 eta L times the weighted way to them"
    weighted = cite(anchor_distance(), FAR)
    steps = (
        Step(2 * ETA * L * FAR, "<=", "premise", {}, (claim,), note="for the examples and for F; the largest over t"),
        Step(2 * ETA * L * weighted.rhs, "<=", "premise", {}, (IN_AN_EPOCH,)),
        Step(
            Rational(7, 6) * ETA * L * N,
            "<=",
            "order",
            {"a": 2 * exp(-1) / (1 - exp(-1)), "b": Rational(7, 6)},
            context=ETA * L * N * HOLE,
        ),
    )
    variables = {**{key: RANGES[key] for key in ("N", "L", "eta")}, "far": real(0, N / 2), "anchors": FromPremises()}
    return Derivation(
        "anchors, fresh permutations",
        "ours",
        variables,
        (),
        ANCHORS,
        steps,
        {claim: Premise(ANCHORS, "<=", 2 * ETA * L * FAR), IN_AN_EPOCH: weighted},
        local=("far", "anchors"),
    )


def lag() -> Derivation:
    """Derive the lag at every step: ``eta L (1-alpha)/alpha``, that is ``eta L (N-1)``."""
    claim = "the first term of the amended lemma-11-drift"
    steps = (Step(ETA * L * (N - 1), "<=", "premise", {}, (claim,), note="its first term, at alpha = 1/N"),)
    return _derivation("lag", LAG, steps, {claim: Premise(LAG, "<=", ETA * L * (N - 1))}, "N", "L", "eta")


def startup() -> Derivation:
    """Derive the mean over the run of ``(1-alpha)^t G``: at most ``G N/T``."""
    claim = "the mean over the run of the second term of the amended lemma-11-drift"
    every = G / T * BETA * Sum(BETA**i, (i, 0, T - 1))
    steps = (
        Step(every, "<=", "premise", {}, (claim,), note="its second term, for t = i + 1"),
        Step(
            G / T * BETA / (1 - BETA),
            "<=",
            "geometric-sum-bound",
            {"x": BETA, "m": T - 1},
            context=G / T * BETA * HOLE,
        ),
        Step(G * N / T, "<=", "order", {"a": BETA, "b": Integer(1)}, context=G * N / T * HOLE),
    )
    return _derivation("start-up", STARTUP, steps, {claim: Premise(STARTUP, "<=", every)}, "N", "T", "G")


OWN, MOVED = (Symbol(name, nonnegative=True) for name in ("own", "moved"))
RHO: Final = sqrt(N / T)
FOURTH: Final = Rational(1, 4)
PARTS: Final = "Jensen and Minkowski at every step"


def _root(square: Cited, letter: Any) -> Cited:
    """The root of a mean square at every step, in the mean."""
    return Cited(letter, "<=", sqrt(square.rhs), square.conditions, square.derivation)


def reconstructed_sampling() -> Derivation:
    """Derive ``(7/2 G + 11/10 L) sqrt(rho/N)``: part (b) for rho at least (4/9)^2, part (c) for rho at most that."""
    where = {"alpha": 1 / N, "gamma": RHO}
    at_most = _root(cite(lemma.estimate(), **where, length=G), OWN)
    in_mean = cite(run_mean(), OWN, **where, length=G)
    changes = _root(cite(lemma.change(), **where, length=RHO * L), MOVED)
    quarter = (N / T) ** FOURTH
    edge = Rational(4, 9)
    of_change = Rational(11, 10) * L * quarter / sqrt(N)
    goal = Rational(7, 2) * G * quarter / sqrt(N)
    part = G / sqrt(N)
    lower = Rational(3, 2)
    upper = Rational(9, 2)
    long = (
        Step(lower * part + of_change, "<=", "premise", {}, ("the estimate's mean square",), context=HOLE + of_change),
        Step(
            lower / edge * quarter * part + of_change,
            "<=",
            "power-monotone",
            {"a": edge**4, "b": N / T, "p": FOURTH},
            context=lower / edge * HOLE * part + of_change,
        ),
        Step(
            goal + of_change,
            "<=",
            "order",
            {"a": lower / edge, "b": Rational(7, 2)},
            context=HOLE * quarter * part + of_change,
        ),
    )
    short = (
        Step(
            (lower * quarter + upper * quarter**2) * part + of_change,
            "<=",
            "premise",
            {},
            ("the estimate's mean",),
            context=HOLE + of_change,
        ),
        Step(
            (lower * quarter + upper * quarter * edge) * part + of_change,
            "<=",
            "power-monotone",
            {"a": N / T, "b": edge**4, "p": FOURTH},
            context=(lower * quarter + upper * quarter * HOLE) * part + of_change,
        ),
        Step(goal + of_change, "="),
    )
    bound = goal + of_change
    steps = (
        Step(OWN + MOVED, "<=", "premise", {}, (PARTS,)),
        Step(OWN + of_change, "<=", "premise", {}, ("the way between two anchors",), context=OWN + HOLE),
        Cases(bound, "<=", (Case(edge**4 * T <= N, long), Case(edge**4 * T >= N, short))),
    )
    variables: dict[str, Variable] = {
        **{key: RANGES[key] for key in ("G", "L")},
        "N": integer(2, 60),
        "T": integer(4 * N, 3000),
        "own": FromPremises(),
        "moved": FromPremises(),
        "sampling": FromPremises(),
    }
    premises = {
        PARTS: Premise(SAMPLING, "<=", OWN + MOVED),
        "the estimate's mean square": at_most,
        "the estimate's mean": in_mean,
        "the way between two anchors": changes,
    }
    return Derivation(
        "sampling of Algorithm 2, fresh permutations",
        "ours",
        variables,
        (N >= 2, T >= 4 * N, RHO < 1),
        SAMPLING,
        steps,
        premises,
        local=("own", "moved", "sampling"),
    )
