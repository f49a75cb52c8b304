"""Claims that a function serves, in a toy of two modules: by a check, a table, a helper and another module."""

from __future__ import annotations

from pathlib import Path

from dpverify.selftest.guards import claims_using
from tests.for_each import for_each

ALGEBRA = """
def base(): return 1
def derive_one(): return base() + 1
def derive_two(): return 2
class Bound:
    def value(self): return base()
    async def value_later(self): return 3
"""
CHECKS = """
from toy.algebra import derive_two as second
from toy import algebra
def build(statement): return algebra.derive_one()
POINTS = grid(algebra.Bound)
CHECKS.add(
    DerivationCheck("one", "derivation", build=build),
    *(
        DerivationCheck(claim, "derivation", build=made)
        for claim, made in (("two", second), ("both", algebra.derive_two))
    ),
    RuleCheck("rule", "points", points=POINTS),
    RuleCheck("other", "rule", points=range(3)),
)
"""
CLAIMS = ["both", "one", "other", "rule", "two"]


@for_each(
    ("function", "claims"),
    [
        ("derive_two", ["both", "two"]),
        ("derive_one", ["one"]),
        ("base", ["one", "rule"]),
        ("value", ["rule"]),
        ("value_later", ["rule"]),
        ("build", ["one"]),
        ("nobody", []),
    ],
)
def test_claims_are_those_whose_check_uses_it(
    tmp_path: Path, function: str, claims: list[str]
) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "algebra.py").write_text(ALGEBRA)
    (tmp_path / "toy" / "checks.py").write_text(CHECKS)
    assert (
        claims_using(tmp_path, "toy.checks", CLAIMS, ["toy.algebra"], function)
        == claims
    )
