"""The rates of Theorems 6 and 9 are judged on the conditions of their records, and as their words say."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.ledger.load import load_specs
from dpverify.ledger.results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility.checks.rates import CHECKS
from dpverify.symbolic.exact.statements import evaluate_statement, requires_hold

SPECS = load_specs()


def judged(statement: Statement, name: str) -> CheckResult:
    (check,) = [c for c in CHECKS.of(statement.key.removeprefix("tran2022:")) if c.name == name]
    found: CheckResult = check.run_block(Context(statement, BUDGETS["smoke"], 0, name), 0)
    return found


@pytest.mark.parametrize("theorem", ["6", "9"])
def test_the_narrower_domain_is_not_that_of_the_printed_claim(theorem: str) -> None:
    claim = SPECS.claim(f"tran2022:theorem-{theorem}-rate")
    amended = claim.statement(variant="amended")
    assert judged(claim.statement(), "exponents").status == "refuted"
    assert judged(amended, "exponents-amended").status == "argued"
    wider = replace(amended, requires=claim.statement().requires)
    assert judged(wider, "exponents-amended").status == "refuted"


def test_another_rate_in_the_words_is_refuted() -> None:
    amended = SPECS.claim("tran2022:theorem-9-rate").statement(variant="amended")
    faster = replace(amended, words="The bound of Theorem 9 is O~(1/N^100).")
    assert judged(faster, "exponents-amended").status == "refuted"


def test_the_sequence_meets_all_that_theorem_9_prints_but_grows_beyond_its_rate() -> None:
    claim = SPECS.claim("tran2022:theorem-9-rate")
    found = judged(claim.statement(), "sequence")
    assert found.status == "refuted"
    assert judged(claim.statement(variant="amended"), "sequence").status == "not refuted"
    for power, ratio in ((6, 11), (12, 101), (18, 1001)):
        n = 10**power
        N, d, epsilon = Fraction(n), Fraction(n**2), Fraction(1, 10 ** (power // 2))
        assert requires_hold(claim.statement(), {"N": N, "d": d, "epsilon": epsilon}) is True
        first, root, last = n ** (1 / 3), n**-0.5, n**0.5
        assert (first + root + last) / (first + root) == pytest.approx(ratio, rel=1e-3)
        theorem = SPECS.claim("tran2022:theorem-9").statement({"ordering": "fresh"})
        given = {"N": N, "d": d, "T": Fraction(10 ** (power // 3)), "delta": Fraction(1, 2)}
        given |= dict.fromkeys(("G", "L", "R"), Fraction(1))
        assert requires_hold(theorem, given) is True
        _, bound = evaluate_statement(theorem, given)
        assert float(bound) > last
