"""The lines of Lemma 7's proof that are formulas on both sides: sums, numbers, roots."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpverify.harness import DerivationCheck, PaperChecks, SearchCheck
from dpverify.papers.tran2022.noise import sr_noise_derivations as nodes
from dpverify.papers.tran2022.noise import sr_total_derivations as total
from dpverify.papers.tran2022.noise import sr_window_derivations as windows
from dpverify.papers.tran2022.noise.checks.sr_noise_points import PLAIN, SHORT, Values, against_exact, at_points

CHECKS = PaperChecks("tran2022", __name__)

TIGHTEST = [{"N": n, "alpha": Fraction(1, n), "gamma": gamma} for n in (1, 2, 3, 64) for gamma in ("1/2", "1/1000")]
"""alpha = 1/N: the slowest decay over an epoch that Lemma 7 allows."""

AMENDED = ("amended",)
COEFFICIENT: tuple[Values, Values] = (
    {"N": 2, "alpha": "1/2", "gamma": "1/2", "window": 3},
    {"N": 3, "alpha": "37/100", "gamma": "47/100", "window": 10},
)
PLUGGED: tuple[Values, Values] = (
    {"N": 3, "T": 2, "alpha": "1/2", "eta": 1, "L": 1, "sigma": 1},
    {"N": 64, "T": 5, "alpha": "1/9", "eta": "1/300", "L": "3/2", "sigma": "5/4"},
)
NUMBERS: tuple[Values, Values] = ({**PLAIN, "N": 2, "T": 1, "alpha": "1/2", "gamma": "1/2", "eta": 1}, SHORT)
SHORT_RUNS: list[dict[str, Any]] = [{"N": n, "T": steps} for n, steps in ((1, 1), (2, 1), (3, 2), (64, 64))]
"""Runs of one epoch and less."""

CHECKS.add(
    SearchCheck(
        "lemma-7-var-2-sum",
        "search",
        region={"q": (0, 64)},
        corners=[{**at, "q": q} for at in TIGHTEST for q in (1, 64)],
    ),
    DerivationCheck("lemma-7-var-2-sum", "derivation", build=windows.var_2_sum),
    at_points("lemma-7-coefficient", *COEFFICIENT),
    SearchCheck(
        "lemma-7-coefficient",
        "search",
        region={"window": (1, 64)},
        corners=[{**at, "window": i} for at in TIGHTEST for i in (1, 2, 3, 64)],
        variants=AMENDED,
    ),
    DerivationCheck("lemma-7-coefficient", "derivation", build=windows.coefficient, variants=AMENDED),
    SearchCheck("lemma-7-var-3-sum", "search", region={"q": (0, 64)}, corners=[{"q": q} for q in (0, 1, 2, 64)]),
    DerivationCheck("lemma-7-var-3-sum", "derivation", build=windows.var_3_sum),
    at_points("lemma-7-var-5-plugged", *PLUGGED, variants=("printed",)),
    DerivationCheck("lemma-7-var-5-plugged", "derivation", build=nodes.var_5_plugged, variants=AMENDED),
    at_points("lemma-7-var-numbers", *NUMBERS, variants=("printed",)),
    DerivationCheck("lemma-7-var-numbers", "derivation", build=total.identity, variants=AMENDED),
    against_exact("lemma-7-roots", None, SHORT_RUNS, name="drawn"),
    DerivationCheck("lemma-7-roots", "derivation", build=total.roots),
    at_points("lemma-7-numbers", {**NUMBERS[0], "d": 1}, {**SHORT, "d": 3}),
    against_exact("lemma-7-numbers", None, SHORT_RUNS, name="drawn", variants=AMENDED),
    DerivationCheck("lemma-7-numbers", "derivation", build=total.numbers, variants=AMENDED),
    DerivationCheck("lemma-7-gamma", "derivation", build=total.identity),
    DerivationCheck("lemma-7-sigma", "derivation", build=total.identity),
)
