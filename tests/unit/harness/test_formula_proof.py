"""What is proved without code: true formulas by signs and rules, and never a false one, however little it is off."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import dpverify as dv
from dpverify.cli.app import main
from dpverify.harness import formula_proof
from dpverify.harness.formula_proof import FormulaProof
from dpverify.symbolic.automatic import proofs
from dpverify.symbolic.certify.checker import checker_file, k
from dpverify.symbolic.certify.place import FactList
from tests.for_each import for_each
from tests.unit.harness.formulas import formula, judged

CHECK = FormulaProof("formula", "proof")
X, XY = "x: real", "x: real; y: real, y > 0"
N, NT = "N: integer, N >= 1", "N: integer, N >= 1; T: integer, T >= 1"
A, AN = "a: real, 0 < a <= 1", "a: real, 0 < a <= 1; N: integer, N >= 1"
ZERO, COUNT = "z: real, z >= 0", "n: integer, n >= 0"

TRUE = [
    ("1 - x <= exp(-x)", X),
    ("2*x*y <= x**2 + y**2", XY),
    ("a*(1 - a) <= 1/4", A),
    ("0 <= x**2", X),
    ("x - x**2 - 1 <= 0", X),
    ("sqrt(y) <= (1 + y)/2", XY),
    ("sqrt(x**2 + y**2) <= abs(x) + y", XY),
    ("mod(T, N) <= N - 1", NT),
    ("popcount(N) <= log2(N) + 1", N),
    ("sum(i, i, 1, N) = N*(N + 1)/2", N),
    ("sum(a*(1 - a)**i, i, 0, N) <= 1", AN, "a < 1"),
    ("(1 - a)**N <= exp(-a*N)", AN),
    ("1 - (1 - a)**N <= a*N", AN),
    ("1/N <= a", AN, "a >= 1/N"),
    ("0**n <= 1", COUNT),
]

# Off by a thousandth, at a boundary, for large numbers alone, at the one point where
# both sides are equal.
FALSE = [
    ("a*(1 - a) <= 0.2499", A),
    ("1 - x <= 0.999*exp(-x)", X),
    ("2*x*y <= 0.999*(x**2 + y**2)", XY),
    ("sqrt(y) <= 0.999*(1 + y)/2", XY),
    ("sqrt(x**2 + y**2) <= 0.999*(abs(x) + y)", XY),
    ("exp(-y) >= 1 - 0.999*y", XY),
    ("x**4 <= x**6 + 0.148", X),
    ("N**2 <= 1000000*N", N),
    ("log(N) <= 30", N),
    ("1/N >= 1e-9", N),
    ("N**10 <= 1e9*2**N", N),
    ("1 <= N - 1", N),
    ("mod(T, N) <= N - 2", NT),
    ("ceil(T/N) <= T/N + 0.99", NT),
    ("popcount(N) <= log2(N)", N),
    ("popcount(N) <= log2(N) + 0.999", N),
    ("sum(i, i, 1, N) = N*(N + 1)/2 + 1/N", N),
    ("0**n <= 0", COUNT),
    ("n**n >= 2*n - 0.9", COUNT),
    ("sum(1, i, n, 1) = 2 - n", COUNT),
    ("sum(1, i, 1, n) = n + 1", COUNT),
]

# Without a value somewhere on the domain, which is empty in the last ones.
VOID = [
    ("x/x = 1", X),
    ("x**2/x <= abs(x)", X),
    ("y/(y - 1) >= 1", XY),
    ("1/(N - 1) <= 1", N),
    ("1/z >= 0", ZERO),
    ("log(z) <= z - 1", ZERO),
    ("sqrt(x)**2 = x", X),
    ("0*log(x) = 0", X),
    ("x**2 <= -1", X, "x > 3", "x < 2"),
    ("1 <= 0", N, "N > N"),
    ("N <= 0", N, "N**2 < 1"),
    ("x <= 0", X, "x**2 < 0"),
]


@for_each(("text", "domains", "requires"), [(t, d, r) for t, d, *r in TRUE])
def test_true_formulas_are_proved(text: str, domains: str, requires: list[str]) -> None:
    result = judged(CHECK, formula(text, domains, *requires))
    assert (result.status, result.error) == ("proved", "")
    assert result.controls[0].refuted


@for_each("points", [True, False])
@for_each(("text", "domains", "requires"), [(t, d, r) for t, d, *r in [*FALSE, *VOID]])
def test_nothing_false_is_proved(
    text: str,
    domains: str,
    requires: list[str],
    points: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not points:  # the prover has to resist by itself
        monkeypatch.setattr(FactList, "is_refuted", lambda *_: False)
    result = judged(CHECK, formula(text, domains, *requires))
    assert (result.status, result.error) == ("untested", "")


def test_a_strict_relation_is_not_proved_as_one_that_is_not() -> None:
    assert judged(CHECK, formula("a*(1 - a) < 1/4", A)).status == "untested"
    assert judged(CHECK, formula("a*(1 - a) <= 1/4", A)).status == "proved"
    assert judged(CHECK, formula("a*(1 - a) < 0.2501", A)).status == "proved"


@for_each("text", ["normal_cdf(x) <= 1", "f(x) <= 1", "gaussian_delta(1, 1) <= x"])
def test_what_certificates_have_no_name_for_is_not_tried(text: str) -> None:
    assert not CHECK.can_judge(formula(text, X))
    assert not CHECK.can_judge(formula("x <= 1", X, text))


@for_each("value", ["normal_cdf(x)", "f(x)"])
def test_nor_is_it_where_a_letter_stands_for_it(value: str) -> None:
    known, unknown = (
        formula("x <= 1", X, let=(("z", text),)) for text in ("exp(x)", value)
    )
    assert CHECK.can_judge(known)
    assert not CHECK.can_judge(unknown)


def test_what_the_stand_alone_checker_refuses_is_not_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise k.Refused("planted")

    monkeypatch.setattr(k, "run", refuse)
    assert judged(CHECK, formula("1 - x <= exp(-x)", X)).status == "untested"


def test_without_a_control_that_fails_nothing_is_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proofs, "also_proves", lambda *_: True)
    result = judged(CHECK, formula("1 - x <= exp(-x)", X))
    assert (result.status, result.controls[0].refuted) == ("inconclusive", False)


def test_the_search_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    text, domains = "(1 - a)**N <= exp(-a*N)", AN
    monkeypatch.setattr(formula_proof, "SMOKE_EFFORT", 5)
    result = judged(CHECK, formula(text, domains))
    assert result.status == "untested"
    assert "more than 5 goals" in result.message


RECORDS = """[paper]
key = "toml2020"
title = "T"
authors = ["A"]
venue = "V"
texts = {full = "t"}

