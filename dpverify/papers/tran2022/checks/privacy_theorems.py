"""All checks of the privacy records, in the order in which their counterexamples are to be shown."""

from __future__ import annotations

from dpverify.harness import PaperChecks
from dpverify.papers.tran2022.checks import (
    privacy,
    privacy_dp,
    privacy_parts,
    privacy_published,
    privacy_sandwich,
    privacy_sr,
)

CHECKS = PaperChecks("tran2022", __name__)
for topic in (privacy, privacy_dp, privacy_sr, privacy_parts, privacy_published, privacy_sandwich):
    CHECKS.include(topic.CHECKS)
