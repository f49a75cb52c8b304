"""Theorem 8, its families and its (epsilon, delta) form, judged by exact sums over Algorithm 2's released nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from flint import arb

from dpverify.harness import Budget, ExhaustiveCheck, Outcome, PaperChecks, Planted, Point, SearchCheck
from dpverify.harness.planted import Rule
from dpverify.ledger.statements import Statement, Variant
from dpverify.papers.tran2022.accounting.algorithm_2_sides import Nodes, exact_sums
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import tape_layout
from dpverify.papers.tran2022.privacy.checks.sides import tail_points, within_delta
from dpverify.papers.tran2022.privacy.checks.sr_sides import divergence, trade_off
from dpverify.papers.tran2022.privacy.level_bounds import Part, family_bounds, part_bound
from dpverify.papers.tran2022.sensitivity.checks.nodes import ordering_of
from dpverify.privacy.participation import pattern_count, patterns
from dpverify.symbolic.exact.numbers import ball, to_value

CHECKS = PaperChecks("tran2022", __name__)

Corner = Mapping[str, int | Fraction | str]
EVERYTHING = (0, 1, 2, 3, 4)
USED: Mapping[str, tuple[int, ...]] = {  # Which of the five sums a record is about
    "theorem-8": EVERYTHING,
    "theorem-8-family-first": (0, 2),
    "theorem-8-family-later": (1, 3),
    "theorem-8-family-r": (4,),
}

PARTS: Mapping[str, tuple[Part, Fraction]] = {  # Which bound proves it, and what mu^2 sigma^2 it allows
    "theorem-8": ("total", Fraction(7, 4)),
    "theorem-8-family-first": ("first", Fraction(1)),
    "theorem-8-family-later": ("later", Fraction(1)),
    "theorem-8-family-r": ("r-all", Fraction(1)),
}

UNITS: Mapping[str, tuple[int | str, int | str]] = {  # Both sides are proportional to z/sigma^2; G is large, L decides
    "z": (2, 2), "sigma": (1, 1), "eta": ("1/1000", 1), "G": (10**6, 10**6), "T": (1, 12), "N": (1, 8), "L": (0, 64),
    "alpha": ("1/64", 1),
}  # fmt: skip

LONG: list[Corner] = [{"T": T, "N": N, "alpha": f"1/{N}"} for T, N in ((33, 2), (50, 4), (27, 9), (65, 33))]
ONE_EXAMPLE: list[Corner] = [  # Both V are 0
    {"T": 1, "N": 1, "alpha": 1, "L": 1},
    {"T": 3, "N": 1, "alpha": 1, "L": 1},
    {"T": 64, "N": 1, "alpha": 1, "L": 0},
]

SMOOTHNESS: list[Corner] = [  # The box leaves L out
    {"T": 2, "N": 2, "alpha": "1/2", "L": 14},
    {"T": 3, "N": 3, "alpha": "1/2", "L": 7},
    {"T": 12, "N": 3, "alpha": "1/2", "L": 40},
    {"T": 40, "N": 5, "alpha": "1/4", "L": 100},
    {"T": 100, "N": 25, "alpha": "1/25", "L": 300},
]

BROKEN: Mapping[str, Mapping[str, list[Corner]]] = {  # What breaks the printed statements, one thing at a time
    "theorem-8": {"one-example": ONE_EXAMPLE, "smoothness": SMOOTHNESS},
    "theorem-8-family-first": {"one-example": ONE_EXAMPLE},
    "theorem-8-family-later": {"one-example": ONE_EXAMPLE[1:]},
    "theorem-8-dp": {
        "one-example": ONE_EXAMPLE,
        "smoothness": [{**corner, "L": 100 * int(corner["L"])} for corner in SMOOTHNESS],
        "large-epsilon": [{"T": 5, "N": 4, "alpha": "1/4", "L": "1/10"}],
    },
}


def _broken(claim: str, what: str) -> Callable[[Budget], Iterator[Corner]]:
    def points(budget: Budget) -> Iterator[Corner]:
        for corner in BROKEN[claim][what]:
            if claim != "theorem-8-dp":
                yield {"z": 2, "sigma": 1, "eta": "1/10", "G": 10**6, **corner}
            elif what == "large-epsilon":  # delta >= exp(-epsilon), as the proof has it
                yield {"eta": "1/10", "G": 1, "epsilon": 4000, "delta": "1/2", "sigma": "0.00084", **corner}
            else:
                yield {"eta": "1/10", "G": 10**6, "epsilon": 1, "delta": "1/100000", "sigma": 14, **corner}

    return points


def _region(claim: str) -> dict[str, tuple[int | str, int | str]]:
    """Region of the symbols that the record has."""
    missing = {"theorem-8-family-r": {"G"}, "theorem-8-dp": {"z", "sigma"}}.get(claim, set())
    return {name: ends for name, ends in UNITS.items() if name not in missing}


def _bound_points(budget: Budget) -> Iterator[dict[str, int | Fraction]]:
    longest = {"smoke": 10, "standard": 12, "full": 14}[budget.name]
    for N in range(1, longest):
        for T in range(1, longest + 1):
            if pattern_count(T, N, "fresh") <= 400:
                yield {"T": T, "N": N}
    for N in (2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 63, 64, 100, 255, 256, 1023, 1024, 10**6):
        for T in sorted({1, N // 2 + 1, N, N + 1, 2 * N, 2 * N + 1, 4 * N, 7 * N + 1, 2**20 - 1, 10**9}):
            yield {"T": T, "N": N}


def _bounds(claim: str, factor: Fraction) -> Rule:
    """Whether every pattern stays below the five bounds, and the bounds add up to what is allowed times a factor."""
    part, allowed = PARTS[claim]
    nodes: Nodes = "all" if part == "r-all" else "read"

    def holds(point: Point, statement: Statement) -> Outcome:
        T, N = int(point["T"]), int(point["N"])
        if max(T, N) <= 16 and pattern_count(T, N, "fresh") <= 400:
            bounds = family_bounds(T, N, all_drift=part == "r-all")
            for pattern in patterns(T, N, ordering_of(statement)):
                sums = exact_sums(T, N, Fraction(1, N), pattern, nodes)
                for i in USED[claim]:
                    if not sums[i] <= to_value(bounds[i]):
                        return Outcome(False, note=f"the visits {pattern} break bound {i}")
                if part == "first" and N == 2 and _first_of_two(sums) > factor:
                    return Outcome(False, _first_of_two(sums), factor)
        if N == 1 or (part == "first" and N == 2):
            return Outcome(True)  # N = 1: nothing moves (r), or the amended statement leaves it out
        bound, limit = part_bound(part, T, N), arb(1) * ball(allowed * factor)
        return Outcome(bool(bound <= limit), bound, limit)

    return holds


def _first_of_two(sums: Sequence[object]) -> Fraction:
    """mu^2 sigma^2 of G and Delta inside [1, 4] with N = 2, where V_<=2N = 3."""
    g, delta = (Fraction(str(sums[i])) for i in (0, 2))
    return g / 12 + delta / 3


ENOUGH: Mapping[str, str] = {
    "theorem-8": "the five bounds add up to at most 1.704 for every N >= 2 and T; NOTES_privacy.md, section 3",
    "theorem-8-family-first": "(6 + 8 L)/(12 log2 N) is at most 1 from N = 3 on (N = 3: 0.74); N = 2 is all patterns, "
    "of which no node holds two visits, so that alpha does not matter but for decay: 1 at most",
    "theorem-8-family-later": "5 (1 + 2L)/(16 log2 N) <= 15/16 for every N >= 2, as m <= T/N",
    "theorem-8-family-r": "((1 + 2L) + 2.503 N/2^L) ((N-1)/N)^2/(4 log2 N) is below 0.66 for every N >= 2; N = 1 moves "
    "nothing",
}


DELTAS = [Fraction(1, 10**exponent) for exponent in (1, 2, 5, 10, 50, 300, 2000)]
SHARES = [Fraction(1, 1000), Fraction(1), Fraction(4), Fraction(9)]

TAIL = (
    "mu <= 1.323 epsilon/(4 r) with r = sqrt(log(1/delta)), so delta(epsilon) <= P(Z > x) <= exp(-x^2/2)/2 for "
    "x = epsilon/mu - mu/2 >= 3.023 r - 0.1654 epsilon/r >= 1.53 r > sqrt(2) r, and exp(-r^2) = delta"
)


def _groups(all_groups: bool) -> Rule:
    def holds(point: Point, statement: Statement) -> Outcome:
        """Whether each released node is in exactly one of the three groups."""
        T, N = int(point["T"]), int(point["N"])
        for family, start, end in tape_layout(N, T).tolist():
            groups = [family != 2 and end <= 2 * N, family != 2 and end > 2 * N, family == 2 and all_groups]
            if sum(groups) != 1:
                return Outcome(False, note=f"family {family}, node [{start}, {end}] is in {sum(groups)} groups")
        return Outcome(True)

    return holds


REGIONS: Mapping[str, str] = {
    "one-example": "N = 1: V_<=2N = V_>2N = 0, so the nodes of G have no noise",
    "smoothness": "L large, with N >= 2: the box's delta_Delta and delta_r leave it out",
    "large-epsilon": "epsilon far above log(1/delta), nothing else amiss",
}


def _held(claim: str) -> tuple[Variant, ...]:
    """Which statement of a record holds."""
    return ("printed",) if claim == "theorem-8-family-r" else ("amended",)


CHECKS.add(
    *(
        check
        for claim, used in USED.items()
        for check in (
            SearchCheck(
                claim,
                "search",
                lhs=divergence(used, "all" if claim == "theorem-8-family-r" else "read"),
                region=_region(claim),
                also={"T": "integer, T >= 1"},
                corners=LONG,
                variants=_held(claim),
                seconds_each=0.05,
            ),
            ExhaustiveCheck(
                claim,
                "family-bounds",
                points=_bound_points,
                holds=_bounds(claim, Fraction(1)),
                where=["alpha >= 1/N"] if claim == "theorem-8-family-r" else ["alpha >= 1/N", "N >= 2"],
                why_sufficient=ENOUGH[claim],
                planted=[Planted("half of the divergence", holds=_bounds(claim, Fraction(1, 2)))],
                region="every pattern of every short run; the arithmetic for runs up to T = 10^9",
                variants=_held(claim),
            ),
        )
    ),
    *(
        ExhaustiveCheck(
            claim,
            what,
            points=_broken(claim, what),
            lhs=(trade_off if claim == "theorem-8-dp" else divergence)(USED.get(claim, EVERYTHING)),
            region=REGIONS[what],
            variants=("printed",),
        )
        for claim, cases in BROKEN.items()
        for what in cases
    ),
    ExhaustiveCheck(
        "theorem-8-dp",
        "tail",
        points=tail_points(DELTAS, SHARES),
        holds=within_delta(Fraction(7, 4), 4, Fraction(1)),
        where=["alpha >= 1/N", "N >= 2", "sigma >= 4*sqrt(log(1/delta))/epsilon", "epsilon <= 9*log(1/delta)"],
        why_sufficient=TAIL,
        planted=[
            Planted(
                "epsilon up to 12 log(1/delta)",
                holds=within_delta(Fraction(7, 4), 4, Fraction(4, 3)),
                at_declared_size=True,
            )
        ],
        region="epsilon/log(1/delta) up to 9, delta down to 1e-2000",
        variants=("amended",),
    ),
    SearchCheck(
        "theorem-8-dp",
        "search",
        lhs=trade_off(EVERYTHING),
        region={**_region("theorem-8-dp"), "epsilon": ("1/100", 400), "delta": ("1/1000000000000", "99/100")},
        corners=[{**corner, "epsilon": 1, "delta": "1/100000", "sigma": 14} for corner in LONG[:2]],
        variants=("amended",),
        seconds_each=0.05,
    ),
    ExhaustiveCheck(
        "theorem-8-composition",
        "groups",
        points=lambda budget: [{"N": N, "T": T} for N in (1, 2, 3, 5, 8, 33) for T in (1, 2, 7, 64, 100)],
        holds=_groups(True),
        why_sufficient="Renyi divergences of adaptively composed mechanisms add up, order by order, and every "
        "released node is in exactly one of the three groups: G or Delta inside [1, 2N], G or Delta elsewhere, r",
        planted=[Planted("the r nodes are forgotten", holds=_groups(False))],
        region="every node that Algorithm 2 releases in short runs",
    ),
)
