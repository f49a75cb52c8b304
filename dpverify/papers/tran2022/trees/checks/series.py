"""Propositions 13 and 14, Corollary 15, equation 7: the geometric series that bound every sensitivity."""

from __future__ import annotations

from dpverify.harness import DerivationCheck, PaperChecks, SearchCheck
from dpverify.papers.tran2022.trees import series_derivations as series
from dpverify.papers.tran2022.trees.one_step_derivations import derive_chord, derive_special_step

CHECKS = PaperChecks("tran2022", __name__)


CHECKS.add(
    DerivationCheck("proposition-13", "derivation", build=series.derive_proposition_13),
    SearchCheck(
        "proposition-13",
        "search",
        # in closed form, apart from the ledger's own evaluation of the sum
        lhs=lambda point, _: 1 / (1 - (1 - point["alpha"]) ** int(point["N"])),
        region={"N": (1, 4096)},
        corners=[
            {"alpha": 1, "N": 1},
            {"alpha": "1/2", "N": 2},
            {"alpha": "1/1000000", "N": 3},
            {"alpha": "1/1023", "N": 1023},
        ],
    ),
    DerivationCheck("proposition-13-chord", "derivation", build=derive_chord),
    SearchCheck("proposition-13-chord", "search"),
    DerivationCheck("proposition-13-case-1", "derivation", build=series.derive_case_1),
    SearchCheck("proposition-13-case-1", "search"),
    DerivationCheck("proposition-13-case-2", "derivation", build=series.derive_case_2),
    SearchCheck("proposition-13-case-2", "search"),
    DerivationCheck("equation-7", "derivation", build=series.derive_case_2),
    SearchCheck("equation-7", "search"),
    DerivationCheck("proposition-14", "derivation", build=series.derive_proposition_14),
    SearchCheck("proposition-14", "search"),
    DerivationCheck("proposition-14-special", "derivation", build=series.derive_special),
    SearchCheck("proposition-14-special", "search"),
    SearchCheck("proposition-14-proof-1", "search"),
    SearchCheck("proposition-14-proof-2", "search"),
    DerivationCheck("proposition-14-special-step", "derivation", build=derive_special_step),
    SearchCheck("proposition-14-special-step", "search"),
    DerivationCheck("corollary-15", "derivation", build=series.derive_corollary_15),
    SearchCheck("corollary-15", "search", region={"window": (1, 64)}),
)
