"""Orders: where a paper prints O(...) of a formula, the record has the relation O."""

from __future__ import annotations

import re

from dpverify.ledger.load import load_specs

PRINTED_ORDER = re.compile(r"O\}?\s*(\\left|\\[bB]igg?)?\s*\(")
ABOUT_SOMETHING_ELSE = {
    "zhang2021:section-1-1-e-3-time",  # that a given order is exponential
    "zhang2021:section-1-1-gap-p-1",  # that one rate is larger than another
    # that two printed rates are the same where n = d
    "zhang2021:section-1-2-p-2-regime",
    "zhang2021:theorem-3-2-stages",  # the choice of K
    "zhang2021:theorem-3-4-case",  # which of two terms is larger
    "zhang2021:theorem-3-4-other-case",
    # whether two places of the paper print the same rate
    "zhang2021:remark-6-p-1-rate",
    "zhang2021:remark-6-p-2-rate",
    "zhang2021:remark-6-p-2-ball",
}


def test_a_formula_that_a_paper_bounds_by_an_order_is_recorded_as_an_order() -> None:
    other = set()
    orders = 0
    for paper in load_specs().papers.values():
        for claim in paper.claims.values():
            record = claim.record
            if record.lhs is None or not PRINTED_ORDER.search(record.quote):
                continue
            if record.relation in ("O", "O~"):
                orders += 1
            else:
                other.add(claim.key)
    assert other == ABOUT_SOMETHING_ELSE
    assert orders > 20
