"""Part (c) of the corrected Lemma 17: the mean over the run of the estimate's own part, after 1/gamma epochs small.

After q whole windows the root mean square is at most ``G sqrt(2 alpha) (c_q + B^q) + 3/2 G sqrt(alpha gamma)``, B =
(1-alpha)^N; over the steps, N at most for each q, the first part adds up to a number. Letters: ``latest`` c_q,
``power`` B^q; ``mean``, the mean over t of the root mean squares.
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Integer, Lambda, Rational, Sum, Symbol, exp, floor, sqrt

from dpverify.papers.tran2022.reorder import reorder_rates_derivations as rates
from dpverify.papers.tran2022.reorder import reorder_weights_derivations as weighed
from dpverify.papers.tran2022.reorder.reorder_lemma_derivations import (
    CONDITIONS,
    GAMMA,
    LATEST,
    LENGTH,
    MANY,
    POWER,
    RANGES,
    SQUARE,
    WEIGHTS,
    all_epochs,
)
from dpverify.papers.tran2022.reorder.reorder_rates_derivations import ALPHA, N
from dpverify.papers.tran2022.reorder.reorder_weights_derivations import BLOCK, KEEP, WINDOWS, i, weight
from dpverify.symbolic.derive.cited import Cited, cite
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import FromPremises, Variable, integer, real

T: Final = Symbol("T", integer=True, positive=True)
t: Final = Symbol("t", integer=True)
MEAN: Final = Symbol("mean", nonnegative=True)
WEIGHED: Final = "the estimate's weights"
EVERY_STEP: Final = "the mean over the steps"


def settled() -> Derivation:
    """Derive the later windows' share of the estimate: ``gamma^2`` times the squares is at most 9/8 gamma."""
    around, form = (1 - BLOCK**2) * (1 - KEEP) ** 2, weighed.of_squares()
    top = Rational(3, 8)
    bound = Rational(9, 8)
    small = 1 + top * KEEP
    large = bound * (1 - top * KEEP) * (1 + KEEP)
    where = {"a": small, "b": large, "x": KEEP, "low": Integer(0), "high": Integer(1)}

    def wrap(e: Any) -> Any:
        return around * e

    def share(block: Any) -> Any:
        return (1 - KEEP) * (1 + KEEP * block) / ((1 - KEEP * block) * (1 + KEEP))

    steps = (
        *weighed.telescoped(wrap, form),
        weighed.to_all(wrap, form["d"]),
        Step(share(BLOCK), "="),
        Step(share(exp(-1)), "<=", "premise", {}, ("the block",), context=share(HOLE)),
        Step(share(top), "<=", "order", {"a": exp(-1), "b": top}, context=share(HOLE)),
        Step((1 - KEEP) * bound, "<=", "bernstein", where, context=(1 - KEEP) * bound * HOLE / large),
    )
    variables: dict[str, Variable] = {
        **rates.RANGES,
        "N": integer(2, 7),
        "keep": weighed.RANGES["keep"],
        "block": real((1 - ALPHA) ** N, (1 - ALPHA) ** N),
        "windows": integer(0, 6),
    }
    return Derivation(
        "the later windows",
        "ours",
        variables,
        (*rates.CONDITIONS, KEEP < 1, BLOCK < 1),
        wrap(weighed.SQUARES),
        steps,
        {"the block": cite(rates.block_rate(), BLOCK)},
        local=("windows",),
        letters=weighed.LETTERS,
    )


def one_square() -> Derivation:
    """Derive the mean square of the estimate's own part at one step."""
    block = (1 - ALPHA) ** N
    rate, around, share = MANY / (2 - ALPHA), LENGTH**2 * ALPHA, Rational(9, 8) * GAMMA
    later = cite(settled(), keep=1 - GAMMA, block=block)

    def whole(latest: Any, inner: Any) -> Any:
        return around * rate * (latest + inner + POWER**2)

    terms = {"a": 1 - block**2, "b": block**2}
    bound = (1 - block**2) * LATEST**2 + later.lhs + POWER**2
    steps = (
        Step(around * rate * WEIGHTS, "<=", "premise", {}, ("all epochs",)),
        Step(whole((1 - block**2) * LATEST**2, later.lhs), "<=", "premise", {}, (WEIGHED,)),
        Step.within(whole((1 - block**2) * LATEST**2, HOLE), share, "premise", {}, ("the later windows",)),
        Step(whole(LATEST**2, share), "<=", "drop-nonnegative", terms, context=whole(HOLE * LATEST**2, share)),
        Step.within(around * HOLE * (LATEST**2 + share + POWER**2), Integer(2), "premise", {}, ("the rate",)),
    )
    variables: dict[str, Variable] = {
        **{name: RANGES[name] for name in ("alpha", "gamma", "length")},
        "N": integer(2, 7),
        "windows": weighed.RANGES["windows"],
        "latest": real(0, 5),
        "power": real(0, 1),
        "weights": real(0, bound),
        "square": FromPremises(),
    }
    premises = {
        "all epochs": cite(all_epochs(), SQUARE),
        WEIGHED: Premise(WEIGHTS, "<=", bound),
        "the later windows": later,
        "the rate": cite(rates.plain_rate()),
    }
    return Derivation(
        "one step of the estimate, squared",
        "ours",
        variables,
        CONDITIONS,
        SQUARE,
        steps,
        premises,
        local=("windows", "weights", "square"),
    )


