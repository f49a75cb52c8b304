"""Check Lemma 7's proof term by term: exact variances of Algorithm 2's noise, counts of nodes, and its other lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from flint import ctx

from dpverify.harness import (
    Budget,
    Check,
    ExhaustiveCheck,
    PaperChecks,
    Planted,
    Point,
    Property,
    SearchCheck,
)
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise import noise_bounds
from dpverify.papers.tran2022.noise.checks.sr_noise_points import (
    PLAIN,
    SHORT,
    SQUARES,
    TOTAL,
    LeftSide,
    against_exact,
    at_points,
)
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import (
    compose_count,
    count_nodes,
)
from dpverify.shared_types import Values
from dpverify.symbolic.exact.evaluate import decide_statement, definitions
from dpverify.symbolic.exact.numbers import Exact, to_exact, to_value

MEETS = {
    "update-of-algorithm-2": Property(
        "the noise is that of the nodes which Algorithm 4 reads"
    ),
    "independent-noise": Property(
        "the variance is the sum of those of independent nodes"
    ),
}

CHECKS = PaperChecks("tran2022", __name__, MEETS)

# Both sides are above 0; 'boundaries' covers the other points
WITH_NOISE = {"N": (2, None), "alpha": (None, "99/100")}


def _law(
    of: Callable[[int, int, Point, noise_bounds.NodeVariances], Exact],
) -> LeftSide:
    """Return a left side from a law in t, N, the point and the variances of the nodes, at the current precision."""

    def lhs(point: Point, statement: Statement) -> Exact:
        constants = definitions(statement, point, precision=ctx.prec)
        return of(
            int(point["t"]),
            int(point["N"]),
            point,
            noise_bounds.NodeVariances.of(constants),
        )

    return lhs


_term_1 = _law(
    lambda t, n, at, nodes: noise_bounds.prefix_term(t, n, at["alpha"], nodes)
)
_term_2 = _law(
    lambda t, n, at, nodes: noise_bounds.first_window_term(
        t, n, at["alpha"], at["gamma"], nodes
    )
)
_term_3 = _law(
    lambda t, n, at, nodes: noise_bounds.window_terms(
        t, n, at["alpha"], at["gamma"], nodes
    )[0]
)
_term_4 = _law(
    lambda t, n, at, nodes: noise_bounds.window_terms(
        t, n, at["alpha"], at["gamma"], nodes
    )[1]
)
_term_5 = _law(lambda t, n, at, nodes: noise_bounds.drift_term(t, at["alpha"], nodes))
_total = _law(
    lambda t, n, at, nodes: noise_bounds.noise_variance(
        t, n, at["alpha"], at["gamma"], nodes
    )
)


def _window_nodes(point: Point, statement: Statement) -> Fraction:
    """Return the number of nodes of the window that begins after step q*N + r (q = 0 for the first window)."""
    n = int(point["N"])
    start = int(point["q"] * point["N"] + point["r"])
    return Fraction(compose_count(start + 1, start + n))


def _corners(
    epochs: tuple[int, ...], examples: tuple[int, ...]
) -> list[dict[str, Any]]:
    """Return points with the slowest decay, alpha = 1/N: start, middle and end of an epoch, and t = 2^k - 1."""
    corners: list[dict[str, Any]] = []
    for n in examples:
        steps = {q * n + r for q in epochs for r in (0, n // 2, n - 1)} | {
            1,
            n - 1,
            2 ** (n.bit_length() - 1) - 1,
        }
        corners += [
            {"N": n, "t": t, "T": t, "alpha": Fraction(1, n)}
            for t in sorted(steps)
            if t >= 1
        ]
    return corners


PREFIXES = _corners((1,), (2, 3, 4, 8, 100, 1024))
MANY_WINDOWS = [
    {**corner, "gamma": gamma}
    for corner in _corners((1, 2, 12), (2, 3, 6, 62, 255))
    for gamma in ("1/2", "1/1000")
]


def _edges(budget: Budget) -> Iterable[dict[str, Any]]:
    """Yield short runs with N = 1, where V and all noise are 0, N = 2 and 3; no memory (alpha = 1), slowest decay."""
    units = dict.fromkeys(("delta_G", "delta_Delta", "delta_r", "sigma", "L"), 1)
    for n in (1, 2, 3):
        for t in range(1, 4 * n + 2):
            for alpha in (Fraction(1, n), Fraction(1)):
                for gamma in (Fraction(1, 2), Fraction(1, 10**6)):
                    for steps in (t, 2 * t + 1):
                        yield {
                            **units,
                            "N": n,
                            "t": t,
                            "T": steps,
                            "alpha": alpha,
                            "gamma": gamma,
                            "eta": gamma / n,
                        }


def _boundaries(claim: str, lhs: LeftSide, variants: tuple[str, ...]) -> Check:
    """Return a check that decides the statement exactly at the corners of its domain, zeros included."""

    def with_extra(extra: int) -> Callable[[Point, Statement], bool | None]:
        def rule(point: Point, statement: Statement) -> bool | None:
            at = {
                name: point[name]
                for name in (*statement.free, *({"gamma"} & point.keys()))
            }
            return decide_statement(
                statement, at, lambda _: to_exact(to_value(lhs(at, statement)) + extra)
            )

        return rule

    fault = Planted(
        "variance larger by 10^6", is_satisfied=with_extra(10**6), at_declared_size=True
    )
    region = "N = 1, 2, 3; alpha = 1/N and 1; t up to 4N + 1; T = t and 2t + 1"
    return ExhaustiveCheck(
        claim,
        "boundaries",
        points=_edges,
        is_satisfied=with_extra(0),
        planted=[fault],
        variants=variants,
        region=region,
    )


AMENDED = ("amended",)
BOTH = ("printed", "amended")


def _term(
    claim: str,
    lhs: LeftSide,
    corners: Sequence[Values] = MANY_WINDOWS,
    *,
    least: int = 1,
    variants: tuple[str, ...] = BOTH,
) -> list[Check]:
    """Return the checks of a bound on a variance: against the exact law, and at the corners of its domain."""
    return [
        against_exact(claim, lhs, corners, least=least, variants=variants),
        _boundaries(claim, lhs, variants),
    ]


TIGHTEST = [
    {"N": n, "alpha": Fraction(1, n), "gamma": gamma}
    for n in (1, 2, 3, 64)
    for gamma in ("1/2", "1/1000")
]
"""alpha = 1/N: the slowest decay over an epoch that Lemma 7 allows."""

COEFFICIENT: tuple[Values, Values] = (
    {"N": 2, "alpha": "1/2", "gamma": "1/2", "window": 3},
    {"N": 3, "alpha": "37/100", "gamma": "47/100", "window": 10},
)
PLUGGED: tuple[Values, Values] = (
    {"N": 3, "T": 2, "alpha": "1/2", "eta": 1, "L": 1, "sigma": 1},
    {"N": 64, "T": 5, "alpha": "1/9", "eta": "1/300", "L": "3/2", "sigma": "5/4"},
)
NUMBERS: tuple[Values, Values] = (
    {**PLAIN, "N": 2, "T": 1, "alpha": "1/2", "gamma": "1/2", "eta": 1},
    SHORT,
)
SHORT_RUNS: list[dict[str, Any]] = [
    {"N": n, "T": steps} for n, steps in ((1, 1), (2, 1), (3, 2), (64, 64))
]
"""Runs of at most one epoch."""


CHECKS.add(
    SearchCheck(
        "lemma-7-count-1",
        "search",
        lhs=count_nodes("r"),
        corners=[{"r": 2**k - 1, "N": 2**k} for k in (1, 9)],
    ),
    SearchCheck("lemma-7-count-1-log", "search"),
    *_term("lemma-7-var-1-step", _term_1, PREFIXES, least=2),
    *_term("lemma-7-var-1", _term_1, PREFIXES),
    SearchCheck(
        "lemma-7-count-2",
        "search",
        lhs=_window_nodes,
        also={"q": "integer, q >= 0"},
        corners=[
            {"N": n, "r": r, "q": q}
            for n, r, q in ((1, 0, 0), (2, 1, 0), (6, 1, 0), (30, 1, 5), (62, 33, 0))
        ],
    ),
    at_points("lemma-7-var-2-step", *SQUARES, lhs=_term_2),
    *_term("lemma-7-var-2-step", _term_2, variants=AMENDED),
    *_term("lemma-7-var-2", _term_2),
    *_term("lemma-7-var-3-step", _term_3),
    *_term("lemma-7-var-3", _term_3),
    *_term("lemma-7-var-4-step", _term_4),
    *_term("lemma-7-var-4", _term_4),
    SearchCheck(
        "lemma-7-count-5",
        "search",
        lhs=count_nodes("t"),
        corners=[{"t": 2**k - 1, "T": 2**k - 1} for k in (1, 9)],
    ),
    at_points(
        "lemma-7-var-5",
        {"N": 2, "T": 1, "t": 1, "alpha": "1/2", "delta_r": 1, "sigma": 1},
        None,
        lhs=_term_5,
    ),
    SearchCheck(
        "lemma-7-var-5",
        "search",
        lhs=_term_5,
        corners=PREFIXES,
        region=WITH_NOISE,
        variants=AMENDED,
    ),
    at_points("lemma-7-var", *TOTAL, lhs=_total),
    *_term("lemma-7-var", _total, variants=AMENDED),
    SearchCheck(
        "lemma-7-var-2-sum",
        "search",
        region={"q": (0, 64)},
        corners=[{**at, "q": q} for at in TIGHTEST for q in (1, 64)],
    ),
    at_points("lemma-7-coefficient", *COEFFICIENT),
    SearchCheck(
        "lemma-7-coefficient",
        "search",
        region={"window": (1, 64)},
        corners=[{**at, "window": i} for at in TIGHTEST for i in (1, 2, 3, 64)],
        variants=AMENDED,
    ),
    SearchCheck(
        "lemma-7-var-3-sum",
        "search",
        region={"q": (0, 64)},
        corners=[{"q": q} for q in (0, 1, 2, 64)],
    ),
    at_points("lemma-7-var-5-plugged", *PLUGGED, variants=("printed",)),
    at_points(
        "lemma-7-var-numbers", NUMBERS[0], {**SHORT, "T": 64}, variants=("printed",)
    ),
    against_exact("lemma-7-roots", None, SHORT_RUNS, name="drawn"),
    at_points("lemma-7-numbers", {**NUMBERS[0], "d": 1}, {**SHORT, "d": 3}),
    against_exact("lemma-7-numbers", None, SHORT_RUNS, name="drawn", variants=AMENDED),
)
