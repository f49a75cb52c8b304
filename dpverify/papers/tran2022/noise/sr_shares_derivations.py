"""What Lemma 7's five terms are made of, derived: squared weights of windows, with the squared decays of nodes.

The weights ``c_k = sum_{j<k} B^j u^{k-1-j}``, with ``u = 1 - gamma`` and ``B = (1-alpha)^N``, are a convolution of two
geometric sequences. The paper bounds each of them by Corollary 15, which needs alpha N well above 1. Their squares are
bounded here together (Young's inequality for convolutions), which needs only ``B < 1``: ``c_k = u^{k-1} + B c_{k-1}``
gives ``c_k^2 <= B c_{k-1}^2 + u^{2(k-1)}/(1-B)``, and the sum over k of the first part is at most B times what is
bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sympy import Eq, Lambda, Max, Rational, Sum, Symbol, exp

from dpverify.papers.tran2022.noise.decays_derivations import ALPHA, STEP, N, T, prefix_after, run, window
from dpverify.papers.tran2022.trees.compose_derivations import DOWN, UP, j, k
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.conclude import letters_of_citations
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import FromPremises, Variable, integer, real

Wrap = Callable[[Any], Any]

KEEP = Symbol("keep", positive=True)
RHO = Symbol("rho", positive=True)
WINDOWS, EPOCHS = (Symbol(name, integer=True, nonnegative=True) for name in ("windows", "q"))
EARLY, LATER, DRIFT, DECAYS, WEIGHT = (
    Symbol(name, nonnegative=True) for name in ("early", "later", "drift", "decays", "weight")
)
SQUARES, PREFIX, RUN = (Symbol(name, real=True) for name in ("squares", "prefix", "run"))
MEANT: Final = ("prefix", "weight", "squares", "run", "decays")
LETTERS: Final = {
    "keep": "u",
    "rho": r"\rho",
    "windows": "n",
    "decays": "D",
    "weight": "c_q",
    "squares": "S",
    "prefix": "P",
    "run": "F",
}
SHRUNK: Final = (1 - exp(-1)) ** 2
RANGES: Final[dict[str, Variable]] = {
    "keep": real(0, 1, open_lo=True, open_hi=True),
    "windows": integer(0, 8),
}


def weight(base: Any, count: Any) -> Any:
    """``sum_{j<count} base^j u^{count-1-j}``."""
    return Sum(base**j * KEEP ** (count - 1 - j), (j, 0, count - 1))


def first_window() -> Derivation:
    """Derive ``1/(1 - exp(-1))`` for the weight of the first whole window."""
    steps = (
        _smaller(lambda base: weight(base, WINDOWS)),
        Step(Sum(RHO**j, (j, 0, WINDOWS - 1)), "<=", "power-at-most-one", {"x": KEEP, "p": WINDOWS - 1 - j}),
        Step(1 / (1 - RHO), "<=", "geometric-sum-bound", {"x": RHO, "m": WINDOWS - 1}),
        Step(1 / (1 - exp(-1)), "<=", "order", {"a": RHO, "b": exp(-1)}),
    )
    return _of_windows("the weight of the first window", weight((1 - ALPHA) ** N, WINDOWS), steps)


def _smaller(wrap: Wrap) -> Step:
    return Step(wrap(RHO), "<=", "power-monotone", {"a": (1 - ALPHA) ** N, "b": RHO, "p": j})


def kept() -> Any:
    """Sum of ``u^(2 (k-1))`` over the windows."""
    return Sum(KEEP ** (2 * (k - 1)), (k, 1, WINDOWS))


def series(shift: int) -> Derivation:
    """Derive ``1/(1 - u^2)`` for the sum of ``u^(2 (k-1))`` (of ``u^(2 k)``) over the windows."""
    term = KEEP ** (2 * (k - 1 + shift))
    steps = (
        Step(kept(), "<=", "power-decreasing", {"x": KEEP, "p": 2 * (k - 1 + shift), "q": 2 * (k - 1)}),
        Step(1 / (1 - KEEP**2), "<=", "geometric-sum-bound", {"x": KEEP**2, "m": WINDOWS - 1}),
    )
    ranges = {name: RANGES[name] for name in ("keep", "windows")}
    start = Sum(term, (k, 1, WINDOWS))
    return Derivation(f"a geometric series {shift}", "ours", ranges, (KEEP < 1,), start, steps[1 - shift :])


def squares() -> Derivation:
    """Derive ``kept()/(1-exp(-1))^2`` for the sum of the squared weights of the other windows."""
    everything = Sum(weight(RHO, k) ** 2, (k, 1, WINDOWS))
    before = weight(RHO, k - 1)
    latest = KEEP ** (k - 1)
    shifted = Sum(before**2, (k, 1, WINDOWS))
    tail = Sum(RHO**j * KEEP ** (k - 1 - j), (j, 1, k - 1))

    def minus(part: Any) -> Any:
        return (part - RHO * everything) / (1 - RHO)

    def crossed(product: Any) -> Any:
        return minus(Sum(latest**2 + RHO**2 * before**2 + 2 * RHO * product, (k, 1, WINDOWS)))

    def joined(part: Any) -> Any:
        return minus(RHO * part + kept() / (1 - RHO))

    square = Lambda(k, weight(RHO, k) ** 2)
    mean = (1 - RHO) * before**2 / 2 + latest**2 / (2 * (1 - RHO))
    longer = {"lo": 0, "hi": WINDOWS - 1, "more": WINDOWS, "f": square}
    split = {"lo": 0, "hi": k - 1, "f": Lambda(j, RHO**j * KEEP ** (k - 1 - j))}
    steps = (
        _smaller(lambda base: Sum(weight(base, k) ** 2, (k, 1, WINDOWS))),
        Step(minus(everything), "=", note="x = (x - B x)/(1 - B)"),
        Step(
            minus(Sum((latest + tail) ** 2, (k, 1, WINDOWS))),
            "=",
            "sum-split-first",
            split,
            context=minus(Sum(HOLE**2, (k, 1, WINDOWS))),
        ),
        Step(minus(Sum((latest + RHO * before) ** 2, (k, 1, WINDOWS))), "=", note="c_k = u^(k-1) + B c_(k-1)"),
        Step.within(crossed(HOLE), mean, "young", {"a": before, "b": latest, "c": 1 - RHO}),
        Step(joined(shifted), "="),
        Step(joined(Sum(weight(RHO, k) ** 2, (k, 0, WINDOWS - 1))), "="),
        Step.within(joined(HOLE), Sum(weight(RHO, k) ** 2, (k, 0, WINDOWS)), "sum-extend", longer),
        Step(
            joined(weight(RHO, 0) ** 2 + everything),
            "=",
            "sum-split-first",
            {"lo": 0, "hi": WINDOWS, "f": square},
            note="the weight 0 is an empty sum",
        ),
        Step(kept() / (1 - RHO) ** 2, "="),
        Step(kept() / SHRUNK, "<=", "order", {"a": RHO, "b": exp(-1)}),
    )
    start = Sum(weight((1 - ALPHA) ** N, k) ** 2, (k, 1, WINDOWS))
    return _of_windows("Young's inequality for the weights", start, steps)


def _of_windows(name: str, start: Any, steps: tuple[Step, ...]) -> Derivation:
    """A chain by way of ``rho``, any number between (1-alpha)^N and exp(-1): there is one, for 1 - x <= exp(-x)."""
    block = (1 - ALPHA) ** N
    variables = {"N": integer(1, 8), "alpha": real(1 / N, 1), **RANGES, "rho": real(block, Rational(3678, 10000))}
    assumptions = (ALPHA <= 1, ALPHA * N >= 1, KEEP < 1, block <= RHO, exp(-1) >= RHO)
    return Derivation(name, "ours", variables, assumptions, start, steps, local=("rho",), letters=LETTERS)


def five_terms() -> Derivation:
    """Derive the total of Lemma 7's five terms, but for three scales."""
    block = cite(all_squares(), SQUARES, windows=Max(EPOCHS - 1, 0))
    premises = {
        "the prefix": cite(prefix_after(), PREFIX),
        "the weight": cite(first_window(), WEIGHT, windows=EPOCHS),
        "the weights": block,
        "the run": cite(run(), RUN),
        "the nodes": cite(window(), DECAYS),
    }
    letters: list[Any] = [PREFIX, WEIGHT, SQUARES, RUN, DECAYS]
    steps: list[Step] = []

    def now() -> Any:
        prefixed, weighed, squared, ran, counted = letters
        return EARLY * (prefixed + counted * weighed**2) + LATER * counted * squared + DRIFT * ran

    start = now()
    for place, name in enumerate(premises):
        letters[place] = premises[name].rhs
        steps.append(Step(now(), "<=", "premise", {}, (name,)))
    return _term("the five terms", start, tuple(steps), premises)


