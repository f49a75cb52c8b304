"""The rates of Theorems 6 and 9 are judged on the conditions of their records, and as their formulas say."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.harness.derivation_check import NAME, TextProof, from_text
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.formula import parse, to_text
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility.checks.rates import CHECKS
from dpverify.symbolic.derive.steps import Derivation
from dpverify.symbolic.exact.evaluate import evaluate_statement, requires_hold
from tests.for_each import for_each
from tests.unit.symbolic.conclusions import conclude

SPECS = load_specs()


def judged(statement: Statement, name: str) -> CheckResult:
    claim = statement.key.removeprefix("tran2022:")
    (check,) = [
        c for c in (*CHECKS.of(claim), TextProof(claim, NAME)) if c.name == name
    ]
    found: CheckResult = check.run_block(
        Context(statement, BUDGETS["smoke"], 0, name), 0
    )
    return found


@for_each("theorem", ["6", "9"])
def test_the_narrower_domain_is_not_that_of_the_printed_claim(theorem: str) -> None:
    claim = SPECS.claim(f"tran2022:theorem-{theorem}-rate")
    amended = claim.statement(variant="amended")
    assert judged(claim.statement(), "exponents").status == "refuted"
    assert judged(amended, "derivation").status == "proved"
    wider = replace(amended, requires=claim.statement().requires)
    assert judged(wider, "derivation").status == "inconclusive"
    assert judged(wider, "exponents").status == "refuted"


@for_each(
    ("theorem", "reading"), [("6", {"ordering": "fresh", "depth": "levels"}), ("9", {})]
)
def test_the_left_side_is_the_bound_that_the_theorem_prints(
    theorem: str, reading: dict[str, str]
) -> None:
    record = SPECS.claim(f"tran2022:theorem-{theorem}-rate").statement()
    assert (
        record.lhs == SPECS.claim(f"tran2022:theorem-{theorem}").statement(reading).rhs
    )


RATES = ("theorem-6-rate", "theorem-9-rate", "section-1-rate", "abstract-rate")


@cache
def chain_of(claim: str) -> tuple[Statement, Derivation]:
    """The amended statement and what is derived of it."""
    amended = SPECS.claim(f"tran2022:{claim}").statement(variant="amended")
    return amended, from_text(amended)


@for_each("claim", RATES)
def test_a_rate_is_proved_and_so_is_a_slower_one(claim: str) -> None:
    amended, chain = chain_of(claim)
    assert amended.rhs is not None
    slower = replace(amended, rhs=parse(f"({to_text(amended.rhs)})*N**(1/100)"))
    assert conclude(chain, amended) == conclude(chain, slower) == "weaker"
    # it has logarithms
    assert conclude(chain, replace(amended, relation="O")) == "undecided"


@for_each("claim", RATES)
@for_each(
    "rate",
    ["1/N**100", "({})/N**(1/100)", "({})*N**(1/100)/T**(1/100)", "({})/d**(1/1000)"],
)
def test_a_faster_rate_is_not_proved(claim: str, rate: str) -> None:
    amended, chain = chain_of(claim)
    assert amended.rhs is not None
    faster = replace(amended, rhs=parse(rate.format(to_text(amended.rhs))))
    assert conclude(chain, faster) == "undecided"
    assert conclude(chain, replace(faster, relation="O")) == "undecided"


@for_each(
    ("claim", "condition"),
    [("theorem-6-rate", 1), ("theorem-9-rate", 0), ("abstract-rate", 1)],
)
def test_without_its_condition_an_order_is_not_proved(
    claim: str, condition: int
) -> None:
    amended, chain = chain_of(claim)
    kept = tuple(
        each for place, each in enumerate(amended.requires) if place != condition
    )
    assert conclude(chain, replace(amended, requires=kept)) == "undecided"


def test_the_sequence_meets_all_that_theorem_9_prints_but_grows_beyond_its_rate() -> (
    None
):
    claim = SPECS.claim("tran2022:theorem-9-rate")
    found = judged(claim.statement(), "sequence")
    assert found.status == "refuted"
    assert (
        judged(claim.statement(variant="amended"), "sequence").status == "not refuted"
    )
    for power, ratio in ((6, 11), (12, 101), (18, 1001)):
        n = 10**power
        N, d, epsilon = Fraction(n), Fraction(n**2), Fraction(1, 10 ** (power // 2))
        rest = dict.fromkeys(("G", "L", "R"), Fraction(1)) | {"delta": Fraction(1, 2)}
        assert (
            requires_hold(
                claim.statement(), {"N": N, "d": d, "epsilon": epsilon, **rest}
            )
            is True
        )
        first, root, last = n ** (1 / 3), n**-0.5, n**0.5
        assert (first + root + last) / (first + root) == pytest.approx(ratio, rel=1e-3)
        theorem = SPECS.claim("tran2022:theorem-9").statement({"ordering": "fresh"})
        given = {"N": N, "d": d, "T": Fraction(10 ** (power // 3)), **rest}
        assert requires_hold(theorem, given) is True
        _, bound = evaluate_statement(theorem, given)
        assert float(bound) > last
