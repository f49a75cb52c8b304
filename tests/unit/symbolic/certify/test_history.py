"""A certificate is the same whatever was written before it, and whatever order sets have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpverify.cli.app import main

BEFORE, CLAIM, FILE = (
    "tran2022:section-1-rate",
    "wang2019:algorithm-1-variance",
    "wang2019-algorithm-1-variance-amended.json",
)


@pytest.mark.slow
def test_a_certificate_does_not_depend_on_those_before_it(tmp_path: Path) -> None:
    assert main(["certify", BEFORE, CLAIM, "--out", str(tmp_path / "after")]) == 0
    alone = [sys.executable, "-m", "dpverify", "certify", CLAIM, "--out", str(tmp_path / "alone")]
    subprocess.run(alone, check=True, capture_output=True)
    assert (tmp_path / "after" / FILE).read_bytes() == (tmp_path / "alone" / FILE).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("claim", ["tran2022:theorem-9-rate", "tran2022:lemma-5-case-1"])
def test_a_certificate_does_not_depend_on_the_order_of_sets(tmp_path: Path, claim: str) -> None:
    for seed in "012":
        certify = [sys.executable, "-m", "dpverify", "certify", claim, "--out", str(tmp_path / seed)]
        subprocess.run(certify, check=True, capture_output=True, env=os.environ | {"PYTHONHASHSEED": seed})
    first, *others = ({file.name: file.read_bytes() for file in (tmp_path / seed).iterdir()} for seed in "012")
    assert first
    assert others == [first, first]
