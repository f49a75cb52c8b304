from __future__ import annotations

import pytest

from dpverify.report.pages.layout import is_result, part_of


@pytest.mark.parametrize(
    ("claim", "result", "part"),
    [
        ("lemma-12", True, "Lemma 12"),
        ("lemma-12-var", False, "Lemma 12"),
        ("lemma-7-var-2", False, "Lemma 7"),
        ("lemma-3-7", True, "Lemma 3.7"),
        ("lemma-b-1", True, "Lemma B.1"),
        ("lemma-b-1-terms", False, "Lemma B.1"),
        ("abstract-rate", True, "Abstract"),
        ("section-4-distance", False, "Section 4"),
        ("section-4", False, "Section 4"),
        ("gaussian-divergence", False, "Gaussian"),
    ],
)
def test_a_claim_is_a_result_or_belongs_to_one(claim: str, result: bool, part: str) -> None:
    assert is_result(claim) is result
    assert part_of(claim) == part
