"""Audits of auditors: the laws' epsilon, and auditors that are right or wrong on purpose."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, cauchy, norm, poisson

import dpverify as dv
from dpverify.cli import main
from dpverify.privacy.audit.auditor_coverage import known_laws

DELTA = 0.01
DRAWS = 400_000


def two_counts(first: Any, second: Any, delta: float, level: float) -> float:
    """Bound epsilon from how often a threshold, learned from one half, is passed in the other one."""
    half = len(first) // 2
    best = 0.0
    for sign in (1.0, -1.0):
        one, other = (sign * side[:, 0] for side in (first, second))
        threshold = np.quantile(np.concatenate([one[:half], other[:half]]), 0.8)
        hits, misses = (int((side[half:] > threshold).sum()) for side in (other, one))
        low = float(beta.ppf(level / 4, hits, half - hits + 1)) if hits else 0.0
        high = (
            float(beta.ppf(1 - level / 4, misses + 1, half - misses))
            if misses < half
            else 1.0
        )
        if low > delta:
            best = max(best, math.log((low - delta) / high))
    return best


def right(
    first: Any, second: Any, epsilon: float, delta: float, confidence: float, seed: int
) -> float:
    return two_counts(first, second, delta, 1.0 - confidence)


def without_delta(
    first: Any, second: Any, epsilon: float, delta: float, confidence: float, seed: int
) -> float:
    return two_counts(first, second, 0.0, 1.0 - confidence)


def best_threshold(
    first: Any, second: Any, epsilon: float, delta: float, confidence: float, seed: int
) -> float:
    """Take the best of all thresholds on the very outputs that are counted."""
    one, other = np.sort(first[:, 0]), np.sort(second[:, 0])
    bounds = [0.0]
    for threshold in np.unique(np.concatenate([one, other]))[:-1]:
        misses, hits = ((side > threshold).mean() for side in (one, other))
        if misses > 0.0 and hits > delta:
            bounds.append(math.log((hits - delta) / misses))
    return max(bounds)


def half_refuter(
    first: Any, second: Any, epsilon: float, delta: float, confidence: float, seed: int
) -> bool:
    return two_counts(first, second, delta, 1.0 - confidence) > epsilon


def of_densities(one: Any, other: Any, delta: float) -> float:
    """Find epsilon from two densities, given by their masses on fine cells."""
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        sides = ((one, other), (other, one))
        is_above = (
            max(
                float(np.maximum(a - math.exp(middle) * b, 0.0).sum()) for a, b in sides
            )
            > delta
        )
        low, high = (middle, high) if is_above else (low, middle)
    return high


def test_the_epsilon_of_each_law_is_that_of_other_formulas() -> None:
    laws = {law.name: law.epsilon for law in known_laws(DELTA)}
    for delta in (0.001, DELTA, 0.2):
        certified = {
            "Gaussian, mu = 1": dv.Mechanism.gaussian(1),
            "Laplace, scale 1": dv.Mechanism.laplace(1),
            "randomized response, epsilon 1": dv.Mechanism.randomized_response(1),
            "geometric, epsilon 1": dv.Mechanism.discrete_laplace(1),
        }
        for name, mechanism in certified.items():
            bounds = mechanism.epsilon(delta)
            assert laws[name](delta) == pytest.approx(bounds.upper, abs=1e-6), (
                name,
                delta,
            )
        cells = np.linspace(-60.0, 60.0, 1_200_001)
        frozen = {
            "two scales, 1 and 1.5": (norm(0.0, 1.0), norm(0.0, 1.5)),
            "Cauchy, scale 1": (cauchy(0.0), cauchy(1.0)),
        }
        for name, sides in frozen.items():
            one, other = (np.diff(side.cdf(cells)) for side in sides)
            assert laws[name](delta) == pytest.approx(
                of_densities(one, other, delta), abs=2e-3
            ), (name, delta)
        one, other = (poisson(mean).pmf(np.arange(100)) for mean in (8.0, 11.0))
        assert laws["Poisson counts, 8 and 11"](delta) == pytest.approx(
            of_densities(one, other, delta), abs=1e-6
        )


def test_outputs_have_the_epsilon_of_their_law() -> None:
    """On a histogram: just below epsilon delta is exceeded, just above it is not; up to sampling errors."""
    for law in known_laws(DELTA):
        low, high = (
            law.draw(which, DRAWS, np.random.default_rng(which))[:, 0]
            for which in (0, 1)
        )
        epsilon = law.epsilon(DELTA)
        ends = np.unique(
            np.quantile(np.concatenate([low, high]), np.linspace(0.0, 1.0, 200))
        )
        edges = np.unique([-np.inf, *ends, *np.nextafter(ends, np.inf), np.inf])
        sides = [np.histogram(side, edges)[0] / DRAWS for side in (low, high)]
        for share in (
            (0.8, 1.2) if 0.0 < epsilon < 1.0 else (1.0,) if epsilon == 0.0 else ()
        ):
            factor = math.exp(share * epsilon)
            delta = max(
                float(np.maximum(a - factor * b, 0.0).sum())
                for a, b in (sides, sides[::-1])
            )
            assert (delta < DELTA + 0.006) == (share >= 1.0), (law.name, share, delta)


def test_a_right_auditor_is_not_accused_and_wrong_ones_are() -> None:
    laws = {
        name: dv.audit_auditor(function, n=400, runs=60, delta=0.1).laws
        for name, function in AUDITORS.items()
    }
    accused = {
        name: [law.law for law in found if law.is_accused]
        for name, found in laws.items()
    }
    assert accused["right"] == accused["refuter"] == []
    assert accused["without delta"] == ["the data set with probability delta"]
    assert {"Laplace, scale 1", "Poisson counts, 8 and 11", "Cauchy, scale 1"} <= {
        *accused["best threshold"]
    }
    refuted = {law.law: law.refuted for law in laws["right"]}
    assert refuted["the same noise"] is None
    assert (refuted["Gaussian, mu = 1"] or 0) > 0


AUDITORS = {
    "right": right,
    "refuter": half_refuter,
    "without delta": without_delta,
    "best threshold": best_threshold,
}


def test_so_many_wrong_runs_are_rare_under_the_stated_rate() -> None:
    generator = np.random.default_rng(0)

    def wrong_at(rate: float) -> Any:
        return lambda first, second, epsilon, delta, confidence, seed: bool(
            generator.random() < rate
        )

    assert (
        sum(
            dv.audit_auditor(wrong_at(0.05), n=1, runs=100).is_accused
            for _ in range(60)
        )
        <= 4
    )
    found = dv.audit_auditor(wrong_at(0.3), n=1, runs=100)
    assert found.seen_from < 0.3
    assert all(law.is_accused for law in found.laws)


def test_the_command_prints_a_table_and_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "def says_one(first, second, epsilon, delta, confidence, seed):\n    'Says 1.'\n    return 1.0\n"
    (tmp_path / "mine.py").write_text(code)
    target = f"{tmp_path / 'mine.py'}:says_one"
    few = ["--n", "10", "--runs", "20"]
    report = tmp_path / "report"
    report.mkdir()
    assert (
        main(
            [
                "audit",
                "--auditor",
                target,
                *few,
                "--json",
                str(tmp_path / "r.json"),
                "--report",
                str(report),
            ]
        )
        == 1
    )
    assert "the same noise" in capsys.readouterr().out
    assert json.loads((tmp_path / "r.json").read_text())["laws"][0]["wrong"] == 20
    page = (report / "auditors.md").read_text()
    assert "Says 1." in page
    assert "✗ the same noise" in page


def test_what_is_no_auditor_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bodies = {
        "return float('nan')": "returned nan",
        "raise SystemExit(0)": "SystemExit",
        "return 'no'": "could not convert",
    }
    for body, words in bodies.items():
        path = tmp_path / "mine.py"
        path.write_text(
            f"def auditor(first, second, epsilon, delta, confidence, seed):\n    {body}\n"
        )
        assert (
            main(["audit", "--auditor", f"{path}:auditor", "--runs", "1", "--n", "5"])
            == 2
        )
        assert words in capsys.readouterr().err
    assert main(["audit"]) == 2
    assert main(["audit", "dp-nsgd", "--auditor", "a:b"]) == 2
    assert main(["audit", "--auditor", "a:b", "--epsilon", "1"]) == 2
    assert main(["audit", "dp-nsgd", "--runs", "3"]) == 2
    with pytest.raises(dv.AuditError, match="runs: 0: must be at least 1"):
        dv.audit_auditor(right, runs=0)
