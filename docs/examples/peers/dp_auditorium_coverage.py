"""dp_auditorium's hockey-stick tester as an auditor of outputs: ``--auditor dp_auditorium_coverage.py:refutes``."""

import contextlib
import io

import keras
from dp_auditorium_testing import tester


def refutes(first, second, epsilon, delta, confidence, seed):
    """dp_auditorium at commit b5b0286 of google/differential-privacy, HockeyStickPropertyTester, both directions.

    Its package google-vizier was replaced by an empty one, which this tester does not use.
    """
    keras.utils.set_random_seed(seed)
    for one, other in ((first, second), (second, first)):
        judge = tester(max(epsilon, 1e-3), delta)
        with contextlib.redirect_stdout(io.StringIO()):
            least = judge.estimate_lower_bound(one, other, (1.0 - confidence) / 2.0)
        if judge.reject_property(least):
            return True
    return False
