"""Propositions 13 and 14, Corollary 15, equation 7: the geometric series that bound every sensitivity."""

from __future__ import annotations

from dpverify.harness import PaperChecks, SearchCheck

CHECKS = PaperChecks("tran2022", __name__)


CHECKS.add(
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
    SearchCheck("proposition-13-chord", "search"),
    SearchCheck("proposition-13-case-1", "search"),
    SearchCheck("proposition-13-case-2", "search"),
    SearchCheck("equation-7", "search"),
    SearchCheck("proposition-14", "search"),
    SearchCheck("proposition-14-special", "search"),
    SearchCheck("proposition-14-proof-1", "search"),
    SearchCheck("proposition-14-proof-2", "search"),
    SearchCheck("proposition-14-special-step", "search"),
    SearchCheck("corollary-15", "search", region={"window": (1, 64)}),
)
