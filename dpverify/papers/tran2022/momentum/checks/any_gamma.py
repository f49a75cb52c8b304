"""Lemma 7 at its word: gamma is at most 1/2, and nothing ties it to eta."""

from __future__ import annotations

from fractions import Fraction

from flint import ctx

from dpverify.harness import PaperChecks, Point
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.momentum.checks.linear_losses import SAME
from dpverify.papers.tran2022.noise.checks.sr_noise_points import against_exact, at_points
from dpverify.papers.tran2022.noise.sr_noise_variance_bounds import NodeVariances, noise_variance
from dpverify.papers.tran2022.noise.tree_noise_bounds import expected_norm
from dpverify.shared_types import Values
from dpverify.symbolic.exact.numbers import Exact
from dpverify.symbolic.exact.statements import definitions

CHECKS = PaperChecks("tran2022", __name__)


def _noise_alone(point: Point, statement: Statement) -> Exact:
    """Expected norm of the noise, from its exact variance."""
    constants = definitions(statement, point, precision=ctx.prec)
    n = int(point["N"])
    t = int(point["t"])
    variance = noise_variance(t, n, point["alpha"], point["gamma"], NodeVariances.of(constants))
    return expected_norm(variance, int(point["d"]))


def _slow(n: int, epochs: int) -> Values:
    """Steps so short that the terms with eta are 0 to all purposes; the step before the last one of whole epochs."""
    fixed: Values = {
        "gamma": "1/2",
        "eta": Fraction(1, 10**12),
        "d": 1,
        "G": 1,
        "L": 1,
        "delta": Fraction(1, 10**6),
        "epsilon": 1,
    }
    return {"N": n, "T": n * epochs, "t": n * epochs - 1, "alpha": Fraction(1, n), **fixed}


CORNERS: list[Values] = [
    {"N": n, "T": n * q, "t": n * q - 1, "alpha": Fraction(1, n), "gamma": gamma, "eta": eta}
    for n, q in ((62, 20), (6, 40))
    for gamma in ("1/2", "1/100000")
    for eta in ("1/1000000", 1)
]

CHECKS.add(
    at_points("lemma-7-any-gamma", _slow(62, 2000), _slow(1000, 2000), lhs=_noise_alone, meets=SAME),
    against_exact("lemma-7-any-gamma", _noise_alone, CORNERS, variants=("amended",)),
)
