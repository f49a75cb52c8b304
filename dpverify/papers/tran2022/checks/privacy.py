"""Theorem 4 and its (epsilon, delta) form: the conclusions, judged by the exact accountant on the whole domain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from dpverify.harness import Budget, ExhaustiveCheck, Outcome, PaperChecks, Planted, Point, SearchCheck
from dpverify.harness.planted import Rule
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.accountant_exhaustive import largest_sum
from dpverify.papers.tran2022.checks.privacy_sides import momentum_delta, momentum_divergence, ordering_of, value_of
from dpverify.papers.tran2022.privacy_level_bounds import broken_step, printed_v, squares_bound
from dpverify.papers.tran2022.privacy_signs import sign_delta, sign_divergence, sign_law
from dpverify.privacy.gaussian_balls import delta_ball
from dpverify.privacy.participation import pattern_count, patterns
from dpverify.symbolic.numbers import to_ball, to_value

CHECKS = PaperChecks("tran2022", __name__)

Corner = Mapping[str, int | Fraction | str]

MOST_PATTERNS = 800
"""Runs with more patterns than this are not gone through one by one."""

UNITS: Mapping[str, tuple[int, int]] = {"z": (2, 2), "sigma": (1, 1)}
"""Both sides are proportional to z/sigma^2."""

RUNS: Mapping[str, tuple[int | str, int]] = {"T": (1, 96), "N": (1, 320), "alpha": ("1/65536", 1)}
"""Drawn runs; the corners reach further."""

LONG: list[Corner] = [
    {"T": 1023, "N": 64, "alpha": "1/64"},
    {"T": 1281, "N": 1025, "alpha": "1/1025"},
    {"T": 1030, "N": 1025, "alpha": "1/1025"},
    {"T": 2050, "N": 1025, "alpha": "1/1025"},
    {"T": 1000, "N": 100, "alpha": "1/100"},
]
"""Runs past toys. With N = 2^k + 1 and T a little above N two visits share almost every node."""

WITHIN: Mapping[str, list[str]] = {
    "cut-short": ["T > N", "mod(T, N) >= 1", "alpha*N >= 1"],
    "whole-epochs": ["mod(T, N) == 0", "alpha*N >= 1"],
}
"""Where the printed conclusion holds, though not by the printed proof."""

BROKEN: Mapping[str, list[Corner]] = {
    "small-alpha": [
        {"T": 8, "N": 1, "alpha": "1/12"},
        {"T": 16, "N": 1, "alpha": "1/1000"},
        {"T": 64, "N": 2, "alpha": "1/1000"},
        {"T": 96, "N": 3, "alpha": "1/100"},
        {"T": 128, "N": 4, "alpha": "1/1000"},
        {"T": 256, "N": 8, "alpha": "1/1000"},
    ],
    "short-runs": [
        {"T": 1, "N": 5, "alpha": 1},
        {"T": 1, "N": 9, "alpha": 1},
        {"T": 3, "N": 29, "alpha": "1/2"},
        {"T": 5, "N": 64, "alpha": "1/4"},
        {"T": 100, "N": 1000, "alpha": "1/1000"},
    ],
}
"""One condition broken, the others kept: alpha below 1/N in whole epochs, T below N/4 with alpha at least 1/N."""


def depth_of(statement: Statement) -> list[str]:
    """Say what the reading of R means."""
    text = {"levels": "depth == floor(log2(T)) + 1", "height": "depth == floor(log2(T))"}
    return [text[statement.reading["depth"]]]


def _within(name: str) -> Callable[[Statement], list[str]]:
    return lambda statement: [*depth_of(statement), *WITHIN[name]]


def _depth(statement: Statement, steps: int) -> int:
    return steps.bit_length() - (statement.reading["depth"] == "height")


def _exhaustive(point: Point, statement: Statement) -> Fraction:
    """The divergence from every pattern and every node, in rational numbers."""
    T, N = int(point["T"]), int(point["N"])
    squares, _ = largest_sum(T, N, point["alpha"], ordering_of(statement))
    return point["z"] * squares / (8 * printed_v(T, N, int(point["depth"])) * point["sigma"] ** 2)


def _small_runs(reading: str) -> Callable[[Budget], Iterator[dict[str, int | Fraction | str]]]:
    def points(budget: Budget) -> Iterator[dict[str, int | Fraction | str]]:
        longest = {"smoke": 9, "standard": 12, "full": 14}[budget.name]
        for N in range(1, longest + 1):
            for T in range(1, longest + 1):
                if pattern_count(T, N, "fresh") <= MOST_PATTERNS:
                    depth = T.bit_length() - (reading == "height")
                    for alpha in sorted({Fraction(1), Fraction(1, N), Fraction(1, 50)}):
                        yield {"T": T, "N": N, "alpha": alpha, "depth": depth, "z": 2, "sigma": 1}

    return points


def _step_points(budget: Budget) -> Iterator[dict[str, int | Fraction | str]]:
    """Short runs, of which every pattern is tried, and long ones, for the arithmetic."""
    longest = {"smoke": 9, "standard": 12, "full": 14}[budget.name]
    for N in range(1, longest + 1):
        for T in range(-(-N // 4), longest + 1):
            if pattern_count(T, N, "fresh") <= MOST_PATTERNS:
                for alpha in sorted({Fraction(1, N), Fraction(1)}):
                    yield {"T": T, "N": N, "alpha": alpha}
    for N in (1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 1023, 1024, 1025, 10**6):
        runs = {-(-N // 4), N - 1, N, N + 1, 2 * N - 1, 2 * N, 2 * N + 1, 3 * N - 1, 3 * N, 3 * N + 1, 4 * N, 7 * N + 1}
        runs |= {(2 << N.bit_length()) * k - 1 for k in (1, 2, 3, 4, 6, 8, 12, 16)} | {100 * N, 10**9}
        for T in sorted(runs):
            if T >= 1 and 4 * T >= N:
                yield {"T": T, "N": N, "alpha": Fraction(1, N)}


def _steps(factor: int) -> Rule:
    def holds(point: Point, statement: Statement) -> Outcome:
        """Whether every step of the bound holds, and the bound is at most `factor` times V."""
        T, N, alpha = int(point["T"]), int(point["N"]), point["alpha"]
        bound, allowed = squares_bound(T, N), factor * printed_v(T, N, _depth(statement, T))
        if bound > allowed:
            return Outcome(False, bound, allowed, "the bound on the sum of squares is above what V allows")
        if max(T, N) <= 16 and pattern_count(T, N, "fresh") <= MOST_PATTERNS:
            for pattern in patterns(T, N, ordering_of(statement)):
                if broken := broken_step(T, N, alpha, pattern):
                    return Outcome(False, note=f"the visits {pattern}: {broken}")
        return Outcome(True, bound, allowed)

    return holds


LEVELS = (
    "Levels up to floor(log2 N): two visits per node at most, so squares of at most twice the visits. Above: "
    "floor(T/2^(L+1)) released nodes of weight at most 2, 2.368, 2.582 for two, three, more visits. The sum is at most "
    "4V for every T >= N/4; only floor(T/2^(L+1)) = 1, 2, 3, 5, 7 and one to four epochs are close. NOTES_privacy.md, 1"
)


def _sign_points(budget: Budget) -> Iterator[dict[str, int | Fraction | str]]:
    del budget
    yield {"T": 129, "N": 1, "alpha": Fraction(1, 1000), "sigma": Fraction(1, 10), "z": 2}
    yield {"T": 2, "N": 400, "alpha": Fraction(1, 400), "sigma": Fraction(1, 10), "z": 2}


def _sign_points_dp(budget: Budget) -> Iterator[dict[str, int | Fraction | str]]:
    """At the sigma of the theorem, rounded up, and for delta >= exp(-epsilon)."""
    del budget
    yield {"T": 257, "N": 1, "alpha": Fraction(1, 10**6), "sigma": "0.566", "epsilon": 12, "delta": "1/100000"}
    yield {"T": 2, "N": 10**4, "alpha": Fraction(1, 10**4), "sigma": "0.566", "epsilon": 12, "delta": "1/100000"}
    yield {"T": 2, "N": 1, "alpha": 1, "sigma": "0.00556", "epsilon": 300, "delta": "1/2"}


PROBLEM = (
    "published iterates of d = 1, f(w, x) = x w, x = G for one example and -G for the neighbour and all others: the "
    "sign of w_T - w_{T-1} alone, the order of the examples hidden"
)


def _signs(tightened: int) -> Rule:
    def holds(point: Point, statement: Statement) -> Outcome:
        """Whether the published sign alone stays within the printed guarantee."""
        T = int(point["T"])
        law = sign_law(T, int(point["N"]), point["alpha"], point["sigma"], _depth(statement, T))
        if statement.quantity == "renyi_divergence":
            seen = sign_divergence(law, point["z"])
            allowed = value_of(statement, point, "z") / (2 * value_of(statement, point, "sigma") ** 2)
        else:
            seen, allowed = sign_delta(law, point["epsilon"]), to_ball(to_value(point["delta"]))
        allowed = allowed / tightened
        if seen > allowed:
            return Outcome(False, seen, allowed, PROBLEM)
        return Outcome(True if seen <= allowed else None, seen, allowed)

    return holds


NOT_PRIVATE: list[Corner] = [
    {"T": 1, "N": 1, "alpha": 1, "epsilon": 49, "delta": "1/2", "sigma": "1/29"},
    {"T": 64, "N": 8, "alpha": "1/8", "epsilon": 100, "delta": "1/10", "sigma": "0.0304"},
    {"T": 64, "N": 1, "alpha": "1/1000", "epsilon": 5, "delta": "1/100", "sigma": "0.86"},
    {"T": 1, "N": 100, "alpha": 1, "epsilon": 5, "delta": "1/100", "sigma": "0.86"},
]
"""One condition broken at a time: epsilon far above log(1/delta) (twice), alpha below 1/N, T below N/4."""


def _at_depth(corners: Sequence[Corner], reading: str, units: Corner) -> Callable[[Budget], Iterator[Corner]]:
    def points(budget: Budget) -> Iterator[Corner]:
        del budget
        for corner in corners:
            yield {**units, **corner, "depth": int(corner["T"]).bit_length() - (reading == "height")}

    return points


def _tail_points(budget: Budget) -> Iterator[dict[str, int | Fraction | str]]:
    """Epsilon up to 7/3 of log(1/delta), from delta near 1 to 1e-2000."""
    del budget
    for exponent in (Fraction(1, 100), Fraction(1, 4), 1, 2, 5, 10, 50, 300, 2000):
        bottom = 10**exponent if isinstance(exponent, int) else None
        delta = Fraction(1, bottom) if bottom else 1 - Fraction(exponent)
        log = to_ball(to_value(1 / delta)).log()
        for share in (Fraction(1, 1000), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(7, 3)):
            epsilon = Fraction(int((log * 10**6 * share.numerator / share.denominator).floor().fmpz()), 10**6)
            yield {"delta": delta, "epsilon": epsilon}


def _tail(share: Fraction) -> Rule:
    def holds(point: Point, statement: Statement) -> Outcome:
        """Whether a Gaussian with mu = 1/sigma, at the smallest sigma, meets delta; epsilon is stretched by `share`."""
        del statement
        delta = to_ball(to_value(point["delta"]))
        log, epsilon = (1 / delta).log(), to_ball(to_value(point["epsilon"] * share))
        exact = delta_ball(epsilon / (2 * log.sqrt()), epsilon)
        return Outcome(True if exact <= delta else False if exact > delta else None, exact, delta)

    return holds


TAIL = (
    "mu <= 1/sigma <= epsilon/(2 r) with r = sqrt(log(1/delta)), so delta(epsilon) <= P(Z > x) <= exp(-x^2/2)/2 for "
    "x = epsilon/mu - mu/2 >= 2 r - epsilon/(4 r) >= (2 - 7/12) r > sqrt(2) r, and exp(-r^2) = delta"
)

SHORT_RUNS = "every pattern of every short run, three values of alpha"

CHECKS.add(
    *(
        SearchCheck(
            "theorem-4",
            name,
            lhs=momentum_divergence,
            where=_within(name),
            region={**RUNS, **UNITS},
            corners=LONG,
            variants=("printed",),
            seconds_each=0.02,
        )
        for name in WITHIN
    ),
    *(
        ExhaustiveCheck(
            "theorem-4",
            f"{name}-{depth}",
            readings={"depth": depth},
            points=_at_depth(corners, depth, {"z": 2, "sigma": 1}),
            lhs=momentum_divergence,
            region="one condition is broken, the others are kept",
            variants=("printed",),
        )
        for name, corners in BROKEN.items()
        for depth in ("levels", "height")
    ),
    SearchCheck(
        "theorem-4",
        "search",
        lhs=momentum_divergence,
        where=depth_of,
        region={**RUNS, **UNITS},
        corners=LONG,
        variants=("amended",),
        seconds_each=0.02,
    ),
    *(
        ExhaustiveCheck(
            "theorem-4",
            f"all-patterns-{depth}",
            readings={"depth": depth},
            points=_small_runs(depth),
            lhs=_exhaustive,
            region=SHORT_RUNS,
            variants=("printed",),
        )
        for depth in ("levels", "height")
    ),
    ExhaustiveCheck(
        "theorem-4",
        "levels",
        points=_step_points,
        holds=_steps(4),
        enough=LEVELS,
        planted=[Planted("a quarter of the noise variance less", holds=_steps(3), at_declared_size=True)],
        region="every pattern of every short run; the arithmetic for runs up to T = 10^9",
        variants=("amended",),
    ),
    ExhaustiveCheck(
        "theorem-4",
        "published-iterates",
        points=_sign_points,
        holds=_signs(1),
        planted=[Planted("a guarantee a thousand times as strong", holds=_signs(1000))],
        region=PROBLEM,
        variants=("printed",),
    ),
    SearchCheck(
        "theorem-4-dp",
        "search",
        lhs=momentum_delta,
        where=depth_of,
        region={**RUNS, "epsilon": ("1/100", 400), "delta": ("1/1000000000000", "99/100")},
        corners=[
            {"T": 1023, "N": 64, "alpha": "1/64", "epsilon": 1, "delta": "1/100000", "sigma": "6.79"},
            {"T": 1281, "N": 1025, "alpha": "1/1025", "epsilon": 1, "delta": "1/100000", "sigma": "6.79"},
        ],
        variants=("amended",),
        seconds_each=0.02,
    ),
    *(
        ExhaustiveCheck(
            "theorem-4-dp",
            f"one-condition-{depth}",
            readings={"depth": depth},
            points=_at_depth(NOT_PRIVATE, depth, {}),
            lhs=momentum_delta,
            region="one of the conditions of the corrected statement is broken at a time",
            variants=("printed",),
        )
        for depth in ("levels", "height")
    ),
    ExhaustiveCheck(
        "theorem-4-dp",
        "tail",
        points=_tail_points,
        holds=_tail(Fraction(1)),
        enough=TAIL,
        planted=[Planted("epsilon up to 2.8 log(1/delta)", holds=_tail(Fraction(6, 5)), at_declared_size=True)],
        region="epsilon/log(1/delta) up to 7/3, delta from 0.99 down to 1e-2000",
        variants=("amended",),
    ),
    ExhaustiveCheck(
        "theorem-4-dp",
        "published-iterates",
        points=_sign_points_dp,
        holds=_signs(1),
        planted=[Planted("a guarantee a thousand times as strong", holds=_signs(1000))],
        region=PROBLEM,
        variants=("printed",),
    ),
)
