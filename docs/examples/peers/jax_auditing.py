"""jax_privacy's auditing, on what an optimizer releases in two neighbouring worlds."""

import numpy as np
from jax_privacy.auditing import CanaryScoreAuditor, Split

RUNS, DELTA = 2000, 0.1  # at a large delta, counts of few runs say most


def scores(case, seed):
    """How much each run looks like the world with the example: along its gradient, or by its length."""
    with_it, without = case.draws(RUNS, seed)
    along = [(side.reshape(RUNS, -1, len(case.towards)) @ case.towards).sum(axis=1) for side in (with_it, without)]
    length = [-np.linalg.norm(side, axis=1) for side in (with_it, without)]
    return along, length


def audit(given):
    """jax_privacy, CanaryScoreAuditor with a threshold from half of 2,000 runs, and bounds at delta = 0.1."""
    for case in given.cases:
        allowed = case.allowed(DELTA)
        for with_it, without in scores(case, given.seed):
            for sign in (1, -1):
                auditor = CanaryScoreAuditor(sign * with_it, sign * without)
                least = auditor.epsilon_clopper_pearson(
                    given.alpha / (4 * len(given.cases)), DELTA, one_sided=False, threshold_strategy=Split(seed=0)
                )
                if least > allowed:
                    return f"epsilon is at least {least:.3g} where {allowed:.3g} is promised ({case.name})"
    return ""
