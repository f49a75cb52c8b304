"""A certificate is the same whatever was written before it, and whatever order sets have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dpverify.cli.app import main
from dpverify.ledger import load_specs
from dpverify.symbolic.certify.header import record_header
from dpverify.symbolic.derive.define import expand_definition

BEFORE, CLAIM, FILE = (
    "tran2022:section-1-rate",
    "wang2019:algorithm-1-variance",
    "wang2019-algorithm-1-variance-amended.json",
)


BY_SEARCH = "zhang2021:theorem-3-2-total"
LATE = (  # the checker is used, and the writer imported, before the search
    "from dpverify.symbolic.certify.checker import k; k.letter('before'); "
    "import dpverify.symbolic.certify.certificates; "
)


@pytest.mark.slow
def test_a_certificate_does_not_depend_on_those_before_it(tmp_path: Path) -> None:
    # in one process
    assert (
        main(
            ["certify", BEFORE, CLAIM, "--jobs", "1", "--out", str(tmp_path / "after")]
        )
        == 0
    )
    for name, first in (("alone", ""), ("late", LATE)):
        words = [
            "certify",
            CLAIM,
            BY_SEARCH,
            "--jobs",
            "1",
            "--out",
            str(tmp_path / name),
        ]
        program = f"{first}from dpverify.cli.app import main; main({words})"
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
        assert (tmp_path / "after" / FILE).read_bytes() == (
            tmp_path / name / FILE
        ).read_bytes()
    alone, late = (
        sorted((tmp_path / name).glob("zhang2021-*")) for name in ("alone", "late")
    )
    assert (
        [file.read_bytes() for file in alone]
        == [file.read_bytes() for file in late]
        != []
    )


@pytest.mark.slow
def test_a_certificate_does_not_depend_on_the_order_of_sets(tmp_path: Path) -> None:
    asked = [
        "certify",
        "tran2022:theorem-9-rate",
        "tran2022:lemma-5-case-1",
        "--jobs",
        "1",
        "--out",
    ]
    for seed in "01":
        certify = [sys.executable, "-m", "dpverify", *asked, str(tmp_path / seed)]
        subprocess.run(
            certify,
            check=True,
            capture_output=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        )
    first, other = (
        {file.name: file.read_bytes() for file in (tmp_path / by).iterdir()}
        for by in "01"
    )
    assert len(first) >= 2
    assert other == first


def test_letters_stand_in_the_order_of_their_names() -> None:
    statement = expand_definition(
        load_specs().papers["tran2022"].claims["lemma-5-case-1"].statement()
    )
    assert statement.domains.keys() == {"e", "g"}
    orders = [{n: statement.domains[n] for n in names} for names in ("eg", "ge")]
    one, other = (
        json.dumps(record_header(replace(statement, domains=order))["letters"])
        for order in orders
    )
    assert one == other
