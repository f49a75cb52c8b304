"""A paper of two claims, one true and one false, with checks that take no time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path

import pytest

from dpverify import papers
from dpverify.harness import Budget, ExhaustiveCheck, PaperChecks

CLAIMS = """
[paper]
key = "toy"
title = "Sums"
authors = ["A. Author"]
venue = "nowhere"
texts = {full = "sums.md"}

[symbols.n]
latex = "n"
domain = "integer, n >= 1"
meaning = "number of terms"

[[claim]]
id = "lemma-1"
where = "Lemma 1"
source = "full"
quote = "The sum is $n(n+1)/2$."
kind = "identity"
lhs = "sum(i, i, 1, n)"
relation = "="
printed = "n*(n + 1)/2"

[[claim]]
id = "lemma-2"
where = "Lemma 2"
source = "full"
quote = "The sum is at most $n^2/2$."
kind = "inequality"
lhs = "sum(i, i, 1, n)"
relation = "<="
printed = "n**2/2"
uses = ["lemma-1"]
"""

VERDICTS = """
[[verdict]]
claim = "lemma-1"
status = "not refuted"
reason = "counted"

[[verdict]]
claim = "lemma-2"
status = "refuted"
severity = "constant"
reason = "n = 1 gives 1 > 1/2"

[verdict.amendment]
formula = "n**2"
status = "not refuted"
why = "each of the n terms is at most n"
"""


def _some_n(budget: Budget) -> Iterator[Mapping[str, int | Fraction]]:
    del budget
    return ({"n": n} for n in range(1, 20))


def toy_checks() -> PaperChecks:
    checks = PaperChecks("toy", __name__)
    checks.add(
        ExhaustiveCheck("lemma-1", "count", points=_some_n),
        ExhaustiveCheck("lemma-2", "count", points=_some_n),
    )
    return checks


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of specs; the checks are found where those of the real papers are."""
    folder = tmp_path / "specs" / "toy"
    folder.mkdir(parents=True)
    (folder / "claims.toml").write_text(CLAIMS)
    (folder / "verdicts.toml").write_text(VERDICTS)
    monkeypatch.setattr(papers, "load", lambda _: toy_checks())
    return folder.parent
