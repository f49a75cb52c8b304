"""The lines of Lemma 7's proof that are formulas on both sides: sums, numbers, roots."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpverify.harness import DerivationCheck, PaperChecks, SearchCheck
from dpverify.papers.tran2022 import sr_noise_derivations as nodes
from dpverify.papers.tran2022 import sr_total_derivations as total
from dpverify.papers.tran2022 import sr_window_derivations as windows

CHECKS = PaperChecks("tran2022", __name__)

TIGHTEST = [{"N": n, "alpha": Fraction(1, n), "gamma": gamma} for n in (1, 2, 3, 64) for gamma in ("1/2", "1/1000")]
"""alpha = 1/N: the slowest decay over an epoch that Lemma 7 allows."""

INSIDE: dict[str, Any] = {"N": 3, "alpha": "37/100", "gamma": "47/100", "window": 10}
"""Away from every boundary."""

SHORT_RUNS: list[dict[str, Any]] = [
    *({"N": n, "T": steps} for n, steps in ((1, 1), (2, 1), (3, 2), (64, 64))),
    {"N": 64, "T": 5, "alpha": "1/9", "gamma": "1/4", "eta": "1/4", "G": 1, "sigma": 1, "d": 3, "L": 1},
]
"""Runs of one epoch and less; the last one away from every boundary."""

CHECKS.add(
    SearchCheck(
        "lemma-7-var-2-sum",
        "search",
        region={"q": (0, 64)},
        corners=[{**at, "q": q} for at in TIGHTEST for q in (1, 64)],
    ),
    DerivationCheck("lemma-7-var-2-sum", "derivation", build=windows.var_2_sum),
    SearchCheck(
        "lemma-7-coefficient",
        "search",
        region={"window": (1, 64)},
        corners=[*({**at, "window": i} for at in TIGHTEST for i in (1, 2, 3, 64)), INSIDE],
    ),
    DerivationCheck("lemma-7-coefficient", "derivation", build=windows.coefficient, variants=("amended",)),
    SearchCheck("lemma-7-var-3-sum", "search", region={"q": (0, 64)}, corners=[{"q": q} for q in (0, 1, 2, 64)]),
    DerivationCheck("lemma-7-var-3-sum", "derivation", build=windows.var_3_sum),
    SearchCheck("lemma-7-var-5-plugged", "search", corners=SHORT_RUNS),
    DerivationCheck("lemma-7-var-5-plugged", "derivation", build=nodes.var_5_plugged, variants=("amended",)),
    SearchCheck("lemma-7-var-numbers", "search", corners=SHORT_RUNS),
    DerivationCheck("lemma-7-var-numbers", "derivation", build=total.identity, variants=("amended",)),
    SearchCheck("lemma-7-roots", "search", corners=SHORT_RUNS),
    DerivationCheck("lemma-7-roots", "derivation", build=total.roots),
    SearchCheck("lemma-7-numbers", "search", corners=SHORT_RUNS),
    DerivationCheck("lemma-7-numbers", "derivation", build=total.numbers, variants=("amended",)),
    SearchCheck("lemma-7-gamma", "search", corners=SHORT_RUNS),
    DerivationCheck("lemma-7-gamma", "derivation", build=total.identity),
    SearchCheck("lemma-7-sigma", "search", corners=SHORT_RUNS),
    DerivationCheck("lemma-7-sigma", "derivation", build=total.identity),
)
