"""The algebra between the Renyi bounds and sigma in appendices D.1 and E.1, step by step."""

from __future__ import annotations

from dpverify.harness import DerivationCheck, PaperChecks, SearchCheck
from dpverify.papers.tran2022.privacy.conversion_derivations import (
    derive_condition,
    derive_order,
    derive_quadratic,
    derive_root,
    derive_sufficient,
    derive_theorem_8_condition,
)
from dpverify.papers.tran2022.trees.one_step_derivations import derive_count_first_log, derive_geometric

CHECKS = PaperChecks("tran2022", __name__)

CHECKS.add(
    DerivationCheck("theorem-4-order", "derivation", build=derive_order),
    SearchCheck("theorem-4-order", "search"),
    DerivationCheck("theorem-4-quadratic", "derivation", build=derive_quadratic),
    SearchCheck("theorem-4-quadratic", "search"),
    DerivationCheck("theorem-4-root", "derivation", build=derive_root),
    SearchCheck("theorem-4-root", "search"),
    DerivationCheck("theorem-4-sufficient", "derivation", build=derive_sufficient),
    SearchCheck("theorem-4-sufficient", "search"),
    SearchCheck("theorem-4-condition", "search"),
    DerivationCheck("theorem-4-condition", "derivation", build=derive_condition, variants=("amended",)),
    DerivationCheck("theorem-4-geometric", "derivation", build=derive_geometric),
    SearchCheck(
        "theorem-4-geometric",
        "search",
        region={"node_start": (1, 2048), "node_end": (1, 2048)},
        corners=[{"node_start": 1, "node_end": 2048, "N": N, "alpha": f"1/{N}", "G": 1} for N in (1, 2, 3, 16, 100)],
    ),
    DerivationCheck("theorem-8-order", "derivation", build=derive_order),
    SearchCheck("theorem-8-order", "search"),
    DerivationCheck("theorem-8-condition", "derivation", build=derive_theorem_8_condition, variants=("amended",)),
    SearchCheck("theorem-8-condition", "search"),
    DerivationCheck("theorem-8-count-first-log", "derivation", build=derive_count_first_log, variants=("amended",)),
    SearchCheck("theorem-8-count-first-log", "search"),
    SearchCheck("theorem-8-count-later-log", "search"),
    *(
        SearchCheck("theorem-6-v", f"search-{depth}", readings={"depth": depth}, where=[f"depth == {value}"])
        for depth, value in (("levels", "floor(log2(T)) + 1"), ("height", "floor(log2(T))"))
    ),
)
