"""The derivations that others cite: Lemma 7 under fresh permutations, and what Theorems 6 and 9 take from the momentum.

A statement is judged with all that its derivation cites (:class:`WholeDerivationCheck`), and every cited derivation by
itself (:class:`CitedDerivationCheck`).
"""

from __future__ import annotations

from collections.abc import Callable

from dpverify.harness import PaperChecks
from dpverify.harness.cited_check import CitedDerivationCheck, WholeDerivationCheck
from dpverify.papers.tran2022.momentum import reorder_total_derivations as reorder_total
from dpverify.papers.tran2022.noise import sr_sharp_derivations as sr_sharp
from dpverify.papers.tran2022.reorder import reorder_lemma_derivations as lemma
from dpverify.papers.tran2022.reorder import reorder_mean_derivations as mean
from dpverify.papers.tran2022.reorder import reorder_rates_derivations as rates
from dpverify.papers.tran2022.reorder import reorder_weights_derivations as weights
from dpverify.papers.tran2022.sensitivity import level_sum_derivations as level_sum
from dpverify.papers.tran2022.utility import once_derivations as utility_once
from dpverify.papers.tran2022.utility import premises_derivations as parts
from dpverify.papers.tran2022.utility import reorder_once_derivations as once
from dpverify.papers.tran2022.utility import sampling_derivations as sampling
from dpverify.papers.tran2022.utility import theorem_derivations as theorems
from dpverify.symbolic.derive.derivation import Derivation

CHECKS = PaperChecks("tran2022", __name__)

FRESH, ONCE = {"ordering": "fresh"}, {"ordering": "once"}
FRESH_6, ONCE_6 = ({**ordering, "depth": "levels"} for ordering in (FRESH, ONCE))
AMENDED = ("amended",)

CITED: tuple[tuple[str, dict[str, str], dict[str, Callable[[], Derivation]]], ...] = (
    (
        "lemma-7",
        FRESH,
        {
            "reorder-lemma-one-epoch": lemma.one_epoch,
            "reorder-lemma-all-epochs": lemma.all_epochs,
            "reorder-weights-difference": weights.difference,
            "reorder-weights-change": weights.change,
            "reorder-rates-difference-rate": rates.difference_rate,
            "reorder-rates-sum-rate": rates.sum_rate,
            "reorder-lemma-difference": lemma.difference,
            "reorder-lemma-change": lemma.change,
        },
    ),
    (
        "theorem-9",
        FRESH,
        {
            "reorder-weights-estimate": weights.estimate,
            "reorder-lemma-estimate": lemma.estimate,
            "reorder-rates-block-rate": rates.block_rate,
            "reorder-rates-plain-rate": rates.plain_rate,
            "reorder-mean-settled": mean.settled,
            "reorder-mean-one-square": mean.one_square,
            "reorder-mean-one-step": mean.one_step,
            "reorder-mean-all-windows": mean.all_windows,
            "reorder-mean-run-sum": mean.run_sum,
            "reorder-mean-run-mean": mean.run_mean,
            "utility-sampling-sampling": sampling.sampling,
            "sr-sharp-variance": sr_sharp.variance,
            "sr-sharp-norm": sr_sharp.norm,
        },
    ),
    (
        "theorem-6",
        FRESH_6,
        {
            "utility-premises-sampling": parts.sampling,
            "utility-premises-anchor-distance": parts.anchor_distance,
            "utility-premises-anchors": parts.anchors,
            "utility-premises-lag": parts.lag,
            "utility-premises-startup": parts.startup,
            "level-sum-levels-above": level_sum.levels_above,
            "level-sum-count": level_sum.count,
        },
    ),
    (
        "lemma-11-sampling",
        ONCE,
        {
            "reorder-once-above": once.above,
            "reorder-once-below": once.below,
            "reorder-once-near": once.near,
            "reorder-once-around-a-number": once.around_a_number,
            "reorder-once-mean-square": once.mean_square,
            "reorder-once-sampling": once.sampling,
        },
    ),
    (
        "theorem-6",
        ONCE_6,
        {"utility-once-first-gradient": utility_once.first_gradient, "utility-once-walk": utility_once.walk},
    ),
)
"""Every cited derivation, once, beside a statement that rests on it, under the name of its check."""


CHECKS.add(
    *(
        CitedDerivationCheck(claim, f"premise-{name}", build=build, readings=reading, variants=AMENDED)
        for claim, reading, chains in CITED
        for name, build in chains.items()
    ),
    *(
        WholeDerivationCheck(claim, "whole-derivation", build=reorder_total.bias, readings=FRESH, variants=AMENDED)
        for claim in ("lemma-7", "lemma-7-norm")
    ),
    WholeDerivationCheck("theorem-6", "whole-derivation", build=theorems.theorem_6, variants=AMENDED),
    WholeDerivationCheck("theorem-9", "whole-derivation", build=theorems.theorem_9, variants=AMENDED),
    WholeDerivationCheck("theorem-6-v", "whole-derivation", build=level_sum.derive_6_v, variants=AMENDED),
    WholeDerivationCheck(
        "theorem-8-count-later-log", "whole-derivation", build=level_sum.derive_count_later_log, variants=AMENDED
    ),
)
