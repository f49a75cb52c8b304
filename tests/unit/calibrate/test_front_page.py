"""The numbers of the findings in README.md, computed anew by our accountants."""

from __future__ import annotations

import math
from pathlib import Path

import dpverify as dv
from dpverify.calibrate.records import BatchCalibration, Calibration
from dpverify.report.pages.repository import read_front_page

SPECS = Path(__file__).parents[3] / "specs"
TEXT = " ".join(
    " ".join(finding.text.split()) for finding in read_front_page(SPECS).finding
)
DELTA = 1e-5


def reason(claim: str) -> str:
    """The reason of the verdict on a claim of tran2022, at the same sizes."""
    (spec,) = dv.load_specs().select((f"tran2022:{claim}",))
    text = spec.verdicts[0].reason
    assert "At N = 60,000, 10 epochs" in text
    return text


def tree_noise(algorithm: str, smoothness: float) -> Calibration:
    found = dv.calibration(
        algorithm,
        n=60_000,
        d=100,
        epochs=10,
        epsilon=2,
        delta=DELTA,
        smoothness=smoothness,
    )
    assert isinstance(found, Calibration)
    return found


def box_epsilon(epsilon: float) -> tuple[float, float]:
    """Both bounds of epsilon of the noise in the box of DP-SRM."""
    settings = {"batch": 600, "gamma": 0.1, "zeta": 0.1}
    found = dv.calibration(
        "dp-srm", n=60_000, epochs=10, epsilon=epsilon, delta=DELTA, **settings
    )
    assert isinstance(found, BatchCalibration)
    lower, upper = found.noise["printed"].epsilon
    return float(lower), float(upper)


def test_the_noise_of_theorem_4() -> None:
    found = tree_noise("dp-nsgd", 1)
    printed = f"the printed sigma, {found.sigma.printed:.2f}, gives epsilon {found.bought.printed:.2f}"
    assert f"{printed}; {found.sigma.exact:.2f} suffices." in TEXT
    ratio = float(found.sigma.printed) / float(found.sigma.exact)
    assert f"The printed noise is {ratio:.1f} times as large." in TEXT
    verdict = reason("theorem-4-dp")
    assert f"{printed}." in verdict


def test_the_noise_of_algorithm_2_lacks_the_smoothness() -> None:
    flat, steep = (
        tree_noise("sr-nsgd", smoothness).bought.printed for smoothness in (1, 14)
    )
    assert f"It gives epsilon {flat:.2f} for L = 1 and {steep:.2f} for L = 14." in TEXT
    assert (
        f"its noise gives epsilon {flat:.2f} for L = 1, but {steep:.2f} for L = 14"
        in reason("theorem-8-dp")
    )


def test_the_noise_of_the_box_of_dp_srm() -> None:
    _, at_most = box_epsilon(2)
    at_least, _ = box_epsilon(4)
    rounded = math.ceil(100 * at_most) / 100
    sentence = f"epsilon at most {rounded:.2f} where 2 is requested, and at least {math.floor(at_least)} where 4 is"
    assert sentence in TEXT


def test_the_largest_epsilon_of_the_constants_for_abadi_et_al() -> None:
    assert f"epsilon up to {math.floor(10 * math.log(1 / DELTA)) / 10}" in TEXT
