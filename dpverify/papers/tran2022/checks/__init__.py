"""Where the paper's words, the algebra and the kernels of tran2022 meet."""

from __future__ import annotations

from dpverify.harness import PaperChecks
from dpverify.papers.tran2022.checks import (
    aggregation,
    asides,
    boxes,
    compose,
    conversion,
    identities,
    lemma_12,
    noise,
    run_time,
    sensitivity,
    series,
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
)

CHECKS = PaperChecks("tran2022", __name__)
for topic in TOPICS:
    CHECKS.include(topic.CHECKS)
