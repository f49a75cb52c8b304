"""Gradients that a run asks for."""

from __future__ import annotations

from fractions import Fraction

from dpverify.ledger import load_specs
from dpverify.papers.tran2022.run_time.checks import run_time_counts

RUN_TIME = load_specs().claim("tran2022:section-5-run-time").statement()


def test_gradients_that_are_asked_for_are_counted() -> None:
    point = {"N": Fraction(3), "T": Fraction(8)}
    assert run_time_counts._counts_gradients(point, RUN_TIME).lhs == 2 * 3 + 3 * 5
    assert run_time_counts._counts_gradients(point, RUN_TIME, fewer=1).ok is False
