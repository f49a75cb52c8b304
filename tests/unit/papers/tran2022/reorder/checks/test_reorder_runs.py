from fractions import Fraction

import numpy as np

from dpverify.ledger import load_specs
from dpverify.papers.tran2022.reorder.checks import reorder_runs

STATEMENT = (
    load_specs().claim("tran2022:algorithm-4-output").statement({"ordering": "fresh"})
)


def test_runs_differ_by_what_is_left_over() -> None:
    point = {
        "N": Fraction(5),
        "T": Fraction(31),
        "alpha": Fraction(1, 5),
        "gamma": Fraction(1, 7),
    }
    assert reorder_runs._follows(point, STATEMENT).ok
    off = reorder_runs._follows(point, STATEMENT, gamma_off=1e-6)
    assert not off.ok
    assert "off by" in off.note
    run = reorder_runs._run(point, "fresh")
    gap = np.abs(run.released - run.momenta).max(axis=1)
    assert (gap[:9] < 1e-15).all(), "for t < 2N"
    assert gap[9:].max() > 1e-3
