"""Mistakes of public reports are found in every library, and their correct twins pass."""

from __future__ import annotations

import pytest

from dpverify.conform.run import all_tests
from tests.for_each import for_each
from tests.unit.conform.backends import BACKENDS, in_backend
from tests.unit.conform.reported import REPORTS, mistakes, twins

ALPHA = 1e-4


def test_reports_have_addresses_and_twins() -> None:
    assert len(REPORTS) >= 12
    assert all(report.url.count("/") == 3 for report in REPORTS.values())
    assert all(report.mistake is not report.twin for report in REPORTS.values())


@for_each("library", [*BACKENDS])
def test_a_reported_mistake_is_found(library: str) -> None:
    pytest.importorskip(library)
    missed = [
        name
        for name, (optimizer, promise) in in_backend(
            mistakes(), BACKENDS[library]
        ).items()
        if not any(
            test.status == "fault" for test in all_tests(optimizer, promise, 1, ALPHA)
        )
    ]
    assert not missed


@for_each("name", REPORTS)
def test_its_twin_passes(name: str) -> None:
    optimizer, promise = twins()[name]
    assert [
        test.name for test in all_tests(optimizer, promise, 1, ALPHA) if not test.passed
    ] == []
