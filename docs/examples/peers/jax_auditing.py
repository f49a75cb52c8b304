"""jax_privacy's auditing, on what an optimizer releases on two neighbouring data sets."""

import numpy as np
from jax_privacy.auditing import CanaryScoreAuditor, Split

RUNS, DELTA = 2000, 0.1  # at a large delta, counts of few runs say most


def scores(case, seed):
    """How much each run looks like a run with the example: along its gradient, or by its length."""
    outputs = case.sample(RUNS, seed)
    projections = [(runs.reshape(RUNS, -1, len(case.direction)) @ case.direction).sum(axis=1) for runs in outputs]
    lengths = [-np.linalg.norm(runs, axis=1) for runs in outputs]
    return projections, lengths


def audit(request):
    """jax_privacy, CanaryScoreAuditor with a threshold from half of 2,000 runs, and bounds at delta = 0.1."""
    for case in request.cases:
        allowed = case.allowed_epsilon(DELTA)
        for first, second in scores(case, request.seed):
            for sign in (1, -1):
                auditor = CanaryScoreAuditor(sign * first, sign * second)
                least = auditor.epsilon_clopper_pearson(
                    request.alpha / (4 * len(request.cases)), DELTA, one_sided=False, threshold_strategy=Split(seed=0)
                )
                if least > allowed:
                    return f"epsilon is at least {least:.3g} where {allowed:.3g} is promised ({case.name})"
    return ""
