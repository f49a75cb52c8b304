"""Claims about run times along single directions."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from dpverify.ledger import load_specs
from dpverify.papers.tran2022.run_time.checks import run_time_orders
from dpverify.papers.tran2022.run_time.orders_bounds import order

RUN_TIME = load_specs().claim("tran2022:section-5-run-time").statement()


def test_the_printed_exponents_fail_where_they_should() -> None:
    rule = partial(run_time_orders._asymptotic, run_time_orders.TIME)
    found = rule(
        {"exponent_of_N": Fraction(1), "exponent_of_d": Fraction(1), "exponent_of_epsilon": Fraction(0)}, RUN_TIME
    )
    assert found.ok is False
    assert (found.lhs, found.rhs) == (Fraction(10, 3), Fraction(3))
    assert found.note == "along N = x, d = x, epsilon = 1 it grows as x^(10/3), the claim as x^3"
    alone = rule(
        {"exponent_of_N": Fraction(1), "exponent_of_d": Fraction(0), "exponent_of_epsilon": Fraction(0)}, RUN_TIME
    )
    assert alone.ok, "for d = epsilon = 1 the printed exponent of N is right"
    assert run_time_orders.TIME.printed == [order("11/3", "-2/3", 0)]
