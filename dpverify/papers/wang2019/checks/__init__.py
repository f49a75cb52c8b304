"""Where the paper's words and the algebra of wang2019 meet; so far the privacy records."""

from __future__ import annotations

from dpverify.harness import PaperChecks
from dpverify.papers.wang2019.checks import amplification, amplification_proof, conversion, variances

CHECKS = PaperChecks("wang2019", __name__)
for topic in (amplification, conversion, variances, amplification_proof):
    CHECKS.include(topic.CHECKS)
