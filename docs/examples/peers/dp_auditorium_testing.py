"""dp_auditorium's hockey-stick tester, on what an optimizer releases on two neighbouring data sets."""

import contextlib
import io
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
from dp_auditorium.configs import privacy_property, property_tester_config
from dp_auditorium.testers import hockey_stick_tester as hockey_stick

RUNS, DELTA = 4000, 0.1  # at a large delta, its bound, which is Hoeffding's, is small enough to see something


def tester(allowed, delta):
    """The tester with its own network and its own way to train it."""
    config = property_tester_config.HockeyStickPropertyTesterConfig(
        training_config=hockey_stick.make_default_hs_training_config(),
        approximate_dp=privacy_property.ApproximateDp(epsilon=allowed, delta=delta),
    )
    return hockey_stick.HockeyStickPropertyTester(config, hockey_stick.make_default_hs_base_model())


def audit(request):
    """dp_auditorium at commit b5b0286 of google/differential-privacy, on no index: HockeyStickPropertyTester."""
    keras.utils.set_random_seed(request.seed)
    for case in request.cases:
        allowed = max(case.allowed_epsilon(DELTA), 1e-3)
        outputs, neighbour_outputs = case.sample(RUNS, request.seed)
        for first, second in ((outputs, neighbour_outputs), (neighbour_outputs, outputs)):
            judge = tester(allowed, DELTA)
            with contextlib.redirect_stdout(io.StringIO()):
                least = judge.estimate_lower_bound(first, second, request.alpha / (2 * len(request.cases)))
            if judge.reject_property(least):
                return f"delta is at least {least:.3g} at epsilon = {allowed:.3g}, {DELTA} is promised ({case.name})"
    return ""