def all_squares() -> Derivation:
    """Derive ``1/((1 - u^2) (1 - exp(-1))^2)`` for the sum of the squared weights."""
    young = cite(squares())
    geometric = cite(series(0))
    steps = (
        Step(young.rhs, "<=", "premise", {}, ("Young",)),
        Step(geometric.rhs / SHRUNK, "<=", "premise", {}, ("the series",)),
    )
    ranges = {"N": integer(1, 8), "alpha": real(1 / N, 1), **RANGES}
    assumptions = (ALPHA <= 1, ALPHA * N >= 1, KEEP < 1)
    premises = {"Young": young, "the series": geometric}
    return Derivation("all squared weights", "ours", ranges, assumptions, young.lhs, steps, premises, letters=LETTERS)


def _term(name: str, start: Any, steps: Any, premises: Any) -> Derivation:
    """A chain about letters for what it cites, spelled out."""
    variables: dict[str, Variable] = {
        "N": integer(1, 8),
        "T": integer(1, 60),
        "t": integer(1, T),
        "q": integer(0, 5),
        "alpha": real(1 / N, 1),
        **{letter: real(0, 9) for letter in ("early", "later", "drift")},
        **RANGES,
        **{letter: FromPremises() for letter in MEANT},
    }
    parts = (start, *(part for p in premises.values() for part in (p.start, p.rhs)))
    used = {s.name for part in parts for s in part.free_symbols}
    assumptions = [ALPHA <= 1, ALPHA * N >= 1, KEEP < 1, STEP <= T]
    assumptions = [a for a in assumptions if {s.name for s in a.free_symbols} <= used]
    inner = Derivation(
        name,
        "ours",
        {n: variables[n] for n in variables if n in used},
        tuple(assumptions),
        start,
        steps,
        premises,
        local=tuple(n for n in MEANT if n in used),
        letters=LETTERS,
    )
    citation = cite(inner, **{n: meaning for n, (meaning, _) in letters_of_citations(inner).items()})
    extra = {"p": integer(1, N), "v": integer(N - UP, N - UP)}
    return Derivation(
        f"{name}, node by node",
        "ours",
        {n: variables[n] for n in variables if n in used and n not in MEANT} | extra,
        (*assumptions, Eq(UP + DOWN, N)),
        citation.lhs,
        (Step(citation.rhs, "<=", "premise", {}, ("in letters",)),),
        {"in letters": citation},
        letters=LETTERS,
    )
