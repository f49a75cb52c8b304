"""Run times: the printed claims, exact operation counts, the stream against the printed form, and what a clock says."""

from __future__ import annotations

from dpverify.harness import PaperChecks
from dpverify.papers.tran2022.checks import run_time_counts, run_time_orders, run_time_stream, run_time_unroll
from dpverify.papers.tran2022.checks.run_time_check import RunTimeCheck

CHECKS = PaperChecks("tran2022", __name__)
for topic in (run_time_orders, run_time_counts, run_time_stream, run_time_unroll):
    CHECKS.include(topic.CHECKS)

CHECKS.add(RunTimeCheck("section-5-run-time", "measured", variants=("amended",)))
