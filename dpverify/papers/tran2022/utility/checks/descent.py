"""Lemma 5: the cases of its proof, the step of smoothness, the sum, and the lemma."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dpverify.harness import Budget, DerivationCheck, Outcome, PaperChecks, Planted, Point, SearchCheck
from dpverify.harness.search.rule_check import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility import descent_derivations as derive
from dpverify.papers.tran2022.utility.descent_bounds import attained_gradient, attained_loss, worst_alignment
from dpverify.symbolic.exact.numbers import Exact

CHECKS = PaperChecks("tran2022", __name__)

TURNED: list[dict[str, Any]] = [
    {"grad_norm": 1, "error_norm": "11/10"},
    {"grad_norm": 1, "error_norm": 2},
    {"grad_norm": "7/2", "error_norm": "15/4"},
    {"grad_norm": 1, "error_norm": 1},
    {"grad_norm": 1, "error_norm": 0},
    {"grad_norm": 1, "error_norm": "1/2"},
]
"""Errors a little larger than the gradient, which may turn the momentum round, and the ends of the cases."""

RUNS: list[dict[str, Any]] = [
    {"drop": drop, "eta": eta, "T": top, "L": smooth, "error_sum": errors}
    for drop, eta, top, smooth, errors in (
        (1, 1, 1, 0, 0), (0, 1, 1, 1, 0), (-1, 1, 1, 0, "1001/1000"), ("1/2", "1/8", 4, "3/2", "1/4"),
        (-3, "1/3", 5, 0, "901/100"),
    )
]  # fmt: skip
"""Runs on a line: down a slope, down a bowl, up a slope with a momentum turned round by a slightly larger error."""


def _alignment(point: Point, statement: Statement) -> Exact:
    return worst_alignment(point["grad_norm"], point["error_norm"])


def _loss(point: Point, statement: Statement) -> Exact:
    return attained_loss(point["loss"], point["alignment"], point["eta"], point["L"])


def _mean(point: Point, statement: Statement) -> Exact:
    return attained_gradient(*(point[name] for name in ("drop", "eta", "T", "L", "error_sum")))


def _lengths(_: Budget) -> Iterable[dict[str, Any]]:
    """|g| = 1, |e| at the ends of its range and between."""
    return ({"error_norm": Fraction(k, 8)} for k in range(5))


def _length_between(point: Point, half: Fraction) -> Outcome:
    """|g + e| runs from 1 - |e| to 1 + |e|, for |g| = 1."""
    e = point["error_norm"]
    return Outcome(half <= 1 - e and 1 + e <= 2 - half, 1 - e, half, "the smallest |g + e|, for |g| = 1")


CHECKS.add(
    SearchCheck(
        "lemma-5-smoothness",
        "quadratic",
        lhs=_loss,
        corners=[
            {"loss": 0, "alignment": -1, "eta": 1, "L": 0},
            {"loss": 1, "alignment": "-1/2", "eta": "1/4", "L": "1/3"},
        ],
    ),
    DerivationCheck("lemma-5-smoothness", "derivation", build=derive.smoothness, variants=("amended",)),
    RuleCheck(
        "lemma-5-case-1-norm",
        "ends",
        points=_lengths,
        holds=lambda point, statement: _length_between(point, Fraction(1, 2)),
        why_sufficient="scaled to |g| = 1, |g + e| takes all values from 1 - |e| to 1 + |e|; both ends are linear in "
        "|e|, so |e| = 0 and |e| = 1/2 decide",
        planted=[
            Planted("1/2 for 21/40", holds=lambda p, s: _length_between(p, Fraction(21, 40)), at_declared_size=True)
        ],
        region="|g| = 1, 0 <= |e| <= 1/2",
    ),
    SearchCheck("lemma-5-case-1", "worst-angle", lhs=_alignment, corners=TURNED),
    DerivationCheck("lemma-5-case-1", "derivation", build=derive.alignment),
    SearchCheck("lemma-5-case-2-sign", "worst-angle", lhs=_alignment, corners=TURNED),
    DerivationCheck("lemma-5-case-2-sign", "derivation", build=derive.angle, variants=("amended",)),
    SearchCheck("lemma-5-case-2", "worst-angle", lhs=_alignment, corners=TURNED),
    DerivationCheck("lemma-5-case-2", "derivation", build=derive.large_error, variants=("amended",)),
    SearchCheck("lemma-5-cases", "worst-angle", lhs=_alignment, corners=TURNED),
    DerivationCheck("lemma-5-cases", "derivation", build=derive.alignment),
    SearchCheck("lemma-5-telescoped", "runs-on-a-line", lhs=_mean, corners=RUNS),
    DerivationCheck("lemma-5-telescoped", "derivation", build=derive.telescoped),
    SearchCheck("lemma-5", "runs-on-a-line", lhs=_mean, corners=RUNS),
    DerivationCheck("lemma-5", "derivation", build=derive.telescoped),
)
