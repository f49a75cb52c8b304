"""What earlier runs of a report found and what stands: a standard run judges the other claims only.

A verdict stands where its evidence hash, the budget and all versions are those of the earlier run, whatever the verdict
says. Nothing is drawn again because of what was found, so that no error rate is spent twice: the chance that any red
of a report is false is at most the sum of the error rates of the checks that it shows, from whichever run they are.
"""

from __future__ import annotations

import msgspec

from dpverify.harness.recorded_proof import RecordedRun
from dpverify.harness.run.manifest import versions
from dpverify.harness.run.suite import JudgedReading
from dpverify.ledger.results import CheckResult, Result, RunInfo


class EarlierResults:
    """Results of checks that stand, by their labels, and the manifests of the runs that they are from."""

    def __init__(self, report: RecordedRun | None, budget: str) -> None:
        self.known: dict[str, CheckResult] = {}
        self.manifests: list[RunInfo] = []
        self._report = report
        self._budget = budget

    def take(self, case: JudgedReading, evidence: str) -> int:
        """Take the results of all checks of a case, if they stand. The place of their run among the manifests, or 0."""
        report = self._report
        manifest = None if report is None else report.manifest(case.claim, case.reading)
        if report is None or manifest is None or not self._is_of_today(manifest):
            return 0
        found = {job.label: report.result(case.claim, job.context.statement, job.check, evidence) for job in case.jobs}
        standing = {label: check for label, check in found.items() if check is not None and not check.error}
        if not found or len(standing) < len(found):
            return 0
        self.known |= standing
        if manifest not in self.manifests:
            self.manifests.append(manifest)
        return 1 + self.manifests.index(manifest)

    def _is_of_today(self, manifest: RunInfo) -> bool:
        whole = not manifest.interrupted
        return whole and manifest.budget == self._budget and manifest.versions == versions()


def marked(result: Result, earlier: int) -> Result:
    """Return a result with the place of its run among the earlier ones."""
    return msgspec.structs.replace(result, earlier=earlier)
