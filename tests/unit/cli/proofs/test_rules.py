"""``dpverify rules``: the rules with all words, each with its conditions and its proof in Coq."""

from __future__ import annotations

import pytest

from dpverify.cli import main
from dpverify.symbolic.certify.checker import checker_file
from dpverify.symbolic.rules import CATALOGUE

Capture = pytest.CaptureFixture[str]


def test_rules_are_found_by_a_word(capsys: Capture) -> None:
    assert main(["rules", "popcount", "log2(n + 1)"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "popcount-log2",
        "    popcount(n) <= log2(n + 1)",
        "    needs n >= 0, n is an integer",
        "    A number with k set bits is at least 1 + 2 + ... + 2**(k - 1) = 2**k - 1.",
        "    Coq: popcount_log2 in specs/proofs/bits.v",
    ]


def test_every_rule_is_listed_and_its_theorem_is_in_the_file(capsys: Capture) -> None:
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == list(CATALOGUE)
    named = [
        line.removeprefix("    Coq: ").split(" in specs/proofs/")
        for line in lines
        if "    Coq: " in line
    ]
    assert len(named) == len(CATALOGUE)
    for theorem, file in named:
        assert theorem in checker_file().with_name(file).read_text(encoding="utf-8")


def test_a_word_of_no_rule_is_bad_input(capsys: Capture) -> None:
    assert main(["rules", "xyzzy"]) == 2
    assert "'xyzzy': must be in one of the" in capsys.readouterr().err
