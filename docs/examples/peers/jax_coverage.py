"""jax_privacy's auditing as an auditor of outputs: ``dpverify audit --auditor jax_coverage.py:bound``."""

import numpy as np
from jax_privacy.auditing import CanaryScoreAuditor, Split


def bound(first, second, epsilon, delta, confidence, seed):
    """jax_privacy, CanaryScoreAuditor.epsilon_clopper_pearson, a threshold from half of the outputs, both signs."""
    along = np.ones(first.shape[1])
    scores = [side @ along for side in (second, first)]
    alpha = (1.0 - confidence) / 2.0
    bounds = [
        CanaryScoreAuditor(sign * scores[0], sign * scores[1]).epsilon_clopper_pearson(
            alpha, delta, one_sided=False, threshold_strategy=Split(seed=seed)
        )
        for sign in (1.0, -1.0)
    ]
    return max(0.0, *bounds)
