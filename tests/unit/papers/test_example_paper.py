"""The examples of papers that authors outside dpverify add: claims that take about a second each are judged."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpverify as dv
from dpverify.ledger import check_specs
from dpverify.ledger.formula import parse
from dpverify.symbolic.exact.evaluate import evaluate
from dpverify.symbolic.exact.numbers import ball
from tests.unit.papers.test_guide import ROOT

SPECS = ROOT / "docs" / "examples" / "abadi2016" / "abadi2016" / "specs"
ARORA = ROOT / "docs" / "examples" / "arora2023"
SLOW = {
    "section-3-2-asymptotic",
    "section-3-1-example-value",
    "lemma-3",
    "theorem-1",
    "theorem-1-proof-moment",
    "theorem-2-composability",
    "theorem-2-tail",
    "lemma-c-1",
    "lemma-c-1-mean",
    "note-strong-composition",
}
"""These are about compositions, integrals or long sums at many points."""
QUICK = {
    "footnote-4-condition": "refuted",
    "note-wang2019-later": "proved",
    "section-1-3-tran-complexity": "refuted",
    "theorem-3-1-sensitivity": "proved",
    "theorem-3-2-gradients": "refuted",
    "theorem-b-3-count": "refuted",
    "note-lemma-b-1": "proved",
    "theorem-5-1-smooth": "proved",
    "theorem-5-1-lambda": "refuted",
    "theorem-6-1-identity": "refuted",
    "lemma-e-2": "refuted",
}
"""Claims of arora2023, some of which rest on claims of the papers that come with dpverify."""


def value(text: str | None, values: Mapping[str, int | Fraction]) -> float:
    assert text is not None
    fractions = {name: Fraction(number) for name, number in values.items()}
    return float(ball(evaluate(parse(text), fractions)).mid())


def test_the_claims_are_judged_as_they_are_pinned(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    claims = [claim.key for claim in dv.load_specs(SPECS).claims()]
    quick = [claim for claim in claims if claim.partition(":")[2] not in SLOW]
    assert len(quick) == len(claims) - len(SLOW)
    results = dv.verify(*quick, specs=SPECS, budget="smoke", jobs=1)
    assert {result.claim: result.status for result in results} == {
        result.claim: result.pinned for result in results
    }
    assert {result.status for result in results} == {"proved", "refuted"}
    monkeypatch.chdir(ARORA)
    results = dv.verify(
        *(f"arora2023:{name}" for name in QUICK), budget="smoke", jobs=1
    )
    assert {result.claim: result.status for result in results} == {
        f"arora2023:{k}": v for k, v in QUICK.items()
    }
    assert all(result.status == result.pinned for result in results)
    folder = shutil.copytree(Path.cwd(), tmp_path / "arora2023")
    monkeypatch.chdir(folder)
    assert check_specs() == []
    file = folder / "arora2023" / "specs" / "arora2023" / "claims.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(
        text.replace("tran2022:theorem-9-rate", "tran2022:theorem-9-rates"),
        encoding="utf-8",
    )
    (finding,) = check_specs()
    assert "section-1-3-tran-rate: quotes[0].claim: 'tran2022:theorem-9-rates'" in str(
        finding
    )


def test_the_example_against_lemma_e_2_has_the_gradients_that_its_record_states(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n, d, smoothness, lipschitz, size = 30, 900, 0.5, 3.0, 2.0
    rng = np.random.default_rng(0)
    sample = rng.integers(d, size=n)
    points = size / np.sqrt(2) * np.hstack([np.ones((d, 1)), np.eye(d)])
    signs = -np.ones(d)
    signs[sample] = 1.0
    w = np.sqrt(2) * lipschitz / (smoothness * size) * np.concatenate([[0.0], signs])
    gradients = (
        np.clip(smoothness * points @ w, -lipschitz, lipschitz)[:, None] * points
    )
    deviation = np.linalg.norm(gradients.mean(axis=0) - gradients[sample].mean(axis=0))
    assert np.linalg.norm(points, axis=1) == pytest.approx(np.full(d, size))
    monkeypatch.chdir(ARORA)
    record = dv.load_specs().claim("arora2023:lemma-e-2").record
    (radius,) = record.let
    values: dict[str, int | Fraction] = {
        "L_0": 3,
        "L_1": Fraction(1, 2),
        "X": 2,
        "n": n,
        "d": d,
    }
    assert np.linalg.norm(w) == pytest.approx(value(radius.value, values))
    assert deviation >= value(record.lhs, values)


def test_a_matrix_of_rank_k_is_far_from_the_identity() -> None:
    """``theorem-6-1-identity`` of arora2023: no number of rows below the dimension changes this."""
    rng = np.random.default_rng(0)
    for rows in (5, 20, 49):
        projected = np.vstack(
            [rng.normal(size=(rows, 50)) / np.sqrt(rows), np.zeros((50 - rows, 50))]
        )
        assert np.linalg.norm(np.eye(50) - projected, ord=2) >= 1.0 - 1e-12