[symbols.x]
latex = 'x'
domain = "real"
meaning = "a number"
"""
CLAIM = """
[[claim]]
id = "lemma-{number}"
where = "Lemma"
source = "full"
quote = '''q'''
kind = "inequality"
lhs = "{lhs}"
relation = "<="
printed = "{printed}"
"""
CLAIMS = [("1 - x", "exp(-x)"), ("1 - x", "0.999*exp(-x)")]


def test_a_verdict_comes_from_the_record_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "toml2020"
    folder.mkdir()
    claims = [
        CLAIM.format(number=n, lhs=lhs, printed=p)
        for n, (lhs, p) in enumerate(CLAIMS, 1)
    ]
    (folder / "claims.toml").write_text(RECORDS + "".join(claims))
    (folder / "verdicts.toml").write_text(
        '[[verdict]]\nclaim = "lemma-1"\nstatus = "proved"\n'
    )
    results = dv.verify(specs=tmp_path, budget="smoke", jobs=1)
    assert [result.status for result in results] == ["proved", "refuted"]
    assert (
        main(
            ["certify", "--specs", str(tmp_path), "--out", str(tmp_path), "--jobs", "1"]
        )
        == 0
    )
    capsys.readouterr()
    certificate = tmp_path / "toml2020-lemma-1-printed.json"
    assert (
        json.loads(certificate.read_text())["statement"]["name"] == "toml2020:lemma-1"
    )
    command = [
        sys.executable,
        str(checker_file()),
        "--specs",
        str(tmp_path),
        str(certificate),
    ]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


UNDEFINED = [
    ("mod(N, N - N) <= N", N),
    ("mod(x, x - x) = x", X),
    ("1/(N - N) <= N", N),
    ("log(N - N) <= N", N),
    ("(N - N)**(-1) >= 0", N),
    ("floor(N/(N - N)) <= 1", N),
    ("0 <= y", XY, "mod(x, y - y) >= 0"),
    ("0 <= y", XY, "1/(y - y) >= 0"),
]


@for_each("words", UNDEFINED)
def test_a_statement_that_is_undefined_everywhere_is_not_proved_and_is_no_error_of_ours(
    words: tuple[str, ...],
) -> None:
    statement = formula(*words)
    result = judged(CHECK, statement)
    assert result.status == "untested"
    assert "undefined" in result.message or "log" in result.message
