"""One sample run and its report, made once for all tests of the report."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dpverify.ledger.results import Run
from dpverify.report.pages.write import render_report as render
from tests.unit.report.sample import PAPER, sample_run


@pytest.fixture(scope="session")
def run() -> Run:
    return sample_run()


@pytest.fixture(scope="session")
def files(run: Run) -> Mapping[str, bytes]:
    return render({PAPER: run})


@pytest.fixture(scope="session")
def paper(files: Mapping[str, bytes]) -> str:
    return files[f"{PAPER}.md"].decode()


@pytest.fixture(scope="session")
def index(files: Mapping[str, bytes]) -> str:
    return files["README.md"].decode()
