"""Check Lemma 7's proof term by term: exact variances of Algorithm 2's noise, counts of nodes, and its other lines.

The points for Lemma 7 are small counterexamples found by a search, corners, and as many random points as the budget
allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Any

from flint import ctx

from dpverify.harness import (
    Budget,
    Check,
    ExhaustiveCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    Property,
    RuleCheck,
    SearchCheck,
    TrueNeighbour,
)
from dpverify.harness.checks import as_point
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise import noise_bounds
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import (
    compose_count,
    count_nodes,
)
from dpverify.shared_types import Values
from dpverify.symbolic.exact.evaluate import (
    decide_statement,
    definitions,
    evaluate_statement,
    requires_hold,
)
from dpverify.symbolic.exact.numbers import Exact, ball, to_exact, to_value

LeftSide = Callable[[Point, Statement], Exact]

TOO_LARGE = 10**12  # The planted fault: the left side times this number


def at_points(
    claim: str,
    smallest: Values,
    inside: Values | None,
    *,
    lhs: LeftSide | None = None,
    meets: Mapping[str, Property] | None = None,
    readings: Mapping[str, str] | None = None,
    variants: tuple[str, ...] = ("printed", "amended"),
) -> RuleCheck:
    """Return a check of a statement, in ball arithmetic, at a smallest point and at a point off every boundary."""

    def rule(times: Fraction | None) -> Callable[[Point, Statement], Outcome]:
        def is_satisfied(point: Point, statement: Statement) -> Outcome:
            at = {
                name: point[name]
                for name in point
                if name in statement.free or lhs is not None
            }
            if requires_hold(statement, at) is not True:
                return Outcome(None, note="outside the domain")

            def left(_: int = 0) -> Exact:
                if times is None:
                    return evaluate_statement(statement, at, precision=ctx.prec)[1]
                side = lhs(at, statement) if lhs is not None else None
                value = (
                    side
                    if side is not None
                    else evaluate_statement(statement, at, precision=ctx.prec)[0]
                )
                return to_exact(
                    ball(value if value is not None else Fraction(0)) * ball(times)
                )

            ok = decide_statement(statement, at, left)
            return Outcome(ok, left(), evaluate_statement(statement, at)[1])

        return is_satisfied

    points = [smallest] if inside is None else [smallest, inside]
    return RuleCheck(
        claim,
        "counterexamples",
        points=lambda _: points,
        is_satisfied=rule(Fraction(1)),
        interior=lambda point: inside is not None and point == as_point(inside),
        planted=[
            Planted(
                f"left side times {TOO_LARGE:.0e}",
                is_satisfied=rule(Fraction(TOO_LARGE)),
                at_declared_size=True,
            )
        ],
        neighbours=[
            TrueNeighbour("the right side on both sides", is_satisfied=rule(None))
        ],
        meets=meets or {},
        readings=readings or {},
        variants=variants,
        region="two points" if inside is not None else "one point",
    )


UNITS: dict[str, Any] = {"delta_G": 1, "sigma": 1}

# The square of a sum exceeds the sum of squares by more than the slack in the count
SQUARES: tuple[Values, Values] = (
    {**UNITS, "N": 6, "t": 55, "T": 55, "alpha": "1/6", "gamma": "1/2"},
    {
        **UNITS,
        "N": 65535,
        "t": 21 * 65535 + 32768,
        "T": 25 * 65535,
        "alpha": "106/6553500",
        "gamma": "47/100",
    },
)

# Runs shorter than an epoch: counterexamples through the fifth term
TOTAL: tuple[Values, Values] = (
    {
        **UNITS,
        "N": 2,
        "T": 1,
        "t": 1,
        "alpha": "1/2",
        "gamma": "1/2",
        "eta": 1,
        "L": 2,
        "delta_Delta": 1,
    },
    {
        **UNITS,
        "N": 1024,
        "T": 4,
        "t": 3,
        "alpha": "1/900",
        "gamma": "1/4",
        "eta": "1/5000",
        "L": 900,
        "delta_Delta": 3,
    },
)

PLAIN: dict[str, Any] = {"G": 1, "L": 1, "sigma": 1}
SHORT: dict[str, Any] = {
    "N": 64,
    "T": 5,
    "alpha": "1/9",
    "gamma": "1/4",
    "eta": "1/300",
    **PLAIN,
}

# Runs shorter than an epoch; for T >= 2, N must be huge (NOTES_lemma7.md)
FIRST_TERM: tuple[Values, Values] = (
    {
        "d": 1,
        "T": 1,
        "t": 1,
        "N": 2,
        "alpha": "1/2",
        "eta": "1/4",
        "G": 1,
        "L": 1,
        "delta": "1/3",
        "epsilon": 1,
    },
    {
        "d": 3,
        "T": 4,
        "t": 3,
        "N": 2**200,
        "alpha": "1/8",
        "eta": Fraction(1, 2**202),
        "G": 1,
        "L": 1,
        "delta": "1/3",
        "epsilon": 1,
    },
)


LONGEST = 40  # Largest number of epochs; sums over windows are computed term by term


def against_exact(
    claim: str,
    lhs: LeftSide | None,
    corners: Sequence[Values],
    *,
    name: str = "exact-law",
    tied: bool = False,
    least: int = 1,
    **options: Any,
) -> ExhaustiveCheck:
    """Return a check of a statement against the exact law, at corners and half as many random points as in a search."""
    region = f"{len(corners)} corners; N up to 1024, t up to {LONGEST} N, drawn; alpha >= 1/N, gamma <= 1/2"
    return ExhaustiveCheck(
        claim,
        name,
        points=_points(corners, tied, least),
        lhs=lhs,
        region=region,
        **options,
    )


def _points(
    corners: Sequence[Values], tied: bool, least: int
) -> Callable[[Budget], Iterable[dict[str, Any]]]:
    def points(budget: Budget) -> Iterable[dict[str, Any]]:
        rng = Random("Lemma 7")
        overrides: list[Values] = [*corners, *({} for _ in range(budget.examples // 2))]
        for corner in overrides:
            point = {
                **drawn(rng),
                **{name: Fraction(value) for name, value in corner.items()},
            }
            if tied:
                point["eta"] = point["gamma"] / point["N"]
            if point["t"] % point["N"] >= least - 1:
                yield point

    return points


def drawn(rng: Random) -> dict[str, Any]:
    """Draw all symbols of Lemma 7 within its conditions, often with slow decay, small gamma or whole epochs."""
    n = int(2 ** rng.uniform(1, 10))
    t = rng.choice(
        (
            rng.randint(1, LONGEST * n),
            rng.randint(1, 4 * n),
            n * rng.randint(1, LONGEST),
            2 ** rng.randint(1, 10) - 1,
        )
    )
    t = min(t, LONGEST * n)
    slow = Fraction(1, n)
    alpha = rng.choice(
        (
            slow,
            min(Fraction(1), slow * Fraction(11, 10)),
            max(slow, Fraction(rng.randint(1, 99), 100)),
        )
    )
    gamma = rng.choice(
        (
            Fraction(1, 2),
            Fraction(rng.randint(1, 49), 100),
            Fraction(1, 10 ** rng.randint(2, 6)),
        )
    )
    names = (
        "delta_G",
        "delta_Delta",
        "delta_r",
        "sigma",
        "G",
        "L",
        "epsilon",
        "variance",
    )
    sizes = {name: Fraction(rng.randint(1, 9), rng.randint(1, 9)) for name in names}
    eta = gamma / n if rng.random() < 0.5 else Fraction(rng.randint(1, 99), 100 * n)
    steps = t + rng.choice((0, 0, rng.randint(0, 3 * n)))
    shape = {
        "N": Fraction(n),
        "t": Fraction(t),
        "T": Fraction(steps),
        "d": Fraction(rng.randint(1, 50)),
    }
    return {
        **shape,
        **sizes,
        "alpha": alpha,
        "gamma": gamma,
        "eta": eta,
        "delta": Fraction(1, rng.randint(2, 10**6)),
    }


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
