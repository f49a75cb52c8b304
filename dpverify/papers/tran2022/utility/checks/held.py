"""Check where refuted bounds hold as printed: a search finds no point where the corrected bounds exceed them."""

from __future__ import annotations

from dpverify.harness import PaperChecks, SearchCheck
from dpverify.harness.search.derived_checks import held_check
from dpverify.papers.tran2022.noise.checks.sr_noise_points import TOTAL

CHECKS = PaperChecks("tran2022", __name__)

ONCE = {"ordering": "once"}
FRESH = {"ordering": "fresh"}
SMALL = [
    {"N": 2, "T": 2, "t": 2},
    {"N": 2, "T": 3, "t": 3},
    {"N": 1, "T": 1, "t": 1},
    {"N": 3, "T": 7, "t": 7},
]

# A point just outside the region in which the
# bound holds, tried where a condition is left out
BEYOND: list[dict[str, int | str]] = [
    {"N": 2, "T": 2**80, "L": 1, "G": "1/1000000000", "R": 0, "delta": "1/3"}
]

CHECKS.add(
    held_check(
        "theorem-9",
        [
            {"N": 2, "T": 8},
            {"N": 1000, "T": 10**9},
            {"N": 10**6, "T": 4 * 10**6},
            *BEYOND,
        ],
        readings=FRESH,
    ),
    held_check("lemma-7", SMALL, readings=ONCE),
    held_check("lemma-7-var", [*SMALL, *TOTAL]),
    held_check("lemma-7-var-5", [{"N": 2, "T": 3, "t": 3}, {"N": 2, "T": 2, "t": 2}]),
    held_check("lemma-7-count-2", [{"N": 2}, {"N": 3}]),
    held_check("lemma-7-count-5", [{"T": 2, "t": 2}, {"T": 3, "t": 3}]),
    held_check(
        "lemma-11",
        [{"N": 1, "alpha": 1, "t": 1}, {"N": 64, "alpha": "1/64", "t": 134}],
        readings=FRESH,
    ),
    held_check(
        "lemma-5-case-2-sign",
        [{"error_norm": 1, "grad_norm": 1}, {"error_norm": 2, "grad_norm": 1}],
    ),
    held_check("algorithm-2-v-le-2n", [{"N": n} for n in (6, 7, 8, 15, 16)]),
    held_check("algorithm-2-v-gt-2n", [{"N": n, "T": 1} for n in (2, 3, 4)]),
    SearchCheck(
        "lemma-7-numbers", "search-held", corners=[{"N": 2, "T": 2}], variants=("held",)
    ),
)
