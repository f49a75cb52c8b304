"""The corrected Lemma 17 under fresh permutations: parts (a), (b) and (c), from the exact second moment to the numbers.

Letters: ``square``, the mean square of a sum ``alpha sum over s of (1-alpha)^p a xi(x_s)``, xi(x) one example's centred
gradient at an anchor, or its change from one anchor to the next; ``each`` and ``joint``, in the mean over the examples
x and added up over the epochs, the sum of the squares of what an epoch's positions contribute if they draw x, and the
square of the sum; ``cross``, the epochs' products of two positions; ``weights``, the squared weights of all windows in
units of ``1/(1-(1-alpha)^2)``; ``second`` and ``centre``, mean square and length of the mean of the gradients
themselves; ``length``, a bound on their lengths. NOTES_identities.md has the argument.
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Integer, Rational, Symbol

from dpverify.papers.tran2022.reorder import reorder_rates_derivations as rates
from dpverify.papers.tran2022.reorder import reorder_weights_derivations as weighed
from dpverify.papers.tran2022.reorder.reorder_rates_derivations import ALPHA, N
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import FromPremises, Variable, integer, real

GAMMA: Final = Symbol("gamma", positive=True)
SQUARE, EACH, JOINT, WEIGHTS, OWN, SECOND, CENTRE, LENGTH, LATEST, POWER = (
    Symbol(name, nonnegative=True)
    for name in (
        "square",
        "each",
        "joint",
        "weights",
        "own",
        "second",
        "centre",
        "length",
        "latest",
        "power",
    )
)
CROSS: Final = Symbol("cross", real=True)
MANY: Final = N / (N - 1)
PAIRS: Final = -(JOINT - EACH) / (N - 1)  # Products of two positions that draw different examples
UNCORRELATED: Final = "epochs with orders of their own are uncorrelated"
POSITIONS: Final = "every position has its weight"
WITHOUT: Final = "two positions of an order draw different examples"
CONDITIONS: Final = (*rates.CONDITIONS, GAMMA < 1)
RANGES: Final[dict[str, Variable]] = {
    **rates.RANGES,
    "gamma": real(0, 1, open_lo=True, open_hi=True),
    "length": real(0, 3),
    "second": real(0, LENGTH**2),
    "centre": real(0, LENGTH),
    "own": real(0, SECOND),
    "weights": FromPremises(),
    "square": FromPremises(),
}
LOCAL: Final = ("second", "centre", "own", "weights", "each", "joint", "cross", "square")


def one_epoch() -> Derivation:
    """Derive that drawing without replacement costs N/(N-1) times ``each`` at most: the rest has a minus sign."""
    exact = MANY * (EACH - JOINT / N)
    steps = (
        Step(exact, "=", note="the exact second moment"),
        Step(MANY * EACH, "<=", "drop-nonnegative", {"a": EACH - JOINT / N, "b": JOINT / N}, context=MANY * HOLE),
    )
    variables: dict[str, Variable] = {"N": integer(2, 60), "each": real(0, 4), "joint": real(0, N * EACH)}
    return Derivation(
        "one epoch, without replacement", "ours", variables, (N >= 2,), EACH + PAIRS, steps, local=("each", "joint")
    )


def all_epochs() -> Derivation:
    """Derive ``length^2 alpha N/((N-1)(2-alpha)) weights`` as a bound on ``square``."""
    decays = WEIGHTS / (1 - (1 - ALPHA) ** 2)
    around = ALPHA**2 * MANY * decays
    centred = SECOND - CENTRE**2
    steps = (
        Step(ALPHA**2 * (EACH + CROSS), "=", "premise", {}, (UNCORRELATED,)),
        Step(ALPHA**2 * (EACH + PAIRS), "=", "premise", {}, (WITHOUT,)),
        Step(ALPHA**2 * (MANY * EACH), "<=", "premise", {}, ("one epoch",), note="added up over the epochs"),
        Step(around * OWN, "<=", "premise", {}, (POSITIONS,)),
        Step(around * centred, "<=", "order", {"a": OWN, "b": centred}),
        Step(
            around * SECOND,
            "<=",
            "drop-nonnegative",
            {"a": centred, "b": CENTRE**2},
            context=around * HOLE,
            note="a variance is at most the second moment",
        ),
        Step(around * LENGTH**2, "<=", "order", {"a": SECOND, "b": LENGTH**2}),
        Step(LENGTH**2 * ALPHA * (MANY / (2 - ALPHA)) * WEIGHTS, "="),
    )
    total = ALPHA**2 * (EACH + PAIRS)
    variables = {
        **{name: RANGES[name] for name in RANGES if name not in {"gamma", "square"}},
        "weights": real(0, 5),
        "each": real(0, OWN * decays),
        "joint": real(0, N * EACH),
        "cross": real(PAIRS, PAIRS),
        "square": real(total, total),
    }
    premises = {
        UNCORRELATED: Premise(SQUARE, "=", ALPHA**2 * (EACH + CROSS)),
        WITHOUT: Premise(CROSS, "=", PAIRS),
        "one epoch": cite(one_epoch()),
        POSITIONS: Premise(EACH, "<=", OWN * decays),
    }
    return Derivation(
        "all epochs",
        "ours",
        variables,
        (*rates.CONDITIONS, centred >= OWN, LENGTH**2 >= SECOND),
        SQUARE,
        steps,
        premises,
        local=LOCAL,
    )


def _part(name: str, weights: Derivation, factor: Any, rate: Derivation, bound: Any) -> Derivation:
    """From ``square`` to ``length^2 alpha bound``; the weights are ``factor`` times what the rate is about, at most."""
    block = (1 - ALPHA) ** N
    around = LENGTH**2 * ALPHA
    shape = rate.last
    everything = {"keep": 1 - GAMMA, "block": block}
    citation = cite(weights, WEIGHTS, **everything)
    steps: tuple[Step, ...] = (
        Step(around * (MANY / (2 - ALPHA)) * WEIGHTS, "<=", "premise", {}, ("all epochs",)),
        Step(around * (MANY / (2 - ALPHA)) * citation.rhs, "<=", "premise", {}, ("the weights",)),
        Step(around * factor * rate.start, "="),
        Step(around * factor * shape, "<=", "premise", {}, ("the rate",), note=f"{rate.name}"),
    )
    if factor * shape != bound:
        last = {"a": shape / 2, "b": bound * GAMMA}
        steps += (Step(around * bound, "<=", "order", last, context=around / GAMMA * HOLE),)
    variables = {key: RANGES[key] for key in ("N", "alpha", "gamma", "length", "weights", "square")}
    return Derivation(
        name,
        "ours",
        variables,
        CONDITIONS,
        SQUARE,
        steps,
        {"all epochs": cite(all_epochs(), SQUARE), "the weights": citation, "the rate": cite(rate)},
        local=("weights", "square"),
    )


def change() -> Derivation:
    """Derive the mean square of the part with the changes: at most ``121/100 length^2 alpha/gamma``."""
    bound = Rational(121, 100) / GAMMA
    return _part("the change of gradients", weighed.change(), 1 / (2 * GAMMA), rates.sum_rate(), bound)


def difference() -> Derivation:
    """Derive the mean square of part (a) without the changes: at most ``4 alpha length^2``."""
    return _part("m_hat - m", weighed.difference(), Integer(2), rates.difference_rate(), Integer(4))


def estimate() -> Derivation:
    """Derive the mean square of part (b) without the changes: at most ``9/4 alpha length^2``."""
    return _part("m_hat and full gradients", weighed.estimate(), Integer(1), rates.sum_rate(), rates.SUM)
