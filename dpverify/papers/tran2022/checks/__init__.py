"""Where the paper's words, the algebra and the kernels of tran2022 meet."""

from __future__ import annotations

from dpverify.harness import PaperChecks
from dpverify.papers.tran2022.checks import (
    aggregation,
    asides,
    boxes,
    compose,
    conversion,
    descent,
    error_parts,
    floats,
    identities,
    lemma_12,
    momentum_error,
    noise,
    onset,
    privacy_theorems,
    renyi_to_dp,
    run_time,
    sensitivity,
    series,
    sr_noise,
    utility_premises,
    utility_rates,
    utility_simulation,
    utility_slopes,
    utility_steps,
    utility_theorems,
)

TOPICS = (
    series,
    compose,
    aggregation,
    conversion,
    noise,
    lemma_12,
    boxes,
    asides,
    sensitivity,
    identities,
    run_time,
    descent,
    error_parts,
    floats,
    momentum_error,
    onset,
    privacy_theorems,
    renyi_to_dp,
    sr_noise,
    utility_premises,
    utility_rates,
    utility_simulation,
    utility_slopes,
    utility_steps,
    utility_theorems,
)

CHECKS = PaperChecks("tran2022", __name__)
for topic in TOPICS:
    CHECKS.include(topic.CHECKS)
