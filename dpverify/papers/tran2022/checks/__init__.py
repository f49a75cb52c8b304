"""Where the paper's words, the algebra and the kernels of tran2022 meet."""

from __future__ import annotations

from dpverify.harness import PaperChecks
from dpverify.papers.tran2022.checks import aggregation, compose, conversion, lemma_12, noise, series

CHECKS = PaperChecks("tran2022", __name__)
for topic in (series, compose, aggregation, conversion, noise, lemma_12):
    CHECKS.include(topic.CHECKS)