def one_step() -> Derivation:
    """Derive the root mean square of the estimate's own part at one step."""
    around = 2 * LENGTH**2 * ALPHA
    first = around * LATEST**2
    second = around * Rational(9, 8) * GAMMA
    third = around * POWER**2
    lead = LENGTH * sqrt(2 * ALPHA)
    tail = second + third
    steps = (
        Step(sqrt(first + second + third), "<=", "premise", {}, ("squared",), context=sqrt(HOLE)),
        Step.within(HOLE, sqrt(first) + sqrt(tail), "sqrt-subadditive", {"a": first, "b": tail}),
        Step.within(sqrt(first) + HOLE, sqrt(second) + sqrt(third), "sqrt-subadditive", {"a": second, "b": third}),
        Step(lead * LATEST + Rational(3, 2) * LENGTH * sqrt(ALPHA * GAMMA) + lead * POWER, "="),
    )
    variables: dict[str, Variable] = {
        **{name: RANGES[name] for name in ("N", "alpha", "gamma", "length")},
        "latest": real(0, 5),
        "power": real(0, 1),
        "square": real(0, first + second + third),
    }
    return Derivation(
        "one step of the estimate",
        "ours",
        variables,
        CONDITIONS,
        sqrt(SQUARE),
        steps,
        {"squared": cite(one_square(), SQUARE)},
        local=("square",),
    )


TERM: Final = Lambda(i, weight(i) + BLOCK**i)
STEPS: Final = Sum(TERM(floor(t / N)), (t, 1, T))


def all_windows() -> Derivation:
    """Derive what ``c_i + B^i`` adds up to: at most ``(1 + 1/gamma)/(1-B)``."""
    keep = 1 - KEEP
    first = (1 + 1 / keep) / (1 - BLOCK)
    last = weight(WINDOWS)
    power = BLOCK**WINDOWS
    form = {**weighed.EVERY, "p": Integer(1), "s": Integer(1), "a": 1 / keep, "d": first}
    steps = (
        Step(first - last / keep - first * power, "=", "convolution-sum", form),
        Step.within(first - HOLE / keep - first * power, Integer(0), "convolution-nonnegative", weighed.EVERY),
        Step(first, "<=", "drop-nonnegative", {"a": first - first * power, "b": first * power}, context=HOLE),
    )
    variables = {name: weighed.RANGES[name] for name in ("keep", "block", "windows")}
    return Derivation(
        "the weights of all windows",
        "ours",
        variables,
        (KEEP < 1, BLOCK < 1),
        Sum(TERM(i), (i, 0, WINDOWS - 1)),
        steps,
        letters=weighed.LETTERS,
    )


def run_sum() -> Derivation:
    """Derive what ``c_q + B^q`` adds up to over the run: at most ``2 N/(gamma (1 - exp(-1)))``."""
    epochs = floor(T / N)
    added = cite(all_windows(), windows=epochs + 1)
    keep = 1 - KEEP
    steps = (
        Step(N * added.lhs, "<=", "sum-by-blocks", {"f": TERM, "n": N, "top": T}, context=HOLE),
        Step(N * added.rhs, "<=", "premise", {}, ("all windows",), context=N * HOLE),
        Step.within(N * (1 + 1 / keep) / (1 - HOLE), exp(-1), "premise", {}, ("the block",)),
        Step.order(N * HOLE / (1 - exp(-1)), 1 + 1 / keep, 2 / keep),
    )
    variables: dict[str, Variable] = {
        **rates.RANGES,
        "N": integer(2, 7),
        "T": integer(1, 40),
        "keep": weighed.RANGES["keep"],
        "block": real((1 - ALPHA) ** N, (1 - ALPHA) ** N),
    }
    return Derivation(
        "the weights of the run",
        "ours",
        variables,
        (*rates.CONDITIONS, KEEP < 1, BLOCK < 1),
        STEPS,
        steps,
        {"all windows": added, "the block": cite(rates.block_rate(), BLOCK)},
        letters=weighed.LETTERS,
    )


def run_mean() -> Derivation:
    """Derive part (c): ``3/2 G sqrt(alpha gamma) + 9/2 G sqrt(alpha) N/(gamma T)`` for the mean over the run."""
    constant = Rational(3, 2) * LENGTH * sqrt(ALPHA * GAMMA)
    lead = LENGTH * sqrt(2 * ALPHA) / T
    decay = sqrt(ALPHA) * LENGTH * N / (GAMMA * T)
    step_bound = cite(one_step())
    at_t = step_bound.rhs.xreplace({LATEST: weight(floor(t / N)), POWER: BLOCK ** floor(t / N)})
    added = cite(run_sum(), keep=1 - GAMMA, block=(1 - ALPHA) ** N)
    at_t = at_t.xreplace({KEEP: 1 - GAMMA, BLOCK: (1 - ALPHA) ** N})
    steps = (
        Step(Sum(at_t, (t, 1, T)) / T, "<=", "premise", {}, (EVERY_STEP,)),
        Step(constant + lead * added.lhs, "="),
        Step(constant + lead * added.rhs, "<=", "premise", {}, ("the weights",), context=constant + lead * HOLE),
        Step.order(constant + decay * HOLE, 2 * sqrt(2) / (1 - exp(-1)), Rational(9, 2)),
    )
    variables: dict[str, Variable] = {
        **{name: RANGES[name] for name in ("N", "alpha", "gamma", "length")},
        "N": integer(2, 7),
        "T": integer(1, 40),
        "mean": FromPremises(),
    }
    premises = {
        EVERY_STEP: Cited(MEAN, "<=", Sum(at_t, (t, 1, T)) / T, step_bound.conditions, step_bound.derivation),
        "the weights": added,
    }
    return Derivation("the mean over the run", "ours", variables, CONDITIONS, MEAN, steps, premises, local=("mean",))
