"""From Renyi bounds to (epsilon, delta) and sigma: the algebra step by step, the cited conversion at its worst."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpverify.harness import Budget, ExhaustiveCheck, Outcome, PaperChecks, Planted, Point, SearchCheck
from dpverify.harness.cited_check import CitedDerivationCheck
from dpverify.harness.planted import Rule
from dpverify.harness.text_proof import from_lemma
from dpverify.ledger.statements import Statement
from dpverify.privacy.two_point import near_worst_laws, two_point_delta
from dpverify.symbolic.exact.numbers import ball

CHECKS = PaperChecks("tran2022", __name__)


def _laws(budget: Budget) -> Iterator[dict[str, Fraction]]:
    for order, divergence, delta, p, q in near_worst_laws():
        yield {"z": order, "x": divergence, "delta": delta, "p": p, "q": q}


def _converted(share: Fraction) -> Rule:
    """Whether delta is enough at x + log(share/delta)/(z - 1); the paper's share is 1."""

    def holds(point: Point, statement: Statement) -> Outcome:
        x, z, delta = (ball(point[name]) for name in ("x", "z", "delta"))
        epsilon = x + (ball(share) / delta).log() / (z - 1)
        exact = two_point_delta(point["p"], point["q"], epsilon)
        ok = True if exact <= delta else False if exact > delta else None
        return Outcome(ok, exact, point["delta"])

    return holds


CHECKS.add(
    SearchCheck("theorem-4-order", "search"),
    SearchCheck("theorem-4-quadratic", "search"),
    SearchCheck("theorem-4-root", "search"),
    SearchCheck("theorem-4-sufficient", "search"),
    SearchCheck("theorem-4-condition", "search"),
    SearchCheck(
        "theorem-4-geometric",
        "search",
        region={"node_start": (1, 2048), "node_end": (1, 2048)},
        corners=[{"node_start": 1, "node_end": 2048, "N": N, "alpha": f"1/{N}", "G": 1} for N in (1, 2, 3, 16, 100)],
    ),
    SearchCheck("theorem-8-order", "search"),
    SearchCheck("theorem-8-condition", "search"),
    SearchCheck("theorem-8-count-first-log", "search"),
    SearchCheck("theorem-8-count-later-log", "search"),
    *(
        SearchCheck("theorem-6-v", f"search-{depth}", readings={"depth": depth}, where=[f"depth == {value}"])
        for depth, value in (("levels", "floor(log2(T)) + 1"), ("height", "floor(log2(T))"))
    ),
    CitedDerivationCheck("theorem-10-rdp-to-dp", "premise-event", build=from_lemma("an-event")),
    ExhaustiveCheck(
        "theorem-10-rdp-to-dp",
        "two-point-laws",
        points=_laws,
        holds=_converted(Fraction(1)),
        planted=[Planted("log(1/(3 delta)) instead of log(1/delta)", holds=_converted(Fraction(1, 3)))],
        region="two-point laws near the worst, orders from 1.01 to 200, delta from 1e-12 to 1/2",
    ),
)
