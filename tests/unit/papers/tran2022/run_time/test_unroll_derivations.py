"""The weight of a window, derived."""

from __future__ import annotations

from dpverify.papers.tran2022.run_time.unroll_derivations import weight
from dpverify.symbolic.derive.derivation import check_derivation


def test_the_lemma_is_complete_and_its_faults_are_not() -> None:
    assert check_derivation(weight(), points=60).complete
    for fault in ("no decay", "one epoch late"):
        assert not check_derivation(weight(fault=fault), points=60).complete
